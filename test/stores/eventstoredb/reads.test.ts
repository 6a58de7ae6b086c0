/** Reads from EventStoreDB: limits, repetition, and records of other applications. */
import { describe, expect, test } from 'vitest';
import { positionOf } from '#src/stores/eventstoredb/reads.ts';
import { NO_STREAM } from '#src/ports/event-log.ts';
import type { ReadFault } from '../../support/eventstoredb/stand-in/faults.ts';
import { onStandIn } from '../../support/eventstoredb/eventstoredb-logs.ts';
import { bound, follow, positionsOf, printOf, several } from '../../conformance/log-events.ts';

const { server, log: open } = onStandIn();

const fault = (fault: ReadFault, times = 1): Promise<void> =>
  server().tell({ name: 'fault', on: 'read', fault, times });
const flood = (count: number, stream: string, type: string): Promise<void> =>
  server().tell({ name: 'flood', count, stream, type });

describe('A read', () => {
  test('A read is repeated when it has no answer, fails, or reaches a follower', async () => {
    const log = await open({ idleMs: 50 });
    await log.append('anna-lead_1', NO_STREAM, several(3));
    const { port } = server();
    const faults: ReadFault[] = [
      { do: 'swallow' },
      { do: 'unavailable' },
      { do: 'notLeader', port },
    ];
    for (const kind of faults) {
      await fault(kind);
      expect(await log.readStream('anna-lead_1')).toHaveLength(3);
      await fault(kind, 2);
      expect(await log.readAll({ after: 0, limit: 2 })).toHaveLength(2);
      await fault(kind);
      expect((await log.head()).position).toBeGreaterThan(0);
    }
  });

  test('A read without an answer fails in bounded time', async () => {
    const log = await open({ idleMs: 20, readRepeatMs: 60 });
    await fault({ do: 'swallow' }, 1_000);
    const read = log.readStream('anna-lead_1');
    await expect(read).rejects.toMatchObject({ reason: 'fault', applied: 'no' });
  });

  test('A denied read is not repeated', async () => {
    const log = await open();
    const before = (await server().stats()).reads;
    await fault({ do: 'deny' });
    const read = log.readAll({ after: 0, limit: 1 });
    await expect(read).rejects.toMatchObject({ reason: 'fault', applied: 'no' });
    expect((await server().stats()).reads).toBe(before + 1);
  });

  test('A read waits while 64 others run, and does not delay appends', async () => {
    const log = await open({ idleMs: 400 });
    await fault({ do: 'swallow' }, 64);
    const reads = Array.from({ length: 200 }, (_, n) => log.readStream(`anna-lead_${n}`));
    await server().tell({ name: 'await', stat: 'readsNow', least: 64 });
    const appended = await log.append('anna-lead_1', NO_STREAM, several(1));
    expect(appended).toMatchObject({ outcome: 'appended' });
    expect((await server().stats()).readsNow).toBeLessThanOrEqual(64);
    await Promise.all(reads);
    expect((await server().stats()).readsMost).toBe(64);
  });
});

describe('Records of other applications', () => {
  test('Records of other applications are skipped before, between and after the events of the log', async () => {
    const log = await open();
    for (let n = 0; n < 3; n += 1) {
      await flood(300, '$noise', '$noise');
      await flood(100, 'other-app_1', 'Theirs');
      await log.append(`anna-lead_${n}`, NO_STREAM, several(2));
    }
    const last = (await log.readStream('anna-lead_2')).at(-1);
    expect(await log.head()).toEqual({ position: last?.position, at: last?.meta.at });
    await flood(700, '$noise', '$noise');
    const all = await log.readAll({ after: 0, limit: 100 });
    expect(all.map(({ stream }) => stream.at(-1))).toEqual(['0', '0', '1', '1', '2', '2']);
    const pages = [0, 2, 4].map((n) => ({ after: all[n - 1]?.position ?? 0, limit: 2 }));
    const paged = await Promise.all(pages.map((page) => log.readAll(page)));
    expect(paged.flat()).toEqual(all);
    for (const upTo of [last?.position ?? 0, Number.MAX_SAFE_INTEGER])
      expect(await log.readBack({ upTo, limit: 5 })).toEqual(all.slice(-5));
    expect(await log.readFold({ after: last?.position ?? 0, limit: 10 })).toEqual([]);
  });

  test('Records of other applications cost a read of the whole log in pages little more than their own number', async () => {
    const log = await open();
    for (let n = 0; n < 200; n += 1) {
      await log.append(`anna-lead_${n}`, NO_STREAM, several(4));
      await flood(1, 'other-app_1', 'Theirs');
    }
    const before = (await server().stats()).recordsRead;
    let after = 0;
    let events = 0;
    for (let page = await log.readFold({ after, limit: 100 }); page.length > 0; ) {
      events += page.length;
      after = page.at(-1)?.position ?? after;
      page = await log.readFold({ after, limit: 100 });
    }
    expect(events).toBe(800);
    const { recordsRead } = await server().stats();
    expect(recordsRead - before).toBeLessThan(1.3 * 1_000);
  });

  test('A log with only records of other applications is an empty log', async () => {
    const log = await open();
    await flood(500, '$noise', '$noise');
    expect(await log.readAll({ after: 0, limit: 10 })).toEqual([]);
    expect(await log.readOwner('other', { after: 0, limit: 10 })).toEqual([]);
  });
});

describe('The head', () => {
  test.each([
    ['key streams', 'tributary_keys-led_{n}', '$TributaryKey'],
    ['events of another application', 'shop-order_{n}', 'OrderPlaced'],
    ['records of the server', '$stats-{n}', '$statistics'],
  ])('The head of the log is the newest of 10,500 %s, in one read', async (_, stream, type) => {
    const log = await open();
    await log.append('anna-lead_1', NO_STREAM, several(1));
    const before = await log.head();
    await flood(10_500, stream, type);
    const { reads } = await server().stats();
    const head = await log.head();
    expect((await server().stats()).reads).toBe(reads + 1);
    expect(head.position).toBeGreaterThan(before.position + 10_500);
    expect(head.at).toBeNull();
    expect(await log.readAll({ after: before.position, limit: 1 })).toEqual([]);
    const { items } = await follow(log, before.position, (item) => item.kind === 'caughtUp');
    expect(items.at(-1)).toEqual({ kind: 'caughtUp', position: head.position });
  });

  test('The head of the log is reached by a subscription that waits for events', async () => {
    const log = await open();
    let isFlooded = false;
    await follow(log, 0, async (item) => {
      if (item.kind === 'caughtUp') {
        await flood(1, '$noise', '$noise');
        isFlooded = true;
      }
      return isFlooded && item.kind === 'checkpoint';
    }).then(async ({ items }) =>
      expect(items.at(-1)).toMatchObject({ position: (await log.head()).position }),
    );
  });
});

describe('A filtered read', () => {
  test('A filtered read returns the same events when it is interrupted at any point', async () => {
    const log = await open();
    for (let n = 0; n < 40; n += 1) {
      const events = Array.from({ length: 10 }, (_, k) => bound(`${n}-${k}`));
      await log.append(`${n % 2 ? 'anna' : 'annabel'}-lead_${n}`, NO_STREAM, events);
    }
    const own = await log.readOwner('anna', { after: 0, limit: 1_000 });
    expect(own).toHaveLength(200);
    const faults = [
      { do: 'unavailable' },
      { do: 'break', after: 64 },
      { do: 'break', after: 1 },
    ] as const;
    for (const fault of faults) {
      await server().tell({ name: 'fault', on: 'subscribe', fault, times: 2 });
      expect(await log.readOwner('anna', { after: 0, limit: 1_000 })).toEqual(own);
    }
    const hasty = await open({ idleMs: 60 });
    await server().tell({ name: 'fault', on: 'subscribe', fault: { do: 'silent' } });
    expect(await hasty.readOwner('anna', { after: 0, limit: 1_000 })).toEqual(own);
    const after = own[9]?.position ?? 0;
    const upTo = own[29]?.position ?? 0;
    const some = await log.readOwner('anna', { after, limit: 1_000, upTo });
    expect(positionsOf(some)).toEqual(positionsOf(own.slice(10, 30)));
    expect(await log.readOwner('anna', { after: 0, limit: 1_000, upTo: 0 })).toEqual([]);
    const typed = await log.readAll({ after, limit: 7, types: ['Request', 'RequestBound'] });
    expect(typed.map(printOf)).toHaveLength(7);
    expect(await log.readAll({ after: 0, limit: 7, types: ['Request', 'R.*'] })).toEqual([]);
  });
});

describe('A position', () => {
  test('A position is an exact number or an error', async () => {
    expect(positionOf(0n)).toBe(0);
    expect(positionOf(2n ** 53n - 1n)).toBe(Number.MAX_SAFE_INTEGER);
    for (const commit of [2n ** 53n, 2n ** 64n - 1n, -1n, undefined])
      expect(() => positionOf(commit)).toThrow(/not an exact number/);
  });

  test('A position can be any number, although the server reads only from records', async () => {
    const log = await open();
    for (let n = 0; n < 6; n += 1) {
      await flood(3, '$noise', '$noise');
      await log.append(`${n % 2 ? 'anna' : 'bo'}-lead_${n}`, NO_STREAM, several(2));
    }
    const all = await log.readAll({ after: 0, limit: 100 });
    expect(all).toHaveLength(12);
    const { position: head } = await log.head();
    const numbers = all.flatMap(({ position }) => [position - 1, position + 1, position + 50]);
    for (const after of [1, 7, ...numbers, head + 1, 2 * head]) {
      const later = all.filter(({ position }) => position > after);
      expect(await log.readAll({ after, limit: 100 })).toEqual(later);
      const own = later.filter(({ owner }) => owner === 'anna');
      expect(await log.readOwner('anna', { after, limit: 100 })).toEqual(own);
    }
  });
});
