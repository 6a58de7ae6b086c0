/** Faults of the client and the server during appends; each append is stored exactly once. */
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { failureOf } from '#src/stores/eventstoredb/failures.ts';
import { AppendTooLarge, type EventLog, LogCorrupted, NO_STREAM } from '#src/ports/event-log.ts';
import type { AppendFault } from '../../support/eventstoredb/stand-in/faults.ts';
import { onStandIn } from '../../support/eventstoredb/eventstoredb-logs.ts';
import { standIn } from '../../support/eventstoredb/start.ts';
import { directories } from '../../support/processes/directories.ts';
import { bound, printOf, several } from '../../conformance/log-events.ts';

const { server, log: open } = onStandIn();
const temporary = directories('tributary-appends-');
afterAll(temporary.removeAll);

const fault = (fault: AppendFault, times = 1): Promise<void> =>
  server().tell({ name: 'fault', on: 'append', fault, times });
const create = (log: EventLog, stream = 'anna-lead_1', events = several(2)) =>
  log.append(stream, NO_STREAM, events);
const seen = (stat: 'appends' | 'batchStreams', least: number): Promise<void> =>
  server().tell({ name: 'await', stat, least });
const appended = { outcome: 'appended', revision: 1 };

describe('An append without an answer', () => {
  test.each<[string, AppendFault, number]>([
    ['the server ignores it', { do: 'swallow' }, 1],
    ['its answer is lost once', { do: 'forget' }, 1],
    ['its answer is lost four times', { do: 'forget' }, 4],
  ])(
    'An append without an answer is repeated with the same ids and stored once when %s',
    async (_, kind, times) => {
      const log = await open({ attemptMs: 60 });
      await fault(kind, times);
      expect(await create(log)).toMatchObject(appended);
      expect(await log.readStream('anna-lead_1')).toHaveLength(2);
      // One append more is the identity of the log.
      expect((await server().stats()).appends).toBeGreaterThanOrEqual(times + 2);
    },
  );

  test('An append without an answer is not repeated, and has an unknown outcome, once its condition is not confirmed', async () => {
    const log = await open({ attemptMs: 60 });
    const revoked = new Error('revoked');
    let confirmations = 0;
    const condition = {
      revision: NO_STREAM,
      unchanged: [],
      async confirm() {
        confirmations += 1;
        if (confirmations > 1) throw revoked;
      },
    };
    await fault({ do: 'swallow' });
    await expect(log.append('anna-lead_1', condition, several(1))).rejects.toMatchObject({
      applied: 'unknown',
    });
    expect(await log.readStream('anna-lead_1')).toEqual([]);
    await expect(log.append('anna-lead_1', condition, several(1))).rejects.toBe(revoked);
  });

  test('An append without an answer fails in bounded time as unknown, and a repetition of the same events succeeds', async () => {
    const log = await open({ attemptMs: 50, appendRepeatMs: 150 });
    await fault({ do: 'forget' }, 1_000);
    const events = several(2);
    await expect(create(log, 'anna-lead_1', events)).rejects.toMatchObject({
      name: 'LogUnavailable',
      reason: 'fault',
      applied: 'unknown',
    });
    await server().tell({ name: 'reset' });
    const again = await open();
    expect(await create(again, 'anna-lead_1', events)).toMatchObject(appended);
  });

  test('An append to a frozen server fails as unknown, and is stored once after the server continues', async () => {
    const log = await open({ attemptMs: 100, appendRepeatMs: 200 });
    const events = several(2);
    server().freeze();
    const first = await create(log, 'anna-lead_1', events).catch((error: unknown) => error);
    server().thaw();
    expect(first).toMatchObject({ applied: 'unknown' });
    const patient = await open();
    expect(await create(patient, 'anna-lead_1', events)).toMatchObject(appended);
    expect(await log.readStream('anna-lead_1')).toHaveLength(2);
  });

  test('An append is answered once it is committed, although the server drops repetitions before that', async () => {
    const log = await open({ attemptMs: 40 });
    await server().tell({ name: 'hold' });
    const result = create(log);
    await seen('appends', 4);
    await server().tell({ name: 'release' });
    expect(await result).toMatchObject(appended);
    expect(await log.readStream('anna-lead_1')).toHaveLength(2);
  });

  test('An append is repeated when the server reports a timeout', async () => {
    const log = await open();
    await fault({ do: 'timeout', written: true }, 2);
    expect(await create(log)).toMatchObject(appended);
    expect(await log.readStream('anna-lead_1')).toHaveLength(2);
  });
});

describe('The stream of appends', () => {
  test.each<[string, AppendFault]>([
    ['ends in order before the write', { do: 'end', written: false }],
    ['ends in order after the write', { do: 'end', written: true }],
    ['breaks before the write', { do: 'break', written: false }],
    ['breaks after the write', { do: 'break', written: true }],
  ])(
    'An append stream %s, and all appends on it are repeated at once, without a timeout',
    async (_, kind) => {
      const log = await open();
      await fault({ do: 'swallow' }, 20);
      await fault(kind);
      const results = Array.from({ length: 40 }, (_value, n) => create(log, `anna-lead_${n}`));
      for (const result of await Promise.all(results)) expect(result).toMatchObject(appended);
      expect(await log.readAll({ after: 0, limit: 100 })).toHaveLength(80);
    },
  );

  test('An append stream can deliver an answer twice without ending the process', async () => {
    const log = await open();
    await fault({ do: 'duplicate' }, 3);
    for (const n of [1, 2, 3, 4])
      expect(await create(log, `anna-lead_${n}`)).toMatchObject(appended);
  });

  test('An append stream can break while appends wait to be written without ending the process', async () => {
    const durable = await standIn({ file: join(temporary.fresh(), 'log.jsonl') });
    const log = await open({ retryMs: [20, 200] }, { url: durable.url });
    durable.freeze();
    // Far more than the connection accepts while the server reads nothing.
    const results = Array.from({ length: 400 }, (_, n) =>
      create(log, `anna-lead_${n}`, [bound('x'.repeat(10_000))]),
    );
    await new Promise((resolve) => setImmediate(resolve));
    await durable.kill();
    await durable.restart();
    for (const result of await Promise.all(results)) expect(result.outcome).toBe('appended');
    expect(await log.readFold({ after: 0, limit: 1_000 })).toHaveLength(400);
  });

  test('An append stream carries all appends of one turn', async () => {
    const log = await open();
    const before = await server().stats();
    await server().tell({ name: 'hold' });
    const results = Array.from({ length: 300 }, (_, n) => create(log, `anna-lead_${n}`));
    await seen('appends', before.appends + 300);
    await server().tell({ name: 'release' });
    await Promise.all(results);
    expect(await server().stats()).toMatchObject({ batchStreams: before.batchStreams });
  });

  test('An append stream keeps the order of appends when the first of them opens it', async () => {
    await open();
    const log = await open();
    const results = await Promise.all([
      create(log),
      log.append('anna-lead_1', 1, several(1)),
      log.append('anna-lead_1', 1, several(1)),
      log.append('anna-lead_1', 2, several(1)),
    ]);
    const outcomes = results.map(({ outcome }) => outcome);
    expect(outcomes).toEqual(['appended', 'appended', 'conflict', 'appended']);
  });

  test('An append stream is not used with a server that has no batch appends', async () => {
    await server().tell({ name: 'set', settings: { batches: false, writeTimeoutMs: 50 } });
    const log = await open();
    const events = several(2);
    const first = await create(log, 'anna-lead_1', events);
    expect(await create(log, 'anna-lead_1', events)).toEqual(first);
    expect(await create(log)).toEqual({ outcome: 'conflict' });
    await server().tell({ name: 'hold' });
    const late = create(log, 'anna-lead_2');
    await server().tell({ name: 'await', stat: 'classicAppends', least: 7 });
    await server().tell({ name: 'release' });
    expect(await late).toMatchObject(appended);
    expect((await server().stats()).batchStreams).toBe(0);
  });
});

describe('Appends under way', () => {
  test('Appends under way are sent once when the same append is requested three times', async () => {
    const log = await open();
    const before = (await server().stats()).appends;
    const events = several(2);
    await server().tell({ name: 'hold' });
    const same = [1, 2, 3].map(() => create(log, 'anna-lead_1', events));
    const other = create(log, 'anna-lead_2');
    await seen('appends', before + 2);
    await server().tell({ name: 'release' });
    const [one, two, three] = await Promise.all(same);
    expect([two, three]).toEqual([one, one]);
    expect(await other).toMatchObject(appended);
    expect((await server().stats()).appends).toBe(before + 2);
  });

  test('Appends under way are limited to 4,096; further ones are refused as overloaded', async () => {
    const log = await open();
    await server().tell({ name: 'hold' });
    const results = Array.from({ length: 4_100 }, (_, n) => create(log, `anna-l_${n}`, several(1)));
    const refused = Promise.allSettled(results.slice(4_096));
    for (const result of await refused)
      expect(result).toMatchObject({ reason: { reason: 'overloaded', applied: 'no' } });
    await server().tell({ name: 'release' });
    await Promise.all(results.slice(0, 4_096));
  });
});

describe('A conflict', () => {
  test('A conflict with an append that the leader loses again makes the append repeat and succeed', async () => {
    const log = await open();
    const before = await server().stats();
    await server().tell({ name: 'hold' });
    await server().tell({ name: 'write', stream: 'anna-lead_1' });
    const result = create(log);
    await server().tell({ name: 'await', stat: 'reads', least: before.reads + 2 });
    await server().tell({ name: 'erase' });
    await server().tell({ name: 'release' });
    expect(await result).toMatchObject(appended);
  });

  test('A conflict that no read explains fails in bounded time as not applied', async () => {
    const log = await open({ appendRepeatMs: 100 });
    await fault({ do: 'wrong' }, 10_000);
    await expect(create(log)).rejects.toMatchObject({ reason: 'fault', applied: 'no' });
  });

  test("A conflict with this very append counts as the append's success", async () => {
    const log = await open({ attemptMs: 60 });
    await fault({ do: 'forget' });
    await fault({ do: 'wrong' });
    const result = await create(log);
    const stored = await log.readStream('anna-lead_1');
    expect(result).toEqual({ ...appended, position: stored.at(-1)?.position });
    await log.append('anna-lead_1', 1, several(1));
    await fault({ do: 'forget' });
    await fault({ do: 'wrong' });
    expect(await log.append('anna-lead_1', 2, several(3))).toMatchObject({ revision: 5 });
  });

  test('A conflict is decided by a read from the leader', async () => {
    const log = await open();
    await create(log);
    const { port } = server();
    // The client repeats the read at the leader.
    await server().tell({ name: 'fault', on: 'read', fault: { do: 'notLeader', port } });
    expect(await create(log)).toEqual({ outcome: 'conflict' });
  });
});

describe('The position of an append', () => {
  test('The position of an append is that of its last event, even when a repetition is answered without one', async () => {
    const log = await open();
    const events = several(3);
    const first = await create(log, 'anna-lead_1', events);
    const last = (await log.readStream('anna-lead_1')).at(-1);
    expect(first).toEqual({ outcome: 'appended', revision: 2, position: last?.position });
    await fault({ do: 'noPosition' });
    expect(await create(log, 'anna-lead_1', events)).toEqual(first);
  });

  test('The position of an append is missing when the stream was deleted in the database, which is reported as corruption', async () => {
    const log = await open();
    const events = several(2);
    await create(log, 'anna-lead_1', events);
    await server().tell({ name: 'remove', stream: 'anna-lead_1', how: 'soft' });
    await expect(create(log, 'anna-lead_1', events)).rejects.toBeInstanceOf(LogCorrupted);
    await server().tell({ name: 'remove', stream: 'anna-lead_1', how: 'hard' });
    await expect(create(log, 'anna-lead_1')).rejects.toBeInstanceOf(LogCorrupted);
    await expect(log.readStream('anna-lead_1')).rejects.toBeInstanceOf(LogCorrupted);
  });
});

describe('A refused append', () => {
  test.each([
    ['Server Is Not Ready', 'fault'],
    ['Server Is Busy', 'overloaded'],
    ['No leader info available in response', 'fault'],
  ])(
    'An append is repeated after the refusal "%s", and fails in the end as not applied',
    async (text, reason) => {
      const log = await open();
      await fault({ do: 'tell', text }, 2);
      expect(await create(log)).toMatchObject(appended);
      const hasty = await open({ appendRepeatMs: 50 });
      await fault({ do: 'tell', text }, 10_000);
      await expect(create(hasty, 'anna-lead_2')).rejects.toMatchObject({ reason, applied: 'no' });
    },
  );

  test('A refused append stays unknown when an earlier attempt had no answer', async () => {
    const log = await open({ attemptMs: 60, appendRepeatMs: 150 });
    await fault({ do: 'forget' });
    await fault({ do: 'tell', text: 'Server Is Busy' }, 10_000);
    await expect(create(log)).rejects.toMatchObject({ reason: 'fault', applied: 'unknown' });
  });

  test('An append that is too large fails at once, whether the server says so by type or by text', async () => {
    const log = await open();
    const before = (await server().stats()).appends;
    const big = Array.from({ length: 3 }, () => bound('x'.repeat(500_000)));
    await expect(create(log, 'anna-lead_1', big)).rejects.toBeInstanceOf(AppendTooLarge);
    const text = 'Event with Id: 1, Size: 17000000, exceeds Maximum Append Event Size of 16777216.';
    await fault({ do: 'tell', text });
    await expect(create(log)).rejects.toBeInstanceOf(AppendTooLarge);
    expect((await server().stats()).appends).toBe(before + 2);
    expect(await log.readStream('anna-lead_1')).toEqual([]);
    await server().tell({ name: 'set', settings: { appendBytesMax: 2_000_000 } });
    await create(log, 'anna-lead_1', big);
    expect((await log.readStream('anna-lead_1')).map(printOf)).toHaveLength(3);
  });

  test('A denied append fails at once, as unknown after a lost attempt', async () => {
    const log = await open({ attemptMs: 60 });
    await fault({ do: 'forget' });
    await fault({ do: 'deny' });
    await expect(create(log)).rejects.toMatchObject({ reason: 'fault', applied: 'unknown' });
    const patient = await open();
    await fault({ do: 'deny' });
    const denied = create(patient, 'anna-lead_2');
    await expect(denied).rejects.toMatchObject({ reason: 'fault', applied: 'no' });
  });

  test('A refused append does not result from a server clock that is hours ahead', async () => {
    const log = await open({ appendRepeatMs: 2_000 });
    await server().tell({ name: 'set', settings: { skewMs: 6 * 3_600_000 } });
    expect(await create(log)).toMatchObject(appended);
  });
});

describe('An error without a type', () => {
  test.each([
    ['14 UNAVAILABLE: No connection established. Last error: connect ECONNREFUSED', 'lost'],
    ['13 INTERNAL: Received RST_STREAM with code 0', 'lost'],
    ['4 DEADLINE_EXCEEDED', 'lost'],
    ['10 ABORTED: Operation timed out: Prepare phase timeout.', 'lost'],
    ['Failed to discover after 10 attempts.', 'lost'],
    ['Could not recognize Server Is Not Ready', 'refused'],
    ['16 UNAUTHENTICATED: no', 'denied'],
    ['12 UNIMPLEMENTED: The server does not implement the method', 'foreign'],
    ['Cannot read properties of undefined', 'fault'],
  ])('An error without a type "%s" is classified as %s', (text, failure) => {
    expect(failureOf(new Error(text))).toBe(failure);
  });
});
