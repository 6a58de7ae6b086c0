/**
 * A load generator for more than the service can do: a closed loop whose clients obey Retry-After, or an open loop that
 * sends at a rate, whatever is answered.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import { answerReader, type Call, nextId, type Template, templateOf } from './load.ts';
import { percentile } from './measure.ts';

export type Pressure = {
  url: string;
  calls: Call[];
  ms: number;
  /**
   * Connections, opened before the first request: Node accepts one in each turn of its event loop, so a busy service would
   * delay new connections, and not requests.
   */
  connections: number;
  /** Requests a second of an open loop. */
  perSecond?: number;
};

export type Pressed = {
  /** Answers with 2xx or 3xx a second, and percentiles of their times in milliseconds. */
  goodPerSecond: number;
  p50: number;
  p99: number;
  refusedPerSecond: number;
  /** Requests of an open loop that had no connection. */
  unsentPerSecond: number;
  /** Answers that are neither good nor a refusal with Retry-After. */
  failures: number;
  firstFailure: string | null;
  busy: number;
};

/** The answers of the first part are not counted: all clients begin at once. */
const UNCOUNTED_SHARE = 0.25;
const TICK_MS = 5;
const RETRY_AFTER = /\r\nretry-after: (\d+)/i;

type Count = Pick<Pressed, 'failures' | 'firstFailure'> & { times: number[]; refused: number };

/** One connection; `answered` receives the seconds of Retry-After, or 0. */
class Client {
  readonly #socket: Socket;
  #sentAt = 0;

  constructor(url: string, answered: (status: number, retryAfterS: number, ms: number) => void) {
    const { hostname, port } = new URL(url);
    this.#socket = connect({ host: hostname, port: Number(port), noDelay: true });
    this.#socket.on(
      'data',
      answerReader((status, head) =>
        answered(
          status,
          Number(RETRY_AFTER.exec(head)?.[1] ?? 0),
          performance.now() - this.#sentAt,
        ),
      ),
    );
    this.#socket.on('error', () => answered(0, 0, 0));
  }

  /** Resolves when the service has accepted the connection; rejects if it does not. */
  async connected(): Promise<this> {
    if (this.#socket.connecting) await once(this.#socket, 'connect');
    return this;
  }

  send(template: Template): void {
    this.#sentAt = performance.now();
    const text = template.length > 1 ? template.join(nextId()) : (template[0] ?? '');
    this.#socket.write(text, 'latin1');
  }

  close(): void {
    this.#socket.destroy();
  }
}

export const press = async (order: Pressure): Promise<Pressed> => {
  const { url, calls, ms, connections, perSecond } = order;
  const templates = calls.map((call) => templateOf(call, new URL(url).host));
  let next = 0;
  const nextCall = (): Template => templates[next++ % templates.length] ?? [];
  const idle: Client[] = [];
  const count: Count = { times: [], refused: 0, failures: 0, firstFailure: null };
  let [began, counted] = [0, Infinity];
  const isOver = (): boolean => performance.now() - began >= ms;
  const open = (): Promise<Client> => {
    const client = new Client(url, (status, retryAfterS, took) => {
      if (performance.now() >= counted) note(count, { status, retryAfterS, took });
      if (isOver()) return;
      if (perSecond !== undefined) idle.push(client);
      else if (retryAfterS === 0) client.send(nextCall());
      else setTimeout(() => isOver() || client.send(nextCall()), retryAfterS * 1_000);
    });
    return client.connected();
  };
  const clients = await Promise.all(Array.from({ length: connections }, open));
  const before = performance.eventLoopUtilization();
  began = performance.now();
  counted = began + ms * UNCOUNTED_SHARE;
  let [sent, unsent] = [0, 0];
  if (perSecond === undefined) for (const client of clients) client.send(nextCall());
  else idle.push(...clients);
  const ticker = setInterval(() => {
    if (perSecond === undefined) return;
    for (const due = ((performance.now() - began) / 1_000) * perSecond; sent < due; sent += 1) {
      const client = idle.pop();
      if (client) client.send(nextCall());
      else if (performance.now() >= counted) unsent += 1;
    }
  }, TICK_MS);
  await new Promise((resolve) => setTimeout(resolve, ms));
  clearInterval(ticker);
  for (const client of clients) client.close();
  const seconds = (ms * (1 - UNCOUNTED_SHARE)) / 1_000;
  const { times, refused, failures, firstFailure } = count;
  return {
    goodPerSecond: times.length / seconds,
    p50: percentile(times, 0.5),
    p99: percentile(times, 0.99),
    refusedPerSecond: refused / seconds,
    unsentPerSecond: unsent / seconds,
    failures,
    firstFailure,
    busy: performance.eventLoopUtilization(before).utilization,
  };
};

type Answer = { status: number; retryAfterS: number; took: number };

const note = (count: Count, { status, retryAfterS, took }: Answer): void => {
  if (status >= 200 && status < 400) count.times.push(took);
  else if (retryAfterS > 0 && (status === 503 || status === 429)) count.refused += 1;
  else {
    count.failures += 1;
    count.firstFailure ??= `status ${status}`;
  }
};
