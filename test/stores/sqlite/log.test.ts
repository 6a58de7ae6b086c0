import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { afterAll, describe, expect, test } from 'vitest';
import {
  sqliteEventLog,
  sqliteLogSource,
  type SqliteLogOptions,
} from '#src/stores/sqlite/log/event-log.ts';
import { foldCrc, LOG_STORE, sealOf } from '#src/stores/sqlite/log/log-file.ts';
import { FIRST_FORMAT, openStore } from '#src/stores/sqlite/open.ts';
import { StartupError } from '#src/ports/startup-error.ts';
import { type EventLog, NO_STREAM } from '#src/ports/event-log.ts';
import { eventLogConformance } from '../../conformance/event-log.ts';
import { embeddedLogConformance } from '../../conformance/event-log-subscribe.ts';
import { directories } from '../../support/processes/directories.ts';
import { bound, freshId, metaAt } from '../../conformance/log-events.ts';

const { fresh, removeAll } = directories('sqlite-log-');
afterAll(removeAll);

const make = async () => {
  const directory = fresh();
  const open = () =>
    sqliteEventLog({ directory, subscriberEventsMax: 500, streamsInMemoryMax: 100 });
  const log = open();
  let current = log;
  const reopen = async () => {
    current = open();
    return current;
  };
  return { log, reopen, cleanup: () => current.close() };
};

eventLogConformance('sqlite', make, embeddedLogConformance);

/** Creates a closed log with `count` streams of two events each. */
const filled = async (count = 10, options: Partial<SqliteLogOptions> = {}): Promise<string> => {
  const directory = fresh();
  const log = sqliteEventLog({ directory, ...options });
  await fill(log, count);
  await log.close();
  return directory;
};

const fill = (log: EventLog, count: number, from = 0): Promise<unknown> =>
  Promise.all(
    Array.from({ length: count }, (_, n) =>
      log.append(`own${n % 3}-lead_${from + n}`, NO_STREAM, [bound(`a${n}`), bound(`b${n}`)]),
    ),
  );

const sql = (directory: string, statements: string, file = 'log.db'): void => {
  const db = new DatabaseSync(join(directory, file), { enableForeignKeyConstraints: false });
  db.exec(statements);
  db.close();
};

/** Returns the text of the refusal; fails if the log opens. */
const refusal = (directory: string): string => {
  try {
    void sqliteEventLog({ directory }).close();
  } catch (error) {
    expect(error).toBeInstanceOf(StartupError);
    return (error as StartupError).message;
  }
  throw new Error('the log opened');
};

const opens = async (
  directory: string,
  position: number,
  options: Partial<SqliteLogOptions> = {},
) => {
  const log = sqliteEventLog({ directory, ...options });
  expect((await log.head()).position).toBe(position);
  expect(await log.verify()).toEqual({ events: position, fault: null });
  return log;
};

describe('The file of the log', () => {
  test("The log's file has synchronous=FULL on the first and on the second open", () => {
    const path = join(fresh(), 'log.db');
    for (const _ of [1, 2]) {
      const db = openStore(path, LOG_STORE);
      expect(db.prepare('PRAGMA synchronous').get()).toEqual({ synchronous: 2 });
      expect(db.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' });
      db.close();
    }
  });

  test("The log's file is refused if a setting has no effect", () => {
    const kind = { ...LOG_STORE, synchronous: 'FULL; PRAGMA synchronous = NORMAL' as 'FULL' };
    expect(() => openStore(join(fresh(), 'log.db'), kind)).toThrow(/synchronous=1/);
  });

  test("The log's file is refused and not changed if it belongs to another application", () => {
    const directory = fresh();
    sql(directory, 'CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1)');
    const before = readFileSync(join(directory, 'log.db'));
    expect(refusal(directory)).toMatch(/log\.db.*not a Tributary event log/);
    expect(readFileSync(join(directory, 'log.db'))).toEqual(before);
    writeFileSync(join(directory, 'log.db'), 'no database at all '.repeat(100));
    expect(refusal(directory)).toMatch(/cannot be opened/);
  });

  test.each([
    [
      FIRST_FORMAT + 1,
      /written by a newer Tributary \(event log format 11; this one supports 10\)/,
    ],
    [2, /written by an unreleased Tributary \(event log format 2; this one reads 10\)/],
  ])("The log's file of format %i is refused, and nothing in it changes", async (format, text) => {
    const directory = await filled();
    sql(directory, `PRAGMA user_version = ${format}`);
    const path = join(directory, 'log.db');
    const before = readFileSync(path);
    expect(refusal(directory)).toMatch(text);
    expect(() => sqliteLogSource(directory)).toThrow(text);
    expect(readFileSync(path)).toEqual(before);
  });

  test("The log's file is refused to a second process", async () => {
    const directory = fresh();
    const log = sqliteEventLog({ directory });
    expect(refusal(directory)).toMatch(/in use by another/);
    const code = `import { sqliteEventLog } from '#src/stores/sqlite/log/event-log.ts';
      try { sqliteEventLog({ directory: ${JSON.stringify(directory)} }) }
      catch (error) { process.stdout.write(error.message) }`;
    const child = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
      encoding: 'utf8',
    });
    expect(child.stdout).toMatch(/in use by another/);
    await log.close();
    await (await opens(directory, 0)).close();
  });
});

describe('A start refuses a log', () => {
  test('A start refuses a log that lost its last events, unless its mark was deleted', async () => {
    const directory = await filled();
    sql(
      directory,
      `DELETE FROM events WHERE position > 18;
       UPDATE owners SET events = events - 2 WHERE owner = 'own0';
       DELETE FROM heads WHERE stream_id > 18`,
    );
    expect(refusal(directory)).toMatch(
      /ends at position 18, but it once reached 20: 2 acknowledged/,
    );
    rmSync(join(directory, 'log.mark'));
    await (await opens(directory, 18)).close();
    expect(JSON.parse(readFileSync(join(directory, 'log.mark'), 'utf8'))).toMatchObject({
      position: 18,
    });
  });

  test('A start refuses a log with another history, of another identity, that is missing, or with an unreadable mark', async () => {
    const directory = await filled();
    const file = join(directory, 'log.mark');
    const newest = /"id":"(\w+)","position":20,"seal":(\d+)/.exec(readFileSync(file, 'utf8'));
    const [id, position, seal] = [newest?.[1], 20, Number(newest?.[2])];
    const put = (change: object) => {
      const mark = { id, position, seal, ...change };
      const crc = crc32(`${mark.id} ${mark.position} ${mark.seal}`);
      writeFileSync(file, JSON.stringify({ ...mark, crc }));
    };
    put({ seal: (seal ^ 1) >>> 0 });
    expect(refusal(directory)).toMatch(/another event at position 20/);
    put({ id: 'f00' });
    expect(refusal(directory)).toMatch(/another log/);
    writeFileSync(file, '{"id":');
    expect(refusal(directory)).toMatch(/log\.mark is unreadable/);
    put({});
    rmSync(join(directory, 'log.db'));
    expect(refusal(directory)).toMatch(/20 acknowledged events are missing/);
    expect(existsSync(join(directory, 'log.db'))).toBe(false);
  });

  test('A start refuses a log with a changed or a missing record near its end', async () => {
    const changes = [
      "UPDATE events SET data = replace(data, 'b3', 'b4')",
      'UPDATE events SET at = at + 0.5',
      "UPDATE events SET meta = replace(meta, 'req_1', 'req_2')",
      "UPDATE events SET owner = 'own2x'",
      'DELETE FROM events',
    ];
    for (const change of changes) {
      const directory = await filled();
      sql(directory, `${change} WHERE position = 8`);
      expect(refusal(directory)).toMatch(/position 8 of the log is damaged/);
    }
  });
});

describe('streams.db', () => {
  /** Creates an existing stream and reads it. */
  const creation = async (log: EventLog) => {
    const { outcome } = await log.append('own1-lead_1', NO_STREAM, [bound('again')]);
    const events = (await log.readStream('own1-lead_1')).length;
    await log.close();
    return { outcome, events };
  };
  const refused = { outcome: 'conflict', events: 2 };

  test.each([
    ['is missing', (path: string) => rmSync(path)],
    ['is not a database', (path: string) => writeFileSync(path, 'x'.repeat(9_000))],
    ['is truncated', (path: string) => writeFileSync(path, readFileSync(path).subarray(0, 5_000))],
  ])('`streams.db` is rebuilt if it %s', async (_, harm) => {
    const directory = await filled(2_000);
    harm(join(directory, 'streams.db'));
    expect(await creation(await opens(directory, 4_000))).toEqual(refused);
  });

  test.each([
    ['has a changed hash', 'UPDATE streams SET hash = hash + 1 WHERE stream_id = 3'],
    ['lost a row', 'DELETE FROM streams WHERE stream_id = 3'],
    ['belongs to another log', "UPDATE about SET log = 'f00'"],
    ['is ahead of the log', 'UPDATE about SET through = 99'],
    ['belongs to another history', 'UPDATE about SET seal = seal + 1'],
  ])('`streams.db` is rebuilt if it %s', async (_, change) => {
    const directory = await filled();
    sql(directory, change, 'streams.db');
    expect(await creation(await opens(directory, 20))).toEqual(refused);
  });

  test('`streams.db` is completed from the log if it lags', async () => {
    const directory = await filled(10);
    const old = readFileSync(join(directory, 'streams.db'));
    const log = sqliteEventLog({ directory });
    await fill(log, 10, 10);
    await log.close();
    writeFileSync(join(directory, 'streams.db'), old);
    expect(await creation(await opens(directory, 40))).toEqual(refused);
  });

  test('`streams.db` hashes the name of a new stream once, although it is looked up before', async () => {
    const hashed: string[] = [];
    const hash = (name: string) => hashed.push(name);
    const log = sqliteEventLog({ directory: fresh(), hash });
    for (let read = 0; read < 2; read += 1) expect(await log.readStream('own0-lead_0')).toEqual([]);
    await fill(log, 1);
    expect(await log.readStream('own0-lead_0')).toHaveLength(2);
    expect(hashed).toEqual(['own0-lead_0']);
    await log.close();
  });

  test('`streams.db` distinguishes names with the same hash, in memory and in the file', async () => {
    const hash = (name: string) => name.length % 2;
    const directory = await filled(10, { hash });
    const log = sqliteEventLog({ directory, hash, streamsInMemoryMax: 5 });
    await fill(log, 50, 10);
    for (let n = 0; n < 60; n += 1) {
      const stream = `own${(n < 10 ? n : n - 10) % 3}-lead_${n}`;
      expect((await log.readStream(stream)).map((event) => event.stream)).toEqual([stream, stream]);
    }
    expect(await creation(log)).toEqual(refused);
    await (await opens(directory, 120, { hash })).close();
  });
});

describe('A running log', () => {
  const violate = (directory: string, reference: string): void =>
    sql(
      directory,
      `CREATE TABLE parent (a PRIMARY KEY);
      CREATE TABLE child (a REFERENCES parent (a) ${reference});
      CREATE TRIGGER fail AFTER INSERT ON events WHEN new.owner = 'bad'
      BEGIN INSERT INTO child VALUES (1); END`,
    );

  test.each([
    ['a statement', '', 'no'],
    ['the commit', 'DEFERRABLE INITIALLY DEFERRED', 'unknown'],
  ])(
    'A running log refuses writes and answers reads after %s failed, and reports what was applied',
    async (_, reference, applied) => {
      const directory = await filled();
      const fatal: Error[] = [];
      const log = sqliteEventLog({ directory, onFatal: (error) => fatal.push(error) });
      violate(directory, reference);
      const together = await Promise.allSettled([
        log.append('own1-lead_1', 1, [bound('next')]),
        log.append('bad-lead_1', NO_STREAM, [bound('bad')]),
      ]);
      const fault = { status: 'rejected', reason: { reason: 'fault', applied } };
      expect(together).toMatchObject([fault, fault]);
      expect(fatal).toHaveLength(1);
      const later = log.append('own1-lead_1', 1, [bound('next')]);
      await expect(later).rejects.toMatchObject({ reason: 'fault', applied: 'no' });
      expect(await log.head()).toMatchObject({ position: 20 });
      expect(await log.readStream('own1-lead_1')).toHaveLength(2);
      expect(await log.readStream('bad-lead_1')).toEqual([]);
      await log.close();
      await (await opens(directory, 20)).close();
    },
  );

  test('A running log refuses appends beyond its queue and writes the others', async () => {
    const log = sqliteEventLog({ directory: fresh(), queueAppendsMax: 10, appendsInTurnMax: 3 });
    const appends = Array.from({ length: 25 }, (_, n) =>
      log.append(`a-l_${n}`, NO_STREAM, [bound('x')]),
    );
    const results = await Promise.allSettled(appends);
    const refused = results.filter((result) => result.status === 'rejected');
    expect(refused).toHaveLength(15);
    expect(refused[0]?.reason).toMatchObject({ reason: 'overloaded', applied: 'no' });
    expect(await log.head()).toMatchObject({ position: 10 });
    await log.close();
    const bytes = sqliteEventLog({ directory: fresh(), queueBytesMax: 1_000 });
    const big = bytes.append('a-l_1', NO_STREAM, [bound('x'.repeat(1_000))]);
    await expect(big).rejects.toMatchObject({ reason: 'overloaded' });
    await bytes.close();
  });

  test('A running log decides in the same way with one commit per append', async () => {
    const log = sqliteEventLog({ directory: fresh(), commit: 'each' });
    const append = () => log.append('own1-lead_1', NO_STREAM, [bound('x')]);
    const outcomes = (await Promise.all([append(), append()])).map((result) => result.outcome);
    expect(outcomes).toEqual(['appended', 'conflict']);
    await log.close();
  });
});

describe('A log with events of other versions', () => {
  test('A log with events of other versions reports an unknown type with its position, and a fold continues', async () => {
    const directory = await filled(1);
    const meta = JSON.stringify(metaAt(5));
    const [id, type, data] = [freshId(), 'LinkDreamt', '{"a":1}'];
    const crc = foldCrc([3, 'own0-lead_0', 2, type, 5, data]);
    const db = new DatabaseSync(join(directory, 'log.db'));
    db.prepare('INSERT INTO events VALUES (3, 1, 2, ?, ?, ?, ?, 5, ?, ?, ?, ?, 3)').run(
      'own0',
      'own0-lead_0',
      id,
      type,
      data,
      meta,
      crc,
      sealOf(crc, id, meta),
    );
    db.close();
    const log = sqliteEventLog({ directory });
    await expect(log.readStream('own0-lead_0')).rejects.toThrow(/LinkDreamt at position 3.*newer/);
    expect((await log.readFold({ after: 2, limit: 1 }))[0]).toMatchObject({ type, data: { a: 1 } });
    await log.close();
  });
});
