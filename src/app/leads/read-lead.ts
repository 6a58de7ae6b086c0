import { lead } from '#src/domain/lead.ts';
import { OPEN_RECORDS } from '#src/ports/rows.ts';
import { proposerOf } from '../access/independence.ts';
import { foldOf } from '../events/fold.ts';
import type { DeskHandler } from '../pipeline/desk-handler.ts';
import { done, refuse } from '../pipeline/outcome.ts';
import { openOne, shownText } from '../privacy/sealed-texts.ts';
import { maskingDeps } from '../privacy/suppression.ts';
import { ownerFor } from '../records/find-owner.ts';
import { streamOf } from '../records/streams.ts';
import { present } from '../shared/present.ts';
import { readAlike } from './read-alike.ts';
import { renderProposal, showLead } from './render-lead.ts';

const NO_LEAD = refuse('resource_not_found', 'There is no such lead.');

export const readLead: DeskHandler<'readLead'> = async (deps, { lead_id, owner_id }, call) => {
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
