/** The files of an upgrade fixture: how they are written, and opened again as copies. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { Redis } from 'ioredis';
import { ROOT } from '../../support/source/tree.ts';
import type { Recording } from './exchange.ts';

export const FIXTURES = join(ROOT, 'test/golden/upgrade');
/** The stores that a fixture exists for. */
export const STORES = ['embedded', 'servers'] as const;
export type Store = (typeof STORES)[number];

/** The commits that wrote a fixture, oldest first; each has a folder. */
export const FIXTURE_COMMITS = ['5a6e5b9'] as const;

const fileOf = (commit: string, name: string): string => join(FIXTURES, commit, name);

const writeText = (commit: string, name: string, text: string): void => {
  mkdirSync(join(FIXTURES, commit), { recursive: true });
  writeFileSync(fileOf(commit, name), gzipSync(text, { level: 9 }));
};

const readText = (commit: string, name: string): string =>
  gunzipSync(readFileSync(fileOf(commit, name))).toString('utf8');

export const writeRecording = (store: Store, recording: Recording): void =>
  writeText(recording.commit, `${store}.answers.json.gz`, JSON.stringify(recording));

export const readRecording = (commit: string, store: Store): Recording =>
  JSON.parse(readText(commit, `${store}.answers.json.gz`)) as Recording;

const runTar = (args: readonly string[]): void => {
  const { status, stderr } = spawnSync('tar', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`tar ${args.join(' ')}: ${stderr}`);
};

/** The directories of a fixture: the data of an embedded service, and what its people keep outside of it (kept.ts). */
type Archive = 'data' | 'kept';

/** Writes a directory that no process uses. */
export const packDirectory = (commit: string, archive: Archive, directory: string): void => {
  mkdirSync(join(FIXTURES, commit), { recursive: true });
  const owner = ['--owner=0', '--group=0', '--sort=name'];
  runTar(['-czf', fileOf(commit, `${archive}.tar.gz`), ...owner, '-C', directory, '.']);
};

export const unpackDirectory = (commit: string, archive: Archive, directory: string): void =>
  runTar(['-xzf', fileOf(commit, `${archive}.tar.gz`), '--no-same-owner', '-C', directory]);

/** Whether the commit's fixture has what its people keep; the first one has not. */
export const hasKept = (commit: string): boolean => existsSync(fileOf(commit, 'kept.tar.gz'));

/** Writes what the stand-in for EventStoreDB has stored in `file`. */
export const packLog = (commit: string, file: string): void =>
  writeText(commit, 'log.ndjson.gz', readFileSync(file, 'utf8'));

/** Puts the log where a stand-in that is started with `file` reads it. */
export const unpackLog = (commit: string, file: string): void => {
  if (existsSync(file)) throw new Error(`${file} exists`);
  writeFileSync(file, readText(commit, 'log.ndjson.gz'));
};

/** The command that makes one key of Redis what it is now. */
const restoringCommand = async (redis: Redis, key: string): Promise<unknown[]> => {
  const type = await redis.type(key);
  switch (type) {
    case 'hash':
      return ['HSET', key, ...Object.entries(await redis.hgetall(key)).flat()];
    case 'zset': {
      const scored = await redis.zrange(key, '0', '-1', 'WITHSCORES');
      const pairs = scored.flatMap((member, i) =>
        i % 2 === 0 ? [scored[i + 1] ?? '', member] : [],
      );
      return ['ZADD', key, ...pairs];
    }
    case 'string':
      return ['SET', key, (await redis.get(key)) ?? ''];
    default:
      throw new Error(`${key} is a ${type}, which the fixture cannot store`);
  }
};

/** Writes commands that restore all keys which do not expire, one JSON array a line. */
export const packRedis = async (commit: string, redis: Redis): Promise<void> => {
  const lines: string[] = [];
  for (const key of (await redis.keys('*')).toSorted())
    if ((await redis.pttl(key)) < 0) lines.push(JSON.stringify(await restoringCommand(redis, key)));
  writeText(commit, 'redis.ndjson.gz', lines.map((line) => `${line}\n`).join(''));
};

export const unpackRedis = async (commit: string, redis: Redis): Promise<void> => {
  for (const line of readText(commit, 'redis.ndjson.gz').split('\n').slice(0, -1)) {
    const [name = '', ...args] = JSON.parse(line) as string[];
    await redis.call(name, ...args);
  }
};
