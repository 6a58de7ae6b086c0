/** Read models of handoffs: those of each owner, their leads, their review tokens, and the RFQs that staff work on. */
import {
  type Happened,
  RFQ_EVENTS,
  type RfqEventType,
  GOODS_EVENTS,
  type GoodsEventType,
  HANDOFF_EVENTS,
  type HandoffEventType,
} from '#contracts/registries/events.ts';
import { isOfGoods } from '#src/handoffs/fulfillment.decider.ts';
import {
  eraseRfq,
  foldRfq,
  isConfirmed,
  isRfqOutcome,
  type RfqProgress,
  sentRfq,
} from '#src/handoffs/rfq.decider.ts';
import type { FoldEvent } from '#src/ports/event-log.ts';
import {
  type HandoffLeadsRow,
  type ConfirmedRow,
  type ReviewTokenRow,
  ALL_RFQS,
  listBy,
  HAS_QUESTION,
  MADE_BY_AGENTS,
  NEEDS_APPROVAL,
  OPEN_RFQS,
  type RfqRow,
} from '#src/ports/rows.ts';
import { withPlan } from './plans.ts';
import { type Projection, typedEvent, recordIdOf } from './projection.ts';
import { type HandoffState, handoff } from '#src/handoffs/handoff.decider.ts';
import { listsOfRecord, ownerRecords, type RecordRow } from './owner-records.ts';

/** Bounds the size of a row; a handoff has few leads in practice. */
const LEADS_MAX = 100;

/**
 * The first leads that name a handoff as their source, at submission or by an amendment. Not part of the handoff's row,
 * which can have many lines.
 */
export const handoffLeads: Projection<HandoffLeadsRow> = {
  name: 'handoff-leads',
  version: 2,
  handles: ['LeadSubmitted', 'LeadAmended'],
  place(event) {
    const { handoff_id: key } = typedEvent<'LeadSubmitted' | 'LeadAmended'>(event).data;
    return key === undefined ? undefined : { scope: event.owner, key };
  },
  evolve(row, event) {
    const leads = row?.leads ?? [];
    if (row && leads.length >= LEADS_MAX) return row;
    return { leads: [...leads, typedEvent<'LeadSubmitted' | 'LeadAmended'>(event).data.lead_id] };
  },
};

type Begin = 'HandoffCreated' | 'BuyerListCreated' | 'RfqSubmittedByBuyer' | 'RfqQuoted';
const BEGINS: readonly Begin[] = [
  'HandoffCreated',
  'BuyerListCreated',
  'RfqSubmittedByBuyer',
  'RfqQuoted',
];

/** The handoff of each review link, and of each link by mail that confirms or quotes an RFQ, by the hash of its token. */
export const reviewTokens: Projection<ReviewTokenRow> = {
  name: 'review-tokens',
  version: 4,
  handles: BEGINS,
  begins: BEGINS,
  place(event) {
    const { type, data } = typedEvent<Begin>(event);
    const hash = type === 'RfqSubmittedByBuyer' ? data.confirmation.token_hash : data.token_hash;
    return { scope: hash, key: '' };
  },
  evolve(_row, event) {
    const { type, data } = typedEvent<Begin>(event);
    const of = { owner: event.owner, handoff_id: data.handoff_id };
    if (type === 'RfqQuoted') return { ...of, quotes: data.number };
    return type === 'RfqSubmittedByBuyer' ? { ...of, confirms: data.confirmation.number } : of;
  },
};

type Row = RfqRow<RfqProgress>;
const LEAD_OUTCOMES = ['LeadWon', 'LeadOutcomeCorrected'] as const;
type Handled =
  | 'RfqSubmittedByBuyer'
  | RfqEventType
  | GoodsEventType
  | (typeof LEAD_OUTCOMES)[number]
  | 'SubjectErased';

const handoffOfEvent = (event: FoldEvent): string | undefined => {
  const { type, data } = typedEvent<Handled>(event);
  return type === 'SubjectErased' ? recordIdOf(event, 'handoff', 'hnd') : data.handoff_id;
};

/** The buyer can have changed the list before the confirmation. */
const listSent = (event: Happened<RfqEventType>): Pick<Partial<Row>, 'totals'> =>
  isConfirmed(event) ? { totals: event.data.totals } : {};

const sentRfqs: Projection<Row> = {
  name: 'rfqs',
  version: 5,
  handles: [
    'RfqSubmittedByBuyer',
    ...RFQ_EVENTS,
    ...GOODS_EVENTS,
    ...LEAD_OUTCOMES,
    'SubjectErased',
  ],
  place(event) {
    const key = handoffOfEvent(event);
    return key === undefined ? undefined : { scope: ALL_RFQS, key };
  },
  evolve(row, stored) {
    const event = typedEvent<Handled>(stored);
    if (event.type === 'RfqSubmittedByBuyer') {
      const { handoff_id, agent_id, totals, confirmation } = event.data;
      const { owner, position } = stored;
      const submitted_at = confirmation.first_at ?? stored.at;
      const sent = { owner, handoff_id, agent_id, totals, submitted_at, sort: position };
      return { ...sent, rfq: sentRfq(event.data, event.at) };
    }
    // A lead can be won, and a handoff erased, without an RFQ.
    if (!row) return null;
    switch (event.type) {
      case 'LeadWon': {
        const { from_rfq, lead_id, value } = event.data;
        return from_rfq ? row : { ...row, won_by: { lead_id, values: value ? [value] : [] } };
      }
      case 'LeadOutcomeCorrected': {
        const { from_rfq, lead_id, to } = event.data;
        if (from_rfq) return row;
        const { won_by: _before, ...corrected } = row;
        const values = to.value ? [to.value] : [];
        return to.state === 'won' ? { ...row, won_by: { lead_id, values } } : corrected;
      }
      case 'SubjectErased':
        return row.rfq.confirmation ? null : { ...row, rfq: eraseRfq(row.rfq, event.at) };
      default: {
        if (isOfGoods(event)) return { ...row, goods: event.data.goods };
        const rfq = foldRfq(row.rfq, event);
        if (!rfq) return null;
        // A win begins the goods, and another outcome ends them.
        const { goods = 'unallocated', ...rest } = row;
        return { ...rest, rfq, ...(rfq.state === 'won' && { goods }), ...listSent(event) };
      }
    }
  },
  sort: (row) => row.sort,
  lists(row) {
    const { owner, agent_id, sort, rfq, won_by } = row;
    const state = won_by ? 'won' : rfq.state;
    const names = [listBy({ owner }), listBy({ agent: agent_id }), listBy({ state })];
    if (!isRfqOutcome(state)) names.push(OPEN_RFQS);
    if (rfq.proposed) names.push(NEEDS_APPROVAL);
    if (rfq.open_questions) names.push(HAS_QUESTION);
    if (row.goods) names.push(listBy({ goods: row.goods }));
    return names.map((name) => [name, sort]);
  },
};

/** The RFQs that buyers sent, of all owners, newest first. */
export const rfqs = withPlan(sentRfqs, { scope: ALL_RFQS, prefix: 'hnd_' });

/** The lists that each mailbox confirmed, newest first; the scope is its keyed hash. */
export const confirmedLists: Projection<ConfirmedRow> = {
  name: 'confirmed-lists',
  version: 1,
  handles: ['RfqConfirmedByBuyer'],
  place(event) {
    const { mailbox, handoff_id } = typedEvent<'RfqConfirmedByBuyer'>(event).data;
    return { scope: mailbox, key: handoff_id };
  },
  evolve(_row, event) {
    const { handoff_id } = typedEvent<'RfqConfirmedByBuyer'>(event).data;
    return { owner: event.owner, handoff_id, at: event.at, sort: event.position };
  },
  sort: (row) => row.sort,
};

/** The handoffs of each owner, newest first, and by what agents find those that they made. */
export const handoffs: Projection<RecordRow<HandoffState>> = {
  ...ownerRecords({
    name: 'handoffs',
    version: 6,
    handles: HANDOFF_EVENTS,
    begins: ['HandoffCreated', 'BuyerListCreated'],
    // An erasure contains only its subject, so its stream tells the kind of the record.
    keyOf: (event: FoldEvent & Happened<HandoffEventType>) =>
      event.type === 'SubjectErased' ? recordIdOf(event, 'handoff', 'hnd') : event.data.handoff_id,
    // Nothing that reads rows asks about the worth and the goods of lines, which take as much room as the list.
    fold(state: HandoffState | undefined, event) {
      const { worth: _worth, goods: _goods, ...row } = handoff.evolve(state, event);
      return row;
    },
  }),
  // The list that a buyer made belongs to the buyer.
  lists: (row) =>
    row.made_by_buyer
      ? []
      : [
          [MADE_BY_AGENTS, row.sort],
          ...listsOfRecord(row, {
            status: row.status,
            campaigns: [row.dims.campaign],
            external_id: row.external_id,
            texts: [row.title],
          }),
        ],
};
