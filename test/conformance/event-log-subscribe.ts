/** The part of the port's definition for `subscribe`. */
import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { type EventLog, NO_STREAM } from '#src/ports/event-log.ts';
import { bound, follow, positionsOf, printOf, several } from './log-events.ts';

export const subscriptions = (log: () => EventLog): void => {
  const fill = (count: number, from = 0): Promise<unknown> =>
    Promise.all(
      Array.from({ length: count }, (_, n) =>
        log().append(`anna-lead_${from + n}`, NO_STREAM, [bound(`${from + n}`)]),
      ),
    );

  test('A subscription has the history, then caughtUp once, then new events', async () => {
    await fill(1_200);
    let caughtUp = 0;
    const { events, items } = await follow(log(), 0, (item, seen) => {
      if (item.kind !== 'caughtUp') return seen.length === 1_210 && item.kind === 'checkpoint';
      caughtUp += 1;
      expect(seen).toHaveLength(1_200);
      expect(item.position).toBe(seen.at(-1)?.position);
      void fill(10, 1_200);
      return false;
    });
    expect(caughtUp).toBe(1);
    expect(new Set(events.map(printOf)).size).toBe(1_210);
    // Each batch is followed by its checkpoint.
    const batches = items.filter((item) => item.kind === 'events');
    const checkpoints = items.filter((item) => item.kind === 'checkpoint');
    const ends = batches.map((batch) => batch.events.at(-1)?.position);
    expect(checkpoints.map((checkpoint) => checkpoint.position)).toEqual(ends);
  });

  test('A subscription misses and repeats nothing between history and commits', async () => {
    const total = 5_000;
    const reader = follow(log(), 0, (_, seen) => seen.length >= total);
    for (let from = 0; from < total; from += 250) await fill(250, from);
    const { events } = await reader;
    expect(events).toEqual(await log().readFold({ after: 0, limit: total + 1 }));
  });

  test('The first subscriber sees a commit that is under way when it subscribes', async () => {
    await fill(1);
    const { position } = await log().head();
    const underWay = fill(1, 1);
    await turn();
    const reader = follow(log(), position, (_, seen) => seen.length >= 2);
    await underWay;
    await fill(1, 2);
    const { events } = await reader;
    expect(events.map(printOf)).toEqual(['1', '2']);
  });

  test('A slow subscriber misses nothing', async () => {
    let fed = 0;
    const { events } = await follow(log(), 0, async (_, seen) => {
      // Appends far more than it reads, and continues only when all of that is committed.
      if (fed < 20) await fill(300, 300 * fed);
      fed += 1;
      return seen.length >= 6_000;
    });
    expect(events).toEqual(await log().readFold({ after: 0, limit: 9_000 }));
  });

  test('A subscription begins after the given position', async () => {
    await log().append('anna-lead_1', NO_STREAM, several(5));
    const third = positionsOf(await log().readAll({ after: 0, limit: 3 })).at(-1) ?? 0;
    const { events } = await follow(log(), third, (item) => item.kind === 'caughtUp');
    expect(events.map(printOf)).toEqual(['f3', 'f4']);
    const { position } = await log().head();
    const { items } = await follow(log(), position, () => true);
    expect(items).toEqual([{ kind: 'caughtUp', position }]);
  });

  test('An abort ends a subscription that waits or has not begun', async () => {
    const controller = new AbortController();
    const items: string[] = [];
    for await (const item of log().subscribe({ after: 0, signal: controller.signal })) {
      if (item.kind === 'checkpoint') continue;
      items.push(item.kind);
      setImmediate(() => controller.abort());
    }
    expect(items).toEqual(['caughtUp']);
    for await (const item of log().subscribe({ after: 0, signal: controller.signal }))
      items.push(item.kind);
    expect(items).toEqual(['caughtUp']);
  });

  test('Two subscribers get the same events', async () => {
    const both = [0, 1].map(() => follow(log(), 0, (_, seen) => seen.length >= 700));
    await fill(700);
    const [one, two] = await Promise.all(both);
    expect(one?.events).toEqual(two?.events);
  });
};

/** For logs in this process, for which the port's `subscribe` guarantees more. */
export const embeddedLogConformance = (log: () => EventLog): void => {
  test('A waiting subscriber has seen the events when their append resolves', async () => {
    const order: string[] = [];
    let appended: Promise<unknown> = Promise.resolve();
    await follow(log(), 0, (item, seen) => {
      order.push(item.kind);
      if (item.kind !== 'caughtUp') return seen.length === 3;
      // One turn later the subscriber waits for the next item.
      setImmediate(() => {
        const append = log().append('anna-lead_1', NO_STREAM, several(3));
        appended = append.then(() => order.push('resolved'));
      });
      return false;
    });
    await appended;
    expect(order).toContain('resolved');
    expect(order.indexOf('events')).toBeLessThan(order.indexOf('resolved'));
  });
};
