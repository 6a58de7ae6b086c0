/**
 * K: the reads of R with rows in Redis, compared with rows in the process. A consistency token makes
 * each call ask its store. Redis sends no rows that are unchanged since the last call; calls for
 * different periods make it send them.
 */
import { systemClock } from '#src/system/ids.ts';
import { endRedis, startRedis } from '../../support/redis/redis-server.ts';
import type { Bench, Context } from '../bench.ts';
import type { Load, Started, Target } from '../children.ts';
import { compared, sampled, start, startLoad } from '../children.ts';
import { READS, type ReadDetails } from './read.ts';
import { type Row, rowOf } from '../table.ts';
import { temporaryDirectory } from '../temporary.ts';

const SAMPLE_MS = 1_200;
/** Different periods with the same rows, and more of them than are cached. */
const PERIODS = 330;
const DAY_MS = 86_400_000;

const PERFORMANCE = READS['getPerformance, 30 days'];

const periods = (): string[] => {
  const now = systemClock().now();
  return Array.from({ length: PERIODS }, (_, days) => {
    const from = new Date(now - (30 + days) * DAY_MS).toISOString().slice(0, 10);
    return `${PERFORMANCE}?granularity=month&from=${from}`;
  });
};

type Kind = { what: string; paths: readonly string[]; connections: number; atLeast?: number };

const KINDS: readonly Kind[] = [
  { what: 'getPerformance, 30 days', paths: [PERFORMANCE], connections: 64, atLeast: 0.6 },
  { what: 'page of 25 leads', paths: [READS['page of 25 leads']], connections: 64, atLeast: 0.5 },
  // About 300 KB each: more connections would wait longer for Redis than a request may.
  { what: 'getPerformance, each of another period', paths: periods(), connections: 4 },
];

const targetOf = async (
  server: Started<ReadDetails>,
  { paths: [first = '', ...others], connections }: Kind,
): Promise<Target> => {
  const { url, key } = server.details;
  const authorization = `Bearer ${key}`;
  const answer = await fetch(url + first, { headers: { authorization } });
  if (!answer.ok) throw new Error(`${first}: ${await answer.text()}`);
  const token = answer.headers.get('consistency-token') ?? '';
  const headers = { authorization, 'consistency-token': token };
  const calls = [first, ...others].map((path) => ({ path, headers }));
  return { server, order: { connections, ms: SAMPLE_MS, url, calls } };
};

const readRows = async (url: string, load: Load, note: Context['note']): Promise<Row[]> => {
  const opened = (settings: object) =>
    start<ReadDetails>('read', { directory: temporaryDirectory(), settings });
  const near = await opened({});
  const far = await opened({ READ_MODEL_URL: url });
  const rows: Row[] = [];
  for (const kind of KINDS) {
    const { what, connections, atLeast } = kind;
    const { redis, process } = await sampled(load, {
      redis: await targetOf(far, kind),
      process: await targetOf(near, kind),
    });
    note('K', { redis, process });
    const named = {
      id: 'K',
      what: `${what}, ${connections} connections, rows in Redis, vs in process`,
    };
    const goal = atLeast === undefined ? undefined : ({ of: 'ratio', atLeast } as const);
    rows.push(
      rowOf({ ...named, ...compared(redis, process, 'perSecond') }, goal),
      rowOf({ id: 'K', what: '  server CPU a request', ...compared(redis, process, 'cpuUs') }),
    );
  }
  await Promise.all([near, far].map((child) => child.stop()));
  return rows;
};

export const benchRedis: Bench = async ({ note }) => {
  const redis = await startRedis();
  try {
    const load = await startLoad();
    const rows = await readRows(redis.url.href, load, note);
    await load.stop();
    return rows;
  } finally {
    // The process and the connection would keep a failed run from ending.
    await endRedis();
  }
};
