/** The stand-in follows the rules of a real server, and two that no test can provoke on one. */
import { once } from 'node:events';
import { EventStoreDBClient, jsonEvent, streamNameFilter } from '@eventstore/db-client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { rulesConformance } from '../../conformance/eventstoredb-rules.ts';
import { openDelivery, PACES } from '../../support/eventstoredb/stand-in/delivery.ts';
import { onStandIn } from '../../support/eventstoredb/eventstoredb-logs.ts';
import { freshId } from '../../conformance/log-events.ts';

const { server } = onStandIn();
rulesConformance(
  'the stand-in',
  () => server().url,
  () => server().tell({ name: 'scavenge' }),
);

describe('The stand-in', () => {
  let client: EventStoreDBClient;
  beforeAll(() => {
    client = EventStoreDBClient.connectionString(server().url);
  });
  afterAll(() => client.dispose());
  /** Appends an event; returns its revision, or the type of the error. */
  const put = (id: string): Promise<unknown> =>
    client
      .appendToStream('anna-lead_1', jsonEvent({ id, type: 'T', data: {} }), {
        expectedRevision: 'no_stream',
      })
      .then(
        ({ nextExpectedRevision }) => Number(nextExpectedRevision),
        (error: { type?: string }) => error.type,
      );

  test('The stand-in answers the repetition of an uncommitted append only with a timeout', async () => {
    const id = freshId();
    await server().tell({ name: 'set', settings: { writeTimeoutMs: 100 } });
    await server().tell({ name: 'hold' });
    const [original, repeated] = [put(id), put(id)];
    expect(await repeated).toBe('deadline-exceeded');
    expect(await original).toBe('deadline-exceeded');
    await server().tell({ name: 'release' });
    expect(await put(id)).toBe(0);
  });

  test('The stand-in refuses a batch with an event id that is not a UUID', async () => {
    for (const ids of [['no-uuid'], ['f'.repeat(8)], [freshId(), `${freshId()}0`]]) {
      const events = ids.map((id) => jsonEvent({ id, type: 'T', data: {} }));
      await expect(client.appendToStream('anna-lead_2', events)).rejects.toThrow('BadRequest');
    }
  });

  test('The stand-in compares a deadline with its own clock', async () => {
    await server().tell({ name: 'set', settings: { skewMs: 60_000 } });
    expect(await put(freshId())).toBe('deadline-exceeded');
  });
});

describe('The delivery of the stand-in', () => {
  const events = (count: number) =>
    Array.from({ length: count }, (_, n) => jsonEvent({ type: 'T', data: { n } }));
  /** Follows the log on a connection of this name. */
  const follow = (connectionName: string) => {
    const url = `${server().url}&connectionName=${connectionName}`;
    const client = EventStoreDBClient.connectionString(url);
    const filter = streamNameFilter({ prefixes: ['anna-'], checkpointInterval: 10_000 });
    const subscription = client.subscribeToAll({ fromPosition: 'end', filter });
    const seen: unknown[] = [];
    subscription.on('data', ({ event }) => event && seen.push((event.data as { n: number }).n));
    return {
      seen,
      live: () => once(subscription, 'caughtUp'),
      async received(count: number): Promise<unknown[]> {
        while (seen.length < count) await once(subscription, 'data');
        return seen;
      },
      async end(): Promise<void> {
        await subscription.unsubscribe();
        await client.dispose();
      },
    };
  };

  test('The delivery of the stand-in of each pace keeps the order of records', async () => {
    const [client, count] = [EventStoreDBClient.connectionString(server().url), 40];
    for (const pace of PACES) {
      await server().tell({ name: 'set', settings: { pace } });
      const one = follow('one');
      await one.live();
      for (const event of events(count)) await client.appendToStream('anna-lead_1', event);
      expect(await one.received(count)).toEqual(Array.from({ length: count }, (_, n) => n));
      await one.end();
    }
    await client.dispose();
  });

  test('The delivery of the stand-in to one connection is held back while others, reads and appends continue', async () => {
    const client = EventStoreDBClient.connectionString(server().url);
    const [held, free] = [follow('held'), follow('free')];
    await Promise.all([held.live(), free.live()]);
    await server().delivery.hold('held');
    const again = follow('held');
    await client.appendToStream('anna-lead_1', events(3));
    expect(await free.received(3)).toEqual([0, 1, 2]);
    expect(await client.readStream('anna-lead_1').toArray()).toHaveLength(3);
    expect([...held.seen, ...again.seen]).toEqual([]);
    await server().delivery.release('held');
    expect(await held.received(3)).toEqual([0, 1, 2]);
    await Promise.all([held, again, free].map((one) => one.end()));
    await client.dispose();
  });

  test('The delivery of the stand-in is late by the delays that were measured on a real server', () => {
    for (const [pace, restarted, median, p90] of [
      ['idle', false, 0.2, 0.6],
      ['loaded', false, 40, 94],
      ['idle', true, 291, 1_500],
    ] as const) {
      const delivery = openDelivery(() => pace, { seed: 1, restarted, held: [] });
      const delays = Array.from({ length: 2_000 }, () => {
        const before = performance.now();
        return delivery.lane('').due() - before;
      }).sort((a, b) => a - b);
      const at = (part: number): number => delays[part * delays.length] ?? 0;
      expect(at(0.5) / median).toBeCloseTo(1, 0);
      expect(at(0.9) / p90).toBeCloseTo(1, 0);
      expect(delays.at(-1)).toBeLessThan(4_000);
    }
  });
});
