import type { EventType } from '#contracts/events/index.ts';
import type { FoldEvent } from '#src/ports/event-log.ts';
import type { Row, Space } from '#src/ports/read-model.ts';

/**
 * A read model: which rows an event touches, and what becomes of each. The engine does the rest.
 * A fold asks nothing of the world, so that the same events always leave the same rows.
 *
 * Method syntax, because a registry of projections of different rows must type-check.
 */
export type Projection<R extends Row = Row> = {
  readonly name: string;
  /** Rises when the code's shape of a row changes: a new space is then filled. */
  readonly version: number;
  readonly handles: readonly EventType[];
  /** Of these, the types that stand first in their row's story: no store is asked for a row before. */
  readonly begins?: readonly EventType[];
  /** Where the event's row lives; undefined passes the event over. The scope decides the partition. */
  place(event: FoldEvent): { scope: string; key: string } | undefined;
  /**
   * The row after the event; null removes it. The fold owns the row it is given and may write into
   * it, but throws, if it must, before its first write.
   */
  evolve(row: R | undefined, event: FoldEvent): R | null;
  /** Place of the row in its scope's list, rising and never changing; rows without are found by key. */
  sort?(row: R): number;
};

export const spaceOf = (projection: Pick<Projection, 'name' | 'version'>, build: number): Space =>
  `${projection.name}@${projection.version}.${build}`;
