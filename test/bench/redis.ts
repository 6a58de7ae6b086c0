/**
 * K: the reads of R with their rows in Redis, against the same service with its rows in this process.
 * Each call shows a token, so that no kept answer is sent and every one asks its store.
 */
import { endRedis, startRedis } from '../support/redis-server.ts';
import type { Bench } from './bench.ts';
import type { Started, Target } from './children.ts';
import { compared, sampled, start, startLoad } from './children.ts';
import type { Told } from './read.ts';
import { READS } from './read.ts';
import { rowOf } from './table.ts';
import { temporaryDirectory } from './temporary.ts';

const CONNECTIONS = 64;
const SAMPLE_MS = 1_200;
const GOALS = [0.6, 0.5];

const target = async ({ told, ...server }: Started<Told>, path: string): Promise<Target> => {
  const { url, key } = told;
  const authorization = `Bearer ${key}`;
  const answer = await fetch(url + path, { headers: { authorization } });
  if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`);
  const headers = {
    authorization,
    'consistency-token': answer.headers.get('consistency-token') ?? '',
  };
  const order = { connections: CONNECTIONS, ms: SAMPLE_MS, url, calls: [{ path, headers }] };
  return { server: { told, ...server }, order };
};

export const benchRedis: Bench = async ({ note }) => {
  const redis = await startRedis();
  const near = await start<Told>('read', { directory: temporaryDirectory() });
  const far = await start<Told>('read', {
    directory: temporaryDirectory(),
    readModelUrl: redis.url,
  });
  const load = await startLoad();
  const rows = [];
  for (const [i, [what, path]] of Object.entries(READS).entries()) {
    const taken = await sampled(load, {
      redis: await target(far, path),
      process: await target(near, path),
    });
    note('K', taken);
    const named = { id: 'K', what: `${what} in Redis, 64 connections, vs in process` };
    rows.push(
      rowOf(
        { ...named, ...compared(taken.redis, taken.process, 'perSecond') },
        { of: 'ratio', atLeast: GOALS[i] ?? 0 },
      ),
    );
  }
  await Promise.all([load, near, far].map((child) => child.stop()));
  await endRedis();
  return rows;
};
