import type { z } from 'zod';
import { OUTBOUND_KINDS } from '#contracts/outreach/outbound.records.ts';
import type { deskOperations } from '#contracts/registries/desk.ts';
import type { EventData } from '#contracts/registries/events.ts';
import { type DeskHandler, type DeskInput, mayActFor, NO_OWNER } from '#src/calls/desk-handler.ts';
import { outreach, type OutreachKind, type OutreachState } from '#src/sending/settings.decider.ts';
import {
  EVERYBODY,
  readHaltForEverybody,
  readSettings,
  settingsStream,
} from '#src/sending/settings.ts';
import { done } from '#src/shared/outcome.ts';
import { present } from '#src/shared/present.ts';
import { DAY_MS } from '#src/shared/time.ts';
import { decideAndAppend, issue, traceOf } from '#src/writing/decide-and-append.ts';
import { refuseRejected } from '#src/writing/rejections.ts';
import { changeRecord } from '#src/writing/streams.ts';
import { webhookSecret } from './webhook-secret.ts';

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
  channels: OUTBOUND_KINDS.flatMap((kind) => {
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

export const getOutreach: DeskHandler<'getOutreach'> = async (deps, input, call) => {
  const { owner_id: ownerId } = input;
  if (!mayActFor(call, ownerId)) return NO_OWNER;
  const state = await readSettings(deps, ownerId);
  return done(render({ ownerId, state, haltForEverybody: await readHaltForEverybody(deps) }));
};

const haltHandler =
  (type: 'Halt' | 'Resume'): DeskHandler<'haltOutreach' | 'resumeOutreach'> =>
  async (deps, { owner_id, reason }, call) => {
    // A token bound to one owner may not act for all owners.
    const isUnbound = call.caller.ownerId === undefined;
    const mayAct = owner_id === undefined ? isUnbound : mayActFor(call, owner_id);
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
