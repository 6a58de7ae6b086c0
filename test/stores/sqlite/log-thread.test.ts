/** Tests the thread that writes the embedded log: what continues meanwhile, and what its end means. */
import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate as turn } from 'node:timers/promises';
import { afterAll, describe, expect, test } from 'vitest';
import { sqliteEventLog, threadCommits } from '#src/stores/sqlite/log/event-log.ts';
import { fileAt } from '#src/stores/sqlite/log/log-mark.ts';
import { NO_STREAM } from '#src/ports/event-log.ts';
import { directories } from '../../support/processes/directories.ts';
import { bound } from '../../conformance/log-events.ts';

const { fresh, removeAll } = directories('sqlite-thread-');
afterAll(removeAll);

const TURNS = 50;

/** Creates a log with one event, and a connection that blocks every writer of its file. */
const held = async () => {
  const directory = fresh();
  const log = sqliteEventLog({ directory });
  await log.append('own-lead_1', NO_STREAM, [bound('first')]);
  const other = new DatabaseSync(join(directory, 'log.db'));
  other.exec('BEGIN IMMEDIATE');
  return { log, other, directory };
};

describe('While a commit waits for the disk', () => {
  test('A process answers reads while a commit waits for the disk, and new appends share the next commit', async () => {
    const { log, other } = await held();
    const answered: string[] = [];
    const append = async (name: string) => {
      const result = await log.append(`own-lead_${name}`, NO_STREAM, [bound(name)]);
      answered.push(name);
      return result;
    };
    const appends = [append('2')];
    for (let n = 0; n < TURNS; n += 1) await turn();
    appends.push(append('3'), append('4'));
    for (let n = 0; n < TURNS; n += 1) await turn();
    expect(answered).toEqual([]);
    expect(await log.readAll({ after: 0, limit: 9 })).toHaveLength(1);
    expect(await log.readStream('own-lead_2')).toEqual([]);
    other.exec('ROLLBACK');
    other.close();
    const results = await Promise.all(appends);
    expect(results).toMatchObject([2, 3, 4].map((position) => ({ position })));
    expect(answered).toEqual(['2', '3', '4']);
    expect(await log.readAll({ after: 0, limit: 9 })).toHaveLength(4);
    await log.close();
  });

  test('A subscriber runs as far as it can without waiting before an append is answered', async () => {
    const log = sqliteEventLog({ directory: fresh() });
    const order: string[] = [];
    const ended = new AbortController();
    const follower = (async () => {
      for await (const item of log.subscribe({ after: 0, signal: ended.signal })) {
        if (item.kind !== 'events') continue;
        for (let n = 0; n < TURNS; n += 1) await Promise.resolve();
        order.push('followed');
      }
    })();
    await turn();
    await turn();
    const append = (name: string) => log.append(`own-lead_${name}`, NO_STREAM, [bound(name)]);
    await Promise.all(
      ['1', '2'].map(async (name) => {
        await append(name);
        order.push('answered');
      }),
    );
    expect(order).toEqual(['followed', 'answered', 'answered']);
    ended.abort();
    await follower;
    await log.close();
  });

  test('Closing the log waits for the pending appends', async () => {
    const { log, other } = await held();
    const append = log.append('own-lead_2', NO_STREAM, [bound('second')]);
    await turn();
    const closed = log.close();
    other.exec('ROLLBACK');
    other.close();
    expect(await append).toMatchObject({ outcome: 'appended', position: 2 });
    await closed;
  });
});

test('A concurrent repetition of an append gets its answer, and another append conflicts', async () => {
  const log = sqliteEventLog({ directory: fresh() });
  const events = [bound('a')];
  const append = (of = events) => log.append('own-lead_1', NO_STREAM, of);
  const [first, again, other] = await Promise.all([append(), append(), append([bound('b')])]);
  expect(first).toEqual({ outcome: 'appended', revision: 0, position: 1 });
  expect(again).toEqual(first);
  expect(other).toEqual({ outcome: 'conflict' });
  expect(await log.readAll({ after: 0, limit: 9 })).toHaveLength(1);
  await log.close();
});

test('Records that were written but not acknowledged are not read', async () => {
  const directory = fresh();
  const log = sqliteEventLog({ directory });
  await log.append('own-lead_1', NO_STREAM, [bound('a'), bound('b')]);
  const other = new DatabaseSync(join(directory, 'log.db'));
  // The state after a commit and before its answer: a next revision and a new stream.
  other.exec(`
    INSERT INTO events SELECT 3, stream_id, 2, owner, stream, id || 'x', type, at, data, meta, crc, seal, 3
    FROM events WHERE position = 2;
    INSERT INTO events SELECT 4, 4, 0, owner, 'own-lead_2', id || 'y', type, at, data, meta, crc, seal, 4
    FROM events WHERE position = 2;`);
  other.close();
  const [type] = (await log.readAll({ after: 0, limit: 9 })).map((event) => event.type);
  for (const limit of [9, 2]) expect(await log.readAll({ after: 0, limit })).toHaveLength(2);
  expect(await log.readAll({ after: 0, limit: 9, types: [type ?? ''] })).toHaveLength(2);
  expect(await log.readFold({ after: 0, limit: 9 })).toHaveLength(2);
  expect(await log.readFold({ after: 2, limit: 9 })).toEqual([]);
  expect(await log.readOwner('own', { after: 0, limit: 9 })).toHaveLength(2);
  expect(await log.readStream('own-lead_1')).toHaveLength(2);
  await log.close();
});

describe('When the thread of the log ends', () => {
  test("The thread's end leaves its commit in doubt, refuses later ones, and reports the fault", async () => {
    const faults: string[] = [];
    // This is not a log, so the thread cannot open it.
    const path = join(fresh(), 'other.db');
    const other = new DatabaseSync(path);
    other.exec('CREATE TABLE theirs (a)');
    other.close();
    const mark = { path: join(fresh(), 'log.mark'), id: '0' };
    const file = { store: 'log', path, file: fileAt(path), mark } as const;
    const commits = threadCommits(file, (text) => faults.push(text));
    const first = await commits.commit([]);
    expect(first).toMatchObject({ kind: 'failed', failure: 'fault', committing: true });
    const later = await commits.commit([]);
    expect(later).toMatchObject({ kind: 'failed', failure: 'fault', committing: false });
    expect(faults).toEqual([expect.stringContaining('not a Tributary event log')]);
    await commits.close();
  });

  test.each([
    ['before its first commit', 0],
    ['between commits', 1],
  ])('No record is acknowledged into a file that was unlinked %s', async (_when, before) => {
    const directory = fresh();
    const path = join(directory, 'log.db');
    await sqliteEventLog({ directory }).close();
    const fatal: string[] = [];
    const onFatal = ({ message }: Error) => fatal.push(message);
    const log = sqliteEventLog({ directory, onFatal });
    const append = (n: number) => log.append(`own-lead_${n}`, NO_STREAM, [bound(`${n}`)]);
    for (let n = 0; n < before; n += 1) await append(n);
    rmSync(path);
    await expect(append(8)).rejects.toMatchObject({ reason: 'fault', applied: 'unknown' });
    expect(fatal).toEqual([expect.stringContaining(`${path} was removed or replaced`)]);
    await expect(append(9)).rejects.toMatchObject({ reason: 'fault', applied: 'no' });
    expect(existsSync(path)).toBe(false);
    await log.close();
  });

  test('No record is acknowledged into a file that was replaced', async () => {
    const directory = fresh();
    const path = join(directory, 'log.db');
    const log = sqliteEventLog({ directory });
    await log.append('own-lead_1', NO_STREAM, [bound('1')]);
    writeFileSync(`${path}.other`, '');
    renameSync(`${path}.other`, path);
    const late = log.append('own-lead_2', NO_STREAM, [bound('2')]);
    await expect(late).rejects.toMatchObject({ reason: 'fault', applied: 'unknown' });
    await log.close();
  });

  test('A log that was only read closes without a thread', async () => {
    const log = sqliteEventLog({ directory: fresh() });
    expect(await log.readAll({ after: 0, limit: 9 })).toEqual([]);
    await log.close();
  });
});
