/** What the client and the server do to appends, and that each is stored once all the same. */
import { describe, expect, test } from 'vitest';
import { failureOf } from '#src/adapters/eventstoredb/failures.ts';
import { AppendTooLarge, type EventLog, LogCorrupted, NO_STREAM } from '#src/ports/event-log.ts';
import type { AppendFault } from '../../support/eventstoredb/stand-in/faults.ts';
import { onStandIn } from '../../support/eventstoredb/eventstoredb-logs.ts';
import { bound, printOf, several } from '../../conformance/log-events.ts';

const { server, log: open } = onStandIn();

const fault = (fault: AppendFault, times = 1): Promise<void> =>
  server().tell({ name: 'fault', on: 'append', fault, times });
const create = (log: EventLog, stream = 'anna-lead_1', events = several(2)) =>
  log.append(stream, NO_STREAM, events);
const seen = (stat: 'appends' | 'batchStreams', least: number): Promise<void> =>
  server().tell({ name: 'await', stat, least });
const appended = { outcome: 'appended', revision: 1 };

describe('an answer that does not come', () => {
  test.each<[string, AppendFault, number]>([
    ['the append is swallowed', { do: 'swallow' }, 1],
    ['its answer is lost', { do: 'forget' }, 1],
    ['its answer is lost, again and again', { do: 'forget' }, 4],
  ])('%s: our own timer repeats it with the same ids', async (_, kind, times) => {
    const log = await open({ attemptMs: 60 });
    await fault(kind, times);
    expect(await create(log)).toMatchObject(appended);
    expect(await log.readStream('anna-lead_1')).toHaveLength(2);
    // One more for the identity of the log.
    expect((await server().stats()).appends).toBeGreaterThanOrEqual(times + 2);
  });

  test('in bounded time the outcome is unknown, and the same events tell it later', async () => {
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

  test('a frozen server: unknown in time, stored once when it thaws', async () => {
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

  test('the original is not committed yet: its repetitions are dropped, then one is answered', async () => {
    const log = await open({ attemptMs: 40 });
    await server().tell({ name: 'hold' });
    const result = create(log);
    await seen('appends', 4);
    await server().tell({ name: 'release' });
    expect(await result).toMatchObject(appended);
    expect(await log.readStream('anna-lead_1')).toHaveLength(2);
  });

  test('the server says itself that it took too long', async () => {
    const log = await open();
    await fault({ do: 'timeout', written: true }, 2);
    expect(await create(log)).toMatchObject(appended);
    expect(await log.readStream('anna-lead_1')).toHaveLength(2);
  });
});

describe('the stream of appends', () => {
  test.each<[string, AppendFault]>([
    ['ends in order before the write', { do: 'end', written: false }],
    ['ends in order after the write', { do: 'end', written: true }],
    ['breaks before the write', { do: 'break', written: false }],
    ['breaks after the write', { do: 'break', written: true }],
  ])('%s: all that was on it is repeated at once, no timer needed', async (_, kind) => {
    const log = await open();
    await fault({ do: 'swallow' }, 20);
    await fault(kind);
    const results = Array.from({ length: 40 }, (_value, n) => create(log, `anna-lead_${n}`));
    for (const result of await Promise.all(results)) expect(result).toMatchObject(appended);
    expect(await log.readAll({ after: 0, limit: 100 })).toHaveLength(80);
  });

  test('an answer that nobody waits for does not end the process', async () => {
    const log = await open();
    await fault({ do: 'duplicate' }, 3);
    for (const n of [1, 2, 3, 4])
      expect(await create(log, `anna-lead_${n}`)).toMatchObject(appended);
  });

  test('a link that breaks while appends wait to be written does not end the process', async () => {
    const log = await open({ retryMs: [20, 200] });
    server().freeze();
    // Far more than the link takes from a server that reads nothing.
    const results = Array.from({ length: 400 }, (_, n) =>
      create(log, `anna-lead_${n}`, [bound('x'.repeat(10_000))]),
    );
    await new Promise((resolve) => setImmediate(resolve));
    await server().kill();
    await server().restart();
    for (const result of await Promise.all(results)) expect(result.outcome).toBe('appended');
    expect(await log.readFold({ after: 0, limit: 1_000 })).toHaveLength(400);
  });

  test('appends of one turn leave together, on one stream', async () => {
    const log = await open();
    const before = await server().stats();
    await server().tell({ name: 'hold' });
    const results = Array.from({ length: 300 }, (_, n) => create(log, `anna-lead_${n}`));
    await seen('appends', before.appends + 300);
    await server().tell({ name: 'release' });
    await Promise.all(results);
    expect(await server().stats()).toMatchObject({ batchStreams: before.batchStreams });
  });

  test('is opened by the first of them, and they stay in order', async () => {
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

  test('a server without batches takes them one by one', async () => {
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

describe('what may be under way', () => {
  test('the same append is sent once, however often it is asked for', async () => {
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

  test('is bounded', async () => {
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

describe('a conflict', () => {
  test('with what nobody can read yet, and a leader that falls: the append is repeated', async () => {
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

  test('never seen by a leader: not applied, in bounded time', async () => {
    const log = await open({ appendRepeatMs: 100 });
    await fault({ do: 'wrong' }, 10_000);
    await expect(create(log)).rejects.toMatchObject({ reason: 'fault', applied: 'no' });
  });

  test('that is our own append is its success', async () => {
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

  test('is decided by the leader', async () => {
    const log = await open();
    await create(log);
    const { port } = server();
    // The second read is told where the leader is, and asks there.
    await server().tell({ name: 'fault', on: 'read', fault: { do: 'notLeader', port } });
    expect(await create(log)).toEqual({ outcome: 'conflict' });
  });
});

describe('the position', () => {
  test('is that of the last event, also when a repetition is answered without it', async () => {
    const log = await open();
    const events = several(3);
    const first = await create(log, 'anna-lead_1', events);
    const last = (await log.readStream('anna-lead_1')).at(-1);
    expect(first).toEqual({ outcome: 'appended', revision: 2, position: last?.position });
    await fault({ do: 'noPosition' });
    expect(await create(log, 'anna-lead_1', events)).toEqual(first);
  });

  test('a stream that was deleted behind our back is told as such', async () => {
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

describe('an answer that is no', () => {
  test.each([
    ['Server Is Not Ready', 'fault'],
    ['Server Is Busy', 'overloaded'],
    ['No leader info available in response', 'fault'],
  ])('%s: repeated, and not applied when that does not help', async (text, reason) => {
    const log = await open();
    await fault({ do: 'tell', text }, 2);
    expect(await create(log)).toMatchObject(appended);
    const hasty = await open({ appendRepeatMs: 50 });
    await fault({ do: 'tell', text }, 10_000);
    await expect(create(hasty, 'anna-lead_2')).rejects.toMatchObject({ reason, applied: 'no' });
  });

  test('after one that did not come the outcome stays unknown', async () => {
    const log = await open({ attemptMs: 60, appendRepeatMs: 150 });
    await fault({ do: 'forget' });
    await fault({ do: 'tell', text: 'Server Is Busy' }, 10_000);
    await expect(create(log)).rejects.toMatchObject({ reason: 'fault', applied: 'unknown' });
  });

  test('too large, by type or by text: told at once', async () => {
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

  test('denied: told at once, and unknown when an earlier attempt was lost', async () => {
    const log = await open({ attemptMs: 60 });
    await fault({ do: 'forget' });
    await fault({ do: 'deny' });
    await expect(create(log)).rejects.toMatchObject({ reason: 'fault', applied: 'unknown' });
    const patient = await open();
    await fault({ do: 'deny' });
    const denied = create(patient, 'anna-lead_2');
    await expect(denied).rejects.toMatchObject({ reason: 'fault', applied: 'no' });
  });

  test('a clock of the server that is ahead by hours refuses nothing', async () => {
    const log = await open({ appendRepeatMs: 2_000 });
    await server().tell({ name: 'set', settings: { skewMs: 6 * 3_600_000 } });
    expect(await create(log)).toMatchObject(appended);
  });
});

describe('errors without a type', () => {
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
  ])('%s: %s', (text, failure) => {
    expect(failureOf(new Error(text))).toBe(failure);
  });
});
