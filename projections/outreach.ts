/** Read models of outreach: the requests of each owner, the open ones, which approvals and the dispatcher read, and settings. */
import {
  OUTBOUND_EVENTS,
  OUTREACH_EVENTS,
  type Happened,
  type OutboundEventType,
  type OutreachEventType,
} from '#contracts/registries/events.ts';
import {
  foldOutbound,
  isSettled,
  isUndispatched,
  nameOfOutbound,
  type OutboundState,
} from '#src/outreach/outbound.decider.ts';
import type { ListEntry } from '#src/ports/read-model.ts';
import { listBy, OUTBOUND_BY_EXPIRY, OUTREACH_SETTINGS } from '#src/ports/rows.ts';
import { openRecords } from './open-records.ts';
import { outreach, type OutreachState } from '#src/sending/settings.decider.ts';
import { type Projection, typedEvent } from './projection.ts';
import { listsOfRecord, type RecordRow, ownerRecords } from './owner-records.ts';

/** The outreach requests of all owners that wait for a person or for the dispatcher. */
export const openOutbound = openRecords({
  name: 'open-outbound',
  version: 4,
  handles: OUTBOUND_EVENTS,
  begins: 'OutboundProposed',
  keyOf: ({ data }) => data.outbound_id,
  fold: foldOutbound,
  isSettled,
  lists: ({ owner, state: { status } }) => [listBy({ owner }), listBy({ status })],
});

/** The requests of each owner, newest first, by status and by their end. */
export const outboundRequests: Projection<RecordRow<OutboundState>> = {
  ...ownerRecords({
    name: 'outbound',
    version: 5,
    handles: OUTBOUND_EVENTS,
    begins: ['OutboundProposed'],
    keyOf: ({ data }: Happened<OutboundEventType>) => data.outbound_id,
    fold: foldOutbound,
  }),
  lists: (row) => [
    ...listsOfRecord(row, {
      status: row.status,
      campaigns: row.campaigns ?? [],
      external_id: row.external_id,
      texts: [nameOfOutbound(row)],
    }),
    ...row.content.link_ids.map((link): ListEntry => [listBy({ link }), row.sort]),
    ...(isUndispatched(row.status) ? [[OUTBOUND_BY_EXPIRY, row.schedule.not_after] as const] : []),
  ],
};

/** The settings of each owner, for reads; what is sent follows the log. */
export const outreachSettings: Projection<OutreachState> = {
  name: 'outreach-settings',
  version: 1,
  handles: OUTREACH_EVENTS,
  place: ({ owner }) => ({ scope: owner, key: OUTREACH_SETTINGS }),
  evolve: (row, event) => outreach.evolve(row, typedEvent<OutreachEventType>(event)),
};
