/** P: all read models from a million events, against a bare folding read of the same log. */
import { rebuildAll } from '#projections/engine/rebuild.ts';
import { PROJECTIONS } from '#projections/index.ts';
import { memoryStore } from '#src/adapters/memory/read-model.ts';
import { sqliteEventLog } from '#src/adapters/sqlite/event-log.ts';
import type { EventLog } from '#src/ports/event-log.ts';
import type { Bench } from './bench.ts';
import type { Role } from './children.ts';
import { start } from './children.ts';
import { interleaved, middleOf } from './measure.ts';
import { rowOf } from './table.ts';

type Told = { perSecond: number; peakMb: number };

const PAGE_EVENTS = 4_000;
const ROUNDS = 2;

const timed = async (directory: string, act: (log: EventLog) => Promise<void>): Promise<Told> => {
  const log = sqliteEventLog({ directory });
  const startedAt = performance.now();
  await act(log);
  const seconds = (performance.now() - startedAt) / 1_000;
  const { position } = await log.head();
  await log.close();
  // In KiB on Linux: the highest that the process ever held.
  return { perSecond: position / seconds, peakMb: process.resourceUsage().maxRSS / 1_024 };
};

export const rebuildOnce: Role<{ directory: string }, Told> = async ({ directory }) => ({
  told: await timed(directory, async (log) => {
    await rebuildAll({ log, store: memoryStore(), projections: PROJECTIONS });
  }),
});

export const foldOnce: Role<{ directory: string }, Told> = async ({ directory }) => ({
  told: await timed(directory, async (log) => {
    let after = 0;
    for (;;) {
      const last = (await log.readFold({ after, limit: PAGE_EVENTS })).at(-1);
      if (!last) return;
      after = last.position;
    }
  }),
});

const once = async (role: string, directory: string): Promise<Told> => {
  const child = await start<Told>(role, { directory });
  await child.stop();
  return child.told;
};

export const benchRebuild: Bench = async ({ million }) => {
  const { directory, events, sqlitePerSecond } = await million();
  const taken = await interleaved(
    { rebuild: () => once('rebuild', directory), fold: () => once('fold', directory) },
    ROUNDS,
  );
  const control = middleOf(taken.fold, ({ perSecond }) => perSecond);
  const what = `rebuild of all read models, ${events.toLocaleString('en')} events`;
  return [
    rowOf(
      {
        id: 'P',
        what: `${what}, memory, vs bare readFold`,
        value: middleOf(taken.rebuild, ({ perSecond }) => perSecond),
        unit: '1/s',
        control,
      },
      { of: 'value', atLeast: 300_000 },
    ),
    rowOf(
      {
        id: 'P',
        what: 'its peak memory (RSS), vs bare readFold',
        value: Math.max(...taken.rebuild.map(({ peakMb }) => peakMb)),
        unit: 'MB',
        control: Math.max(...taken.fold.map(({ peakMb }) => peakMb)),
      },
      { of: 'value', atMost: 1_500 },
    ),
    rowOf({
      id: 'P',
      what: `${what}, SQLite store, vs bare readFold`,
      value: sqlitePerSecond,
      unit: '1/s',
      control,
    }),
  ];
};
