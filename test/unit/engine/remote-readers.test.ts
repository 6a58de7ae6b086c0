import { describe, expect, test } from 'vitest';
import { remoteReadModels } from '#projections/engine/readers.ts';
import type { Parked } from '#projections/engine/target.ts';
import type { Position } from '#src/ports/event-log.ts';
import type { Found, RemoteStore, Row } from '#src/ports/read-model.ts';
import { partitionOf, ReadModelParked, ReadModelRebuilding } from '#src/ports/read-model.ts';
import { tally } from '../../support/world/engine.ts';

type Answer = Found<Row | undefined>;

/** Answers one after the other, the last for ever. */
const readers = (
  owed: readonly (Position | undefined)[],
  answers: readonly Answer[],
  parked?: Parked,
) => {
  let [reads, refreshes, rechecks] = [0, 0, 0];
  const at = <T>(list: readonly T[], i: number): T => list[Math.min(i, list.length - 1)] as T;
  const store = {
    find: async () => at(answers, reads++),
    refresh: async () => void (refreshes += 1),
  } as unknown as RemoteStore;
  let asks = 0;
  const engine = {
    failing: () => false,
    owed: () => at(owed, asks++),
    parkedFor: () => parked,
    recheck: () => void (rechecks += 1),
  };
  const models = remoteReadModels(store, [tally()], engine);
  return {
    get: () => models.get('tally', 'anna', 'tally'),
    told: () => ({ reads, refreshes, rechecks }),
  };
};

const answer = (checkpoint: Position | undefined, space: string | null = 'tally@1.1'): Answer => ({
  space,
  checkpoint,
  value: { checkpoint },
});

describe('readers of a far store', () => {
  test('take an answer that is folded as far as the engine says', async () => {
    const { get, told } = readers([5], [answer(5)]);
    expect(await get()).toEqual({ checkpoint: 5 });
    expect(told()).toEqual({ reads: 1, refreshes: 0, rechecks: 0 });
  });

  test('wait a moment for one that is behind, and have the engine look', async () => {
    const { get, told } = readers([5], [answer(4), answer(undefined), answer(6)]);
    expect(await get()).toEqual({ checkpoint: 6 });
    expect(told()).toEqual({ reads: 3, refreshes: 2, rechecks: 1 });
  });

  test('show nothing of one that stays behind, is lost, or is of another version', async () => {
    for (const bad of [answer(4), answer(undefined), answer(9, null), answer(9, 'tally@2.1')])
      await expect(readers([5], [bad]).get()).rejects.toThrow(ReadModelRebuilding);
    await expect(readers([undefined], [answer(9)]).get()).rejects.toThrow('is being filled');
  });

  test('do not even ask for rows of a partition that is parked', async () => {
    const parked = { partition: partitionOf('anna'), position: 5, stream: 'anna-x_1', reason: '' };
    const { get, told } = readers([5], [answer(9)], parked);
    await expect(get()).rejects.toThrow(ReadModelParked);
    expect(told().reads).toBe(0);
  });

  test('never go back behind what was once owed, also when the engine starts again', async () => {
    const { get } = readers([5, 2], [answer(5), answer(3)]);
    expect(await get()).toEqual({ checkpoint: 5 });
    await expect(get()).rejects.toThrow('is at 3, not at 5');
  });
});
