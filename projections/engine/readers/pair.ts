/**
 * Read models in two stores: a local one in this process and a remote one across the network. Each
 * store has an engine of its own, because a loop waits for its store: an unavailable remote store
 * must not delay the revocation of a key.
 */
import type { ReadModels, RemoteStore, Row } from '#src/ports/read-model.ts';
import type { Engine } from '../engine.ts';

/** What both engines do together; `adopt`, `reportFill` and rows belong to one of them. */
export type EnginePair = Pick<
  Engine,
  'passed' | 'position' | 'asOf' | 'isFailing' | 'status' | 'recheck' | 'done'
>;

/** Together with the refresh of the store, less than a request may wait for the remote store. */
const UNAVAILABLE_MS = 150;

export const pairEngines = (
  local: Engine,
  remote: Engine,
  store: Pick<RemoteStore, 'refresh'>,
): EnginePair => {
  let refreshing: Promise<void> | undefined;
  /** Callers share one refresh, because a lagging store is busy. */
  const refresh = (): Promise<void> =>
    (refreshing ??= store.refresh().finally(() => (refreshing = undefined)));

  /** Waits for a remote store that is lagging, but not for one that is unavailable. */
  const remotePassed: Engine['passed'] = async (position, waitMs) => {
    if (await remote.passed(position, Math.min(waitMs, UNAVAILABLE_MS))) return true;
    if (waitMs <= UNAVAILABLE_MS || remote.isFailing()) return false;
    try {
      await refresh();
    } catch {
      return false;
    }
    return remote.passed(position, waitMs - UNAVAILABLE_MS);
  };

  return {
    async passed(position, waitMs) {
      const both = [local.passed(position, waitMs), remotePassed(position, waitMs)];
      return (await Promise.all(both)).every(Boolean);
    },
    position: () => Math.min(local.position(), remote.position()),
    asOf: () => (local.position() < remote.position() ? local : remote).asOf(),
    isFailing: () => local.isFailing() || remote.isFailing(),
    status: async () => (await Promise.all([local.status(), remote.status()])).flat(),
    recheck() {
      local.recheck();
      remote.recheck();
    },
    done: Promise.all([local.done, remote.done]).then(() => undefined),
  };
};

export const pairReadModels = (
  local: ReadModels,
  remote: ReadModels,
  isLocal: (projection: string) => boolean,
): ReadModels => {
  const modelsOf = (name: string): ReadModels => (isLocal(name) ? local : remote);
  return {
    get: <R extends Row>(name: string, scope: string, key: string) =>
      modelsOf(name).get<R>(name, scope, key),
    list: <R extends Row>(name: string, query: Parameters<ReadModels['list']>[1]) =>
      modelsOf(name).list<R>(name, query),
  };
};
