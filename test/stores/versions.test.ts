/** Events of other versions, in every log: earlier data is converted, and what this program does not know is left out. */
import { afterAll, describe, expect, test } from 'vitest';
import type { Upcasts } from '#contracts/registries/events.ts';
import {
  type EventLog,
  type NewEvent,
  NO_STREAM,
  storedOf,
  UnknownEventType,
} from '#src/ports/event-log.ts';
import { sqliteEventLog } from '#src/stores/sqlite/log/event-log.ts';
import { bound, follow, metaAt, printOf } from '../conformance/log-events.ts';
import { onStandIn } from '../support/eventstoredb/eventstoredb-logs.ts';
import { memoryEventLog } from '../support/memory-event-log.ts';
import { directories } from '../support/processes/directories.ts';

const { fresh, removeAll } = directories('log-versions-');
afterAll(removeAll);
const { log: openRemote } = onStandIn();

const STREAM = 'anna-lead_1';
const mark = (suffix: string) => (data: object) => ({
  ...data,
  fingerprint: `${String(printOf({ data }))}${suffix}`,
});
/** A program for which the type has three versions. */
const LATER: Upcasts = { RequestBound: [mark('-2'), mark('-3')] };

const boundIn = (v: number, fingerprint: string): NewEvent => ({
  ...bound(fingerprint),
  meta: { ...metaAt(1), v },
});

/** Writes with one program, and reads with another. */
const written = {
  async sqlite(by: Upcasts, events: NewEvent[], as: Upcasts): Promise<EventLog> {
    const directory = fresh();
    const log = sqliteEventLog({ directory, upcasts: by });
    await log.append(STREAM, NO_STREAM, events);
    await log.close();
    return sqliteEventLog({ directory, upcasts: as });
  },
  async eventstoredb(by: Upcasts, events: NewEvent[], as: Upcasts): Promise<EventLog> {
    await (await openRemote({}, { upcasts: by })).append(STREAM, NO_STREAM, events);
    return openRemote({}, { upcasts: as });
  },
};

const ALL = { after: 0, limit: 9 };

describe.each(['sqlite', 'eventstoredb'] as const)('A log in %s', (store) => {
  test('Every read for a state converts earlier data, and what is proved stays as it was written', async () => {
    const events = [boundIn(1, 'a'), boundIn(2, 'b'), boundIn(3, 'c')];
    const log = await written[store](LATER, events, LATER);
    const { position: upTo } = await log.head();
    const current = ['a-2-3', 'b-3', 'c'];
    const { events: pushed } = await follow(log, 0, (_, seen) => seen.length === 3);
    for (const read of [
      pushed,
      await log.readStream(STREAM),
      await log.readAll({ ...ALL, types: ['RequestBound'] }),
      await log.readBack({ upTo, limit: 9, owner: 'anna' }),
      await log.readFold(ALL),
      await log.readOwnerFold('anna', ALL),
    ]) {
      expect(read.map(printOf)).toEqual(current);
      expect(new Set(read.map(({ type }) => type))).toEqual(new Set(['RequestBound']));
    }
    const texts = await log.readOwnerText('anna', ALL);
    expect(texts.map(({ data }) => JSON.parse(data))).toEqual(events.map(({ data }) => data));
    expect(texts.map(({ meta }) => (JSON.parse(meta) as { v: number }).v)).toEqual([1, 2, 3]);
    expect((await log.readAll(ALL)).map((event) => storedOf(event).data)).toEqual(
      events.map(({ data }) => data),
    );
    await log.close();
  });

  test('A newer version of a known type is as an unknown type: no fold handles it, and its record cannot be read', async () => {
    const log = await written[store](LATER, [boundIn(1, 'a'), boundIn(3, 'c')], {
      RequestBound: LATER['RequestBound']?.slice(0, 1) ?? [],
    });
    const { events: pushed } = await follow(log, 0, (_, seen) => seen.length === 2);
    for (const read of [
      pushed,
      await log.readAll({ ...ALL, types: ['RequestBound'] }),
      await log.readOwner('anna', ALL),
      await log.readFold(ALL),
      await log.readOwnerFold('anna', ALL),
    ])
      expect(read.map((event) => [event.type, printOf(event)])).toEqual([
        ['RequestBound', 'a-2'],
        ['RequestBound@3', 'c'],
      ]);
    const [, text] = await log.readOwnerText('anna', ALL);
    expect(text).toMatchObject({ type: 'RequestBound' });
    const reading = log.readStream(STREAM);
    await expect(reading).rejects.toBeInstanceOf(UnknownEventType);
    await expect(reading).rejects.toThrow(/RequestBound at position .* has version 3/);
    expect((await log.readStream(STREAM, 0, 1)).map(printOf)).toEqual(['a-2']);
    await log.close();
  });

  test('Data that the schema of its version refuses is left out of histories as an unknown type, and its record cannot be read', async () => {
    const broken: Upcasts = { RequestBound: [() => ({ stream: 1 })] };
    const log = await written[store]({}, [boundIn(1, 'a')], broken);
    const [event] = await log.readAll(ALL);
    expect(event).toMatchObject({ type: 'RequestBound@1', data: { fingerprint: 'a' } });
    expect(event && storedOf(event).type).toBe('RequestBound');
    const reading = log.readStream(STREAM);
    await expect(reading).rejects.toBeInstanceOf(UnknownEventType);
    await expect(reading).rejects.toThrow('does not fit its schema');
    await log.close();
  });
});

test('No log stores an event of a version that its program does not know', async () => {
  const log = memoryEventLog({ upcasts: { RequestBound: [mark('-2')] } });
  for (const v of [0, 1.5, 3])
    await expect(log.append(STREAM, NO_STREAM, [boundIn(v, 'a')])).rejects.toThrow(
      `RequestBound has no version ${v}`,
    );
  await log.append(STREAM, NO_STREAM, [boundIn(1, 'a'), boundIn(2, 'b')]);
  expect((await log.readStream(STREAM)).map(printOf)).toEqual(['a-2', 'b']);
});

test('A repeated append is recognized behind an event that its program cannot read', async () => {
  const directory = fresh();
  const events = [boundIn(3, 'c'), boundIn(1, 'a')];
  const later = sqliteEventLog({ directory, upcasts: LATER });
  await later.append(STREAM, NO_STREAM, events);
  await later.close();
  const log = sqliteEventLog({ directory });
  const [, repeated] = events;
  const again = repeated ? [repeated] : [];
  expect(await log.append(STREAM, 0, again)).toMatchObject({ outcome: 'appended', revision: 1 });
  const other = [boundIn(1, 'x'), boundIn(1, 'y')];
  expect(await log.append(STREAM, NO_STREAM, other)).toEqual({ outcome: 'conflict' });
  await log.close();
});
