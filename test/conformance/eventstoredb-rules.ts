/** Rules of EventStoreDB that the adapter relies on, for the stand-in and for real servers. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { AllStreamResolvedEvent, AppendExpectedRevision } from '@eventstore/db-client';
import {
  BACKWARDS,
  END,
  EventStoreDBClient,
  jsonEvent,
  streamNameFilter,
} from '@eventstore/db-client';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { freshId } from './log-events.ts';

const CONFLICT = 'wrong-expected-version';
const TOO_LATE = 'deadline-exceeded';

export const rulesConformance = (
  name: string,
  url: () => string,
  scavenge: () => Promise<void>,
): void => {
  let client: EventStoreDBClient;
  let S: string;
  let [a, b, c, d]: [string, string, string, string] = ['', '', '', ''];
  beforeAll(() => {
    client = EventStoreDBClient.connectionString(url());
  });
  beforeEach(() => {
    // New in each run: the server may have the streams of an earlier one.
    S = `anna-lead_${randomBytes(12).toString('hex')}`;
    [a, b, c, d] = [freshId(), freshId(), freshId(), freshId()];
  });
  afterAll(() => client?.dispose());

  /** Returns revision and position, or the type of the refusal. */
  const put = (
    expectedRevision: AppendExpectedRevision,
    ids: string[],
    body = 'first',
  ): Promise<unknown> =>
    client
      .appendToStream(
        S,
        ids.map((id) => jsonEvent({ id, type: 'T', data: { body } })),
        { expectedRevision },
      )
      .then(
        ({ nextExpectedRevision, position }) => [Number(nextExpectedRevision), position?.commit],
        (error: { type?: string }) => error.type,
      );
  const bodies = async (): Promise<unknown[]> => {
    const found: unknown[] = [];
    for await (const { event } of client.readStream(S)) found.push(event?.data);
    return found;
  };
  const appended = (revision: number): unknown => [revision, expect.any(BigInt)];

  describe(`appends to ${name}`, () => {
    test('Appends compare only ids and never bodies', async () => {
      const first = await put('no_stream', [a]);
      expect(first).toEqual(appended(0));
      expect(await put('no_stream', [a])).toEqual(first);
      expect(await put('no_stream', [a], 'other')).toEqual(first);
      expect(await bodies()).toEqual([{ body: 'first' }]);
      expect(await put('no_stream', [b])).toBe(CONFLICT);
    });

    test('An append accepts a prefix of a stored append as its repetition, and conflicts if it is longer or mixed', async () => {
      await put('no_stream', [a, b, c]);
      expect(await put('no_stream', [a, b])).toEqual(appended(1));
      expect(await put(0n, [b, c])).toEqual(appended(2));
      for (const ids of [[a, b, c, d], [a, c], [b], [d, b]])
        expect(await put('no_stream', ids)).toBe(CONFLICT);
      expect(await put(2n, [d])).toEqual(appended(3));
      expect(await put(9n, [freshId()])).toBe(CONFLICT);
      // At the right revision the same id is written a second time.
      expect(await put(3n, [d])).toEqual(appended(4));
    });

    test('Appends recognize recent ids with the expectations any and stream_exists', async () => {
      expect(await put('stream_exists', [a])).toBe(CONFLICT);
      expect(await put('any', [a])).toEqual(appended(0));
      expect(await put('any', [a])).toEqual(appended(0));
      expect(await put('stream_exists', [b])).toEqual(appended(1));
      expect(await put('any', [a, c])).toBe(CONFLICT);
    });

    test('Appends open a deleted stream again, and refuse a tombstoned one', async () => {
      await put('no_stream', [a, b]);
      await client.deleteStream(S);
      await expect(bodies()).rejects.toMatchObject({ type: 'stream-not-found' });
      expect(await put('no_stream', [a, b])).toEqual([1, undefined]);
      expect(await put('stream_exists', [c])).toBe('stream-deleted');
      await expect(bodies()).rejects.toMatchObject({ type: 'stream-not-found' });
      expect(await put('no_stream', [c])).toEqual(appended(2));
      // The server stores the new beginning of the stream a moment after its answer.
      await expect.poll(() => bodies().catch(() => [])).toHaveLength(1);
      await client.tombstoneStream(S);
      expect(await put('any', [d])).toBe('stream-deleted');
      await expect(bodies()).rejects.toMatchObject({ type: 'stream-deleted' });
      await expect(client.tombstoneStream(S)).rejects.toMatchObject({ type: 'stream-deleted' });
    });

    test('Appends of one turn are written in their order, to one stream and to many', async () => {
      const to = (stream: string, expectedRevision: AppendExpectedRevision) =>
        client.appendToStream(stream, jsonEvent({ type: 'T', data: {} }), { expectedRevision });
      const each = Array.from({ length: 40 }, (_, n) => n);
      const one = each.map((n) => to(S, n === 0 ? 'no_stream' : BigInt(n - 1)));
      const many = each.map((n) => to(`${S}-${n}`, 'no_stream'));
      const results = await Promise.all([...one, ...many]);
      const positions = results.map(({ position }) => position?.commit ?? 0n);
      for (const [i, position] of positions.entries())
        expect(position).toBeGreaterThan(positions[i - 1] ?? -1n);
    });

    test('Appends are refused by a tombstone of a stream that never existed', async () => {
      await client.tombstoneStream(S);
      expect(await put('no_stream', [a])).toBe('stream-deleted');
      await expect(bodies()).rejects.toMatchObject({ type: 'stream-deleted' });
    });

    test("Appends fail at once if their deadline has passed on the server's clock", async () => {
      const event = jsonEvent({ type: 'T', data: {} });
      const late = client.appendToStream(S, event, { deadline: -60_000 });
      await expect(late).rejects.toMatchObject({ type: TOO_LATE });
      await expect(bodies()).rejects.toMatchObject({ type: 'stream-not-found' });
    });

    // With credentials each append is a call of its own. To a batch a real server gives two answers, and at the second the
    // client throws outside of the promise, which ends the process.
    test('Appends are refused when an event id is not a UUID', async () => {
      const credentials = { username: 'admin', password: 'changeit' };
      for (const ids of [['no-uuid'], ['f'.repeat(8)], [a, `${b}0`]]) {
        const events = ids.map((id) => jsonEvent({ id, type: 'T', data: {} }));
        await expect(client.appendToStream(S, events, { credentials })).rejects.toThrow();
      }
      await expect(bodies()).rejects.toMatchObject({ type: 'stream-not-found' });
    });

    test('Appends of up to a mebibyte are accepted, and larger ones are refused by an error of their own', async () => {
      const sized = (bytes: number): Promise<unknown> =>
        client.appendToStream(S, jsonEvent({ type: 'T', data: { text: 'x'.repeat(bytes) } })).then(
          () => 'taken',
          (error: { type?: string }) => error.type,
        );
      expect(await sized(1_048_000)).toBe('taken');
      expect(await sized(1_048_576)).toBe('maximum-append-size-exceeded');
    });
  });

  describe(`reads of ${name}`, () => {
    test('Reads begin with a record forwards, and before it backwards', async () => {
      await put('no_stream', [a, b, c]);
      const positions: bigint[] = [];
      for await (const { event } of client.readAll())
        if (event?.streamId === S) positions.push(event.position.commit);
      const middle = { commit: positions[1] ?? 0n, prepare: positions[1] ?? 0n };
      const first = async (direction: 'forwards' | 'backwards') => {
        const read = client.readAll({ fromPosition: middle, direction, maxCount: 1 });
        return ((await read.toArray()) as AllStreamResolvedEvent[])[0]?.event?.position.commit;
      };
      expect(await first('forwards')).toBe(positions[1]);
      expect(await first('backwards')).toBe(positions[0]);
      // Within the record, because each position of a part that was scavenged earlier is valid.
      const within = (positions[1] ?? 0n) + 1n;
      const nowhere = client.readAll({ fromPosition: { commit: within, prepare: within } });
      await expect(nowhere.toArray()).rejects.toMatchObject({ type: 'unknown' });
    });

    test('Reads return a tombstone as a record after those that it deleted', async () => {
      await put('no_stream', [a]);
      await client.tombstoneStream(S);
      const records: string[] = [];
      const last = { direction: BACKWARDS, fromPosition: END, maxCount: 8 } as const;
      for await (const { event } of client.readAll(last))
        if (event?.streamId.endsWith(S)) records.push(`${event.type} ${event.revision}`);
      expect(records).toEqual([`$streamDeleted ${2n ** 63n - 1n}`, 'T 0']);
    });

    test('A read that follows omits one record, or the next one if it was scavenged', async () => {
      const [first] = (await put('no_stream', [a])) as [number, bigint];
      expect(first).toBe(0);
      const places: bigint[] = [];
      for (const stream of [`${S}-gone`, `${S}-1`, `${S}-2`]) {
        const event = jsonEvent({ type: 'T', data: {} });
        const { position } = await client.appendToStream(stream, event);
        places.push(position?.commit ?? 0n);
      }
      const [gone = 0n, one, two] = places;
      const at = { commit: gone, prepare: gone };
      const followed = async (): Promise<(bigint | undefined)[]> => {
        const filter = streamNameFilter({ prefixes: [`${S}-`] });
        const following = client.subscribeToAll({ fromPosition: at, filter });
        const seen: (bigint | undefined)[] = [];
        following.on('data', ({ event }) => {
          if (event?.type === 'T') seen.push(event.position?.commit);
        });
        while (seen.at(-1) !== two) await once(following, 'data');
        await following.unsubscribe();
        return seen;
      };
      const firstOf = async (direction: 'forwards' | 'backwards') => {
        const read = client.readAll({ fromPosition: at, direction, maxCount: 1 });
        return ((await read.toArray()) as AllStreamResolvedEvent[])[0]?.event?.streamId;
      };
      expect(await followed()).toEqual([one, two]);
      await client.tombstoneStream(`${S}-gone`);
      await scavenge();
      expect(await followed()).toEqual([two]);
      expect(await firstOf('forwards')).toBe(`${S}-1`);
      expect(await firstOf('backwards')).toBe(S);
    });
  });
};
