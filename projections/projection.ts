import type { EventType } from '#contracts/events/index.ts';
import type { FoldEvent } from '#src/ports/event-log.ts';
import type { Row, Space } from '#src/ports/read-model.ts';

/**
 * A read model: the row that an event changes, and the change. The engine does everything else. A fold depends on its
 * arguments only, so that the same events always make the same rows.
 *
 * Uses method syntax so that an array of projections with different rows type-checks.
 */
export type Projection<R extends Row = Row> = {
  readonly name: string;
  /** Must increase when the same events make other rows: a new space is filled then. */
  readonly version: number;
  readonly handles: readonly EventType[];
  /** The types among them that are always the first of their row, so that the store is not read for them. */
  readonly begins?: readonly EventType[];
  /** The scope and key of the event's row; undefined skips the event. The scope decides the partition. */
  place(event: FoldEvent): { scope: string; key: string } | undefined;
  /**
   * Folds the event into the row; null removes the row. May mutate `row`, but must not throw after its first write
   * to it.
   */
  evolve(row: R | undefined, event: FoldEvent): R | null;
  /** The sort key of the row in the list of its scope. It never changes. Without it, rows are read by key only. */
  sort?(row: R): number;
};

export const spaceOf = (projection: Pick<Projection, 'name' | 'version'>, build: number): Space =>
  `${projection.name}@${projection.version}.${build}`;
