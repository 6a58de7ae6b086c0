/** Advances one approved request: reads its state, and sends it when it is due. */
import { liveOwnerOf } from '#contracts/spaces.ts';
import { agent } from '#src/access/access.decider.ts';
import { type Deps, systemCall } from '#src/calls/handlers.ts';
import type { Delivery, Channels, DeliveryResult } from '#src/ports/delivery.ts';
import { OPEN_RECORDS } from '#src/ports/rows.ts';
import {
  commandAfter,
  deliver,
  giveUp,
  MARGIN_MS,
  RECORD_WAIT_MS,
  recordOutcome,
  type Scheduling,
  SENDER_GONE,
  type Work,
} from '#src/sending/dispatcher.ts';
import type { OutreachChannel, OutreachState } from '#src/sending/settings.decider.ts';
import { configuredChannel, readHalt, readSettings } from '#src/sending/settings.ts';
import type { SystemCall } from '#src/shared/call.ts';
import { present } from '#src/shared/present.ts';
import { decideAndAppend, issue } from '#src/writing/decide-and-append.ts';
import { stateOf, foldOf, streamOf } from '#src/writing/streams.ts';
import { webhookSecret, judgeChannel } from './controls.ts';
import {
  type OutboundState,
  outbound,
  type OutboundCommand,
  isAtItsEnd,
} from './outbound.decider.ts';
import { envelopeHash, envelopeOf, refusesContact } from './propose.ts';

/** The channel that people approved, or why it cannot be used any more. */
type PinnedChannel = { channel: OutreachChannel } | { fault: string };

type Log = Pick<Deps, 'log'>;

const isAgentSuspended = async (deps: Log, owner: string, agentId: string): Promise<boolean> => {
  const stream = streamOf(liveOwnerOf(owner), 'agent', agentId);
  return (await stateOf(deps, { stream, decider: agent }))?.status === 'suspended';
};

/** Finds the approved channel, unless sending is halted or the proposing agent is suspended. */
const findOpenChannel = async (
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
  const channel = configuredChannel(settings, owner, kind);
  if (!channel) return { fault: 'channel_changed' };
  if (settings?.disabled[kind] !== undefined) return { fault: 'channel_disabled' };
  const isSame = via.adapter === channel.adapter && via.url === channel.url;
  return isSame ? { channel } : { fault: 'channel_changed' };
};

/** True when the receiver ignores a repeated id, so that a second attempt has no second effect. */
const isRepeatable = ({ adapter, receiver_idempotent }: OutreachChannel): boolean =>
  adapter === 'file' || receiver_idempotent === true;

type Attempt = { state: OutboundState; channel: OutreachChannel; envelope: string };

/** Builds what the adapter needs for this attempt. */
const deliveryOf = (
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

export type SendingDeps = Pick<
  Deps,
  'log' | 'ids' | 'streamQueue' | 'clock' | 'readModels' | 'secrets' | 'following' | 'vault'
> &
  Scheduling & { channels: Channels };

type OutboundWork = { deps: SendingDeps; call: SystemCall; stream: string; state: OutboundState };

const load = async (
  deps: SendingDeps,
  call: SystemCall,
  outboundId: string,
): Promise<OutboundWork | undefined> => {
  const stream = streamOf(call.ownerId, 'outbound', outboundId);
  const events = await deps.log.readStream(stream);
  const state = foldOf(outbound, events);
  const correlation = events.findLast(({ type }) => type === 'OutboundApproved')?.meta.request;
  return state && { deps, call: { ...call, ...present({ correlation }) }, stream, state };
};

/**
 * Does what is due now. `next_at` is when to look again, in epoch milliseconds (a time that is not in the future means
 * at once); it is absent when the request is at its end. Throws when the log does.
 */
const dispatchOutbound = async (
  deps: SendingDeps,
  outboundId: string,
  call: SystemCall,
): Promise<{ next_at?: number }> => {
  const work = await load(deps, call, outboundId);
  if (!work || isAtItsEnd(work.state)) return {};
  const step = await nextStep(work);
  if ('wait' in step) return { next_at: step.wait };
  const isRecorded =
    'channel' in step ? await attempt(work, step.channel) : await record(work, step.command);
  // If another process was faster, the next look sees its events; the wait prevents a busy loop.
  return { next_at: deps.clock.now() + (isRecorded ? 0 : RECORD_WAIT_MS) };
};

type Step = { wait: number } | { command: OutboundCommand } | { channel: OutreachChannel };

const nextStep = async (work: OutboundWork): Promise<Step> => {
  const { deps, call, state } = work;
  const { status, uncertain, retry_at, until = 0 } = state;
  const { not_before = 0, not_after } = state.schedule;
  const now = deps.clock.now();
  if (status === 'dispatched' && retry_at === undefined)
    return now < until ? { wait: until } : { command: await recoverAbandoned(work) };
  if (now >= not_after)
    return { command: uncertain ? giveUp(state, 'expired') : { type: 'Expire', at: now } };
  if (status !== 'approved' && status !== 'dispatched') return { wait: not_after };
  const due = retry_at ?? not_before;
  if (now < due) return { wait: Math.min(due, not_after) };
  const found = await findUsable(deps, call.ownerId, state);
  // Resuming wakes the request; until then only its time can run out.
  if ('halted' in found) return { wait: not_after };
  return 'fault' in found ? { command: giveUp(state, found.fault) } : found;
};

/** Finds the approved channel, unless sending is halted or the recipient refuses contact meanwhile. */
const findUsable = async (deps: SendingDeps, owner: string, state: OutboundState) =>
  (await refusesContact(deps, owner, state.target))
    ? { fault: 'contact_refused' }
    : findOpenChannel(deps, owner, state);

/** The sending process is gone, so the outcome of its attempt is unknown. */
const recoverAbandoned = async ({ deps, call, state }: OutboundWork): Promise<OutboundCommand> => {
  const found = await findPinnedChannel(deps, call.ownerId, state);
  // A changed channel stops the next attempt; this attempt went to the pinned one.
  const channel = 'channel' in found ? found.channel : state.via;
  return commandFor(SENDER_GONE, { state, channel, now: deps.clock.now() });
};

/** What the result of the last attempt means for the request. */
const commandFor = (
  result: DeliveryResult,
  { state, channel, now }: { state: OutboundState; channel: OutreachChannel; now: number },
): OutboundCommand =>
  commandAfter(result, {
    id: state.outbound_id,
    attempts: state.attempts,
    attemptedAt: state.attempted_at,
    uncertain: state.uncertain,
    isRepeatable: isRepeatable(channel),
    notAfter: state.schedule.not_after,
    now,
  });

/**
 * Writes the attempt ahead, sends, and writes the result; only the process whose append succeeds
 * sends. False when nothing was written.
 */
const attempt = async (work: OutboundWork, channel: OutreachChannel): Promise<boolean> => {
  const { deps, call, stream } = work;
  const { ownerId, signal } = call;
  const sender = deps.channels[work.state.via.adapter];
  const at = deps.clock.now();
  const until = at + sender.limitMs + MARGIN_MS;
  let envelope = '';
  const written = await decideAndAppend(
    deps,
    { ...call, at },
    {
      stream,
      decider: outbound,
      command: (state) => {
        // Built from the state that is dispatched, so exactly the bytes of this hash are sent.
        envelope = state ? envelopeOf(ownerId, state) : '';
        const contentSha256 = envelopeHash(envelope);
        return issue({ type: 'Dispatch' as const, at, contentSha256, until });
      },
    },
  );
  if (!written.ok) {
    const isChanged = 'rejected' in written && written.rejected === 'content_changed';
    return isChanged && record(work, giveUp(work.state, 'content_changed'));
  }
  const { state } = written;
  const result =
    (await holdBack(work, state, at)) ??
    (await deliver(deps, sender, {
      delivery: deliveryOf(deps, ownerId, { state, channel, envelope }),
      signal,
    }));
  await record(work, commandFor(result, { state, channel, now: deps.clock.now() }));
  await judgeChannel(deps, { ...call, at: deps.clock.now() }, { state, result });
  return true;
};

/**
 * Checks again after the write-ahead event, and answers a result without effect when a halt came
 * before it, the channel changed, the append took too long, or the log cannot be read.
 */
const holdBack = async (
  { deps, call: { ownerId: owner } }: OutboundWork,
  state: OutboundState,
  at: number,
): Promise<DeliveryResult | undefined> => {
  try {
    const found = await findUsable(deps, owner, state);
    if ('halted' in found) return { outcome: 'retry', reason: 'halted' };
    if ('fault' in found) return { outcome: 'refused', reason: found.fault };
  } catch (error) {
    deps.onFault(error, { owner, id: state.outbound_id });
    return { outcome: 'retry', reason: 'log_unavailable' };
  }
  return deps.clock.now() > at + MARGIN_MS / 2 ? { outcome: 'retry', reason: 'late' } : undefined;
};

/** Writes what is known; false when nothing was written. */
const record = ({ deps, call, stream }: OutboundWork, command: OutboundCommand): Promise<boolean> =>
  recordOutcome(deps, call, { stream, decider: outbound, command: () => issue(command) });

export const outreachWork = (deps: SendingDeps): Work => ({
  readModel: 'open-outbound',
  scope: OPEN_RECORDS,
  itemOf: ({ type, data }) =>
    type.startsWith('Outbound') ? (data as { outbound_id: string }).outbound_id : undefined,
  changedBy: () => [],
  ownerEvents: /^(Outreach|Agent)/,
  advance: (ownerId, id, signal) =>
    dispatchOutbound(deps, id, systemCall(deps, 'dispatchOutbound', { ownerId, signal })),
});
