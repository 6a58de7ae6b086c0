/** The type of a read model's projection, and how one is defined over a decider. */
import type { EventType, Happened } from '#contracts/registries/events.ts';
import type { FoldEvent } from '#src/ports/event-log.ts';
import {
  entriesInOrder,
  entriesOfNew,
  type ListEntry,
  type Row,
  type Space,
} from '#src/ports/read-model.ts';

export type EventPlace = { scope: string; key: string };

/** The other rows of an event's scope. Rows may be modified in place only if they are set afterwards. */
export type ScopeRows = {
  /** Reads one of the other rows that `others` or `load` named, or that was set before. */
  get(key: string): Row | undefined;
  /**
   * Names further rows that a rare change reads. Where they are not loaded, the event is folded again once they are: call
   * it before the first write.
   */
  load(keys: readonly string[]): void;
  /** Writes a row of any key; null removes it. A row that `others` did not name is replaced without being read. */
  set(key: string, row: Row | null): void;
};

/**
 * A read model: the rows that an event changes, and the change. The engine does everything else. A fold depends on its
 * arguments only, so that the same events always make the same rows.
 *
 * Uses method syntax so that an array of projections with different rows type-checks.
 *
 * @example
 * const owners: Projection<OwnerRow> = {
 *   name: 'owners',
 *   version: 1,
 *   handles: ['AccessRequested'],
 *   place: ({ owner }) => ({ scope: ALL_OWNERS, key: owner }),
 *   evolve: (row, { owner, position }) => row ?? { owner, sort: position },
 * };
 */
export type Projection<R extends Row = Row> = {
  readonly name: string;
  /** Must increase when the same events make other rows or lists: a new space is filled then. */
  readonly version: number;
  readonly handles: readonly EventType[];
  /** The types among them that are always the first of their row, so that the store is not read for them. */
  readonly begins?: readonly EventType[];
  /** The scope and key of the event's row; undefined skips the event. The scope decides the partition. */
  place(event: FoldEvent): EventPlace | undefined;
  /** The keys of other rows of the scope that the change reads, of an event with a place. A fold in memory does not ask. */
  others?(event: FoldEvent): readonly string[];
  /**
   * Folds the event into the row; null removes the row. May mutate `row`, but must not throw after its first write
   * to it.
   */
  evolve(row: R | undefined, event: FoldEvent, others: ScopeRows): R | null;
  /** A row's sort key in the list of all rows of its scope; null for a row that is not in it. It never changes. */
  sort?(row: R): number | null;
  /**
   * The other lists of the scope that have the row, by which readers filter. The store writes what differs from the
   * lists of the row before, so an event must name every row that it sets in `place` or `others`.
   */
  lists?(row: R): readonly ListEntry[];
};

/** The entries that a row has, in the list of all rows and in others, in the order of their names. */
export const entriesOf = (
  { sort, lists }: Pick<Projection, 'sort' | 'lists'>,
  row: Row,
): ListEntry[] =>
  entriesInOrder(entriesOfNew({ sort: sort?.(row) ?? null, added: lists?.(row) ?? [] }));

export const spaceOfBuild = (
  projection: Pick<Projection, 'name' | 'version'>,
  build: number,
): Space => `${projection.name}@${projection.version}.${build}`;

/** Narrows an event to its stored shape. The log validates events, and `handles` selects their types. */
export const typedEvent = <Type extends EventType>(event: FoldEvent): Happened<Type> =>
  event as FoldEvent & Happened<Type>;

/** The id of the record that the event's stream belongs to: `led_0k3…` for `acme-lead_0k3…`. */
export const recordIdOf = (
  { stream, owner }: FoldEvent,
  kind: string,
  prefix: string,
): string | undefined => {
  const start = owner.length + 1;
  return stream.startsWith(`${kind}_`, start)
    ? `${prefix}_${stream.slice(start + kind.length + 1)}`
    : undefined;
};
