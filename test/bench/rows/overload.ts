/**
 * O: more requests than the service can answer, compared with its capacity: a mix of reads and writes of many agents, and
 * the longest turn of the event loop while one key asks for its heaviest reads, each of another period, and while audits ask
 * for an owner with 5,000 lists of 1,000 lines.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { LIMITS } from '#contracts/limits.ts';
import { visitOf } from './read.ts';
import type { CodeRow } from '#src/ports/rows.ts';
import type { Service } from '#src/main.ts';
import { NO_STREAM } from '#src/ports/event-log.ts';
import { systemClock } from '#src/system/ids.ts';
import { feedProduct } from '../../support/world/app.ts';
import type { Bench } from '../bench.ts';
import { type Role, start, type Started } from '../children.ts';
import { type Call, ID } from '../load.ts';
import { percentile } from '../measure.ts';
import type { Pressed, Pressure } from '../pressure.ts';
import { AGENTS, deskOf, listen, openBench, sender, serverWith } from '../service.ts';
import { month, performanceQueries } from './read.ts';
import { type Row, rowOf } from '../table.ts';
import { temporaryDirectory } from '../temporary.ts';

type Details = { url: string; key: string; heavyKey: string; deskToken: string };
/** `longestMs` is the longest turn of the event loop since the last report, `sockets` are the open ones. */
type Report = { mb: number; longestMs: number; sockets: number };

const DAY_MS = 86_400_000;
const MONTH_DAYS = 30;
/** Before the month. */
const DAYS = 90;
const HEAVY_LINKS = 1_000;
const LARGE_LISTS = 5_000;

/** Makes an owner whose lists have as many lines as the limit permits: one by a call, and the others as copies of its event. */
const makeLargeOwner = async (service: Service, key: string): Promise<void> => {
  const line_items = Array.from({ length: LIMITS.HANDOFF_LINES_MAX }, (_, n) => ({
    sku: 'SKU1',
    quantity: 4 + 2 * n,
  }));
  const { id } = await sender(service, key)('POST', `${AGENTS}/handoffs`, {
    title: 'List',
    line_items,
  });
  const { log, ids } = service.deps;
  const name = String(id).slice('hnd_'.length);
  const [first] = await log.readStream(`large-handoff_${name}`);
  if (!first) throw new Error(`there is no event of ${String(id)}`);
  const { type, meta } = first;
  for (let n = 1; n < LARGE_LISTS; n += 1) {
    const other = String(n).padStart(name.length, '0');
    const data = { ...first.data, handoff_id: `hnd_${other}` };
    const copy = { id: ids.uuid(), type, meta, data };
    await log.append(`large-handoff_${other}`, NO_STREAM, [copy]);
  }
};

/** Serves a promoter with a month of ordinary numbers, and one with a row for each of 1,000 links and 90 days. */
export const overloadServer: Role<{ directory: string }, Details> = async ({ directory }) => {
  const clock = systemClock();
  let behind = (DAYS + MONTH_DAYS) * DAY_MS;
  const moved = { now: () => clock.now() - behind, monotonic: clock.monotonic };
  const service = await openBench(directory, { clock: moved });
  const desk = deskOf(service);
  await desk.publish([feedProduct('SKU1')]);
  const key = await desk.agent('acme');
  const heavyKey = await desk.agent('heavy');
  const send = sender(service, heavyKey);
  const codes: CodeRow[] = [];
  for (let i = 0; i < HEAVY_LINKS; i++) {
    const target = { kind: 'search', ref: `q${i}` };
    const link = await send('POST', `${AGENTS}/links`, { target });
    const code = String(link['short_url']).split('/l/')[1] ?? '';
    const row = await service.deps.readModels.get<CodeRow>('codes', code, '');
    if (row) codes.push(row);
  }
  for (let day = 1; day <= DAYS; day++) {
    behind = (DAYS + MONTH_DAYS - day) * DAY_MS;
    await Promise.all(
      codes.map((row, n) =>
        service.deps.visits.record({ ...row, window_days: 30 }, visitOf(n), 'bench'),
      ),
    );
  }
  await makeLargeOwner(service, await desk.agent('large'));
  await month(service, key, (day) => {
    behind = (MONTH_DAYS - 1 - day) * DAY_MS;
  });
  const limits = { ...service.deps.limits, admissionWaitMs: LIMITS.ADMISSION_WAIT_MS_MAX };
  const server = serverWith(service, { limits });
  const turns = monitorEventLoopDelay({ resolution: 1 });
  turns.enable();
  return {
    details: { url: await listen(server), key, heavyKey, deskToken: desk.token },
    async report(): Promise<Report> {
      const longestMs = turns.max / 1e6;
      turns.reset();
      const sockets = await promisify(server.server.getConnections.bind(server.server))();
      return { mb: process.memoryUsage().rss / 2 ** 20, longestMs, sockets };
    },
    close: () => server.close(),
  };
};

/** Reads of different periods and pages of leads, and a third of writes. */
const mixFor = ({ key }: Details): Call[] => {
  const headers = { authorization: `Bearer ${key}` };
  return performanceQueries(systemClock().now()).flatMap((path, n): Call[] => [
    { path, headers },
    { path: `${AGENTS}/leads?limit=${1 + (n % 100)}`, headers },
    {
      method: 'POST',
      path: `${AGENTS}/links`,
      headers: { ...headers, 'idempotency-key': `overload-${ID}` },
      body: JSON.stringify({ target: { kind: 'product', ref: 'SKU1' } }),
    },
  ]);
};

const CONNECTIONS = 64;
/** Of the health checks and the heavy reads; the rest of what the service accepts is for the load. */
const SOCKETS_OF_OTHERS = 60;
const SOCKETS = LIMITS.SOCKETS_MAX - SOCKETS_OF_OTHERS;
const LOAD_MS = 8_000;
const HEALTH_PAUSE_MS = 20;
const HEAVY_AT_ONCE = 40;
const LARGE_AT_ONCE = 16;
const RECOVERY_MS_MAX = 10_000;

/** Asks for /livez again and again until `work` ends; returns its result, and the times of the answers. */
const watchingHealth = async <T>(url: string, work: Promise<T>): Promise<[T, number[]]> => {
  const times: number[] = [];
  let isOver = false;
  const watching = (async () => {
    while (!isOver) {
      const began = performance.now();
      const answer = await fetch(`${url}/livez`);
      if (!answer.ok) throw new Error(`/livez answered ${answer.status}`);
      await answer.text();
      times.push(performance.now() - began);
      await wait(HEALTH_PAUSE_MS);
    }
  })();
  const result = await work.finally(() => (isOver = true));
  await watching;
  return [result, times];
};

/** Milliseconds until the service answers `count` calls in a row. */
const recoveryOf = async ({ url, key }: Details, count = 10): Promise<number> => {
  const began = performance.now();
  for (let good = 0; good < count; ) {
    const answer = await fetch(`${url}${AGENTS}/leads`, {
      headers: { authorization: `Bearer ${key}` },
    });
    await answer.text();
    good = answer.ok ? good + 1 : 0;
    if (performance.now() - began > RECOVERY_MS_MAX) return Infinity;
  }
  return performance.now() - began;
};

const dayBefore = (days: number): string =>
  new Date(systemClock().now() - days * DAY_MS).toISOString().slice(0, 10);

const heavyReads = async ({ url, heavyKey }: Details): Promise<string[]> => {
  const path = `${AGENTS}/performance?group_by=link_id&limit=1000&from=${dayBefore(DAYS + MONTH_DAYS)}`;
  const headers = { authorization: `Bearer ${heavyKey}` };
  return Promise.all(
    Array.from({ length: HEAVY_AT_ONCE }, async (_, n) => {
      const answer = await fetch(`${url}${path}&to=${dayBefore(MONTH_DAYS + n)}`, { headers });
      await answer.text();
      return String(answer.status);
    }),
  );
};

/** Each audit of the large owner several times at once. */
const largeAudits = ({ url, deskToken }: Details): Promise<string[]> => {
  const headers = { authorization: `Bearer ${deskToken}` };
  const paths = ['audit/diff?from=0&', 'audit/state?', 'audit/history?limit=100&', 'handoffs?'];
  return Promise.all(
    Array.from({ length: LARGE_AT_ONCE }, async (_, n) => {
      const path = `${paths[n % paths.length]}owner_id=large`;
      const answer = await fetch(`${url}/api/desk/v1/${path}`, { headers });
      await answer.text();
      return String(answer.status);
    }),
  );
};

const reportOf = (server: Started<Details>): Promise<Report> => server.call('report', undefined);

export const benchOverload: Bench = async () => {
  const server = await start<Details>('overload', { directory: temporaryDirectory() });
  const load = await start('load');
  const { details } = server;
  const calls = mixFor(details);
  const press: Press = async (more) => {
    // A busy service that has not closed the sockets of the last run refuses new ones.
    while ((await reportOf(server)).sockets > SOCKETS_OF_OTHERS) await wait(HEALTH_PAUSE_MS);
    return load.call<Pressed>('press', { url: details.url, calls, ms: LOAD_MS, ...more });
  };
  try {
    const heavy = await turnRows(server, {
      ask: heavyReads,
      what: `longest turn of the event loop under ${HEAVY_AT_ONCE} heavy reads of one key`,
    });
    const large = await turnRows(server, {
      ask: largeAudits,
      what: `longest turn under ${LARGE_AT_ONCE} audits of ${LARGE_LISTS} lists of ${LIMITS.HANDOFF_LINES_MAX} lines`,
    });
    return [...heavy, ...large, ...(await pressureRows(server, press))];
  } finally {
    await Promise.all([load.stop(), server.stop()]);
  }
};

type Reads = { ask(details: Details): Promise<string[]>; what: string };

/** The longest turn of the event loop during these reads, some of which may be refused, and the times of /livez. */
const turnRows = async (server: Started<Details>, { ask, what }: Reads): Promise<Row[]> => {
  const { details } = server;
  // Connections are opened before, because Node accepts one in each turn of its event loop.
  await Promise.all(
    Array.from({ length: HEAVY_AT_ONCE + 1 }, async () =>
      (await fetch(`${details.url}/livez`)).text(),
    ),
  );
  await reportOf(server);
  const [statuses, times] = await watchingHealth(details.url, ask(details));
  const failed = statuses.filter((status) => !['200', '400', '429', '503'].includes(status));
  if (failed.length > 0) throw new Error(`reads were answered ${failed.join()}: ${what}`);
  const { longestMs } = await reportOf(server);
  const delay = { p50: percentile(times, 0.5), longest: Math.max(...times) };
  return [
    rowOf({ id: 'O', what, value: longestMs, unit: 'ms' }, { of: 'value', atMost: 50 }),
    rowOf({ id: 'O', what: '  /livez, p50', value: delay.p50, unit: 'ms' }),
    rowOf({ id: 'O', what: '  /livez, longest delay', value: delay.longest, unit: 'ms' }),
  ];
};

type Press = (more: Pick<Pressure, 'connections' | 'perSecond'>) => Promise<Pressed>;

const pressureRows = async (server: Started<Details>, press: Press): Promise<Row[]> => {
  const { url } = server.details;
  await press({ connections: CONNECTIONS });
  const capacity = await press({ connections: CONNECTIONS });
  const { goodPerSecond: control, p99 } = capacity;
  const closed = await press({ connections: 10 * CONNECTIONS });
  const triple = await press({ connections: SOCKETS, perSecond: 3 * control });
  const before = await reportOf(server);
  const [tenfold, times] = await watchingHealth(
    url,
    press({ connections: SOCKETS, perSecond: 10 * control }),
  );
  const recovery = await recoveryOf(server.details);
  const { mb } = await reportOf(server);
  const all = { capacity, closed, triple, tenfold };
  process.stderr.write(`O: ${JSON.stringify(all)}\n`);
  for (const [name, { failures, firstFailure }] of Object.entries(all))
    if (failures > 0) throw new Error(`${name}: ${failures} failures, first ${firstFailure}`);
  const row = (what: string, value: number, unit: Row['unit']) => ({ id: 'O', what, value, unit });
  const good = (what: string, { goodPerSecond }: Pressed) => ({
    ...row(what, goodPerSecond, '1/s'),
    control,
  });
  return [
    rowOf(row(`capacity, ${CONNECTIONS} connections, a third writes`, control, '1/s')),
    rowOf(good('goodput, closed loop, 10 times the connections', closed), {
      of: 'ratio',
      atLeast: 0.8,
    }),
    rowOf({ ...row('  p99', closed.p99, 'ms'), control: p99 }, { of: 'ratio', atMost: 3 }),
    rowOf(good('goodput, open loop, 3 times the capacity', triple), { of: 'ratio', atLeast: 0.7 }),
    rowOf(good('goodput, open loop, 10 times the capacity', tenfold)),
    rowOf(row('  growth of memory', mb - before.mb, 'MB'), { of: 'value', atMost: 150 }),
    rowOf(row('  /livez, longest delay', Math.max(...times), 'ms'), { of: 'value', atMost: 1_000 }),
    rowOf(row('  recovery after it', recovery, 'ms'), { of: 'value', atMost: 2_000 }),
  ];
};
