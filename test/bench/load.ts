/**
 * The load generator, in a separate process: a closed loop over plain sockets. autocannon needs 2.5
 * times the CPU per request; on two cores the fastest control would measure the generator.
 */
import { connect, type Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import { percentile } from './measure.ts';

/** A placeholder in path, headers or body for twelve characters, unique for each request. */
export const ID = '[<id>]';
const ID_CHARS = 12;

export type Call = {
  method?: 'GET' | 'POST';
  path: string;
  headers?: Record<string, string>;
  body?: string;
};

export type Order = {
  url: string;
  connections: number;
  /** The sample ends then, or with the first answer if that comes later. */
  ms: number;
  /** Sent in turn; a later sample of the same list continues after the previous one. */
  calls: Call[];
};

export type Sample = {
  perSecond: number;
  p50: number;
  p99: number;
  answers: number;
  /** Answers outside 2xx and 3xx. */
  failures: number;
  firstFailure: string | null;
  /** Share of time in which the generator was busy; near 1 it measures itself. */
  busy: number;
};

/** The text of a call, split at its ids. */
export type Template = string[];

const latin1 = (text: string): string => Buffer.from(text).toString('latin1');

export const templateOf = (
  { method = 'GET', path, headers = {}, body }: Call,
  host: string,
): Template => {
  const payload = body === undefined ? '' : latin1(body);
  const ids = payload.split(ID).length - 1;
  const length = payload.length + ids * (ID_CHARS - ID.length);
  const lines = Object.entries({
    host,
    ...headers,
    ...(body !== undefined && {
      'content-type': 'application/json',
      'content-length': String(length),
    }),
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${payload}`.split(ID);
};

const LENGTH = /\r\ncontent-length: (\d+)/i;

/** Calls `answered` for each complete answer; all answers have a Content-Length. */
export const answerReader = (answered: (status: number, head: string, body: string) => void) => {
  let incomplete: Buffer | undefined;
  return (chunk: Buffer): void => {
    const data = incomplete ? Buffer.concat([incomplete, chunk]) : chunk;
    const end = data.indexOf('\r\n\r\n');
    const head = end < 0 ? '' : data.toString('latin1', 0, end);
    const length = Number(LENGTH.exec(head)?.[1] ?? 0);
    if (end < 0 || data.length < end + 4 + length) {
      incomplete = data;
      return;
    }
    incomplete = undefined;
    const status = Number(head.slice(9, 12));
    const isFailure = status < 200 || status >= 400;
    answered(status, head, isFailure ? data.toString('utf8', end + 4) : '');
  };
};

const RANDOM = Math.random().toString(36).slice(2, 6).padEnd(4, '0');
let ids = 0;
export const nextId = (): string => {
  ids += 1;
  return RANDOM + ids.toString(36).padStart(ID_CHARS - RANDOM.length, '0');
};

const templates = new Map<string, { list: Template[]; next: number }>();

const listFor = ({ calls, url }: Order): { list: Template[]; next: number } => {
  const { host } = new URL(url);
  const key = `${host} ${calls.length} ${JSON.stringify(calls[0])}`;
  let templateList = templates.get(key);
  if (!templateList) {
    templateList = { list: calls.map((call) => templateOf(call, host)), next: 0 };
    templates.set(key, templateList);
  }
  return templateList;
};

/** Sends the calls in a closed loop, and measures the answers. */
export const run = async (order: Order): Promise<Sample> => {
  const calls = listFor(order);
  const { hostname, port } = new URL(order.url);
  const times: number[] = [];
  let failures = 0;
  let firstFailure: string | null = null;
  const before = performance.eventLoopUtilization();
  const started = performance.now();
  let lastAt = started;
  /** A busy machine can need longer than `ms` for the first answer. */
  const isOver = (now: number): boolean => now - started > order.ms && times.length > 0;

  const client = (): Promise<void> =>
    new Promise((resolve, reject) => {
      let sentAt = 0;
      const socket: Socket = connect({ host: hostname, port: Number(port), noDelay: true });
      const send = (): void => {
        sentAt = performance.now();
        if (isOver(sentAt)) {
          socket.destroy();
          resolve();
          return;
        }
        const template = calls.list[calls.next++ % calls.list.length] ?? [];
        socket.write(template.length > 1 ? template.join(nextId()) : (template[0] ?? ''), 'latin1');
      };
      const read = answerReader((status, head, body) => {
        const now = performance.now();
        if (!isOver(now)) {
          times.push(now - sentAt);
          lastAt = now;
        }
        if (status < 200 || status >= 400) {
          failures += 1;
          firstFailure ??= `${head.slice(0, head.indexOf('\r'))} ${body.slice(0, 500)}`;
        }
        send();
      });
      socket.on('connect', send);
      socket.on('data', read);
      socket.on('error', reject);
      socket.on('close', (hadError) => {
        if (!hadError) reject(new Error('the server closed the connection'));
      });
    });

  await Promise.all(Array.from({ length: order.connections }, client));
  const { utilization } = performance.eventLoopUtilization(before);
  return {
    perSecond: times.length / (Math.max(order.ms, lastAt - started) / 1_000),
    p50: percentile(times, 0.5),
    p99: percentile(times, 0.99),
    answers: times.length,
    failures,
    firstFailure,
    busy: utilization,
  };
};
