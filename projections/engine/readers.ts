import type { LocalStore, ReadModels, Row, Space } from '#src/ports/read-model.ts';
import { ReadModelRebuilding } from '#src/ports/read-model.ts';
import type { Projection } from '../projection.ts';
import { ofVersion } from './spaces.ts';

/** Read models of a store in this process. A space of another version has rows of other shapes. */
export const localReadModels = (
  store: LocalStore,
  projections: readonly Projection[],
): ReadModels => {
  const known = new Map(projections.map((projection) => [projection.name, projection]));
  const live = (name: string): Space => {
    const projection = known.get(name);
    if (!projection) throw new Error(`no read model is called ${name}`);
    const space = store.live(name);
    if (!ofVersion(space, projection)) throw new ReadModelRebuilding(`${name} is being filled`);
    return space;
  };
  return {
    get: async <R extends Row>(name: string, scope: string, key: string) =>
      store.peek(live(name), scope, key) as R | undefined,
    list: async <R extends Row>(name: string, query: Parameters<ReadModels['list']>[1]) =>
      store.list(live(name), query) as { row: R; sort: number; key: string }[],
  };
};
