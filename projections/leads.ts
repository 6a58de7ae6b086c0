import { type Happened, LEAD_EVENTS, type LeadEventType } from '#contracts/registries/events.ts';
import type { LeadState } from '#src/leads/lead-state.decider.ts';
import { lead } from '#src/leads/lead.decider.ts';
import type { FoldEvent } from '#src/ports/event-log.ts';
import type { ListEntry } from '#src/ports/read-model.ts';
import {
  LATE_LEADS,
  LEAD_SKEW_MS,
  LEADS_BY_CHANGE,
  LEADS_BY_CLAIM_END,
  LEADS_BY_CREATION,
  listBy,
} from '#src/ports/rows.ts';
import { ownerRecords, type RecordRow } from './owner-records.ts';
import { type Projection, recordIdOf } from './projection.ts';

/** `is_late`: it was submitted, or its claim ends, more than LEAD_SKEW_MS before that of an earlier lead in the log. */
type LeadRow = RecordRow<LeadState> & { is_late?: true };

/** The latest times of all leads of the owner. Its key is not the id of a lead. */
type LatestTimes = { created_at: number; claim_expires_at: number };
const LATEST_TIMES = 'latest';

/** The lead of an event; undefined for the erasure of another record, because an erasure contains only its subject. */
export const leadOfEvent = (event: FoldEvent & Happened<LeadEventType>): string | undefined =>
  event.type === 'SubjectErased' ? recordIdOf(event, 'lead', 'led') : event.data.lead_id;

const records = ownerRecords({
  name: 'leads',
  version: 7,
  handles: LEAD_EVENTS,
  begins: ['LeadSubmitted'],
  keyOf: leadOfEvent,
  fold: lead.evolve,
});

export const leads: Projection<LeadRow> = {
  ...records,
  others: ({ type }) => (type === 'LeadSubmitted' ? [LATEST_TIMES] : []),
  evolve(before, event, others) {
    const row: LeadRow | null = records.evolve(before, event, others);
    if (!row || event.type !== 'LeadSubmitted') return row;
    const latest = (others.get(LATEST_TIMES) ?? row) as LatestTimes;
    const [created, claimEnd] = [latest.created_at, latest.claim_expires_at];
    if (Math.max(created - row.created_at, claimEnd - row.claim_expires_at) > LEAD_SKEW_MS)
      row.is_late = true;
    others.set(LATEST_TIMES, {
      created_at: Math.max(created, row.created_at),
      claim_expires_at: Math.max(claimEnd, row.claim_expires_at),
    } satisfies LatestTimes);
    return row;
  },
  sort: ({ sort }) => sort ?? null,
  lists: (row) => (row.lead_id === undefined ? [] : listsOfLead(row)),
};

const listsOfLead = (row: LeadRow): ListEntry[] => {
  const { state, link_id: link, handoff_id: handoff, sort } = row;
  const source = row.source.kind;
  const filters: Record<string, string>[] = [{ state }, { source }, { state, source }];
  if (link !== undefined) filters.push({ link }, { state, link });
  if (handoff !== undefined) filters.push({ handoff });
  const times: ListEntry[] = row.is_late
    ? [[LATE_LEADS, sort]]
    : [
        [LEADS_BY_CREATION, row.created_at],
        [LEADS_BY_CLAIM_END, row.claim_expires_at],
      ];
  if (row.is_late || row.updated_at !== row.created_at)
    times.push([LEADS_BY_CHANGE, row.updated_at]);
  return [...filters.map((values): ListEntry => [listBy(values), sort]), ...times];
};
