/** The records of each owner as their deciders fold them, newest first, and the history of its acts. */
import {
  type EventType,
  HANDOFF_EVENTS,
  type HandoffEventType,
  type Happened,
  LINK_EVENTS,
  type LinkEventType,
  OUTBOUND_EVENTS,
  type OutboundEventType,
  EVENTS,
} from '#contracts/registries/events.ts';
import { handoff } from '#src/handoffs/handoff.decider.ts';
import { link } from '#src/links/link.decider.ts';
import {
  foldOutbound,
  isUndispatched,
  type OutboundState,
} from '#src/outreach/outbound.decider.ts';
import type { FoldEvent, Position } from '#src/ports/event-log.ts';
import {
  listBy,
  OUTBOUND_BY_EXPIRY,
  EVENTS_PER_HISTORY_ROW,
  type HistoryRow,
  NEWEST_HISTORY,
  VALUES_PER_HISTORY_ENTRY,
} from '#src/ports/rows.ts';
import { type Projection, recordIdOf, typedEvent } from './projection.ts';

/** The records of each owner as their deciders fold them, newest first. */

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

export const links = ownerRecords({
  name: 'links',
  version: 1,
  handles: LINK_EVENTS,
  begins: ['LinkCreated'],
  keyOf: ({ data }: Happened<LinkEventType>) => data.link_id,
  fold: link.evolve,
});

export const handoffs = ownerRecords({
  name: 'handoffs',
  version: 4,
  handles: HANDOFF_EVENTS,
  begins: ['HandoffCreated', 'BuyerListCreated'],
  // An erasure contains only its subject, so its stream tells the kind of the record.
  keyOf: (event: FoldEvent & Happened<HandoffEventType>) =>
    event.type === 'SubjectErased' ? recordIdOf(event, 'handoff', 'hnd') : event.data.handoff_id,
  fold: handoff.evolve,
});

export const outboundRequests: Projection<RecordRow<OutboundState>> = {
  ...ownerRecords({
    name: 'outbound',
    version: 2,
    handles: OUTBOUND_EVENTS,
    begins: ['OutboundProposed'],
    keyOf: ({ data }: Happened<OutboundEventType>) => data.outbound_id,
    fold: foldOutbound,
  }),
  lists: ({ status, schedule, sort }) => [
    [listBy({ status }), sort],
    ...(isUndispatched(status) ? [[OUTBOUND_BY_EXPIRY, schedule.not_after] as const] : []),
  ],
};

const ROW_VALUES = EVENTS_PER_HISTORY_ROW * VALUES_PER_HISTORY_ENTRY;

// Events that belong to no owner: those of the catalog, and of streams that all owners share.
const WITHOUT_OWNER: ReadonlySet<string> = new Set<EventType>([
  'ProductPublished',
  'ProductRevised',
  'ProductStockObserved',
  'ProductWithdrawn',
  'CodeClaimed',
  'LeadClaimed',
  'LeadClaimReleased',
  'MailboxMailed',
  'MailboxBlocked',
]);

/**
 * The positions and types of an owner's events, in log order; their data is only in the log. Rows have a fixed number of
 * events, so that an event rewrites a small row however much came before, and a page reads few rows however rare the
 * owner's events are in the log.
 */
export const history: Projection<HistoryRow> = {
  name: 'history',
  version: 10,
  handles: (Object.keys(EVENTS) as EventType[]).filter((type) => !WITHOUT_OWNER.has(type)),
  place(event) {
    return { scope: event.owner, key: NEWEST_HISTORY };
  },
  evolve(row, { position, revision, type, at, stream }, others) {
    // A copy, because V8 reserves half of an array's length when it grows.
    const entries = (row?.entries ?? []).concat(position, revision, type, at, stream);
    if (entries.length < ROW_VALUES) return { entries };
    others.set(String(position), { entries });
    return null;
  },
  sort: ({ entries }) => (entries.length < ROW_VALUES ? null : (entries[0] as number)),
};
