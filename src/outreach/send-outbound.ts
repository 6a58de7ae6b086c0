/** Advances one approved request: reads its state, and sends it when it is due. */
import { liveOwnerOf } from '#contracts/spaces.ts';
import { type Deps, systemCall } from '#src/calls/handlers.ts';
import type { Delivery, Channels } from '#src/ports/delivery.ts';
import { OPEN_RECORDS } from '#src/ports/rows.ts';
import {
  advanceItem,
  attempt,
  giveUp,
  type Item,
  type NextStep,
  record,
  type Work,
} from '#src/sending/dispatcher.ts';
import { envelopeHash, envelopeOf } from '#src/sending/envelope.ts';
import type {
  OutreachChannel,
  OutreachKind,
  OutreachState,
} from '#src/sending/settings.decider.ts';
import { configuredChannel, readSettings } from '#src/sending/settings.ts';
import { present } from '#src/shared/json.ts';
import { foldOf, streamOf } from '#src/writing/streams.ts';
import { webhookSecret, judgeChannel } from './controls.ts';
import {
  type OutboundState,
  outbound,
  type OutboundCommand,
  isAtItsEnd,
} from './outbound.decider.ts';
import { readRecipient } from './recipients.ts';
import {
  type DeliveryDeps,
  findHalt,
  isDeliveryRepeatable,
  sendDelivery,
} from './send-delivery.ts';

/** The channel that people approved, or why it cannot be used any more. */
type PinnedChannel = { channel: OutreachChannel } | { fault: string };

type Log = Pick<Deps, 'log'>;

/** Finds the approved channel, unless sending is halted or the proposing agent is suspended. */
const findOpenChannel = async (
  deps: Log,
  owner: string,
  state: OutboundState,
): Promise<PinnedChannel | { halted: string }> => {
  const settings = await readSettings(deps, owner);
  const halted = await findHalt(deps, owner, { own: settings, agentId: state.agent_id });
  return halted === undefined ? pinnedIn(settings, owner, state) : { halted };
};

/** Finds the approved channel, also while sending is halted. */
const findPinnedChannel = async (
  deps: Log,
  owner: string,
  state: OutboundState,
): Promise<PinnedChannel> => pinnedIn(await readSettings(deps, owner), owner, state);

const pinnedIn = (
  settings: OutreachState | undefined,
  owner: string,
  { kind, via }: OutboundState,
): PinnedChannel => {
  // The service mails a review link itself.
  if (kind === 'handoff_delivery') return { fault: 'channel_changed' };
  const channel = configuredChannel(settings, owner, kind);
  if (!channel) return { fault: 'channel_changed' };
  if (settings?.disabled[kind] !== undefined) return { fault: 'channel_disabled' };
  const isSame = via.adapter === channel.adapter && via.url === channel.url;
  return isSame ? { channel } : { fault: 'channel_changed' };
};

/** True when the receiver ignores a repeated id, so that a second attempt has no second effect. */
const isRepeatable = ({ adapter, receiver_idempotent }: OutreachChannel): boolean =>
  adapter === 'file' || receiver_idempotent === true;

/** A delivery of a review link goes over no channel. */
const channelKindOf = ({ kind }: OutboundState): OutreachKind => {
  if (kind === 'handoff_delivery') throw new Error('a review link is delivered by mail');
  return kind;
};

/** Builds what the adapter needs for this attempt: the bytes whose hash was approved, and compared again when it was stored. */
const deliveryOf = (
  { secrets, clock }: Pick<Deps, 'secrets' | 'clock'>,
  owner: string,
  { state, channel }: { state: OutboundState; channel: OutreachChannel },
): Delivery => {
  const { outbound_id: outboundId, revision, attempts, target, content_sha256, via } = state;
  const kind = channelKindOf(state);
  const { secret_version: version = 1, rotating_until = 0 } = channel;
  const versions = rotating_until > clock.now() && version > 1 ? [version, version - 1] : [version];
  const ownerId = liveOwnerOf(owner);
  return {
    ownerId: owner,
    outboundId,
    revision,
    attempt: attempts,
    kind,
    target,
    envelope: envelopeOf(owner, state),
    sha256: content_sha256,
    ...present({ url: via.url }),
    signingSecrets:
      via.adapter === 'webhook'
        ? versions.map((v) => webhookSecret(secrets, { ownerId, kind, version: v }))
        : [],
  };
};

export type SendingDeps = Pick<
  Deps,
  'log' | 'ids' | 'streamQueue' | 'clock' | 'readModels' | 'secrets' | 'following' | 'vault'
> &
  DeliveryDeps & { channels: Channels };

const isDelivery = ({ kind }: OutboundState): boolean => kind === 'handoff_delivery';

type OutboundItem = Item<OutboundState, OutboundCommand, SendingDeps>;

const nextStep = async (item: OutboundItem): Promise<NextStep> => {
  const { deps, call, state } = item;
  const { status, uncertain, retry_at } = state;
  const { not_before = 0, not_after } = state.schedule;
  const now = deps.clock.now();
  if (now >= not_after) {
    const end = uncertain ? giveUp(state, 'expired') : { type: 'Expire' as const, at: now };
    return { act: () => record(item, end) };
  }
  if (status !== 'approved' && status !== 'dispatched') return { wait: not_after };
  const due = retry_at ?? not_before;
  if (now < due) return { wait: Math.min(due, not_after) };
  // Resuming wakes the request; until then only its time can run out.
  if (isDelivery(state)) return (await isHalted(item)) ? { wait: not_after } : delivering(item);
  const found = await findUsable(deps, call.ownerId, state);
  if ('halted' in found) return { wait: not_after };
  if ('fault' in found) return { act: () => record(item, giveUp(state, found.fault)) };
  return { act: () => send(item, found.channel) };
};

const isHalted = async ({ deps, call: { ownerId }, state }: OutboundItem): Promise<boolean> => {
  const own = await readSettings(deps, ownerId);
  return (await findHalt(deps, ownerId, { own, agentId: state.agent_id })) !== undefined;
};

const delivering = (item: OutboundItem): NextStep => ({ act: () => sendDelivery(item) });

/** Finds the approved channel, unless sending is halted or the recipient cannot be contacted meanwhile. */
const findUsable = async (deps: SendingDeps, owner: string, state: OutboundState) => {
  const { fault } = await readRecipient(deps, owner, state.target);
  return fault ? { fault } : findOpenChannel(deps, owner, state);
};

/** Whether the last attempt can be repeated: it went to the pinned channel, and a changed one stops the next attempt. */
const isPinnedRepeatable = async ({ deps, call, state }: OutboundItem): Promise<boolean> => {
  if (isDelivery(state)) return isDeliveryRepeatable(state);
  const found = await findPinnedChannel(deps, call.ownerId, state);
  return 'channel' in found ? isRepeatable(found.channel) : state.via.adapter === 'file';
};

const send = async (item: OutboundItem, channel: OutreachChannel): Promise<{ ok: boolean }> => {
  const { deps, call, state } = item;
  const { ownerId } = call;
  const made = await attempt(item, {
    channel: deps.channels[channel.adapter],
    dispatch: (times, now) => {
      const contentSha256 = now ? envelopeHash(envelopeOf(ownerId, now)) : '';
      return { type: 'Dispatch' as const, contentSha256, ...times };
    },
    // A halt or a change of the channel can have come before the attempt was stored.
    async prepare(sent) {
      const found = await findUsable(deps, ownerId, sent);
      if ('halted' in found) return { outcome: 'retry', reason: 'halted' };
      if ('fault' in found) return { outcome: 'refused', reason: found.fault };
      return deliveryOf(deps, ownerId, { state: sent, channel });
    },
    isRepeatable: () => isRepeatable(channel),
  });
  if (made.ok) await judgeChannel(deps, { ...call, at: deps.clock.now() }, made);
  else if ('rejected' in made && made.rejected === 'content_changed')
    return record(item, giveUp(state, 'content_changed'));
  return made;
};

export const outreachWork = (deps: SendingDeps): Work => ({
  readModel: 'open-outbound',
  scope: OPEN_RECORDS,
  itemEvents: /^Outbound/,
  itemOf: ({ data }) => (data as { outbound_id: string }).outbound_id,
  ownerEvents: /^(Outreach|Agent)/,
  async advance(ownerId, id, signal) {
    const stream = streamOf(ownerId, 'outbound', id);
    const events = await deps.log.readStream(stream);
    const state = foldOf(outbound, events);
    if (!state || isAtItsEnd(state)) return {};
    const correlation = events.findLast(({ type }) => type === 'OutboundApproved')?.meta.request;
    const call = {
      ...systemCall(deps, 'dispatchOutbound', { ownerId, signal }),
      ...present({ correlation }),
    };
    const { not_after: notAfter } = state.schedule;
    const item = { deps, call, id, notAfter, stream, decider: outbound, state };
    return advanceItem(item, {
      isRepeatable: () => isPinnedRepeatable(item),
      nextStep: () => nextStep(item),
    });
  },
});
