/** The stand-in keeps the rules that were measured on a real server, told by the bare client. */
import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client';
import type { AppendExpectedRevision } from '@eventstore/db-client';
import { beforeAll, describe, expect, test } from 'vitest';
import { onStandIn } from '../support/eventstoredb-logs.ts';
import { freshId } from '../support/log-events.ts';

const { server } = onStandIn();
let client: EventStoreDBClient;
beforeAll(() => {
  client = EventStoreDBClient.connectionString(server().url);
});

const S = 'anna-lead_1';
const [a, b, c, d] = [freshId(), freshId(), freshId(), freshId()];
const put = (
  expectedRevision: AppendExpectedRevision,
  ids: string[],
  body = 'first',
): Promise<unknown> =>
  client
    .appendToStream(
      S,
      ids.map((id) => jsonEvent({ id, type: 'T', data: { body } })),
      {
        expectedRevision,
      },
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
const conflict = 'wrong-expected-version';

describe('the rules for appends', () => {
  test('only ids are compared, never bodies', async () => {
    const first = await put('no_stream', [a]);
    expect(first).toEqual([0, expect.any(BigInt)]);
    expect(await put('no_stream', [a])).toEqual(first);
    expect(await put('no_stream', [a], 'other')).toEqual(first);
    expect(await bodies()).toEqual([{ body: 'first' }]);
    expect(await put('no_stream', [b])).toBe(conflict);
  });

  test('a prefix of a stored append is its repetition; longer or mixed conflicts', async () => {
    await put('no_stream', [a, b, c]);
    expect(await put('no_stream', [a, b])).toEqual([1, expect.any(BigInt)]);
    expect(await put(0n, [b, c])).toEqual([2, expect.any(BigInt)]);
    for (const ids of [[a, b, c, d], [a, c], [b], [d, b]])
      expect(await put('no_stream', ids)).toBe(conflict);
    expect(await put(2n, [d])).toEqual([3, expect.any(BigInt)]);
    expect(await put(9n, [freshId()])).toBe(conflict);
    // With the right revision the same id is written again.
    expect(await put(3n, [d])).toEqual([4, expect.any(BigInt)]);
  });

  test('any and exists know the ids of late', async () => {
    expect(await put('stream_exists', [a])).toBe(conflict);
    expect(await put('any', [a])).toEqual([0, expect.any(BigInt)]);
    expect(await put('any', [a])).toEqual([0, expect.any(BigInt)]);
    expect(await put('stream_exists', [b])).toEqual([1, expect.any(BigInt)]);
    expect(await put('any', [a, c])).toBe(conflict);
  });

  test('a deleted stream: invisible and opened again, or gone for ever', async () => {
    await put('no_stream', [a, b]);
    await client.deleteStream(S);
    await expect(bodies()).rejects.toMatchObject({ type: 'stream-not-found' });
    expect(await put('no_stream', [a, b])).toEqual([1, undefined]);
    expect(await put('stream_exists', [c])).toBe('stream-deleted');
    await expect(bodies()).rejects.toMatchObject({ type: 'stream-not-found' });
    expect(await put('no_stream', [c])).toEqual([2, expect.any(BigInt)]);
    expect(await bodies()).toHaveLength(1);
    await client.tombstoneStream(S);
    expect(await put('any', [d])).toBe('stream-deleted');
    await expect(bodies()).rejects.toMatchObject({ type: 'stream-deleted' });
  });

  test('a repetition of what is not committed is not answered until it is too late', async () => {
    await server().tell({ name: 'set', settings: { writeTimeoutMs: 100 } });
    await server().tell({ name: 'hold' });
    const [original, repeated] = [put('no_stream', [a]), put('no_stream', [a])];
    expect(await repeated).toBe('deadline-exceeded');
    expect(await original).toBe('deadline-exceeded');
    await server().tell({ name: 'release' });
    expect(await put('no_stream', [a])).toEqual([0, expect.any(BigInt)]);
  });

  test('a deadline is a time on the clock of the server', async () => {
    await server().tell({ name: 'set', settings: { skewMs: 60_000 } });
    expect(await put('no_stream', [a])).toBe('deadline-exceeded');
  });
});

describe('reads', () => {
  test('begin with a record, forwards; backwards before it', async () => {
    await put('no_stream', [a, b, c]);
    const positions: bigint[] = [];
    for await (const { event } of client.readAll())
      if (event?.streamId === S) positions.push(event.position.commit);
    const middle = { commit: positions[1] ?? 0n, prepare: positions[1] ?? 0n };
    const first = async (direction: 'forwards' | 'backwards') => {
      for await (const { event } of client.readAll({
        fromPosition: middle,
        direction,
        maxCount: 1,
      }))
        return event?.position.commit;
    };
    expect(await first('forwards')).toBe(positions[1]);
    expect(await first('backwards')).toBe(positions[0]);
    const nowhere = client.readAll({ fromPosition: { commit: 7n, prepare: 7n } });
    await expect(nowhere.toArray()).rejects.toMatchObject({ type: 'unknown' });
  });
});
