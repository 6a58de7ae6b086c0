import { expect, test } from 'vitest';
import { memoryStore } from '../../support/memory-read-model.ts';
import { partitionOf } from '#src/ports/read-model.ts';
import { readModelConformance } from '../../conformance/read-model.ts';
import { readersOf } from '../../support/world/readers.ts';

readModelConformance('memory', async () => {
  const store = memoryStore();
  return { store, readModels: readersOf(store), cleanup: () => store.close() };
});

test('The memory store returns a row and the live space synchronously', async () => {
  const store = memoryStore();
  const row = { n: 1 };
  const write = { scope: 'anna', key: 'a', row, sort: 1 };
  await store.commit('things@1.1', [
    { partition: partitionOf('anna'), from: 0, to: 1, writes: [write] },
  ]);
  expect(store.peek('things@1.1', 'anna', 'a')).toBe(row);
  expect(store.live('things')).toBeNull();
  await store.goLive('things@1.1');
  expect(store.live('things')).toBe('things@1.1');
});
