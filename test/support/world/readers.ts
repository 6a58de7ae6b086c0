import { localReadModels, remoteReadModels } from '#projections/engine/readers.ts';
import type { LocalStore, ReadModels, RemoteStore } from '#src/ports/read-model.ts';

const things = {
  name: 'things',
  version: 1,
  handles: [],
  place: () => undefined,
  evolve: () => null,
};

/** Readers of the made-up read model `things`, version 1. */
export const readersOf = (store: LocalStore): ReadModels =>
  localReadModels(store, [things], { parkedFor: () => undefined });

/** The same, of a store across the network, for whoever asks for no more than it has. */
export const remoteReadersOf = (store: RemoteStore): ReadModels =>
  remoteReadModels(store, [things], {
    isFailing: () => false,
    requiredCheckpoint: () => 0,
    parkedFor: () => undefined,
    recheck: () => {},
  });
