import { ALL_RFQS, listBy, type RfqRow } from '#src/ports/rows.ts';
import type { Projection } from './projection.ts';
import { typedEvent } from './typed-event.ts';

/** The RFQs that buyers sent, of all owners, newest first. */
export const rfqs: Projection<RfqRow> = {
  name: 'rfqs',
  version: 1,
  handles: ['RfqSubmittedByBuyer'],
  begins: ['RfqSubmittedByBuyer'],
  place: (event) => ({
    scope: ALL_RFQS,
    key: typedEvent<'RfqSubmittedByBuyer'>(event).data.handoff_id,
  }),
  evolve(_row, event) {
    const { handoff_id, agent_id, totals } = typedEvent<'RfqSubmittedByBuyer'>(event).data;
    const { owner, at, position } = event;
    return { owner, handoff_id, agent_id, totals, submitted_at: at, sort: position };
  },
  sort: (row) => row.sort,
  lists: ({ owner, agent_id, sort }) => [
    [listBy({ owner }), sort],
    [listBy({ agent: agent_id }), sort],
  ],
};
