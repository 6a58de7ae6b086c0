import { liveOwnerOf } from '#contracts/spaces.ts';
import { agent } from '#src/access/access.decider.ts';
import type { OutboundState } from './outbound-state.decider.ts';
import type { OutreachChannel, OutreachState } from '#src/sending/settings.decider.ts';
import type { Delivery } from '#src/ports/delivery.ts';
import { stateOf } from '#src/writing/fold.ts';
import { streamOf } from '#src/writing/streams.ts';
import { present } from '#src/shared/present.ts';
import { configuredChannel, readHalt, readSettings } from '#src/sending/settings.ts';
import { webhookSecret } from './webhook-secret.ts';
import type { Deps } from '#src/calls/call.ts';

/** The channel that people approved, or why it cannot be used any more. */
type PinnedChannel = { channel: OutreachChannel } | { fault: string };

type Log = Pick<Deps, 'log'>;

const isAgentSuspended = async (deps: Log, owner: string, agentId: string): Promise<boolean> => {
  const stream = streamOf(liveOwnerOf(owner), 'agent', agentId);
  return (await stateOf(deps, { stream, decider: agent }))?.status === 'suspended';
};

/** Finds the approved channel, unless sending is halted or the proposing agent is suspended. */
export const findOpenChannel = async (
  deps: Log,
  owner: string,
  state: OutboundState,
): Promise<PinnedChannel | { halted: string }> => {
  const settings = await readSettings(deps, owner);
  const halted = await readHalt(deps, settings);
  if (halted !== undefined) return { halted };
  return (await isAgentSuspended(deps, owner, state.agent_id))
    ? { halted: 'the agent is suspended' }
    : pinnedIn(settings, owner, state);
};

/** Finds the approved channel, also while sending is halted. */
export const findPinnedChannel = async (
  deps: Log,
  owner: string,
  state: OutboundState,
): Promise<PinnedChannel> => pinnedIn(await readSettings(deps, owner), owner, state);

const pinnedIn = (
  settings: OutreachState | undefined,
  owner: string,
  { kind, via }: OutboundState,
): PinnedChannel => {
  const channel = configuredChannel(settings, owner, kind);
  if (!channel) return { fault: 'channel_changed' };
  if (settings?.disabled[kind] !== undefined) return { fault: 'channel_disabled' };
  const isSame = via.adapter === channel.adapter && via.url === channel.url;
  return isSame ? { channel } : { fault: 'channel_changed' };
};

/** True when the receiver ignores a repeated id, so that a second attempt has no second effect. */
export const isRepeatable = ({ adapter, receiver_idempotent }: OutreachChannel): boolean =>
  adapter === 'file' || receiver_idempotent === true;

type Attempt = { state: OutboundState; channel: OutreachChannel; envelope: string };

/** Builds what the adapter needs for this attempt. */
export const deliveryOf = (
  { secrets, clock }: Pick<Deps, 'secrets' | 'clock'>,
  owner: string,
  { state, channel, envelope }: Attempt,
): Delivery => {
  const { outbound_id: outboundId, revision, attempts, kind, target, content_sha256, via } = state;
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
    envelope,
    sha256: content_sha256,
    ...present({ url: via.url }),
    signingSecrets:
      via.adapter === 'webhook'
        ? versions.map((v) => webhookSecret(secrets, { ownerId, kind, version: v }))
        : [],
  };
};
