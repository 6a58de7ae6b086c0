import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises';
import type { Position } from '#src/ports/event-log.ts';
import {
  type Found,
  type ListQuery,
  type LocalStore,
  partitionOf,
  PARTITIONS,
  ReadModelParked,
  ReadModelRebuilding,
  type ReadModels,
  type RemoteStore,
  type Row,
  type Space,
} from '#src/ports/read-model.ts';
import type { Projection } from '../projection.ts';
import type { Engine } from './run.ts';
import { ofVersion } from './spaces.ts';

/** Together with the store's own limits less than the 250 ms that a request may wait for it. */
const BEHIND_MS_MAX = 60;
const BEHIND_MS_FIRST = 2;
/** A look at all the store has costs some hundred questions; readers ask for it once in this time. */
const RECHECK_MS = 100;
/** A listing out of this process that takes longer lets others have their turn, every so many rows. */
const TURN_MS = 5;
const ROWS_IN_TURN = 500;

const byName = (projections: readonly Projection[]): ((name: string) => Projection) => {
  const known = new Map(projections.map((projection) => [projection.name, projection]));
  return (name) => {
    const projection = known.get(name);
    if (!projection) throw new Error(`no read model is called ${name}`);
    return projection;
  };
};

const mustFollow = (engine: Pick<Engine, 'parkedFor'>, name: string, scope: string): void => {
  const parked = engine.parkedFor(name, scope);
  if (parked) throw new ReadModelParked(`${name} stands before position ${parked.position}`);
};

/** A row without a promise, for what every request needs. */
export type LocalReadModels = ReadModels & {
  peek<R extends Row>(name: string, scope: string, key: string): R | undefined;
};

/** Read models of a store in this process. A space of another version has rows of other shapes. */
export const localReadModels = (
  store: LocalStore,
  projections: readonly Projection[],
  engine: Pick<Engine, 'parkedFor'>,
): LocalReadModels => {
  const projectionOf = byName(projections);
  /** As looked at last: names are taken apart once, not for each row. */
  const readable = new Map<string, Space>();
  const live = (name: string, scope: string): Space => {
    const space = store.live(name);
    if (space === null || readable.get(name) !== space) {
      if (!ofVersion(space, projectionOf(name)))
        throw new ReadModelRebuilding(`${name} is being filled`);
      readable.set(name, space);
    }
    mustFollow(engine, name, scope);
    return space;
  };
  const peek = <R extends Row>(name: string, scope: string, key: string) =>
    store.peek(live(name, scope), scope, key) as R | undefined;
  return {
    peek,
    get: async <R extends Row>(name: string, scope: string, key: string) =>
      peek<R>(name, scope, key),
    async list<R extends Row>(name: string, query: ListQuery) {
      const found: { row: R; sort: number; key: string }[] = [];
      let began = performance.now();
      for (let rest = query; ; ) {
        const limit = Math.min(query.limit - found.length, ROWS_IN_TURN);
        const page = store.list(live(name, query.scope), { ...rest, limit });
        found.push(...(page as typeof found));
        const last = page.at(-1);
        if (!last || page.length < limit || found.length >= query.limit) return found;
        rest = { ...query, before: last.sort };
        if (performance.now() - began < TURN_MS) continue;
        await turn();
        began = performance.now();
      }
    },
  };
};

/**
 * Read models of a store across the network, one round trip a question. The engine knows how far
 * rows must be folded; a store that has less, because it was flushed or restored or because its
 * projector is behind, is waited for a moment, and its rows are not shown. What was owed once stays
 * owed: whoever has been told of a position is not shown the rows from before it.
 */
export const remoteReadModels = (
  store: RemoteStore,
  projections: readonly Projection[],
  engine: Pick<Engine, 'failing' | 'owed' | 'parkedFor' | 'recheck'>,
): ReadModels => {
  const projectionOf = byName(projections);
  const highest = new Map<string, Position[]>();
  let recheckedAt = -Infinity;

  const owedBy = (name: string, scope: string): Position => {
    const owed = engine.owed(name, scope);
    if (owed === undefined) throw new ReadModelRebuilding(`${name} is being filled`);
    const known = highest.get(name) ?? new Array<Position>(PARTITIONS).fill(0);
    highest.set(name, known);
    const partition = partitionOf(scope);
    known[partition] = Math.max(owed, known[partition] ?? 0);
    return known[partition];
  };

  const recheck = (): void => {
    if (performance.now() - recheckedAt < RECHECK_MS) return;
    recheckedAt = performance.now();
    engine.recheck();
  };

  const right = async <Value>(
    name: string,
    scope: string,
    ask: () => Promise<Found<Value>>,
  ): Promise<Value> => {
    const projection = projectionOf(name);
    mustFollow(engine, name, scope);
    // A store that is full answers what it has, and takes nothing that happened since.
    if (engine.failing()) throw new ReadModelRebuilding(`${name} cannot be written`);
    const owed = owedBy(name, scope);
    const deadline = performance.now() + BEHIND_MS_MAX;
    for (let wait = BEHIND_MS_FIRST; ; wait *= 2) {
      const { space, checkpoint, value } = await ask();
      if (ofVersion(space, projection) && checkpoint !== undefined && checkpoint >= owed)
        return value;
      recheck();
      const behind = `${name} is at ${checkpoint ?? 'nothing'}, not at ${owed}`;
      if (performance.now() + wait > deadline) throw new ReadModelRebuilding(behind);
      await pause(wait);
      await store.refresh();
      if (performance.now() > deadline) throw new ReadModelRebuilding(behind);
    }
  };

  return {
    get: async <R extends Row>(name: string, scope: string, key: string) =>
      (await right(name, scope, () => store.find(name, scope, key))) as R | undefined,
    list: async <R extends Row>(name: string, query: ListQuery) =>
      (await right(name, query.scope, () => store.page(name, query))) as {
        row: R;
        sort: number;
        key: string;
      }[],
  };
};
