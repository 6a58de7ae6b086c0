/** Controls of outreach: settings, channels and their health, halts. */
import type { z } from 'zod';
import { CHANNEL_KINDS } from '#contracts/outreach/records.ts';
import type { deskOperations } from '#contracts/registries/desk.ts';
import type { EventData } from '#contracts/registries/events.ts';
import { liveOwnerOf } from '#contracts/spaces.ts';
import type { Deps } from '#src/calls/handlers.ts';
import {
  type DeskHandler,
  type DeskInput,
  isBound,
  mayActFor,
  NO_OWNER,
} from '#src/calls/desk-handler.ts';
import type { DeliveryResult } from '#src/ports/delivery.ts';
import type { Secrets } from '#src/ports/system.ts';
import { listing } from '#src/reading/lists.ts';
import { type OutreachKind, outreach, type OutreachState } from '#src/sending/settings.decider.ts';
import {
  EVERYBODY,
  readHaltForEverybody,
  readSettings,
  settingsStream,
} from '#src/sending/settings.ts';
import type { Call } from '#src/shared/call.ts';
import { refuseHouseNames } from '#src/shared/house-names.ts';
import { done, refuse } from '#src/shared/outcome.ts';
import { present } from '#src/shared/json.ts';
import { DAY_MS } from '#src/shared/time.ts';
import { decideAndAppend, issue, traceOf, changeRecord } from '#src/writing/decide-and-append.ts';
import { refuseRejected } from '#src/writing/rejections.ts';
import type { OutboundState } from './outbound.decider.ts';

/**
 * Derives the secret that signs a channel's webhooks, in the format of Standard Webhooks: `whsec_` and
 * 32 bytes in base64. It is not stored; each version gives another secret.
 */
export const webhookSecret = (
  secrets: Pick<Secrets, 'mac'>,
  { ownerId, kind, version }: { ownerId: string; kind: OutreachKind; version: number },
): string =>
  `whsec_${Buffer.from(secrets.mac('webhook', `${ownerId}:${kind}:${version}`), 'hex').toString('base64')}`;

type Settings = EventData<'OutreachConfigured'>;
type Rendered = z.output<(typeof deskOperations)['getOutreach']['output']>;

type Shown = {
  ownerId: string;
  state: OutreachState | undefined;
  haltForEverybody: string | undefined;
  /** Given only when the answer may show secrets. */
  secretOf?: (kind: OutreachKind, version: number) => string;
};

const render = ({ ownerId, state, haltForEverybody, secretOf }: Shown): Rendered => ({
  owner_id: ownerId,
  mode: state?.settings?.mode ?? null,
  approvals_required: state?.settings?.approvals_required ?? null,
  channels: CHANNEL_KINDS.flatMap((kind) => {
    const channel = state?.settings?.channels[kind];
    if (!channel) return [];
    const { adapter, url, receiver_idempotent, secret_version: version } = channel;
    const isSigned = adapter === 'webhook' && version !== undefined;
    return [
      {
        kind,
        adapter,
        ...present({ url }),
        receiver_idempotent: receiver_idempotent ?? adapter === 'file',
        ...present({
          webhook_secret: isSigned ? secretOf?.(kind, version) : undefined,
          disabled: state.disabled[kind],
        }),
      },
    ];
  }),
  automatic_deliveries_per_day: state?.automatic_per_day ?? 0,
  halted: state?.halted ?? null,
  halted_for_everybody: haltForEverybody ?? null,
});

type ChannelInput = DeskInput<'configureOutreach'>['channels'][number];
type ChannelSettings = NonNullable<Settings['channels'][OutreachKind]>;

const originOf = (url: string | undefined): string | undefined =>
  url === undefined ? undefined : new URL(url).origin;

/**
 * Configures one channel. A webhook keeps its secret, and gets the next one when the input requests it
 * or when the receiver changes, because a receiver must not know the secret of another. The version
 * only ever rises, also while the channel uses another adapter.
 */
const configuredFrom = (
  { adapter, url, receiver_idempotent, rotate_secret }: ChannelInput,
  before: ChannelSettings | undefined,
  at: number,
): ChannelSettings => {
  const last = before?.secret_version;
  if (adapter !== 'webhook') return { adapter, ...present({ secret_version: last }) };
  const isOther = last !== undefined && originOf(before?.url) !== originOf(url);
  const isRotated = rotate_secret && last !== undefined && !isOther;
  const keptUntil = isOther ? undefined : before?.rotating_until;
  return {
    adapter,
    ...present({ url }),
    receiver_idempotent,
    secret_version: (last ?? 1) + (isRotated || isOther ? 1 : 0),
    ...present({ rotating_until: isRotated ? at + DAY_MS : keptUntil }),
  };
};

export const configureOutreach: DeskHandler<'configureOutreach'> = async (deps, input, call) => {
  const { owner_id: ownerId, mode, approvals_required, channels } = input;
  if (!mayActFor(call, ownerId)) return NO_OWNER;
  const reserved = refuseHouseNames(deps, { '/owner_id': ownerId });
  if (reserved) return reserved;
  const configured = (before: Settings | undefined): Settings['channels'] =>
    Object.fromEntries(
      channels.map((one) => [one.kind, configuredFrom(one, before?.channels[one.kind], call.at)]),
    );
  const owned = { ...call, ownerId };
  const written = await decideAndAppend(deps, owned, {
    stream: settingsStream(ownerId),
    decider: outreach,
    command: (state) =>
      issue({
        type: 'Configure' as const,
        settings: { mode, approvals_required, channels: configured(state?.settings) },
      }),
  });
  if (!written.ok) return 'rejected' in written ? refuseRejected(written, NO_OWNER) : written;
  const shown = render({
    ownerId,
    state: written.state,
    // As of the write, so that a retry gets the same answer.
    haltForEverybody: await readHaltForEverybody(deps, written.position),
    secretOf: (kind, version) => webhookSecret(deps.secrets, { ownerId, kind, version }),
  });
  return done(shown, traceOf(written));
};

export const setAutomaticDelivery: DeskHandler<'setAutomaticDelivery'> = async (
  deps,
  input,
  call,
) => {
  const { owner_id: ownerId, per_day: perDay } = input;
  if (!mayActFor(call, ownerId)) return NO_OWNER;
  const haltForEverybody = await readHaltForEverybody(deps);
  return changeRecord(deps, call, {
    ownerId,
    stream: settingsStream(ownerId),
    decider: outreach,
    command: () => issue({ type: 'SetAutomaticDelivery' as const, perDay }),
    refusal: (rejection) => refuseRejected(rejection, NO_OWNER),
    render: (state) => render({ ownerId, state, haltForEverybody }),
  });
};

export const getOutreach: DeskHandler<'getOutreach'> = async (deps, input, call) => {
  const { owner_id: ownerId } = input;
  if (!mayActFor(call, ownerId)) return NO_OWNER;
  const state = await readSettings(deps, ownerId);
  return done(render({ ownerId, state, haltForEverybody: await readHaltForEverybody(deps) }));
};

const haltHandler =
  (type: 'Halt' | 'Resume'): DeskHandler<'haltOutreach' | 'resumeOutreach'> =>
  async (deps, { owner_id, reason }, call) => {
    // People of promoters may not act for all promoters.
    const mayAct = owner_id === undefined ? !isBound(call) : mayActFor(call, owner_id);
    if (!mayAct) return NO_OWNER;
    const ownerId = owner_id ?? EVERYBODY;
    return changeRecord(deps, call, {
      ownerId,
      stream: settingsStream(ownerId),
      decider: outreach,
      command: () => issue({ type, reason }),
      refusal: (rejection) => refuseRejected(rejection, NO_OWNER),
      render: ({ halted }) => ({ owner_id: owner_id ?? null, halted: halted ?? null }),
    });
  };

export const haltOutreach: DeskHandler<'haltOutreach'> = haltHandler('Halt');

export const resumeOutreach: DeskHandler<'resumeOutreach'> = haltHandler('Resume');

type HealthDeps = Pick<Deps, 'log' | 'ids' | 'streamQueue' | 'readModels'>;

const FAILING_MS_MAX = 5 * DAY_MS;
const PAGE_ROWS = 100;
const ROWS_MAX = 1_000;
/** Reasons for which the receiver is responsible, and not this service. */
const RECEIVER_FAULT = /(?:http_\d+|dns_failed|connect_failed|tls_failed|timeout|connection_lost)$/;

/**
 * Disables the webhook of this kind when its receiver is gone, or has failed for FAILING_MS_MAX.
 * Other adapters have no single receiver: files are ours, and each agent card is another agent's.
 */
export const judgeChannel = async (
  deps: HealthDeps,
  call: Call,
  { state, result }: { state: OutboundState; result: DeliveryResult },
): Promise<void> => {
  if (result.outcome === 'delivered' || state.via.adapter !== 'webhook') return;
  if (result.outcome === 'refused' && result.disable) {
    await disable(deps, call, { state, reason: `gone: ${result.reason}` });
    return;
  }
  if (!RECEIVER_FAULT.test(result.reason)) return;
  const since = await failingSince(deps, call, state);
  if (call.at - since >= FAILING_MS_MAX)
    await disable(deps, call, { state, reason: `failing for 5 days: ${result.reason}` });
};

/**
 * Finds the first failure of this receiver since its last success or configuration. Only the last
 * attempt of each request is stored, so the time can be later than the true one, never earlier.
 */
const failingSince = async (
  deps: HealthDeps,
  { ownerId, at }: Call,
  { kind, via }: OutboundState,
): Promise<number> => {
  let good = await configuredAt(deps, ownerId);
  const failures = [at];
  let scanned = 0;
  const query = { scope: ownerId, limit: PAGE_ROWS };
  for await (const page of listing<OutboundState>(deps.readModels, 'outbound', query)) {
    for (const { row } of page) {
      if (row.kind !== kind || row.via.url !== via.url || row.attempted_at === undefined) continue;
      if (row.status === 'confirmed') good = Math.max(good, row.updated_at);
      else if (RECEIVER_FAULT.test(row.status_reason ?? '')) failures.push(row.attempted_at);
    }
    scanned += PAGE_ROWS;
    if (scanned >= ROWS_MAX) break;
  }
  return Math.min(...failures.filter((failure) => failure > good), at);
};

const configuredAt = async ({ log }: HealthDeps, ownerId: string): Promise<number> => {
  const settings = await log.readStream(settingsStream(liveOwnerOf(ownerId)));
  return settings.findLast(({ type }) => type === 'OutreachConfigured')?.meta.at ?? 0;
};

const OTHER_RECEIVER = refuse('state_conflict', 'The channel has another receiver now.');

const disable = async (
  deps: HealthDeps,
  call: Call,
  { state: { kind, via }, reason }: { state: OutboundState; reason: string },
): Promise<void> => {
  const ownerId = liveOwnerOf(call.ownerId);
  if (kind === 'handoff_delivery') return;
  const target = {
    stream: settingsStream(ownerId),
    decider: outreach,
    command: (own: Parameters<typeof outreach.decide>[0]) =>
      own?.settings?.channels[kind]?.url === via.url
        ? issue({ type: 'DisableChannel' as const, kind, reason })
        : OTHER_RECEIVER,
  };
  const written = await decideAndAppend(deps, { ...call, ownerId }, target);
  if (!written.ok && 'code' in written && written.code !== 'state_conflict')
    throw new Error(`the channel could not be disabled: ${written.detail}`);
};
