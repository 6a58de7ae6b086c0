/** The progress of other projectors as a process that folds nothing reports it. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Position } from '#src/ports/event-log.ts';
import { partitionOf, PARTITIONS, type RemoteStore } from '#src/ports/read-model.ts';
import { RemoteProgress } from '#src/wiring/read-models.ts';
import { append, appendMany, awaitPassed, tally, world } from '../support/world/engine.ts';

let { log, start, end } = world();
beforeEach(() => ({ log, start, end } = world()));
afterEach(() => end());

test('The lag of an idle partition counts from its next event, not from its last one', async () => {
  const engine = await start({ partitions: [] });
  const folded = new Array<Position>(PARTITIONS).fill(0);
  const store = {
    checkpoints: async () => [...folded],
  } as unknown as RemoteStore;
  const progress = new RemoteProgress(store, engine, [tally()]);
  const statusAt = async (position: Position) => {
    await awaitPassed(engine, position);
    const [status] = await progress.status();
    return status;
  };
  const fold = (owner: string, position: Position) => (folded[partitionOf(owner)] = position);

  const first = await append(log, 'anna');
  fold('anna', first);
  expect(await statusAt(first)).toMatchObject({ checkpoint: first, lagEvents: 0 });
  const quiet = await appendMany(log, ['boris'], 50);
  fold('boris', quiet);
  expect(await statusAt(quiet)).toMatchObject({ checkpoint: quiet, lagEvents: 0 });

  await append(log, 'anna');
  expect(await statusAt(quiet + 1)).toMatchObject({ checkpoint: quiet, lagEvents: 1 });
  await append(log, 'anna');
  expect(await statusAt(quiet + 2)).toMatchObject({ checkpoint: quiet, lagEvents: 2 });
  fold('anna', quiet + 1);
  expect(await statusAt(quiet + 2)).toMatchObject({ checkpoint: quiet + 1, lagEvents: 1 });
  fold('anna', quiet + 2);
  expect(await statusAt(quiet + 2)).toMatchObject({ checkpoint: quiet + 2, lagEvents: 0 });
});
