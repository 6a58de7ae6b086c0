import type { StaffMove } from '#src/domain/lead-state.ts';
import { lead, type LeadCommand } from '#src/domain/lead.ts';
import { decideAndAppend, traceOf } from '../events/decide-and-append.ts';
import { LEAD_PROBLEMS, refuseRejected } from '../events/rejections.ts';
import { type DeskHandler, mayActFor } from '../pipeline/desk-handler.ts';
import { done, type Refusal, refuse } from '../pipeline/outcome.ts';
import { streamOf } from '../records/streams.ts';
import { releaseAfterWrite, releaseClaim } from './claim-contact.ts';
import { observeRfq } from './observe-rfq.ts';

const NO_LEAD = refuse('resource_not_found', 'There is no such lead.');
const ERASED_LEAD = refuse(
  'state_conflict',
  'The lead was erased, so no text about it can be stored: move it without a reason.',
);

/** Moves that release the contact, so that another agent can claim it. */
const CLAIM_ENDING: ReadonlySet<StaffMove> = new Set([
  'rejected',
  'duplicate',
  'unqualified',
  'lost',
]);

export const moveLead: DeskHandler<'moveLead'> = async (deps, input, call) => {
  const { lead_id, owner_id, to, reason, value } = input;
  if (!mayActFor(call, owner_id)) return NO_LEAD;
  const owned = { ...call, ownerId: owner_id };
  await observeRfq(deps, owned, lead_id);
  const written = await decideAndAppend(deps, owned, {
    stream: streamOf(owner_id, 'lead', lead_id),
    decider: lead,
    async command(state): Promise<LeadCommand | Refusal> {
      const sealedReason =
        state && reason !== undefined ? await deps.vault.seal(lead_id, reason) : undefined;
      if (sealedReason === null) return ERASED_LEAD;
      return {
        type: 'MoveLead',
        at: call.at,
        to,
        ...(sealedReason !== undefined && { sealedReason }),
        ...(value !== undefined && { value }),
      };
    },
  });
  if (!written.ok)
    return 'rejected' in written ? refuseRejected(LEAD_PROBLEMS, written, NO_LEAD) : written;
  if (CLAIM_ENDING.has(to)) await releaseAfterWrite(() => releaseClaim(deps, owned, written.state));
  // Only an accepted lead records an RFQ. One that was sent earlier is recorded now.
  const isAccepted = written.replayOf === undefined && to === 'accepted';
  const last = (isAccepted && (await observeRfq(deps, owned, lead_id))) || written;
  return done({ id: lead_id, owner_id, state: last.state.state }, traceOf(last));
};
