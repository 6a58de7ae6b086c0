import { localReadModels, remoteReadModels } from '#projections/engine/engine.ts';
import type { Projection } from '#projections/projection.ts';
import type { LocalStore, ReadModels, RemoteStore } from '#src/ports/read-model.ts';

const things = {
  name: 'things',
  version: 1,
  handles: [],
  place: () => undefined,
  evolve: () => null,
};

/** Returns readers of the example read model `things`, version 1, or of others. */
export const readersOf = (
  store: LocalStore,
  projections: readonly Projection[] = [things],
): ReadModels => localReadModels(store, projections, { parkedFor: () => undefined });

/** Returns such readers of a remote store, which require no checkpoint. */
export const remoteReadersOf = (
  store: RemoteStore,
  projections: readonly Projection[] = [things],
): ReadModels =>
  remoteReadModels(store, projections, {
    isFailing: () => false,
    requiredCheckpoint: () => 0,
    parkedFor: () => undefined,
    recheck: () => {},
  });
