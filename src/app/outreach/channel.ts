/** The channel of one request: whether it is open, what it gets, and when it is closed for good. */
import { liveOwnerOf } from '#contracts/spaces.ts';
import { agent } from '#src/domain/access.ts';
import type { OutboundState } from '#src/domain/outbound-state.ts';
import { outreach, type OutreachChannel, type OutreachState } from '#src/domain/outreach.ts';
import type { Channel, Delivery, DeliveryResult } from '#src/ports/delivery.ts';
import type { Call } from '../pipeline/call.ts';
import { decideAndAppend } from '../events/decide-and-append.ts';
import { stateOf } from '../events/fold.ts';
import type { Deps } from '../pipeline/deps.ts';
import { listing } from '../read-models/listing.ts';
import { refuse } from '../pipeline/outcome.ts';
import { streamOf } from '../records/streams.ts';
import { DAY_MS } from '../shared/time.ts';
import { haltOf, settingsOf, settingsStream } from './settings.ts';
import { webhookSecret } from './webhook-secret.ts';

export type Scheduling = {
  /** Runs `task` after `ms`, unless what it answers is called before. */
  schedule(task: () => void, ms: number): () => void;
  /** `of`: the request that waits, where it is one. */
  onFault(error: unknown, of?: { owner: string; id: string }): void;
};

/** For a channel that does not keep its own limit. */
const ANSWER_MARGIN_MS = 1_000;

type FaultDeps = Pick<Deps, 'log' | 'ids' | 'readModels'>;

type Found = { channel: OutreachChannel } | { fault: string };

/** What a suspended agent proposed waits, too, until it is reinstated or its time is over. */
const isSuspended = async (
  deps: Pick<Deps, 'log'>,
  owner: string,
  { agent_id }: OutboundState,
): Promise<boolean> => {
  const stream = streamOf(liveOwnerOf(owner), 'agent', agent_id);
  return (await stateOf(deps, { stream, decider: agent }))?.status === 'suspended';
};

/** The channel as it is now, if nobody has halted it, and if it is the one that people approved. */
export const wayOf = async (
  deps: Pick<Deps, 'log'>,
  owner: string,
  state: OutboundState,
): Promise<Found | { halted: string }> => {
  const own = await settingsOf(deps, owner);
  const halted = await haltOf(deps, own);
  if (halted !== undefined) return { halted };
  return (await isSuspended(deps, owner, state))
    ? { halted: 'the agent is suspended' }
    : pinnedIn(own, owner, state);
};

/** The same, halted or not. */
export const channelOf = async (
  deps: Pick<Deps, 'log'>,
  owner: string,
  state: OutboundState,
): Promise<Found> => pinnedIn(await settingsOf(deps, owner), owner, state);

const pinnedIn = (
  own: OutreachState | undefined,
  owner: string,
  { kind, via }: OutboundState,
): Found => {
  const configured = own?.settings?.channels[kind];
  if (!configured) return { fault: 'channel_changed' };
  if (own.disabled[kind] !== undefined) return { fault: 'channel_disabled' };
  const isTest = liveOwnerOf(owner) !== owner;
  const channel: OutreachChannel = isTest ? { adapter: 'file' } : configured;
  const isSame = via.adapter === channel.adapter && via.url === channel.url;
  return isSame ? { channel } : { fault: 'channel_changed' };
};

/** Whether a receiver takes the same id once only, so that a second attempt is no second effect. */
export const isRepeatable = ({ adapter, receiver_idempotent }: OutreachChannel): boolean =>
  adapter === 'file' || receiver_idempotent === true;

/** Everything the channel is given for this attempt. */
export const deliveryOf = (
  { secrets, clock }: Pick<Deps, 'secrets' | 'clock'>,
  owner: string,
  {
    state,
    channel,
    envelope,
  }: { state: OutboundState; channel: OutreachChannel; envelope: string },
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
    ...(via.url !== undefined && { url: via.url }),
    signingSecrets:
      via.adapter === 'webhook'
        ? versions.map((v) => webhookSecret(secrets, { ownerId, kind, version: v }))
        : [],
  };
};

/** The channel's answer, or that there was none within its time. */
export const deliver = async (
  { schedule, onFault }: Scheduling,
  channel: Channel,
  delivery: Delivery,
  outer: AbortSignal,
): Promise<DeliveryResult> => {
  const limit = new AbortController();
  const timers = [schedule(() => limit.abort(), channel.limitMs)];
  const overdue = new Promise<DeliveryResult>((resolve) => {
    const give = () => resolve({ outcome: 'unknown', reason: 'timeout' });
    timers.push(schedule(give, channel.limitMs + ANSWER_MARGIN_MS));
  });
  try {
    const signal = AbortSignal.any([outer, limit.signal]);
    return await Promise.race([channel.deliver(delivery, signal), overdue]);
  } catch (error) {
    onFault(error);
    return { outcome: 'unknown', reason: 'channel_fault' };
  } finally {
    for (const cancel of timers) cancel();
  }
};

const FAILING_MS_MAX = 5 * DAY_MS;
const PAGE_ROWS = 100;
const ROWS_MAX = 1_000;
/** What the receiver did or left undone, and not what we kept from it. */
const RECEIVERS_OWN = /(?:http_\d+|dns_failed|connect_failed|tls_failed|timeout|connection_lost)$/;

/** Disables the webhook of this kind when `result`, the latest, was one failure too many. */
export const judgeChannel = async (
  deps: FaultDeps,
  call: Call,
  state: OutboundState,
  result: DeliveryResult,
): Promise<void> => {
  // Only a webhook is one receiver: an outbox is ours, and each card is another agent's.
  if (result.outcome === 'delivered' || state.via.adapter !== 'webhook') return;
  if (result.outcome === 'refused' && result.disable)
    return disable(deps, call, state, `gone: ${result.reason}`);
  if (!RECEIVERS_OWN.test(result.reason)) return;
  const since = await failingSince(deps, call, state);
  if (call.at - since >= FAILING_MS_MAX)
    await disable(deps, call, state, `failing for 5 days: ${result.reason}`);
};

/**
 * Since when this receiver has failed without a success or a new configuration. Of each request the
 * last attempt counts, so that it is later, if anything, than it was.
 */
const failingSince = async (
  deps: FaultDeps,
  { ownerId, at }: Call,
  { kind, via }: OutboundState,
): Promise<number> => {
  let good = await configuredAt(deps, ownerId);
  const failures = [at];
  let seen = 0;
  const query = { scope: ownerId, limit: PAGE_ROWS };
  for await (const page of listing<OutboundState>(deps.readModels, 'outbound', query)) {
    for (const { row } of page) {
      if (row.kind !== kind || row.via.url !== via.url || row.attempted_at === undefined) continue;
      if (row.status === 'confirmed') good = Math.max(good, row.updated_at);
      else if (RECEIVERS_OWN.test(row.status_reason ?? '')) failures.push(row.attempted_at);
    }
    seen += PAGE_ROWS;
    if (seen >= ROWS_MAX) break;
  }
  return Math.min(...failures.filter((failure) => failure > good), at);
};

const configuredAt = async ({ log }: FaultDeps, ownerId: string): Promise<number> => {
  const settings = await log.readStream(settingsStream(liveOwnerOf(ownerId)));
  return settings.findLast(({ type }) => type === 'OutreachConfigured')?.meta.at ?? 0;
};

const disable = async (
  deps: FaultDeps,
  call: Call,
  { kind, via }: OutboundState,
  reason: string,
): Promise<void> => {
  const ownerId = liveOwnerOf(call.ownerId);
  const written = await decideAndAppend(
    deps,
    { ...call, ownerId },
    {
      stream: settingsStream(ownerId),
      decider: outreach,
      command: (own) =>
        own?.settings?.channels[kind]?.url === via.url
          ? { type: 'DisableChannel' as const, kind, reason }
          : refuse('state_conflict', 'Another receiver stands there by now.'),
    },
  );
  if (!written.ok && 'code' in written && written.code !== 'state_conflict')
    throw new Error(`the channel could not be disabled: ${written.detail}`);
};
