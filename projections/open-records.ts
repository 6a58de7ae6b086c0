/** Read models of records that are not at their end. */
import type { EventType, Happened } from '#contracts/registries/events.ts';
import type { FoldEvent } from '#src/ports/event-log.ts';
import type { ListEntry } from '#src/ports/read-model.ts';
import { OPEN_RECORDS, type OpenRow } from '#src/ports/rows.ts';
import { type Projection, typedEvent } from './projection.ts';

type Definition<State, Type extends EventType> = Pick<Projection, 'name' | 'version'> & {
  handles: readonly Type[];
  begins: Type;
  /** The id of the record; undefined if the event is not one of this kind of record. */
  keyOf(event: FoldEvent & Happened<Type>): string | undefined;
  fold(state: State | undefined, event: Happened<Type>): State;
  /** Whether the record is at its end, so that it leaves the list. */
  isSettled(state: State): boolean;
  /** The names of the lists by which readers filter. */
  lists(row: OpenRow<State>): readonly string[];
};

/** The records of one kind of all owners that are not at their end, newest first. */
export const openRecords = <State extends object, Type extends EventType>({
  name,
  version,
  handles,
  begins,
  keyOf,
  fold,
  isSettled,
  lists,
}: Definition<State, Type>): Projection<OpenRow<State>> => ({
  name,
  version,
  handles,
  begins: [begins],
  place(event) {
    const key = keyOf(event as FoldEvent & Happened<Type>);
    return key === undefined ? undefined : { scope: OPEN_RECORDS, key };
  },
  evolve(row, event) {
    // A record can be erased after its end.
    if (!row && event.type !== begins) return null;
    const state = fold(row?.state, typedEvent<Type>(event));
    return isSettled(state)
      ? null
      : { owner: event.owner, sort: row ? row.sort : event.position, state };
  },
  sort: (row) => row.sort,
  lists: (row) => lists(row).map((list): ListEntry => [list, row.sort]),
});
