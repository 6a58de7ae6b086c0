import { localReadModels } from '#projections/engine/readers.ts';
import type { LocalStore, ReadModels } from '#src/ports/read-model.ts';

/** Readers of the made-up read model `things`, version 1. */
export const readersOf = (store: LocalStore): ReadModels =>
  localReadModels(store, [{ ...things, version: 1 }]);

const things = {
  name: 'things',
  handles: [],
  place: () => undefined,
  evolve: () => null,
};
