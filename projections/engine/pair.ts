/**
 * Read models in two stores: near, in this process, and far, across the network. Each store has an
 * engine of its own, because a loop waits for its store: a far one that is away must not keep a
 * revoked key alive.
 */
import type { Position } from '#src/ports/event-log.ts';
import type {
  ProjectionStore,
  ReadModels,
  RemoteStore,
  Row,
  Space,
} from '#src/ports/read-model.ts';
import type { Engine } from './run.ts';

/** Which of the two has a read model, by its name. */
export type IsNear = (projection: string) => boolean;

/** With the probe of the store that follows, less than a request may wait for the far store. */
const AWAY_MS = 150;

export const pairedEngines = (
  near: Engine,
  far: Engine,
  isNear: IsNear,
  store: Pick<RemoteStore, 'refresh'>,
): Engine => {
  const engineOf = (projection: string): Engine => (isNear(projection) ? near : far);

  const bothDone = async (): Promise<void> => {
    await Promise.all([near.done, far.done]);
  };

  let looking: Promise<void> | undefined;
  /** One question for all who wait at the time: a store that is behind has enough to do. */
  const look = (): Promise<void> =>
    (looking ??= store.refresh().finally(() => (looking = undefined)));

  /** Waits for a far store that is behind, and not for one that is away. */
  const farPassed = async (position: Position, waitMs: number): Promise<boolean> => {
    if (await far.passed(position, Math.min(waitMs, AWAY_MS))) return true;
    if (waitMs <= AWAY_MS || far.failing()) return false;
    try {
      await look();
    } catch {
      return false;
    }
    return far.passed(position, waitMs - AWAY_MS);
  };

  return {
    async passed(position, waitMs) {
      const both = [near.passed(position, waitMs), farPassed(position, waitMs)];
      return (await Promise.all(both)).every(Boolean);
    },
    position: () => Math.min(near.position(), far.position()),
    asOf: () => (near.position() < far.position() ? near.asOf() : far.asOf()),
    failing: () => near.failing() || far.failing(),
    status: async () => (await Promise.all([near.status(), far.status()])).flat(),
    owed: (projection, scope) => engineOf(projection).owed(projection, scope),
    foldedUpTo: (projection, scope, at) => engineOf(projection).foldedUpTo(projection, scope, at),
    parkedFor: (projection, scope) => engineOf(projection).parkedFor(projection, scope),
    adopt: (target) => engineOf(target.projection.name).adopt(target),
    progress: (projection, progress) => engineOf(projection).progress(projection, progress),
    recheck() {
      near.recheck();
      far.recheck();
    },
    ready: Promise.all([near.ready, far.ready]).then((both) => both.every(Boolean)),
    done: bothDone(),
  };
};

/** Both stores as one, for whoever rebuilds and verifies. */
export const pairedStores = (
  near: ProjectionStore,
  far: ProjectionStore,
  isNear: IsNear,
): ProjectionStore => {
  const storeOf = (projection: string): ProjectionStore => (isNear(projection) ? near : far);
  const holderOf = (space: Space): ProjectionStore => storeOf(space.slice(0, space.indexOf('@')));
  return {
    ...(far.fillEvents !== undefined && { fillEvents: far.fillEvents }),
    checkpoints: (space) => holderOf(space).checkpoints(space),
    load: (space, keys, at) => holderOf(space).load(space, keys, at),
    commit: (space, batches) => holderOf(space).commit(space, batches),
    digest: (space, partition) => holderOf(space).digest(space, partition),
    count: (space) => holderOf(space).count(space),
    spaces: (name) => storeOf(name).spaces(name),
    goLive: (name, space) => storeOf(name).goLive(name, space),
    drop: (space) => holderOf(space).drop(space),
    flush: async () => void (await Promise.all([near.flush(), far.flush()])),
    close: async () => void (await Promise.all([near.close(), far.close()])),
  };
};

export const pairedReadModels = (
  near: ReadModels,
  far: ReadModels,
  isNear: IsNear,
): ReadModels => ({
  get: <R extends Row>(name: string, scope: string, key: string) =>
    (isNear(name) ? near : far).get<R>(name, scope, key),
  list: <R extends Row>(name: string, query: Parameters<ReadModels['list']>[1]) =>
    (isNear(name) ? near : far).list<R>(name, query),
});
