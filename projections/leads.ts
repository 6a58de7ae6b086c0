/** Read models of leads: the lists of agents, the open leads of staff, and hints of one company. */
import { type Happened, LEAD_EVENTS, type LeadEventType } from '#contracts/registries/events.ts';
import { type LeadState, lead, isFinal } from '#src/leads/lead.decider.ts';
import type { FoldEvent } from '#src/ports/event-log.ts';
import type { ListEntry } from '#src/ports/read-model.ts';
import {
  LATE_LEADS,
  LEAD_SKEW_MS,
  LEADS_BY_CHANGE,
  LEADS_BY_CLAIM_END,
  LEADS_BY_CREATION,
  listBy,
  listOfExternalId,
  NEEDS_APPROVAL,
  OPEN_LEADS,
  OPEN_RECORDS,
  ALL_LEADS,
  type LeadHintRow,
} from '#src/ports/rows.ts';
import { openRecords } from './open-records.ts';
import { withPlan } from './plans.ts';
import { type Projection, recordIdOf, typedEvent } from './projection.ts';
import { ownerRecords, type RecordRow } from './owner-records.ts';

/** `is_late`: it was submitted, or its claim ends, more than LEAD_SKEW_MS before that of an earlier lead in the log. */
type LeadRow = RecordRow<LeadState> & { is_late?: true };

/** The latest times of all the owner's leads. Its key is not a lead's id. */
type LatestTimes = { created_at: number; claim_expires_at: number };
const LATEST_TIMES = 'latest';

/** The lead of an event; undefined for the erasure of another record, because an erasure contains only its subject. */
const leadOfEvent = (event: FoldEvent & Happened<LeadEventType>): string | undefined =>
  event.type === 'SubjectErased' ? recordIdOf(event, 'lead', 'led') : event.data.lead_id;

const records = ownerRecords({
  name: 'leads',
  version: 9,
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
  const lists = [...filters.map(listBy), listOfExternalId(row.external_id)];
  return [...lists.map((list): ListEntry => [list, sort]), ...times];
};

/** Readers name one of its lists: that of all rows would also have the leads at their end. */
const { sort: _all, ...listed } = openRecords({
  name: 'open-leads',
  version: 4,
  handles: LEAD_EVENTS,
  begins: 'LeadSubmitted',
  keyOf: leadOfEvent,
  fold: lead.evolve,
  isSettled: ({ state, from_rfq }) =>
    isFinal(state) && (from_rfq === true || (state !== 'won' && state !== 'lost')),
  lists: ({ owner, state: { state, agent_id, proposed } }) =>
    isFinal(state) && !proposed
      ? []
      : [
          OPEN_LEADS,
          listBy({ owner }),
          listBy({ state }),
          listBy({ agent: agent_id }),
          ...(proposed ? [NEEDS_APPROVAL] : []),
        ],
});

/**
 * The leads of all owners that staff can still move, with those whose claim has expired since. Leads whose outcome can be
 * corrected are listed while a correction waits for approval.
 */
export const openLeads = withPlan(listed, { scope: OPEN_RECORDS, prefix: 'led_' });

type Handled = 'LeadSubmitted' | 'LeadAmended' | 'SubjectErased';

const leadOfHints = (event: FoldEvent & Happened<Handled>): string | undefined =>
  event.type === 'SubjectErased' ? recordIdOf(event, 'lead', 'led') : event.data.lead_id;

/** All owners' leads by keyed hashes of their telephone and of their company's domains. */
export const leadHints: Projection<LeadHintRow> = {
  name: 'lead-hints',
  version: 2,
  handles: ['LeadSubmitted', 'LeadAmended', 'SubjectErased'],
  begins: ['LeadSubmitted'],
  place(event) {
    const key = leadOfHints(event as FoldEvent & Happened<Handled>);
    return key === undefined ? undefined : { scope: ALL_LEADS, key };
  },
  evolve(row, stored) {
    const { type, data } = typedEvent<Handled>(stored);
    // An amendment replaces the contact and the company.
    if (type === 'SubjectErased' || !data.hint_keys) return null;
    const { owner, position } = stored;
    return { owner, lead_id: data.lead_id, sort: row?.sort ?? position, ...data.hint_keys };
  },
  lists: ({ phone, domains, sort }) => [
    ...(phone === undefined ? [] : [[listBy({ phone }), sort] satisfies ListEntry]),
    ...domains.map((domain): ListEntry => [listBy({ domain }), sort]),
  ],
};
