import type { LeadState } from '#src/domain/lead-state.ts';
import { lead } from '#src/domain/lead.ts';
import { type Call, unkeyed } from '../pipeline/call.ts';
import { decideAndAppend, type Written } from '../events/decide-and-append.ts';
import { stateOf } from '../events/fold.ts';
import type { Deps } from '../pipeline/deps.ts';
import { handoffOf, streamOf } from '../records/streams.ts';

/**
 * Records the RFQ of the buyer on the lead that names the handoff, if one was sent. Called when the RFQ is sent and
 * around every move by staff, so that a failure between the two streams loses no RFQ. Resolves to undefined if there is
 * nothing to record.
 */
export const observeRfq = async (
  deps: Pick<Deps, 'log' | 'ids' | 'streamQueue'>,
  call: Call,
  leadId: string,
): Promise<Written<LeadState> | undefined> => {
  const stream = streamOf(call.ownerId, 'lead', leadId);
  const state = await stateOf(deps, { stream, decider: lead });
  if (state?.handoff_id === undefined) return undefined;
  const rfq = (await handoffOf(deps, call.ownerId, state.handoff_id))?.rfq;
  if (!rfq) return undefined;
  const observing = { ...unkeyed(call), operation: 'observeRfq' };
  const written = await decideAndAppend(deps, observing, {
    stream,
    decider: lead,
    // The claim must have been valid when the buyer sent the RFQ, not when it is recorded.
    command: () => ({ type: 'ObserveRfq' as const, at: rfq.submitted_at }),
  });
  return written.ok && written.position !== undefined ? written : undefined;
};
