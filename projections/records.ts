/** Read models of the records of all kinds: by what people name one, and what changed of an owner's, in log order. */
import type { FoldEvent } from '#src/ports/event-log.ts';
import {
  ALL_RECORDS,
  listOfBeginning,
  listBy,
  type NamedRow,
  CHANGED_KINDS,
  type ChangeRow,
} from '#src/ports/rows.ts';
import { referenceData } from '#src/ports/reference.ts';
import { type Projection, typedEvent } from './projection.ts';
import {
  AGENT_EVENTS,
  GOODS_EVENTS,
  HANDOFF_EVENTS,
  LEAD_EVENTS,
  LINK_EVENTS,
  OUTBOUND_EVENTS,
  type EventType,
} from '#contracts/registries/events.ts';

const RECORD_EVENTS: readonly EventType[] = [
  ...new Set([
    ...LINK_EVENTS,
    ...HANDOFF_EVENTS,
    ...LEAD_EVENTS,
    ...OUTBOUND_EVENTS,
    ...AGENT_EVENTS,
  ]),
];
/** Nothing that agents see depends on where goods are. */
const OF_GOODS: ReadonlySet<EventType> = new Set(GOODS_EVENTS);

/**
 * A row for each event, which refers to it: what it changed follows from the stream of its record. A single read model, so that
 * the changes of all kinds of records of an owner come in log order.
 */
export const changes: Projection<ChangeRow> = {
  name: 'changes',
  version: 1,
  handles: RECORD_EVENTS.filter((type) => !OF_GOODS.has(type)),
  begins: RECORD_EVENTS.filter((type) => !OF_GOODS.has(type)),
  place({ owner, stream, position }) {
    const kind = stream.slice(owner.length + 1, stream.indexOf('_', owner.length));
    return (CHANGED_KINDS as readonly string[]).includes(kind)
      ? { scope: owner, key: String(position) }
      : undefined;
  },
  evolve: (_row, { position, revision, stream }) => ({ position, revision, stream }),
  sort: ({ position }) => position,
};

const BEGINS = ['HandoffCreated', 'BuyerListCreated', 'LeadSubmitted'] as const;

const idOf = (event: FoldEvent): string => {
  const { type, data } = typedEvent<(typeof BEGINS)[number]>(event);
  return type === 'LeadSubmitted' ? data.lead_id : data.handoff_id;
};

/** The owner of each handoff and lead, by the reference of its id and by how the id begins. */
export const namedRecords: Projection<NamedRow> = {
  name: 'named-records',
  version: 1,
  handles: BEGINS,
  begins: BEGINS,
  place: (event) => ({ scope: ALL_RECORDS, key: idOf(event) }),
  evolve(_row, event) {
    return { owner: event.owner, record: idOf(event), sort: event.position };
  },
  sort: (row) => row.sort,
  lists: ({ record, sort }) => [
    [listBy({ reference: referenceData(record) }), sort],
    [listOfBeginning(record), sort],
  ],
};
