/** Folds the events of one owner into the rows of all read models, for audits. */
import type { FoldEvent } from '#src/ports/event-log.ts';
import {
  type OwnerFold,
  type RowPlace,
  type ListedRow,
  type ListQuery,
  ReadModelParked,
  type Row,
} from '#src/ports/read-model.ts';
import type { Skips } from '#projections/engine/fold.ts';
import { PROJECTIONS } from './index.ts';
import { entriesOf, type Projection, type ScopeRows } from './projection.ts';

/** The rows of one scope, and their list while no row changes. */
class FoldedScope implements ScopeRows {
  readonly rows = new Map<string, Row>();
  readonly projection: Projection;
  #listed: ListedRow[] | undefined;

  constructor(projection: Projection) {
    this.projection = projection;
  }

  get(key: string): Row | undefined {
    return this.rows.get(key);
  }

  /** All rows are here. */
  load(): void {}

  set(key: string, row: Row | null): void {
    if (row === null) this.rows.delete(key);
    else this.rows.set(key, row);
    this.#listed = undefined;
  }

  list({ list, before = Infinity, downTo = -Infinity, limit }: ListQuery): ListedRow[] {
    if (list !== undefined)
      throw new Error('rows that are folded in memory have no lists by filter');
    this.#listed ??= this.#sorted();
    const page: ListedRow[] = [];
    for (const listed of this.#listed) {
      if (listed.sort < downTo || page.length >= limit) break;
      if (listed.sort < before) page.push(listed);
    }
    return page;
  }

  #sorted(): ListedRow[] {
    const listed: ListedRow[] = [];
    for (const [key, row] of this.rows) {
      const sort = this.projection.sort?.(row) ?? null;
      if (sort !== null) listed.push({ key, row, sort });
    }
    return listed.sort((a, b) => b.sort - a.sort);
  }
}

/** Folds events in log order into rows in memory, as the engine folds them into a store. */
export const openOwnerFold = (projections: readonly Projection[]): OwnerFold => {
  const byName = new Map(projections.map(({ name }) => [name, new Map<string, FoldedScope>()]));
  const byType = new Map<string, { projection: Projection; scopes: Map<string, FoldedScope> }[]>();
  for (const projection of projections) {
    const scopes = byName.get(projection.name) ?? new Map<string, FoldedScope>();
    for (const type of projection.handles)
      byType.set(type, [...(byType.get(type) ?? []), { projection, scopes }]);
  }

  const placeIn = (projection: Projection, event: FoldEvent) => {
    try {
      return projection.place(event);
    } catch (error) {
      throw parkedAt(event, error);
    }
  };
  return {
    rows: {
      get: async <R extends Row>(name: string, scope: string, key: string) =>
        byName.get(name)?.get(scope)?.rows.get(key) as R | undefined,
      list: async <R extends Row>(name: string, query: ListQuery) =>
        (byName.get(name)?.get(query.scope)?.list(query) ?? []) as ListedRow<R>[],
    },
    add(event) {
      for (const { projection, scopes } of byType.get(event.type) ?? []) {
        const place = placeIn(projection, event);
        if (!place) continue;
        let scope = scopes.get(place.scope);
        if (!scope) scopes.set(place.scope, (scope = new FoldedScope(projection)));
        try {
          const before = scope.get(place.key);
          const row = projection.evolve(before, event, scope);
          // A cached list contains the row itself.
          if (row !== before) scope.set(place.key, row);
        } catch (error) {
          throw parkedAt(event, error);
        }
      }
    },
    placesOf(event) {
      return (byType.get(event.type) ?? []).flatMap(({ projection }): RowPlace[] => {
        const place = placeIn(projection, event);
        return place ? [{ readModel: projection.name, scope: place.scope, key: place.key }] : [];
      });
    },
    rowsOf: (readModel) =>
      [...(byName.get(readModel) ?? [])].flatMap(([scope, { rows, projection }]) =>
        Array.from(rows, ([key, row]) => ({
          scope,
          key,
          json: JSON.stringify(row),
          entries: entriesOf(projection, row),
        })),
      ),
    peek: ({ readModel, scope, key }) => byName.get(readModel)?.get(scope)?.rows.get(key),
  };
};

/** The read models that have an owner's records and numbers. */
const AUDITED: ReadonlySet<string> = new Set([
  'links',
  'handoffs',
  'leads',
  'outbound',
  'access',
  'performance',
]);

/** Makes empty folds without what is skipped: of the read models that have records and numbers, or of all. */
export const ownerFolds = (skips: Skips) => {
  const projections = skips.over(PROJECTIONS);
  return {
    audited: () => openOwnerFold(projections.filter(({ name }) => AUDITED.has(name))),
    all: () => openOwnerFold(projections),
  };
};

const parkedAt = ({ type, position }: FoldEvent, error: unknown): ReadModelParked =>
  new ReadModelParked(
    `the ${type} at position ${position} cannot be folded: ${error instanceof Error ? error.message : String(error)}`,
  );
