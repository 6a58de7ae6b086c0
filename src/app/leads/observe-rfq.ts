import type { LeadState } from '#src/domain/lead-state.ts';
import { lead } from '#src/domain/lead.ts';
import { type Call, unkeyed } from '../pipeline/call.ts';
import { decideAndAppend, type Written } from '../events/decide-and-append.ts';
import { stateOf } from '../events/fold.ts';
import type { Deps } from '../pipeline/deps.ts';
import { handoffOf, streamOf } from '../records/streams.ts';

/**
 * Has a lead take note of the RFQ that the buyer of its handoff sent, whenever that was: the handoff's
 * own stream says so. Asked when the RFQ is sent and round every move of staff, so that none is lost
 * between the two streams. Answers what was noted; undefined when there is nothing new.
 */
export const observeRfq = async (
  deps: Pick<Deps, 'log' | 'ids'>,
  call: Call,
  leadId: string,
): Promise<Written<LeadState> | undefined> => {
  const stream = streamOf(call.ownerId, 'lead', leadId);
  const known = await stateOf(deps, { stream, decider: lead });
  if (known?.handoff_id === undefined) return undefined;
  const rfq = (await handoffOf(deps, call.ownerId, known.handoff_id))?.rfq;
  if (!rfq) return undefined;
  const observing = { ...unkeyed(call), operation: 'observeRfq' };
  const written = await decideAndAppend(deps, observing, {
    stream,
    decider: lead,
    // Whether the claim stood when the buyer asked is what counts, however late this is noted.
    command: () => ({ type: 'ObserveRfq' as const, at: rfq.submitted_at }),
  });
  return written.ok && written.position !== undefined ? written : undefined;
};
