import { isOpen } from '#src/domain/handoff.ts';
import type { LeadState, StaffMove } from '#src/domain/lead-state.ts';
import { lead, type LeadCommand } from '#src/domain/lead.ts';
import { decideAndAppend, traceOf } from '../events/decide-and-append.ts';
import { LEAD_PROBLEMS, refuseRejected } from '../events/rejections.ts';
import type { Call } from '../pipeline/call.ts';
import { type DeskDeps, type DeskHandler, mayActFor } from '../pipeline/desk-handler.ts';
import { done, isRefusal, type Refusal, refuse } from '../pipeline/outcome.ts';
import { changeRecord } from '../records/change-record.ts';
import { handoffOf, streamOf } from '../records/streams.ts';
import { present } from '../shared/present.ts';
import { releaseAfterWrite, releaseClaim } from './claim-contact.ts';
import { observeRfq } from './observe-rfq.ts';

const NO_LEAD = refuse('resource_not_found', 'There is no such lead.');
const ERASED_LEAD = refuse(
  'state_conflict',
  'The lead was erased, so no text about it can be stored: move it without a reason.',
);

const OPEN_LIST = refuse(
  'state_conflict',
  'The buyer can still send the RFQ of the handoff of this lead: wait for it and win it, or withdraw the handoff first.',
);

/** Whether the buyer can still send the RFQ of the lead's handoff, which would be a second record of one deal. */
const hasOpenList = async (
  deps: Pick<DeskDeps, 'log'>,
  { ownerId, at }: Pick<Call, 'ownerId' | 'at'>,
  state: LeadState | undefined,
): Promise<boolean> => {
  const list = state?.handoff_id && (await handoffOf(deps, ownerId, state.handoff_id));
  return list ? isOpen(list, at) : false;
};

/** Moves that release the contact, so that another agent can claim it. */
const CLAIM_ENDING: ReadonlySet<StaffMove> = new Set([
  'rejected',
  'duplicate',
  'unqualified',
  'lost',
]);

/** A reason sealed for the lead; undefined without a reason. Refuses a reason for a lead that was erased. */
const sealedReasonOf = async (
  { vault }: Pick<DeskDeps, 'vault'>,
  state: LeadState | undefined,
  reason: string | undefined,
): Promise<string | undefined | Refusal> => {
  if (!state || reason === undefined) return undefined;
  return (await vault.seal(state.lead_id, reason)) ?? ERASED_LEAD;
};

export const moveLead: DeskHandler<'moveLead'> = async (deps, input, call) => {
  const { lead_id, owner_id, to, reason, value } = input;
  if (!mayActFor(call, owner_id)) return NO_LEAD;
  const owned = { ...call, ownerId: owner_id };
  await observeRfq(deps, owned, lead_id);
  const written = await decideAndAppend(deps, owned, {
    stream: streamOf(owner_id, 'lead', lead_id),
    decider: lead,
    async command(state): Promise<LeadCommand | Refusal> {
      if (to === 'won' && (await hasOpenList(deps, owned, state))) return OPEN_LIST;
      const sealedReason = await sealedReasonOf(deps, state, reason);
      if (isRefusal(sealedReason)) return sealedReason;
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

export const correctLead: DeskHandler<'correctLead'> = async (deps, input, call) => {
  const { lead_id, owner_id: ownerId, to, reason, value } = input;
  if (!mayActFor(call, ownerId)) return NO_LEAD;
  return changeRecord(deps, call, {
    ownerId,
    stream: streamOf(ownerId, 'lead', lead_id),
    decider: lead,
    async command(state): Promise<LeadCommand | Refusal> {
      const sealedReason = await sealedReasonOf(deps, state, reason);
      if (isRefusal(sealedReason)) return sealedReason;
      return { type: 'CorrectLead', to, sealedReason, ...present({ value }) };
    },
    refusal: (rejection) => refuseRejected(LEAD_PROBLEMS, rejection, NO_LEAD),
    render: ({ state }) => ({ id: lead_id, owner_id: ownerId, state }),
  });
};
