/** Read models as the application reads them, from this process or from a store that a projector fills. */
import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises';
import type { Projection } from '#projections/projection.ts';
import type { Position } from '#src/ports/event-log.ts';
import {
  ReadModelParked,
  type ListedRow,
  type ListQuery,
  type LocalStore,
  ReadModelRebuilding,
  type ReadModels,
  type Row,
  type Space,
  type RemoteStore,
  partitionOf,
  PARTITIONS,
  type RemotePage,
  type RemoteRead,
} from '#src/ports/read-model.ts';
import type { Engine } from './engine.ts';
import { isOfVersion } from './target.ts';

const indexByName = (projections: readonly Projection[]): ((name: string) => Projection) => {
  const index = new Map(projections.map((projection) => [projection.name, projection]));
  return (name) => {
    const projection = index.get(name);
    if (!projection) throw new Error(`there is no read model ${name}`);
    return projection;
  };
};

/** Throws ReadModelParked. */
const requireUnparked = (engine: Pick<Engine, 'parkedFor'>, name: string, scope: string): void => {
  const parked = engine.parkedFor(name, scope);
  if (parked) throw new ReadModelParked(`${name} is parked before position ${parked.position}`);
};

/** A longer local listing gives other requests a turn of the event loop after every page, which is short where rows are large. */
const TURN_MS = 5;
const ROWS_AT_FIRST = 16;
const ROWS_PER_PAGE = 500;

/** Read models with a synchronous lookup, which authentication needs for every request. */
export type LocalReadModels = ReadModels & {
  /** Names the read models that have no live space of their version. */
  unreadable(): string[];
  peek<R extends Row>(name: string, scope: string, key: string): R | undefined;
};

/** Reads rows of a store in this process. Never reads a space of another version. */
export const localReadModels = (
  store: LocalStore,
  projections: readonly Projection[],
  engine: Pick<Engine, 'parkedFor'>,
): LocalReadModels => {
  const projectionOf = indexByName(projections);
  /** Spaces whose version was checked, so that names are parsed once and not for each row. */
  const checked = new Map<string, Space>();
  const requireLive = (name: string, scope: string): Space => {
    const space = store.live(name);
    if (space === null || checked.get(name) !== space) {
      if (!isOfVersion(space, projectionOf(name)))
        throw new ReadModelRebuilding(`${name} is being filled`);
      checked.set(name, space);
    }
    requireUnparked(engine, name, scope);
    return space;
  };
  const peek = <R extends Row>(name: string, scope: string, key: string) =>
    store.peek(requireLive(name, scope), scope, key) as R | undefined;
  return {
    peek,
    unreadable: () =>
      projections
        .filter((projection) => !isOfVersion(store.live(projection.name), projection))
        .map(({ name }) => name),
    get: async <R extends Row>(name: string, scope: string, key: string) =>
      peek<R>(name, scope, key),
    async list<R extends Row>(name: string, query: ListQuery) {
      const rows: ListedRow<R>[] = [];
      let startedAt = performance.now();
      // Pages of an ascending list would need another place to continue at, and no list of that kind is long.
      let size = query.isAscending ? query.limit : ROWS_AT_FIRST;
      for (let rest = query; ; ) {
        const limit = Math.min(query.limit - rows.length, size);
        const page = store.list(requireLive(name, query.scope), { ...rest, limit });
        rows.push(...(page as ListedRow<R>[]));
        const last = page.at(-1);
        if (!last || page.length < limit || rows.length >= query.limit) return rows;
        rest = { ...query, before: last.sort, beforeKey: last.key };
        const isLong = performance.now() - startedAt >= TURN_MS;
        size = isLong ? Math.max(1, Math.floor(size / 4)) : Math.min(ROWS_PER_PAGE, size * 8);
        if (!isLong) continue;
        await turn();
        startedAt = performance.now();
      }
    },
  };
};

/** What both engines do together; `adopt`, `reportFill` and rows belong to one of them. */
export type EnginePair = Pick<
  Engine,
  | 'passed'
  | 'position'
  | 'asOf'
  | 'isFailing'
  | 'status'
  | 'parkedElsewhere'
  | 'retryParked'
  | 'recheck'
  | 'done'
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
    parkedElsewhere: () => remote.parkedElsewhere(),
    async retryParked(projection) {
      await Promise.all([local.retryParked(projection), remote.retryParked(projection)]);
    },
    recheck() {
      local.recheck();
      remote.recheck();
    },
    done: Promise.all([local.done, remote.done]).then(() => undefined),
  };
};

/**
 * Pairs read models in two stores: a local one in this process and a remote one across the network. Each store has an
 * engine of its own, because a loop waits for its store: an unavailable remote store must not delay the revocation of a
 * key.
 */
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

/** Together with the limits of the store, less than the 250 ms that a request may wait for it. */
const LAGGING_MS_MAX = 60;
const LAGGING_MS_FIRST = 2;
/** An inspection costs hundreds of questions to the store; readers start one per interval. */
const RECHECK_MS = 100;

/** Lists rows that may not fit into one answer of the store. */
const joinPages = async (
  query: ListQuery,
  readPage: (query: ListQuery) => Promise<RemotePage>,
): Promise<ListedRow[]> => {
  const listed: ListedRow[] = [];
  for (let rest = query; ; ) {
    const { rows, isCut } = await readPage(rest);
    listed.push(...rows);
    const last = rows.at(-1);
    if (!isCut || !last) return listed;
    const limit = query.limit - listed.length;
    rest = { ...query, before: last.sort, beforeKey: last.key, limit };
  }
};

/**
 * Reads rows of a store across the network, in one round trip per question, or per page of a long
 * list. The engine knows the checkpoint that rows must have. Rows of a store with a lower checkpoint
 * (it was flushed, was restored, or its projector is lagging) are not shown; readers wait a moment
 * for it to catch up.
 * Required checkpoints never decrease, so that no client sees older rows than before.
 */
export const remoteReadModels = (
  store: RemoteStore,
  projections: readonly Projection[],
  engine: Pick<Engine, 'isFailing' | 'requiredCheckpoint' | 'parkedFor' | 'recheck'>,
): ReadModels => {
  const projectionOf = indexByName(projections);
  const highest = new Map<string, Position[]>();
  let recheckedAt = -Infinity;

  const requiredFor = (name: string, scope: string): Position => {
    const required = engine.requiredCheckpoint(name, scope);
    if (required === undefined) throw new ReadModelRebuilding(`${name} is being filled`);
    const positions = highest.get(name) ?? new Array<Position>(PARTITIONS).fill(0);
    highest.set(name, positions);
    const partition = partitionOf(scope);
    return (positions[partition] = Math.max(required, positions[partition] ?? 0));
  };

  const recheck = (): void => {
    if (performance.now() - recheckedAt < RECHECK_MS) return;
    recheckedAt = performance.now();
    engine.recheck();
  };

  const read = async <Value>(
    name: string,
    scope: string,
    ask: () => Promise<RemoteRead<Value>>,
  ): Promise<Value> => {
    const projection = projectionOf(name);
    requireUnparked(engine, name, scope);
    // A full store still answers, but without the events that it could not store.
    if (engine.isFailing()) throw new ReadModelRebuilding(`${name} cannot be written`);
    const required = requiredFor(name, scope);
    const deadline = performance.now() + LAGGING_MS_MAX;
    for (let wait = LAGGING_MS_FIRST; ; wait *= 2) {
      const { space, checkpoint, value } = await ask();
      if (isOfVersion(space, projection) && checkpoint !== undefined && checkpoint >= required)
        return value;
      recheck();
      const detail = `${name} is at ${checkpoint ?? 'nothing'}, not at ${required}`;
      if (performance.now() + wait > deadline) throw new ReadModelRebuilding(detail);
      await pause(wait);
      await store.refresh();
      if (performance.now() > deadline) throw new ReadModelRebuilding(detail);
    }
  };

  return {
    get: async <R extends Row>(name: string, scope: string, key: string) =>
      (await read(name, scope, () => store.find(name, scope, key))) as R | undefined,
    list: async <R extends Row>(name: string, query: ListQuery) =>
      (await joinPages(query, (rest) =>
        read(name, query.scope, () => store.page(name, rest)),
      )) as ListedRow<R>[],
  };
};
