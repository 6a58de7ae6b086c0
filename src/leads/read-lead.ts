import type { Deps } from '#src/calls/call.ts';
import { lead, stateAt } from './lead.decider.ts';
import type { PeopleDeps } from '#src/access/people.ts';
import { ALL_LEADS, type LeadHintRow, listBy, OPEN_RECORDS } from '#src/ports/rows.ts';
import { proposerOf } from '#src/access/independence.ts';
import { foldOf } from '#src/writing/fold.ts';
import { done, refuse } from '#src/shared/outcome.ts';
import { openOne, shownText } from '#src/sealing/sealed-texts.ts';
import { maskingDeps } from '#src/sealing/suppression.ts';
import { ownerFor } from '#src/reading/find-owner.ts';
import { leadOf, streamOf } from '#src/writing/streams.ts';
import { present } from '#src/shared/present.ts';
import { renderProposal, showLead } from './render-lead.ts';
import type { DeskCall } from '#src/shared/call.ts';
import { type DeskHandler, mayActFor } from '#src/calls/desk-handler.ts';

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
