/** The requests for outreach that are open; approvals and the dispatcher read them. */
import { OUTBOUND_EVENTS } from '#contracts/registries/events.ts';
import { foldOutbound, isSettled } from '#src/outreach/outbound.decider.ts';
import { listBy } from '#src/ports/rows.ts';
import { openRecords } from './open-records.ts';

/** The outreach requests of all owners that wait for a person or for the dispatcher. */
export const openOutbound = openRecords({
  name: 'open-outbound',
  version: 2,
  handles: OUTBOUND_EVENTS,
  begins: 'OutboundProposed',
  keyOf: ({ data }) => data.outbound_id,
  fold: foldOutbound,
  isSettled,
  lists: ({ owner, state: { status } }) => [listBy({ owner }), listBy({ status })],
});
