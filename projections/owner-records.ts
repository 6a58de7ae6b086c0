/** Read models of one kind of record: the records of each owner as their decider folds them, newest first. */
import type { EventType, Happened } from '#contracts/registries/events.ts';
import type { FoldEvent, Position } from '#src/ports/event-log.ts';
import type { ListEntry } from '#src/ports/read-model.ts';
import {
  BY_CHANGE,
  listBy,
  listOfCampaign,
  listOfExternalId,
  listOfWord,
  foldedWords,
} from '#src/ports/rows.ts';
import { type Projection, typedEvent } from './projection.ts';

/** The decider's state, and the positions of the record's first and last event. */
export type RecordRow<State> = State & { sort: Position; changed: Position };

type Definition<State, Type extends EventType> = Pick<Projection, 'name' | 'version'> & {
  handles: readonly Type[];
  begins: readonly Type[];
  /** The id of the record; undefined if the event is not one of this kind of record. */
  keyOf(event: FoldEvent & Happened<Type>): string | undefined;
  fold(state: State | undefined, event: Happened<Type>): State;
};

/**
 * Each event of a record must raise its `updated_at`: `listRecords` reads rows by their last event, and ends at the first whose
 * `updated_at` is too old.
 */
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
      state.changed = event.position;
      return state;
    },
    sort: (row) => row.sort,
  };
};

/** By what agents find a record. */
type Found = {
  status: string;
  campaigns: readonly (string | undefined)[];
  external_id?: string | undefined;
  /** Texts whose words find it, besides those of its campaigns and its external_id. */
  texts: readonly (string | undefined)[];
};

/** The lists in which agents find a record of their owner. */
export const listsOfRecord = (
  { sort, changed }: Pick<RecordRow<object>, 'sort' | 'changed'>,
  { status, campaigns, external_id, texts }: Found,
): ListEntry[] => {
  const words = [...texts, ...campaigns, external_id].flatMap((text = '') => foldedWords(text));
  const lists = new Set([
    listBy({ status }),
    ...campaigns.map((campaign) => campaign && listOfCampaign(campaign)),
    external_id && listOfExternalId(external_id),
    ...words.map(listOfWord),
  ]);
  const named = [...lists].filter((list): list is string => Boolean(list));
  return [...named.map((list): ListEntry => [list, sort]), [BY_CHANGE, changed]];
};
