import { type Happened, RFQ_EVENTS, type RfqEventType } from '#contracts/registries/events.ts';
import {
  eraseRfq,
  foldRfq,
  isConfirmed,
  isRfqOutcome,
  type RfqProgress,
  sentRfq,
} from '#src/handoffs/rfq-state.decider.ts';
import type { FoldEvent } from '#src/ports/event-log.ts';
import { ALL_RFQS, listBy, NEEDS_APPROVAL, OPEN_RFQS, type RfqRow } from '#src/ports/rows.ts';
import { type Projection, recordIdOf, typedEvent } from './projection.ts';
import { withPlan } from './staff/with-plan.ts';

type Row = RfqRow<RfqProgress>;
const LEAD_OUTCOMES = ['LeadWon', 'LeadOutcomeCorrected'] as const;
type Handled =
  | 'RfqSubmittedByBuyer'
  | RfqEventType
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
  version: 3,
  handles: ['RfqSubmittedByBuyer', ...RFQ_EVENTS, ...LEAD_OUTCOMES, 'SubjectErased'],
  place(event) {
    const key = handoffOfEvent(event);
    return key === undefined ? undefined : { scope: ALL_RFQS, key };
  },
  evolve(row, stored) {
    const event = typedEvent<Handled>(stored);
    if (event.type === 'RfqSubmittedByBuyer') {
      const { handoff_id, agent_id, totals, confirmation } = event.data;
      const { owner, position } = stored;
      const submitted_at = confirmation?.first_at ?? stored.at;
      const sent = { owner, handoff_id, agent_id, totals, submitted_at, sort: position };
      return { ...sent, rfq: sentRfq(event.data) };
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
        const rfq = foldRfq(row.rfq, event);
        return rfq ? { ...row, rfq, ...listSent(event) } : null;
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
    return names.map((name) => [name, sort]);
  },
};

/** The RFQs that buyers sent, of all owners, newest first. */
export const rfqs = withPlan(sentRfqs, { scope: ALL_RFQS, prefix: 'hnd_' });
