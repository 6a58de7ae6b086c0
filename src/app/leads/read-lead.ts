import { lead } from '#src/domain/lead.ts';
import { OPEN_RECORDS } from '#src/ports/rows.ts';
import { stateOf } from '../events/fold.ts';
import type { DeskHandler } from '../pipeline/desk-handler.ts';
import { done, refuse } from '../pipeline/outcome.ts';
import { ownerFor } from '../records/find-owner.ts';
import { streamOf } from '../records/streams.ts';
import { showLead } from './render-lead.ts';

/** Reads a lead for the staff who work on it. */
export const readLead: DeskHandler<'readLead'> = async (deps, { lead_id, owner_id }, call) => {
  const listed = ['open-leads', OPEN_RECORDS] as const;
  const owner = await ownerFor(deps, call, { owner_id, listed, kind: 'lead', id: lead_id });
  const state =
    owner === undefined
      ? undefined
      : await stateOf(deps, { stream: streamOf(owner, 'lead', lead_id), decider: lead });
  return owner !== undefined && state
    ? done(await showLead(deps, state, { ownerId: owner, at: call.at }))
    : refuse('resource_not_found', 'There is no such lead.');
};
