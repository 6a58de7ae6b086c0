/** Read models of one kind of record: the records of each owner as their decider folds them, newest first. */
import type { EventType, Happened } from '#contracts/registries/events.ts';
import type { FoldEvent, Position } from '#src/ports/event-log.ts';
import { type Projection, typedEvent } from './projection.ts';

/** The decider's state and the position of the record's first event. */
export type RecordRow<State> = State & { sort: Position };

type Definition<State, Type extends EventType> = Pick<Projection, 'name' | 'version'> & {
  handles: readonly Type[];
  begins: readonly Type[];
  /** The id of the record; undefined if the event is not one of this kind of record. */
  keyOf(event: FoldEvent & Happened<Type>): string | undefined;
  fold(state: State | undefined, event: Happened<Type>): State;
};

export const ownerRecords = <State extends object, Type extends EventType>(
  definition: Definition<State, Type>,
): Projection<RecordRow<State>> => {
  const { name, version, handles, begins, keyOf, fold } = definition;
  return {
    name,
    version,
    handles,
    begins,
    place(event) {
      const key = keyOf(event as FoldEvent & Happened<Type>);
      return key === undefined ? undefined : { scope: event.owner, key };
    },
    evolve(row, event) {
      const state = fold(row, typedEvent<Type>(event)) as RecordRow<State>;
      state.sort = row ? row.sort : event.position;
      return state;
    },
    sort: (row) => row.sort,
  };
};
