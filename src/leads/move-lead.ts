/** What staff do with a lead: moves, proposals and corrections of its outcome. */
import type { EventType } from '#contracts/registries/events.ts';
import { actorOfLast, refuseDependent } from '#src/access/independence.ts';
import type { Deps } from '#src/calls/handlers.ts';
import { type DeskHandler, mayActFor } from '#src/calls/desk-handler.ts';
import { isOpen } from '#src/handoffs/handoff.decider.ts';
import type { StoredEvent } from '#src/ports/event-log.ts';
import type { Call, DeskCall } from '#src/shared/call.ts';
import { done, isRefusal, type Refusal, refuse } from '#src/shared/outcome.ts';
import { present } from '#src/shared/json.ts';
import {
  decideAndAppend,
  issue,
  type Issued,
  traceOf,
  releaseAfterWrite,
} from '#src/writing/decide-and-append.ts';
import { refuseRejected } from '#src/writing/rejections.ts';
import { handoffOf, streamOf } from '#src/writing/streams.ts';
import { releaseClaim } from './claim-contact.ts';
import { type LeadMoveCommand, type LeadState, type LeadStatus, lead } from './lead.decider.ts';
import { observeRfq } from './observe-rfq.ts';
import { renderProposal } from './render-lead.ts';

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
  deps: Pick<Deps, 'log'>,
  { ownerId, at }: Pick<Call, 'ownerId' | 'at'>,
  state: LeadState | undefined,
): Promise<boolean> => {
  const list = state?.handoff_id && (await handoffOf(deps, ownerId, state.handoff_id));
  return list ? isOpen(list, at) : false;
};

/** Moves that release the contact, so that another agent can claim it. */
const CLAIM_ENDING: ReadonlySet<LeadStatus> = new Set([
  'rejected',
  'duplicate',
  'unqualified',
  'lost',
]);

/** A reason sealed for the lead; undefined without a reason. Refuses a reason for a lead that was erased. */
const sealedReasonOf = async (
  { vault }: Pick<Deps, 'vault'>,
  state: LeadState | undefined,
  reason: string | undefined,
): Promise<string | undefined | Refusal> => {
  if (!state || reason === undefined) return undefined;
  return (await vault.seal(state.lead_id, reason)) ?? ERASED_LEAD;
};

type Change = {
  lead_id: string;
  owner_id: string;
  reason?: string | undefined;
  /** Whether the command wins the lead; absent if it never does. */
  isWin?(state: LeadState | undefined): boolean;
  command(
    sealedReason: string | undefined,
    stored: readonly StoredEvent[],
  ): Issued<LeadMoveCommand> | Refusal | Promise<Issued<LeadMoveCommand> | Refusal>;
};

/** Runs a command of staff on a lead, which learns of the RFQ of its handoff before. */
const changeLead = async (
  deps: Deps,
  call: DeskCall,
  { lead_id, owner_id, reason, isWin, command }: Change,
): ReturnType<DeskHandler<'moveLead'>> => {
  if (!mayActFor(call, owner_id)) return NO_LEAD;
  const owned = { ...call, ownerId: owner_id };
  await observeRfq(deps, owned, lead_id);
  const written = await decideAndAppend(deps, owned, {
    stream: streamOf(owner_id, 'lead', lead_id),
    decider: lead,
    async command(state, stored) {
      if (isWin?.(state) && (await hasOpenList(deps, owned, state))) return OPEN_LIST;
      const sealedReason = await sealedReasonOf(deps, state, reason);
      return isRefusal(sealedReason) ? sealedReason : command(sealedReason, stored);
    },
  });
  if (!written.ok) return 'rejected' in written ? refuseRejected(written, NO_LEAD) : written;
  const { state } = written;
  if (CLAIM_ENDING.has(state.state))
    await releaseAfterWrite(() => releaseClaim(deps, owned, state));
  // Only an accepted lead records an RFQ. One that was sent earlier is recorded now.
  const isAccepted = written.replayOf === undefined && state.state === 'accepted';
  const last = (isAccepted && (await observeRfq(deps, owned, lead_id))) || written;
  const { proposed } = last.state;
  return done(
    {
      id: lead_id,
      owner_id,
      state: last.state.state,
      ...present({ proposed: proposed && renderProposal(proposed) }),
    },
    traceOf(last),
  );
};

export const moveLead: DeskHandler<'moveLead'> = (deps, { to, value, ...ref }, call) =>
  changeLead(deps, call, {
    ...ref,
    isWin: () => to === 'won',
    command: (sealedReason) => {
      const { approval } = deps;
      return issue({ type: 'MoveLead', at: call.at, to, value, sealedReason, approval });
    },
  });

export const correctLead: DeskHandler<'correctLead'> = (deps, { to, value, ...ref }, call) =>
  changeLead(deps, call, {
    ...ref,
    command: (sealedReason) => {
      const { approval } = deps;
      return issue({ type: 'CorrectLead', at: call.at, to, value, sealedReason, approval });
    },
  });

const PROPOSED = ['LeadMoveProposed'] as const satisfies readonly EventType[];

export const approveLeadMove: DeskHandler<'approveLeadMove'> = (deps, { proposal, ...ref }, call) =>
  changeLead(deps, call, {
    ...ref,
    isWin: (state) => state?.proposed?.to === 'won' && !state.proposed.is_correction,
    command: async (_sealedReason, stored) =>
      (await refuseDependent(deps, call, { askers: actorOfLast(stored, PROPOSED) })) ??
      issue({ type: 'ApproveLeadMove', at: call.at, proposal }),
  });

export const refuseLeadMove: DeskHandler<'refuseLeadMove'> = (deps, { proposal, ...ref }, call) =>
  changeLead(deps, call, {
    ...ref,
    command: (sealedReason = '') =>
      issue({
        type: 'RefuseLeadMove',
        at: call.at,
        proposal,
        sealedReason,
      }),
  });
