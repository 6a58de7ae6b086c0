import { describe, expect, test, vi } from 'vitest';
import { remoteReadModels } from '#projections/engine/engine.ts';
import type { ParkedPartition } from '#projections/engine/target.ts';
import type { Position } from '#src/ports/event-log.ts';
import {
  type RemoteRead,
  type RemoteStore,
  type Row,
  partitionOf,
  ReadModelParked,
  ReadModelRebuilding,
} from '#src/ports/read-model.ts';
import { tally } from '../support/world/engine.ts';

type Answer = RemoteRead<Row | undefined>;

/** Readers of a store that gives these answers in order, and repeats the last one. */
const readers = (
  required: readonly (Position | undefined)[],
  answers: readonly Answer[],
  parked?: ParkedPartition,
) => {
  let [reads, refreshes, rechecks] = [0, 0, 0];
  const at = <T>(list: readonly T[], i: number): T => list[Math.min(i, list.length - 1)] as T;
  const store = {
    find: async () => at(answers, reads++),
    refresh: async () => void (refreshes += 1),
  } as unknown as RemoteStore;
  let asks = 0;
  const engine = {
    isFailing: () => false,
    requiredCheckpoint: () => at(required, asks++),
    parkedFor: () => parked,
    recheck: () => void (rechecks += 1),
  };
  const models = remoteReadModels(store, [tally()], engine);
  return {
    get: () => models.get('tally', 'anna', 'tally'),
    counts: () => ({ reads, refreshes, rechecks }),
  };
};

const answer = (checkpoint: Position | undefined, space: string | null = 'tally@1.1'): Answer => ({
  space,
  checkpoint,
  value: { checkpoint },
});

describe('Readers of a remote store', () => {
  test('Readers of a remote store accept an answer with the required checkpoint', async () => {
    const { get, counts } = readers([5], [answer(5)]);
    expect(await get()).toEqual({ checkpoint: 5 });
    expect(counts()).toEqual({ reads: 1, refreshes: 0, rechecks: 0 });
  });

  test('Readers of a remote store wait for a lagging store, and let the engine inspect it', async () => {
    // The wait has a limit of time, which a busy machine exceeds.
    const now = vi.spyOn(performance, 'now').mockReturnValue(1e6);
    const { get, counts } = readers([5], [answer(4), answer(undefined), answer(6)]);
    expect(await get()).toEqual({ checkpoint: 6 });
    now.mockRestore();
    expect(counts()).toEqual({ reads: 3, refreshes: 2, rechecks: 1 });
  });

  test('Readers of a remote store reject rows that keep lagging, are lost, or have another version', async () => {
    for (const bad of [answer(4), answer(undefined), answer(9, null), answer(9, 'tally@2.1')])
      await expect(readers([5], [bad]).get()).rejects.toThrow(ReadModelRebuilding);
    await expect(readers([undefined], [answer(9)]).get()).rejects.toThrow('is being filled');
  });

  test('Readers of a remote store do not query the rows of a parked partition', async () => {
    const parked = { partition: partitionOf('anna'), position: 5, stream: 'anna-x_1', reason: '' };
    const { get, counts } = readers([5], [answer(9)], parked);
    await expect(get()).rejects.toThrow(ReadModelParked);
    expect(counts().reads).toBe(0);
  });

  test('Readers of a remote store never accept a lower checkpoint than before, even after the engine restarts', async () => {
    const { get } = readers([5, 2], [answer(5), answer(3)]);
    expect(await get()).toEqual({ checkpoint: 5 });
    await expect(get()).rejects.toThrow('is at 3, not at 5');
  });
});
