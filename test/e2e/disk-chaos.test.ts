/** Random errors of the disk, and kills with flipped bits: nothing acknowledged is lost silently or done twice. */
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { env } from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import { once } from 'node:events';
import { afterAll, describe, expect, it } from 'vitest';
import {
  sqliteEventLog,
  type LogSource,
  sqliteLogSource,
} from '#src/stores/sqlite/log/event-log.ts';
import { LogCorrupted, type StoredEvent } from '#src/ports/event-log.ts';
import { StartupError } from '#src/ports/startup-error.ts';
import { until } from '../support/clients/cli.ts';
import { randomFrom } from '../support/clients/journal.ts';
import { buildDiskFaults, type Call, type DiskFaults } from '../support/disk/disk-faults.ts';
import type { Blow, Slot } from '../support/processes/chaos.ts';
import {
  acknowledgedIds,
  expectRecordsOnce,
  inDoubt,
  keepWriting,
  type Load,
  newLoad,
  recordIds,
  send,
} from '../support/processes/chaos-clients.ts';
import type { ChildService } from '../support/processes/child-service.ts';
import { expectProved, served } from '../support/audit/export.ts';
import { agentKey, atDesk, endChildren, serveChild } from '../support/processes/child-service.ts';
import { directories } from '../support/processes/directories.ts';
import { feedProduct } from '../support/world/app.ts';
import { HANG_MS } from '../support/hang.ts';

/** A sixth of the faults of `make test-chaos`, and each fault at least once. */
const BLOWS = Math.max(8, Math.ceil(Number(env['CHAOS_BLOWS'] ?? 0) / 6));
const SEED = Number(env['SEED'] ?? env['CHAOS_SEED'] ?? 351_196_904);
const CLIENTS = 6;
const FLIPS = 8;
const WRITES_BETWEEN = 20;
const FAULT_MS_MAX = 800;
const CALLS: Call[] = ['read', 'write', 'sync'];

const { fresh, removeAll } = directories('disk-chaos-');
const built = buildDiskFaults(fresh());
afterAll(async () => {
  await endChildren();
  removeAll();
});

type EmbeddedSlot = Slot & { now(): ChildService | undefined };

const embedded = (settings: Record<string, string>): EmbeddedSlot => {
  const directory = fresh();
  let current: ChildService | undefined;
  return {
    role: 'all',
    directory,
    now: () => current,
    async start() {
      current = await serveChild(directory, settings);
    },
    async kill() {
      const victim = current;
      current = undefined;
      await victim?.end('SIGKILL');
    },
  };
};

const readAll = async (log: Pick<LogSource, 'readAll'>): Promise<StoredEvent[]> => {
  const events: StoredEvent[] = [];
  for (let page = await log.readAll({ after: 0, limit: 1_000 }); page.length > 0; ) {
    events.push(...page);
    page = await log.readAll({ after: page.at(-1)?.position ?? 0, limit: 1_000 });
  }
  return events;
};

/** Flips one bit of the write-ahead log in a copy; reports whether the copy is refused. */
const isRefused = async (slot: Slot, load: Load, random: (below: number) => number) => {
  const copy = fresh();
  cpSync(slot.directory, copy, { recursive: true });
  const wal = join(copy, 'log.db-wal');
  const bytes = readFileSync(wal);
  if (bytes.length === 0) return false;
  const [at, bit] = [random(bytes.length), random(8)];
  bytes[at] = (bytes[at] ?? 0) ^ (1 << bit);
  writeFileSync(wal, bytes);
  let source: LogSource | undefined;
  try {
    source = sqliteLogSource(copy);
    const stored = new Set(recordIds(await readAll(source)));
    const lost = acknowledgedIds(load).filter((id) => !stored.has(id));
    expect(lost, `byte ${at} bit ${bit} of ${wal}`).toEqual([]);
    return false;
  } catch (error) {
    if (!(error instanceof StartupError || error instanceof LogCorrupted)) throw error;
    return true;
  } finally {
    await source?.close();
  }
};

type World = { slot: EmbeddedSlot; faults: DiskFaults; load: Load; refused: number };

/** Each fault ends when the service runs again. */
const blowsOn = (world: World, random: (below: number) => number): Blow[] => {
  const { slot, faults, load } = world;
  const during = async (fail: () => void): Promise<void> => {
    fail();
    // The random moment of the end is what the test varies, so it waits for no condition.
    await wait(random(FAULT_MS_MAX));
    faults.end();
  };
  return [
    ...['/views.db', '/keys.db', '/catalog-'].map((part) => ({
      name: `EIO on ${part}`,
      strike: () =>
        during(() => faults.fail(CALLS.slice(part === '/catalog-' ? 1 : 0), 'EIO', part)),
    })),
    {
      name: 'no space',
      strike: () => during(() => faults.fail(['write'], 'EDQUOT', slot.directory)),
    },
    {
      name: 'EIO on log.db',
      async strike() {
        const { child } = slot.now() ?? {};
        const exited = child && once(child, 'exit');
        faults.fail(['write', 'sync'], 'EIO', '/log.db');
        await exited;
        faults.end();
        await slot.start();
      },
    },
    {
      name: 'killed, with flipped bits',
      async strike() {
        await slot.kill();
        for (let n = 0; n < FLIPS; n += 1)
          if (await isRefused(slot, load, random)) world.refused += 1;
        await slot.start();
      },
    },
  ];
};

/** Waits until the service has recovered from the last fault, so that the next one has acknowledged writes to lose. */
const untilWritten = async ({ journal }: Load): Promise<void> => {
  const enough = journal.acknowledged.size + WRITES_BETWEEN;
  const isWritten = await until(async () => journal.acknowledged.size >= enough);
  expect(isWritten, 'the service accepts no writes').toBe(true);
};

const storm = async (world: World): Promise<string[]> => {
  const random = randomFrom(SEED);
  const { slot, load } = world;
  let isOver = false;
  const clients = Array.from({ length: CLIENTS }, () =>
    keepWriting(
      load,
      () => slot,
      () => isOver,
    ),
  );
  const blows = blowsOn(world, random);
  const struck: string[] = [];
  while (struck.length < BLOWS) {
    // Each fault once, then at random.
    const blow = blows[struck.length < blows.length ? struck.length : random(blows.length)];
    struck.push(blow?.name ?? '');
    await untilWritten(load);
    await wait(random(FAULT_MS_MAX));
    await blow?.strike();
  }
  await untilWritten(load);
  isOver = true;
  await Promise.all(clients);
  return struck;
};

// The faults end at random moments, so the run belongs to `make test-chaos`; faults/disk-errors makes each fault in order.
const isAsked = env['CHAOS_BLOWS'] !== undefined;
const WHY = isAsked ? 'needs cc on Linux' : 'skipped: make test-chaos runs it';

describe.skipIf(!isAsked || !built)(`An embedded service on a bad disk (${WHY})`, () => {
  it('An embedded service on a bad disk loses nothing acknowledged without reporting it, does nothing twice, and recovers', {
    timeout: BLOWS * 30_000 + 2 * HANG_MS,
  }, async () => {
    const faults = built as DiskFaults;
    const slot = embedded(faults.settings);
    await slot.start();
    const first = slot.now();
    if (!first) throw new Error('not started');
    const products = Array.from({ length: 5 }, (_, n) => feedProduct(`SKU-${n}`));
    await atDesk(first, '/products/import', { products });
    const load = newLoad(await agentKey(first));
    const world: World = { slot, faults, load, refused: 0 };

    const struck = await storm(world);
    const label = `seed=${SEED} (${struck.join(', ')})`;
    const doubts = inDoubt(load).length;
    const isHealed = await until(async () => {
      for (const name of inDoubt(load)) await send(load, slot, name);
      return inDoubt(load).length === 0;
    });
    expect(isHealed, `${label}: ${inDoubt(load).join()}${slot.now()?.log().slice(-3_000)}`).toBe(
      true,
    );
    const { size } = load.journal.acknowledged;
    process.stdout.write(
      `disk chaos: seed=${SEED}: ${BLOWS} blows, ${size} writes, ${doubts} in doubt, ` +
        `${world.refused} damaged copies refused\n`,
    );
    expect(load.faults, label).toEqual([]);
    await expectProved(served(slot.now(), fresh()), ['acme'], label);
    expect(await slot.now()?.end('SIGTERM')).toEqual({ code: 0, signal: null });
    const log = sqliteEventLog({ directory: slot.directory });
    expect((await log.verify()).fault, label).toBeNull();
    expectRecordsOnce(await readAll(log), load);
    await log.close();
    load.client.close();
  });
});
