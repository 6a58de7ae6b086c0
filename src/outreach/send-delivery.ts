/** Sends the letter with the review link of a handoff: the link is made here, and no approver and no agent sees it. */
import { deliveryAddress } from '#contracts/mailbox.ts';
import { isTestSpace, liveOwnerOf } from '#contracts/spaces.ts';
import { agent } from '#src/access/access.decider.ts';
import type { Deps } from '#src/calls/handlers.ts';
import { findRecipient, listHash } from '#src/handoffs/deliver-list.ts';
import { handoff, type HandoffState } from '#src/handoffs/handoff.decider.ts';
import { reviewUrlOf } from '#src/handoffs/render-handoff.ts';
import type { DeliveryResult, MailDelivery } from '#src/ports/delivery.ts';
import type { MailSendingDeps, MailTexts } from '#src/sending/dispatch-mail.ts';
import { attempt, type Item, type Scheduling } from '#src/sending/dispatcher.ts';
import { envelopeHash, envelopeOf } from '#src/sending/envelope.ts';
import { countUnconfirmed } from '#src/sending/mail.ts';
import type { OutreachState } from '#src/sending/settings.decider.ts';
import { readHalt, readSettings } from '#src/sending/settings.ts';
import type { Call } from '#src/shared/call.ts';
import { refuse } from '#src/shared/outcome.ts';
import { reviewTokenOf } from '#src/shared/signing.ts';
import { decideAndAppend, issue } from '#src/writing/decide-and-append.ts';
import { stateOf, streamOf } from '#src/writing/streams.ts';
import type { OutboundCommand, OutboundState } from './outbound.decider.ts';

export type DeliveryDeps = Pick<
  Deps,
  'log' | 'ids' | 'streamQueue' | 'clock' | 'secrets' | 'vault'
> &
  Pick<MailSendingDeps, 'hourly' | 'mailers'> &
  Scheduling & {
    /** Renders the approved letter with the link in its place. */
    renderDelivery(
      letter: { subject: string; text: string; locale: string },
      link: string,
    ): Promise<MailTexts>;
  };

type DeliveryItem = Item<OutboundState, OutboundCommand, DeliveryDeps>;

/** Why nothing that this agent proposed may be sent now: sending is halted, or the agent is suspended. */
export const findHalt = async (
  deps: Pick<Deps, 'log'>,
  owner: string,
  { own, agentId }: { own: OutreachState | undefined; agentId: string },
): Promise<string | undefined> => {
  const halted = await readHalt(deps, own);
  if (halted !== undefined) return halted;
  const stream = streamOf(liveOwnerOf(owner), 'agent', agentId);
  const { status } = (await stateOf(deps, { stream, decider: agent })) ?? {};
  return status === 'suspended' ? 'the agent is suspended' : undefined;
};

/** The stream of the handoff that is delivered. */
const streamOfHandoff = (ownerId: string, { target }: OutboundState): string =>
  streamOf(ownerId, 'handoff', target['handoff_id'] ?? '');

/** Looks whether the letter may be sent now: its mailbox and the handoff, or why not. */
export const findDelivery = async (
  deps: Pick<Deps, 'log' | 'secrets' | 'vault'>,
  call: Call,
  request: OutboundState,
) => {
  const own = await readSettings(deps, call.ownerId);
  const stream = streamOfHandoff(call.ownerId, request);
  const state = await stateOf(deps, { stream, decider: handoff });
  const { target, approval } = request;
  const listed = { state, listSha256: target['list_sha256'], automatic: approval.automatic, own };
  const halted = await findHalt(deps, call.ownerId, { own, agentId: request.agent_id });
  return { state, halted, ...(await findRecipient(deps, call, listed)) };
};

/** A letter is repeated once at most after an unknown outcome. */
export const isDeliveryRepeatable = ({ uncertain }: OutboundState): boolean => uncertain !== true;

export const sendDelivery = async (item: DeliveryItem) => {
  const { deps, call } = item;
  const { mailers } = deps;
  return attempt(item, {
    channel: isTestSpace(call.ownerId) ? mailers.test : mailers.live,
    dispatch: (times, now) => {
      const contentSha256 = now ? envelopeHash(envelopeOf(call.ownerId, now)) : '';
      return { type: 'Dispatch' as const, contentSha256, ...times };
    },
    prepare: (sent) => prepare(item, sent),
    isRepeatable: isDeliveryRepeatable,
  });
};

const LIST_CHANGED = refuse('state_conflict', 'The list is not the one that was approved.');

/** Makes the letter, or answers why it must not be sent: something changed since it was approved, or its mailbox is limited. */
const prepare = async (
  { deps, call }: DeliveryItem,
  request: OutboundState,
): Promise<MailDelivery | DeliveryResult> => {
  const now = { ...call, at: deps.clock.now() };
  const found = await findDelivery(deps, now, request);
  if (found.halted !== undefined) return { outcome: 'retry', reason: 'halted' };
  if ('fault' in found)
    return found.fault === 'key_unavailable'
      ? { outcome: 'retry', reason: found.fault }
      : { outcome: 'refused', reason: found.fault };
  const { to } = found;
  const mailId = request.outbound_id.replace(/^out_/, 'mal_');
  const limited = await countUnconfirmed(deps, now, { mailId, to, isApproved: true });
  if (limited) return limited;
  const delivered = await recordDelivery(deps, now, request);
  if ('outcome' in delivered) return delivered;
  const { subject = '', text } = request.content;
  const { locale } = delivered;
  const link = reviewUrlOf(delivered, reviewTokenOf(deps.secrets, delivered.handoff_id));
  return {
    id: mailId,
    sealedFor: delivered.handoff_id,
    attempt: request.attempts,
    at: request.created_at,
    to: deliveryAddress(to),
    ...(await deps.renderDelivery({ subject, text, locale }, link)),
  };
};

/** Records on the handoff that its buyer may have the link from now on, if the list is still the approved one. */
const recordDelivery = async (
  deps: DeliveryDeps,
  call: Call,
  request: OutboundState,
): Promise<HandoffState | DeliveryResult> => {
  const { outbound_id: outboundId, target } = request;
  const listSha256 = target['list_sha256'] ?? '';
  const written = await decideAndAppend(deps, call, {
    stream: streamOfHandoff(call.ownerId, request),
    decider: handoff,
    command: (state) =>
      state && listHash(state) === listSha256
        ? issue({ type: 'DeliverHandoff' as const, at: call.at, outboundId, listSha256 })
        : LIST_CHANGED,
  });
  if (written.ok) return written.state;
  if ('rejected' in written) return { outcome: 'refused', reason: 'list_closed' };
  return written === LIST_CHANGED
    ? { outcome: 'refused', reason: 'list_changed' }
    : { outcome: 'retry', reason: 'log_unavailable' };
};
