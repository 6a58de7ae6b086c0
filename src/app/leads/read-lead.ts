import type { LeadState } from '#src/domain/lead-state.ts';
import { lead } from '#src/domain/lead.ts';
import { OPEN_RECORDS, type OpenRow } from '#src/ports/rows.ts';
import { stateOf } from '../events/fold.ts';
import { type DeskHandler, mayActFor } from '../pipeline/desk-handler.ts';
import { done, refuse } from '../pipeline/outcome.ts';
import { findOwner } from '../records/find-owner.ts';
import { streamOf } from '../records/streams.ts';
import { showLead } from './render-lead.ts';

/** Reads a lead for the staff who work on it. */
export const readLead: DeskHandler<'readLead'> = async (deps, { lead_id, owner_id }, call) => {
  const open = () => deps.readModels.get<OpenRow<LeadState>>('open-leads', OPEN_RECORDS, lead_id);
  const owner =
    owner_id ??
    (await open())?.owner ??
    (await findOwner(deps, call, { kind: 'lead', id: lead_id }));
  const state =
    owner !== undefined && mayActFor(call, owner)
      ? await stateOf(deps, { stream: streamOf(owner, 'lead', lead_id), decider: lead })
      : undefined;
  return owner !== undefined && state
    ? done(await showLead(deps, state, { ownerId: owner, at: call.at }))
    : refuse('resource_not_found', 'There is no such lead.');
};
