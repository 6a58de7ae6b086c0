import type { HandoffCommand } from '#src/domain/handoff.ts';
import { handoff, isOpen } from '#src/domain/handoff.ts';
import type { LeadCommand } from '#src/domain/lead.ts';
import type { StaffMove } from '#src/domain/lead-state.ts';
import { lead } from '#src/domain/lead.ts';
import { link } from '#src/domain/link.ts';
import type { DeskCall } from '../call.ts';
import { releaseBehind, releaseClaim } from '../claims.ts';
import type { RejectedBy, Written } from '../decide-and-append.ts';
import { decideAndAppend, traceOf } from '../decide-and-append.ts';
import { observeRfq } from '../observe-rfq.ts';
import type { Outcome, Refusal } from '../outcome.ts';
import { done, refuse } from '../outcome.ts';
import { streamOf } from '../records.ts';
import type { DeskDeps, DeskHandler, DeskInput } from './handler.ts';
import { mayActFor } from './handler.ts';

type Answer = { id: string; owner_id: string; state: string };

const notFound = (what: string) => refuse('resource_not_found', `There is no such ${what}.`);

const answerOf = <State>(
  written: Written<State> | Refusal | RejectedBy<string>,
  what: string,
  render: (state: State) => Answer,
): Outcome<Answer> => {
  if (written.ok) return done(render(written.state), traceOf(written));
  if (!('rejected' in written)) return written;
  return written.rejected.endsWith('_unknown')
    ? notFound(what)
    : refuse('state_conflict', `${written.detail}.`);
};

/** Moves after which somebody else may bring the contact. */
const GIVEN_UP: ReadonlySet<StaffMove> = new Set(['rejected', 'duplicate', 'unqualified', 'lost']);

export const moveLead: DeskHandler<'moveLead'> = async (deps, input, call) => {
  const { lead_id, owner_id, to, reason, value } = input;
  if (!mayActFor(call, owner_id)) return notFound('lead');
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
  if (written.ok && GIVEN_UP.has(to))
    await releaseBehind(() => releaseClaim(deps, owned, written.state));
  // Only now that it is accepted can it take note of an RFQ that came before, or meanwhile.
  const isAccepted = written.ok && written.replayOf === undefined && to === 'accepted';
  const observed = isAccepted ? await observeRfq(deps, owned, lead_id) : undefined;
  return answerOf(observed ?? written, 'lead', ({ state }) => ({ id: lead_id, owner_id, state }));
};

const ERASED_LEAD = refuse(
  'state_conflict',
  'The lead was erased, and no words about it are kept: move it without a reason.',
);
const ERASED_HANDOFF = refuse('state_conflict', 'The handoff was erased.');

const closeHandoff = async (
  deps: DeskDeps,
  { handoff_id, owner_id, reason }: DeskInput<'withdrawHandoff'>,
  call: DeskCall,
  type: 'WithdrawHandoff' | 'InvalidateHandoff',
): Promise<Outcome<Answer>> => {
  if (!mayActFor(call, owner_id)) return notFound('handoff');
  const owned = { ...call, ownerId: owner_id };
  const written = await decideAndAppend(deps, owned, {
    stream: streamOf(owner_id, 'handoff', handoff_id),
    decider: handoff,
    async command(state): Promise<HandoffCommand | Refusal> {
      const { at } = call;
      if (!state || !isOpen(state, at)) return { type, at, sealedReason: '' };
      const sealedReason = await deps.vault.seal(handoff_id, reason);
      return sealedReason === null ? ERASED_HANDOFF : { type, at, sealedReason };
    },
  });
  return answerOf(written, 'handoff', ({ status }) => ({
    id: handoff_id,
    owner_id,
    state: status,
  }));
};

export const withdrawHandoff: DeskHandler<'withdrawHandoff'> = (deps, input, call) =>
  closeHandoff(deps, input, call, 'WithdrawHandoff');

export const invalidateHandoff: DeskHandler<'invalidateHandoff'> = (deps, input, call) =>
  closeHandoff(deps, input, call, 'InvalidateHandoff');

export const disableLink: DeskHandler<'disableLink'> = async (deps, input, call) => {
  const { link_id, owner_id, reason } = input;
  if (!mayActFor(call, owner_id)) return notFound('link');
  const owned = { ...call, ownerId: owner_id };
  const written = await decideAndAppend(deps, owned, {
    stream: streamOf(owner_id, 'link', link_id),
    decider: link,
    command: () => ({ type: 'DisableLink' as const, reason }),
  });
  return answerOf(written, 'link', ({ status }) => ({ id: link_id, owner_id, state: status }));
};
