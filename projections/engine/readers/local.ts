import { setImmediate as turn } from 'node:timers/promises';
import {
  type ListedRow,
  type ListQuery,
  type LocalStore,
  ReadModelRebuilding,
  type ReadModels,
  type Row,
  type Space,
} from '#src/ports/read-model.ts';
import type { Projection } from '../../projection.ts';
import type { Engine } from '../engine.ts';
import { isOfVersion } from '../spaces.ts';
import { indexByName, requireUnparked } from './readable.ts';

/** A longer local listing gives other requests a turn of the event loop after every page. */
const TURN_MS = 5;
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
      for (let rest = query; ; ) {
        const limit = Math.min(query.limit - rows.length, ROWS_PER_PAGE);
        const page = store.list(requireLive(name, query.scope), { ...rest, limit });
        rows.push(...(page as ListedRow<R>[]));
        const last = page.at(-1);
        if (!last || page.length < limit || rows.length >= query.limit) return rows;
        rest = { ...query, before: last.sort, beforeKey: last.key };
        if (performance.now() - startedAt < TURN_MS) continue;
        await turn();
        startedAt = performance.now();
      }
    },
  };
};
