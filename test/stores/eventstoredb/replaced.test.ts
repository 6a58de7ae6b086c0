/** Another log behind the same address is detected, and a change of the leader is not taken for one. */
import { copyFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { markFile, LogMemory } from '#src/stores/log-memory.ts';
import { type EventLog, NO_STREAM, type SubscriptionItem } from '#src/ports/event-log.ts';
import { several } from '../../conformance/log-events.ts';
import { onStandIn } from '../../support/eventstoredb/eventstoredb-logs.ts';
import { standIn, type StandIn } from '../../support/eventstoredb/start.ts';
import { directories } from '../../support/processes/directories.ts';

const { server, log: open } = onStandIn();
const temporary = directories('tributary-replaced-');
afterAll(temporary.removeAll);

type Durable = { one: StandIn; file: string };

const durable = async (): Promise<Durable> => {
  const file = join(temporary.fresh(), 'log.jsonl');
  const one = await standIn({ file });
  onTestFinished(() => one.kill());
  return { one, file };
};

const append = (log: EventLog, stream: string) => log.append(stream, NO_STREAM, several(2));
/** Reads what a subscription delivers until it has caught up. */
const readOnce = async (log: EventLog): Promise<void> => {
  const stopping = new AbortController();
  for await (const { kind } of log.subscribe({ after: 0, signal: stopping.signal }))
    if (kind === 'caughtUp') stopping.abort();
};
const replaced = { name: 'LogUnavailable', reason: 'replaced', applied: 'no' };

/** Kills the server and starts it again on other data. */
const swap = async ({ one }: Durable, change: () => void): Promise<void> => {
  await one.kill();
  change();
  await one.restart();
  // Records of another application, so that the database is not shorter.
  await one.tell({ name: 'flood', count: 50, stream: 'other-app', type: 'Other' });
};

/** A database of the same server program with another log, longer than any of the tests. */
const otherLog = async (): Promise<string> => {
  const { one, file } = await durable();
  const log = await open({}, { url: one.url });
  for (const n of [1, 2, 3, 4]) await append(log, `bo-lead_${n}`);
  await log.close();
  return file;
};

describe.each(['an empty database', 'an older backup', 'another log'] as const)('%s', (kind) => {
  const swapped = async () => {
    const world = await durable();
    const { one, file } = world;
    const backup = join(temporary.fresh(), 'backup.jsonl');
    const other = await otherLog();
    const log = await open({ pauseMs: 30_000 }, { url: one.url });
    await append(log, 'anna-lead_1');
    copyFileSync(file, backup);
    await append(log, 'anna-lead_2');
    const put = (): void => {
      if (kind === 'an empty database') rmSync(file);
      else copyFileSync(kind === 'another log' ? other : backup, file);
    };
    return { log, world, swap: () => swap(world, put) };
  };

  test('A replaced log is refused by every call after the server came back, and no append is acknowledged', async () => {
    const { log, world, swap } = await swapped();
    const { position } = await log.head();
    await swap();
    const { appends } = await world.one.stats();
    // This append can be lost with the old connection.
    await expect(append(log, 'anna-lead_3')).rejects.toMatchObject({ reason: 'replaced' });
    await expect(append(log, 'anna-lead_4')).rejects.toMatchObject(replaced);
    await expect(log.readStream('anna-lead_1')).rejects.toMatchObject(replaced);
    await expect(log.readFold({ after: 0, limit: 10 })).rejects.toMatchObject(replaced);
    expect((await world.one.stats()).appends).toBe(appends);
    expect(log.replacement?.()).toContain('tributary log adopt');
    expect(await log.head()).toMatchObject({ position });
  });

  test('A replaced log is not sent an append again whose answer was lost', async () => {
    const { log, world, swap } = await swapped();
    await world.one.tell({ name: 'hold' });
    const { appends } = await world.one.stats();
    const pending = append(log, 'anna-lead_3');
    pending.catch(() => {});
    await world.one.tell({ name: 'await', stat: 'appends', least: appends + 1 });
    await swap();
    await expect(pending).rejects.toMatchObject({ ...replaced, applied: 'unknown' });
    expect((await world.one.stats()).appends).toBe(0);
  });

  test('A replaced log delivers nothing to a subscription, which continues when the known log is back', async () => {
    const { log, world, swap } = await swapped();
    const stopping = new AbortController();
    onTestFinished(() => stopping.abort());
    const { signal } = stopping;
    const subscription = log.subscribe({ after: 0, signal });
    const items: AsyncIterator<SubscriptionItem> = subscription[Symbol.asyncIterator]();
    const positions: number[] = [];
    const next = async (): Promise<void> => {
      const { value } = await items.next();
      if (value?.kind === 'events')
        for (const { position } of value.events) positions.push(position);
    };
    while (positions.length < 4) await next();
    const known = join(temporary.fresh(), 'known.jsonl');
    copyFileSync(world.file, known);
    await swap();
    await expect(append(log, 'anna-lead_3')).rejects.toMatchObject({ reason: 'replaced' });
    await world.one.kill();
    copyFileSync(known, world.file);
    await world.one.restart();
    await expect
      .poll(() => append(log, 'anna-lead_4').catch(() => undefined))
      .toMatchObject({ outcome: 'appended' });
    while (positions.length < 6) await next();
    expect(positions).toEqual(positions.toSorted((a, b) => a - b));
    const events = await log.readFold({ after: 0, limit: 10 });
    expect(positions).toEqual(events.map(({ position }) => position));
    expect(log.replacement?.()).toBeUndefined();
  });
});

describe('The known log', () => {
  test('The known log stays known when a new leader lacks an append that was not acknowledged', async () => {
    const log = await open({ attemptMs: 200 });
    await append(log, 'anna-lead_1');
    await server().tell({ name: 'hold' });
    const { appends } = await server().stats();
    const pending = append(log, 'anna-lead_2');
    await server().tell({ name: 'await', stat: 'appends', least: appends + 1 });
    await server().tell({ name: 'erase' });
    await server().tell({ name: 'drop', how: 'unavailable' });
    await server().tell({ name: 'release' });
    expect(await pending).toMatchObject({ outcome: 'appended' });
    expect(log.replacement?.()).toBeUndefined();
    expect(await append(log, 'anna-lead_3')).toMatchObject({ outcome: 'appended' });
  });

  test('The known log is compared when an append is answered at or below a position that was acknowledged', async () => {
    const log = await open();
    for (const n of [1, 2, 3]) await append(log, `anna-lead_${n}`);
    // The connection stays open, so that only the answer shows the fault.
    await server().tell({ name: 'reset' });
    await expect(append(log, 'anna-lead_4')).rejects.toMatchObject({
      reason: 'replaced',
      applied: 'unknown',
    });
  });

  test('The known log is compared at the first call after a pause', async () => {
    const log = await open({ pauseMs: -1 });
    await append(log, 'anna-lead_1');
    await server().tell({ name: 'reset' });
    const { appends } = await server().stats();
    await expect(append(log, 'anna-lead_2')).rejects.toMatchObject(replaced);
    expect((await server().stats()).appends).toBe(appends);
  });

  test('The known log is not compared for an append on a connection in use', async () => {
    const log = await open();
    await append(log, 'anna-lead_1');
    const before = await server().stats();
    for (const n of [2, 3, 4]) await append(log, `anna-lead_${n}`);
    const after = await server().stats();
    expect(after.reads).toBe(before.reads);
    expect(after.appends).toBe(before.appends + 3);
  });

  test('The known log accepts a repetition of an append that is older than the newest one', async () => {
    const log = await open();
    const events = several(2);
    const first = await log.append('anna-lead_1', NO_STREAM, events);
    await append(log, 'anna-lead_2');
    expect(await log.append('anna-lead_1', NO_STREAM, events)).toEqual(first);
    expect(log.replacement?.()).toBeUndefined();
  });
});

describe('A data directory that remembers a log', () => {
  const remembered = async () => {
    const world = await durable();
    const directory = temporary.fresh();
    const reopen = () =>
      open({}, { url: world.one.url, memory: new LogMemory([markFile(directory)]) });
    return { world, reopen };
  };

  test('A data directory that remembers a log opens that log again, even after a kill of the server', async () => {
    const { world, reopen } = await remembered();
    const log = await reopen();
    await append(log, 'anna-lead_1');
    await log.close();
    await world.one.kill();
    await world.one.restart();
    const again = await reopen();
    expect(again.id).toBe(log.id);
    expect(await again.readStream('anna-lead_1')).toHaveLength(2);
  });

  test('A data directory that remembers a log refuses an empty database, and writes no identity into it', async () => {
    const { world, reopen } = await remembered();
    const log = await reopen();
    await log.close();
    await swap(world, () => rmSync(world.file));
    await expect(reopen()).rejects.toThrow(`tributary log adopt ${log.id} none`);
    await expect(reopen()).rejects.toMatchObject({ name: 'StartupError' });
    expect((await world.one.stats()).appends).toBe(0);
  });

  test('A data directory that remembers a log refuses an older backup of its log', async () => {
    const { world, reopen } = await remembered();
    const log = await reopen();
    const backup = join(temporary.fresh(), 'backup.jsonl');
    copyFileSync(world.file, backup);
    await append(log, 'anna-lead_1');
    await log.close();
    await swap(world, () => copyFileSync(backup, world.file));
    await expect(reopen()).rejects.toThrow(`tributary log adopt ${log.id} ${log.id}`);
  });

  test.each([
    ['by a subscription', (log: EventLog) => readOnce(log)],
    ['in bulk', (log: EventLog) => log.readFold({ after: 0, limit: 10 })],
  ])(
    'A data directory that remembers a log refuses a backup without an event that it only read %s',
    async (_how, read) => {
      const { world, reopen } = await remembered();
      const writer = await open({}, { url: world.one.url });
      await append(writer, 'anna-lead_1');
      const backup = join(temporary.fresh(), 'backup.jsonl');
      copyFileSync(world.file, backup);
      await append(writer, 'anna-lead_2');
      const reader = await reopen();
      await read(reader);
      await reader.close();
      await writer.close();
      await swap(world, () => copyFileSync(backup, world.file));
      await expect(reopen()).rejects.toThrow(`tributary log adopt ${reader.id} ${reader.id}`);
      // Also once the log has another event in the place of the lost one.
      const later = await open({}, { url: world.one.url });
      await append(later, 'anna-lead_2');
      await later.close();
      await expect(reopen()).rejects.toThrow(`tributary log adopt ${reader.id} ${reader.id}`);
    },
  );

  test('A data directory that remembers a log has the newest event in its file before rows that were derived from it are written', async () => {
    const { world } = await remembered();
    const directory = temporary.fresh();
    const memory = new LogMemory([markFile(directory)], 3_600_000);
    const log = await open({}, { url: world.one.url, memory });
    await append(log, 'anna-lead_1');
    await memory.stored();
    await append(log, 'anna-lead_2');
    log.remember?.();
    const [newest] = (await log.readStream('anna-lead_2')).slice(-1);
    expect(await markFile(directory).load()).toMatchObject({ newest: { event: newest?.id } });
  });

  test('A data directory that remembers a log refuses another log', async () => {
    const { world, reopen } = await remembered();
    await (await reopen()).close();
    const other = await otherLog();
    await swap(world, () => copyFileSync(other, world.file));
    await expect(reopen()).rejects.toThrow(
      /\. The data directory \S+ belongs to log .* `tributary log adopt \S+ \S+`\.$/,
    );
  });
});
