import { setTimeout as pause } from 'node:timers/promises';
import type { Position } from '#src/ports/event-log.ts';
import {
  type ListedRow,
  type ListQuery,
  partitionOf,
  PARTITIONS,
  ReadModelRebuilding,
  type ReadModels,
  type RemotePage,
  type RemoteRead,
  type RemoteStore,
  type Row,
} from '#src/ports/read-model.ts';
import type { Projection } from '../../projection.ts';
import type { Engine } from '../engine.ts';
import { isOfVersion } from '../spaces.ts';
import { indexByName, requireUnparked } from './readable.ts';

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
