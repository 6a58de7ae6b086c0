/** Leads as staff read them: one with its contact, and the list of those that are open. */
import { OPEN_LEAD_STATES } from '#contracts/moves.ts';
import { type PeopleDeps, proposerOf } from '#src/access/independence.ts';
import type { Deps } from '#src/calls/handlers.ts';
import { type DeskHandler, mayActFor } from '#src/calls/desk-handler.ts';
import { renderSummary } from '#src/plans/plans.ts';
import {
  ALL_LEADS,
  type LeadHintRow,
  listBy,
  OPEN_RECORDS,
  NEEDS_APPROVAL,
  OPEN_LEADS,
  type OpenRow,
} from '#src/ports/rows.ts';
import { ownerFor } from '#src/reading/find-owner.ts';
import { listRows, readInbox } from '#src/reading/inbox.ts';
import { openOne, shownText } from '#src/sealing/sealed-texts.ts';
import { maskingDeps } from '#src/sealing/suppression.ts';
import type { DeskCall } from '#src/shared/call.ts';
import { done, refuse } from '#src/shared/outcome.ts';
import { present } from '#src/shared/json.ts';
import { renderAsOf } from '#src/shared/time.ts';
import { foldOf, leadOf, streamOf } from '#src/writing/streams.ts';
import { lead, stateAt, type LeadState } from './lead.decider.ts';
import { renderProposal, showLead, renderOpenLead, renderOwnerLead } from './render-lead.ts';

/** Leads that are compared for each key, newest first; each that is shown costs one read of the log. */
const ALIKE_MAX = 20;

/** The other leads with the telephone or a company domain of a lead, newest first, of owners for whom the caller may act. */
const readAlike = async (
  deps: Pick<Deps, 'log' | 'readModels'>,
  call: DeskCall,
  leadId: string,
) => {
  const own = await deps.readModels.get<LeadHintRow>('lead-hints', ALL_LEADS, leadId);
  if (!own) return [];
  const alike = new Map<string, { row: LeadHintRow; same: ('phone' | 'domain')[] }>();
  const add = async (kind: 'phone' | 'domain', key: string): Promise<void> => {
    const list = listBy({ [kind]: key });
    const query = { scope: ALL_LEADS, list, limit: ALIKE_MAX + 1 };
    for (const { row } of await deps.readModels.list<LeadHintRow>('lead-hints', query)) {
      if (row.lead_id === leadId || !mayActFor(call, row.owner)) continue;
      const { same = [] } = alike.get(row.lead_id) ?? {};
      if (!same.includes(kind)) alike.set(row.lead_id, { row, same: [...same, kind] });
    }
  };
  if (own.phone !== undefined) await add('phone', own.phone);
  for (const domain of own.domains) await add('domain', domain);
  const newest = [...alike.values()]
    .toSorted((one, other) => other.row.sort - one.row.sort)
    .slice(0, ALIKE_MAX);
  const shown = newest.map(async ({ row: { owner, lead_id }, same }) => {
    const state = await leadOf(deps, owner, lead_id);
    return state && { lead_id, owner_id: owner, state: stateAt(state, call.at), same };
  });
  return (await Promise.all(shown)).filter((lead) => lead !== undefined);
};

const NO_LEAD = refuse('resource_not_found', 'There is no such lead.');

export const readLead: DeskHandler<'readLead', PeopleDeps> = async (
  deps,
  { lead_id, owner_id },
  call,
) => {
  const listed = ['open-leads', OPEN_RECORDS] as const;
  const owner = await ownerFor(deps, call, { owner_id, listed, kind: 'lead', id: lead_id });
  if (owner === undefined) return NO_LEAD;
  const stored = await deps.log.readStream(streamOf(owner, 'lead', lead_id));
  const state = foldOf(lead, stored);
  if (!state) return NO_LEAD;
  const shown = {
    ...(await showLead(maskingDeps(deps), state, { ownerId: owner, at: call.at })),
    alike: await readAlike(deps, call, lead_id),
  };
  const { proposed } = state;
  if (!proposed) return done(shown);
  const { sealed_reason: reason } = proposed;
  return done({
    ...shown,
    proposed: {
      ...renderProposal(proposed),
      ...present({ reason: reason && shownText(await openOne(deps.vault, reason)) }),
      ...(await proposerOf(deps, stored, ['LeadMoveProposed'])),
    },
  });
};

/** The lists of the leads that can have a state: no event makes a lead lapse. */
const listsOf = (state: string | undefined): readonly string[] => {
  if (state === undefined) return [OPEN_LEADS];
  const states = state === 'lapsed' ? ['submitted', 'accepted'] : [state];
  return states.map((each) => listBy({ state: each }));
};

export const listOpenLeads: DeskHandler<'listOpenLeads'> = async (deps, input, call) => {
  const states: readonly string[] = input.state === undefined ? OPEN_LEAD_STATES : [input.state];
  const { rows, ...next } = await readInbox<OpenRow<LeadState>>(deps.readModels, call, {
    name: 'open-leads',
    scope: OPEN_RECORDS,
    input,
    ranges: input.needs_approval
      ? [{ list: NEEDS_APPROVAL }]
      : listsOf(input.state).map((list) => ({ list })),
    agentOf: ({ state }) => state.agent_id,
    beganAt: ({ state }) => state.created_at,
    isMatch: ({ state }) => {
      const isProposed = state.proposed !== undefined;
      return (
        (input.needs_approval === undefined || input.needs_approval === isProposed) &&
        (states.includes(stateAt(state, call.at)) || (input.state === undefined && isProposed))
      );
    },
  });
  const data = rows.map(({ owner, state, plan }) => ({
    ...renderOpenLead(state, { ownerId: owner, at: call.at }),
    ...renderSummary(call, plan),
  }));
  return done({ data, ...next, as_of: renderAsOf(deps.following.asOf()) });
};

export const listOwnerLeads: DeskHandler<'listOwnerLeads'> = (deps, query, call) =>
  listRows(deps, call, {
    name: 'leads',
    scope: query.owner_id,
    query,
    render: (row: LeadState) => renderOwnerLead(row, { ownerId: query.owner_id, at: call.at }),
  });
