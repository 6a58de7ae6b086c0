/** What the client and the server do to subscriptions, and that nothing is missed or told twice. */
import { type AllStreamResolvedEvent, EventStoreDBClient } from '@eventstore/db-client';
import { describe, expect, test } from 'vitest';
import { type EventLog, NO_STREAM, type SubscriptionItem } from '#src/ports/event-log.ts';
import type { Drop } from '../../support/eventstoredb/stand-in/state.ts';
import { onStandIn } from '../../support/eventstoredb/eventstoredb-logs.ts';
import { bound, follow, positionsOf, several } from '../../conformance/log-events.ts';

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

/** Follows from the start, and waits for `more` when it has caught up for the first time. */
const followWhile = async (log: EventLog, total: number, more: () => Promise<void>) => {
  let done: Promise<void> | undefined;
  return follow(log, 0, async (item, seen) => {
    if (item.kind === 'caughtUp') await (done ??= more());
    return seen.length >= total;
  });
};

describe('a subscription that is lost', () => {
  test.each<Drop>(['end', 'unavailable', 'reset', 'slow', 'silence'])(
    '%s: is taken up where it was',
    async (how) => {
      const told: string[] = [];
      const log = await open({ silenceMs: 40 }, { onDropped: (reason) => told.push(reason) });
      await add(log, 100);
      const { events } = await followWhile(log, 200, async () => {
        await drop(how);
        await add(log, 100);
      });
      expect(events).toEqual(await everything(log));
      expect(told.length).toBeGreaterThan(0);
    },
  );

  test('a hundred times at any place of the log', async () => {
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

  test('silent from its beginning', async () => {
    const log = await open({ silenceMs: 40 });
    await add(log, 100);
    await server().tell({ name: 'fault', on: 'subscribe', fault: { do: 'silent' }, times: 2 });
    const { events } = await follow(log, 0, (item) => item.kind === 'caughtUp');
    expect(events).toHaveLength(100);
  });

  test('and begins where a record was scavenged: what came after it is not missed', async () => {
    const log = await open();
    const vault = await log.keyVault(Buffer.alloc(32, 1));
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

  test('and told again from its last event on: that is left out', async () => {
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

  test('with the whole server, and back with it', async () => {
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

  test('nothing is taken up after it ended, and nothing stays open at the server', async () => {
    const log = await open();
    await add(log, 10);
    const open0 = (await server().stats()).subscriptionsNow;
    for (let n = 0; n < 3; n += 1) await follow(log, 0, (item) => item.kind === 'events');
    await server().tell({ name: 'await', stat: 'subscriptionsNow', most: open0 });
    await log.readOwner('anna', { after: 0, limit: 1 });
    await server().tell({ name: 'await', stat: 'subscriptionsNow', most: open0 });
  });
});

describe('a consumer that is slow', () => {
  test('and never comes back holds up no close', async () => {
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

  test('is not cut off while its events fit into the queue', async () => {
    const log = await open();
    await add(log, 10);
    const { events } = await followWhile(log, 1_010, () => add(log, 1_000));
    expect(events).toEqual(await everything(log));
    expect((await server().stats()).cuts).toBe(0);
  });

  test('is cut off when they do not, and misses nothing', async () => {
    const log = await open({}, { subscriberEventsMax: 100 });
    await add(log, 10);
    const { events } = await followWhile(log, 4_010, async () => {
      await add(log, 4_000);
      await server().tell({ name: 'await', stat: 'cuts', least: 1 });
    });
    expect(events).toEqual(await everything(log));
    expect((await server().stats()).cuts).toBeGreaterThan(0);
  });

  test('sees no checkpoint before the events that it covers', async () => {
    const log = await open({}, { subscriberEventsMax: 50 });
    await add(log, 3_000);
    const all = positionsOf(await everything(log));
    let delivered = 0;
    const { events } = await follow(log, 0, async (item, seen) => {
      // Slow: a turn of the server for each item.
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

describe('what is not ours', () => {
  test('moves the checkpoint on, and a subscriber goes on behind it', async () => {
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

  test('is never told: neighbours, and what the database keeps for itself', async () => {
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

describe('what no repetition helps', () => {
  test('an answer that cannot be understood is a drop, and stalls nothing', async () => {
    const told: string[] = [];
    const log = await open({}, { onDropped: (reason) => told.push(reason) });
    await add(log, 10);
    await server().tell({ name: 'fault', on: 'subscribe', fault: { do: 'absurd' }, times: 2 });
    const { events } = await follow(log, 0, (item) => item.kind === 'caughtUp');
    expect(events).toHaveLength(10);
    expect(told).toHaveLength(2);
    expect(told[0]).toMatch(/is not an exact number/);
  });

  test('a position that is no place of this log is told, after a few trials', async () => {
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

  test('an event that cannot be brought up to date is thrown to the consumer, once', async () => {
    const upcasts = {
      RequestBound: {
        1: (data: object) => {
          if ((data as { fingerprint?: string }).fingerprint === 'poison')
            throw new Error('poison');
          return data;
        },
      },
    };
    const log = await open({}, { upcasts });
    await log.append('anna-lead_1', NO_STREAM, [bound('a'), bound('poison'), bound('b')]);
    const before = (await server().stats()).subscriptions;
    const seen: SubscriptionItem[] = [];
    const following = follow(log, 0, (item) => {
      seen.push(item);
      return false;
    });
    await expect(following).rejects.toThrow('poison');
    expect(seen.map(({ kind }) => kind)).toEqual(['events', 'checkpoint']);
    expect((await server().stats()).subscriptions).toBe(before + 1);
  });
});
