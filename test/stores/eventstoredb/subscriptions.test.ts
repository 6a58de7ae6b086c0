/** Faults of the client and the server during subscriptions; each event is delivered exactly once. */
import { type AllStreamResolvedEvent, EventStoreDBClient } from '@eventstore/db-client';
import { describe, expect, test } from 'vitest';
import {
  type EventLog,
  type FoldEvent,
  NO_STREAM,
  type SubscriptionItem,
} from '#src/ports/event-log.ts';
import type { Drop } from '../../support/eventstoredb/stand-in/state.ts';
import { onStandIn } from '../../support/eventstoredb/eventstoredb-logs.ts';
import { bound, follow, positionsOf, printOf, several } from '../../conformance/log-events.ts';

const { server, log: open } = onStandIn();

let streams = 0;
const add = async (log: EventLog, count: number): Promise<void> => {
  const appends = Array.from({ length: Math.ceil(count / 50) }, (_, n) => {
    streams += 1;
    return log.append(`anna-lead_${streams}`, NO_STREAM, several(Math.min(50, count - 50 * n)));
  });
  await Promise.all(appends);
};
const drop = (how: Drop): Promise<void> => server().tell({ name: 'drop', how });
const everything = (log: EventLog) => log.readFold({ after: 0, limit: 100_000 });

/** Follows from the start, and awaits `more` after the first caughtUp. */
const followWhile = async (log: EventLog, total: number, more: () => Promise<void>) => {
  let done: Promise<void> | undefined;
  return follow(log, 0, async (item, seen) => {
    if (item.kind === 'caughtUp') await (done ??= more());
    return seen.length >= total;
  });
};

describe('A lost subscription', () => {
  test.each<Drop>(['end', 'unavailable', 'reset', 'slow', 'silence'])(
    'A lost subscription continues after its last event when it was lost by "%s"',
    async (how) => {
      const drops: string[] = [];
      const log = await open({ silenceMs: 40 }, { onDropped: (reason) => drops.push(reason) });
      await add(log, 100);
      const { events } = await followWhile(log, 200, async () => {
        await drop(how);
        await add(log, 100);
      });
      expect(events).toEqual(await everything(log));
      expect(drops.length).toBeGreaterThan(0);
    },
  );

  test('A lost subscription continues a hundred times, at any position', async () => {
    const log = await open({ retryMs: [1, 1] });
    const total = 2_000;
    const ways: Drop[] = ['end', 'unavailable', 'slow'];
    const writing = async (): Promise<void> => {
      for (let n = 0; n < 100; n += 1) {
        await add(log, total / 100);
        await drop(ways[n % 3] ?? 'end');
      }
    };
    const writer = writing();
    const { events } = await follow(log, 0, (_, seen) => seen.length >= total);
    await writer;
    expect(events).toEqual(await everything(log));
  });

  test('A lost subscription is opened again when it is silent from the start', async () => {
    const log = await open({ silenceMs: 40 });
    await add(log, 100);
    await server().tell({ name: 'fault', on: 'subscribe', fault: { do: 'silent' }, times: 2 });
    const { events } = await followWhile(log, 200, () => add(log, 100));
    expect(events).toHaveLength(200);
  });

  test('A lost subscription misses nothing when the record it starts after was scavenged', async () => {
    const log = await open();
    const vault = await log.keyVault([Buffer.alloc(32, 1)]);
    await vault.seal('led_1', 'Ada');
    await add(log, 3);
    const client = EventStoreDBClient.connectionString(server().url);
    const records = (await client.readAll().toArray()) as AllStreamResolvedEvent[];
    await client.dispose();
    const key = records.find(({ event }) => event?.type === '$TributaryKey');
    const after = Number(key?.event?.position.commit);
    await vault.destroy('led_1');
    await server().tell({ name: 'scavenge' });
    const wanted = positionsOf(await everything(log));
    const { events } = await follow(log, after, (item) => item.kind === 'caughtUp');
    expect(positionsOf(events)).toEqual(wanted);
    expect(positionsOf(await log.readOwner('anna', { after, limit: 9 }))).toEqual(wanted);
  });

  test('A lost subscription does not repeat its last event when the server sends it again', async () => {
    const log = await open();
    await add(log, 100);
    const fault = { do: 'inclusive' } as const;
    await server().tell({ name: 'fault', on: 'subscribe', fault, times: 2 });
    const { events } = await followWhile(log, 200, async () => {
      await drop('end');
      await add(log, 100);
    });
    expect(events).toEqual(await everything(log));
  });

  test('A lost subscription is opened again after the server restarts', async () => {
    const log = await open();
    await add(log, 10);
    const ended = new AbortController();
    const first = Promise.withResolvers<SubscriptionItem>();
    const read = async (): Promise<void> => {
      const items = log.subscribe({ after: 0, signal: ended.signal });
      for await (const item of items) first.resolve(item);
    };
    const reader = read();
    expect(await first.promise).toMatchObject({ kind: 'events' });
    await server().kill();
    await server().restart();
    // Before it subscribes again it reads the record at its position.
    await server().tell({ name: 'await', stat: 'reads', least: 1 });
    ended.abort();
    await reader;
  });

  test('A lost subscription stays closed at the server once the consumer has ended it', async () => {
    const log = await open();
    await add(log, 10);
    const open0 = (await server().stats()).subscriptionsNow;
    for (let n = 0; n < 3; n += 1) await follow(log, 0, (item) => item.kind === 'events');
    await server().tell({ name: 'await', stat: 'subscriptionsNow', most: open0 });
    await log.readOwner('anna', { after: 0, limit: 1 });
    await server().tell({ name: 'await', stat: 'subscriptionsNow', most: open0 });
  });
});

describe('A slow consumer', () => {
  test('A slow consumer that never continues does not delay closing the log', async () => {
    const log = await open({}, { subscriberEventsMax: 50 });
    await add(log, 2_000);
    const { signal } = new AbortController();
    const items = log.subscribe({ after: 0, signal })[Symbol.asyncIterator]();
    await items.next();
    await drop('end');
    await server().stats();
    await log.close();
    expect(await items.next()).toEqual({ done: true, value: undefined });
  });

  test('A slow consumer is not cut off while its events fit into the buffer', async () => {
    const log = await open();
    await add(log, 10);
    const { events } = await followWhile(log, 1_010, () => add(log, 1_000));
    expect(events).toEqual(await everything(log));
    expect((await server().stats()).cuts).toBe(0);
  });

  test('A slow consumer reads from the log what does not fit, delays no other consumer, and misses nothing', async () => {
    const log = await open({}, { subscriberEventsMax: 100 });
    await add(log, 10);
    const fast = Promise.withResolvers<FoldEvent[]>();
    const { events } = await followWhile(log, 4_010, async () => {
      const isComplete = (_: unknown, seen: FoldEvent[]): boolean => seen.length >= 4_010;
      void follow(log, 0, isComplete).then((all) => fast.resolve(all.events), fast.reject);
      await add(log, 4_000);
      // This consumer waits for the other one, which receives all events meanwhile.
      expect(await fast.promise).toHaveLength(4_010);
    });
    expect(events).toEqual(await everything(log));
    expect((await server().stats()).cuts).toBe(0);
  });

  test('A slow consumer receives a checkpoint only after the events that it covers', async () => {
    const log = await open({}, { subscriberEventsMax: 50 });
    await add(log, 3_000);
    const all = positionsOf(await everything(log));
    let delivered = 0;
    const { events } = await follow(log, 0, async (item, seen) => {
      // Delays each item by a round trip.
      await server().stats();
      if (item.kind === 'events') {
        delivered += item.events.length;
        return false;
      }
      const covered = all.filter((position) => position <= item.position).length;
      expect(delivered).toBe(covered);
      return seen.length >= 3_000;
    });
    expect(positionsOf(events)).toEqual(all);
  });
});

describe('Records of other applications', () => {
  test('Records of other applications advance the checkpoint, from which a subscriber can continue', async () => {
    const log = await open();
    await add(log, 10);
    const { position: last } = await log.head();
    await server().tell({ name: 'flood', count: 5_000, stream: '$noise', type: '$noise' });
    const isBeyond = (item: SubscriptionItem): boolean =>
      item.kind === 'checkpoint' && item.position > last;
    const beyond = await follow(log, 0, isBeyond);
    expect(beyond.events).toHaveLength(10);
    const checkpoint = beyond.items.at(-1);
    const after = checkpoint?.kind === 'checkpoint' ? checkpoint.position : 0;
    await add(log, 10);
    const rest = await follow(log, after, (_, seen) => seen.length === 10);
    expect(rest.events).toEqual((await everything(log)).slice(10));
  });

  test('Records of other applications are never delivered', async () => {
    const log = await open();
    await add(log, 10);
    await server().tell({ name: 'flood', count: 50, stream: 'other-app_1', type: 'Theirs' });
    await server().tell({ name: 'flood', count: 50, stream: 'nodash', type: 'Theirs' });
    await add(log, 10);
    const { events } = await follow(log, 0, (item) => item.kind === 'caughtUp');
    expect(events).toEqual(await everything(log));
    expect(events).toHaveLength(20);
  });
});

describe('A subscription', () => {
  test('A subscription is opened again after a reply that cannot be decoded', async () => {
    const drops: string[] = [];
    const log = await open({}, { onDropped: (reason) => drops.push(reason) });
    await add(log, 10);
    await server().tell({ name: 'fault', on: 'subscribe', fault: { do: 'absurd' }, times: 2 });
    const { events } = await followWhile(log, 11, () => add(log, 1));
    expect(events).toHaveLength(11);
    expect(drops).toHaveLength(2);
    expect(drops[0]).toMatch(/is not an exact number/);
  });

  test('A subscription fails after a few attempts when its position is not in the log', async () => {
    const log = await open();
    await add(log, 10);
    await expect(follow(log, 7, () => true)).rejects.toMatchObject({
      name: 'LogUnavailable',
      message: expect.stringMatching(/no record at position 7/),
    });
    await server().tell({ name: 'fault', on: 'subscribe', fault: { do: 'noPlace' }, times: 3 });
    const { events } = await follow(log, 0, (item) => item.kind === 'caughtUp');
    expect(events).toHaveLength(10);
  });

  test('A subscription shares one call to the server with the others of its process', async () => {
    const log = await open();
    await add(log, 1_000);
    const { subscriptions } = await server().stats();
    const positions = positionsOf(await everything(log));
    const following = [0, 500, 1_000].map((skipped) =>
      follow(log, positions[skipped - 1] ?? 0, (_, seen) => seen.length >= 1_100 - skipped),
    );
    await add(log, 100);
    const expected = positionsOf(await everything(log));
    for (const [i, { events }] of (await Promise.all(following)).entries())
      expect(positionsOf(events)).toEqual(expected.slice(500 * i));
    expect((await server().stats()).subscriptions).toBe(subscriptions + 1);
  });

  test('A subscription parses the data of an event when it is first read', async () => {
    const upcasts = {
      RequestBound: [
        (data: object) => {
          if ((data as { fingerprint?: string }).fingerprint === 'poison')
            throw new Error('poison');
          return data;
        },
      ],
    };
    await (await open()).append('anna-lead_1', NO_STREAM, [
      bound('a'),
      bound('poison'),
      bound('b'),
    ]);
    const log = await open({}, { upcasts });
    const { events } = await follow(log, 0, (item) => item.kind === 'caughtUp');
    expect(printOf(events[0] as FoldEvent)).toBe('a');
    expect(() => events[1]?.data).toThrow('poison');
    expect(printOf(events[2] as FoldEvent)).toBe('b');
  });
});
