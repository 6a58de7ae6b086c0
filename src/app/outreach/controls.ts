import type { z } from 'zod';
import type { deskOperations } from '#contracts/desk/index.ts';
import { OUTBOUND_KINDS } from '#contracts/records/outbound.ts';
import type { EventData } from '#contracts/events/index.ts';
import { outreach, type OutreachState } from '#src/domain/outreach.ts';
import type { DeskCall } from '../pipeline/call.ts';
import { decideAndAppend, traceOf } from '../events/decide-and-append.ts';
import { OUTREACH_PROBLEMS, refuseRejected } from '../events/rejections.ts';
import { done, type Outcome, refuse } from '../pipeline/outcome.ts';
import { EVERYBODY, everybodysHalt, settingsOf, settingsStream } from './settings.ts';
import { webhookSecret } from './webhook-secret.ts';
import { DAY_MS } from '../shared/time.ts';
import type { DeskDeps, DeskHandler, DeskInput } from '../pipeline/desk-handler.ts';
import { mayActFor } from '../pipeline/desk-handler.ts';

type Settings = EventData<'OutreachConfigured'>;
type Shown = z.output<(typeof deskOperations)['getOutreach']['output']>;

const NO_OWNER = refuse('resource_not_found', 'There is no such owner.');

/** The settings as the contract shows them; `secretOf` only where secrets may be shown. */
const render = (
  ownerId: string,
  state: OutreachState | undefined,
  halted: string | undefined,
  secretOf?: (kind: (typeof OUTBOUND_KINDS)[number], version: number) => string,
): Shown => ({
  owner_id: ownerId,
  mode: state?.settings?.mode ?? null,
  approvals_required: state?.settings?.approvals_required ?? null,
  channels: OUTBOUND_KINDS.flatMap((kind) => {
    const channel = state?.settings?.channels[kind];
    if (!channel) return [];
    const { adapter, url, receiver_idempotent, secret_version } = channel;
    const disabled = state?.disabled[kind];
    return [
      {
        kind,
        adapter,
        ...(url !== undefined && { url }),
        receiver_idempotent: receiver_idempotent ?? adapter === 'file',
        ...(secretOf &&
          adapter === 'webhook' &&
          secret_version !== undefined && { webhook_secret: secretOf(kind, secret_version) }),
        ...(disabled !== undefined && { disabled }),
      },
    ];
  }),
  halted: state?.halted ?? null,
  halted_for_everybody: halted ?? null,
});

const originOf = (url: string | undefined): string | undefined =>
  url === undefined ? undefined : new URL(url).origin;

/**
 * The channels asked for. A webhook goes on with its secret, or gets the next: when it is asked for, or
 * when another receiver stands there, which must not know the secret of the one before. Versions are
 * counted on, whatever the channel is in between.
 */
const channelsOf = (
  asked: DeskInput<'configureOutreach'>['channels'],
  before: Settings | undefined,
  at: number,
): Settings['channels'] =>
  Object.fromEntries(
    asked.map(({ kind, adapter, url, receiver_idempotent, rotate_secret }) => {
      const known = before?.channels[kind];
      const last = known?.secret_version;
      if (adapter !== 'webhook')
        return [kind, { adapter, ...(last !== undefined && { secret_version: last }) }];
      const isOther = last !== undefined && originOf(known?.url) !== originOf(url);
      const rotates = rotate_secret && last !== undefined && !isOther;
      return [
        kind,
        {
          adapter,
          ...(url !== undefined && { url }),
          receiver_idempotent,
          secret_version: (last ?? 1) + (rotates || isOther ? 1 : 0),
          ...(rotates
            ? { rotating_until: at + DAY_MS }
            : !isOther &&
              known?.rotating_until !== undefined && { rotating_until: known.rotating_until }),
        },
      ];
    }),
  );

export const configureOutreach: DeskHandler<'configureOutreach'> = async (deps, input, call) => {
  const { owner_id, mode, approvals_required, channels } = input;
  if (!mayActFor(call, owner_id)) return NO_OWNER;
  const written = await decideAndAppend(
    deps,
    { ...call, ownerId: owner_id },
    {
      stream: settingsStream(owner_id),
      decider: outreach,
      command: (state) => ({
        type: 'Configure' as const,
        settings: {
          mode,
          approvals_required,
          channels: channelsOf(channels, state?.settings, call.at),
        },
      }),
    },
  );
  if (!written.ok)
    return 'rejected' in written ? refuseRejected(OUTREACH_PROBLEMS, written, NO_OWNER) : written;
  const secretOf = (kind: (typeof OUTBOUND_KINDS)[number], version: number) =>
    webhookSecret(deps.secrets, { ownerId: owner_id, kind, version });
  // As it was when this was written: a retry is answered the same.
  const halted = await everybodysHalt(deps, written.position);
  const shown = render(owner_id, written.state, halted, secretOf);
  return done(shown, traceOf(written));
};

export const getOutreach: DeskHandler<'getOutreach'> = async (deps, { owner_id }, call) => {
  if (!mayActFor(call, owner_id)) return NO_OWNER;
  const state = await settingsOf(deps, owner_id);
  return done(render(owner_id, state, await everybodysHalt(deps)));
};

type Turned = { owner_id: string | null; halted: string | null };

const turn = async (
  deps: DeskDeps,
  { owner_id, reason }: DeskInput<'haltOutreach'>,
  call: DeskCall,
  type: 'Halt' | 'Resume',
): Promise<Outcome<Turned>> => {
  // Everybody is no owner's: a token bound to one cannot speak for them.
  const unbound = call.caller.ownerId === undefined;
  const mayAct = owner_id === undefined ? unbound : mayActFor(call, owner_id);
  if (!mayAct) return NO_OWNER;
  const ownerId = owner_id ?? EVERYBODY;
  const written = await decideAndAppend(
    deps,
    { ...call, ownerId },
    { stream: settingsStream(ownerId), decider: outreach, command: () => ({ type, reason }) },
  );
  if (!written.ok)
    return 'rejected' in written ? refuseRejected(OUTREACH_PROBLEMS, written, NO_OWNER) : written;
  return done(
    { owner_id: owner_id ?? null, halted: written.state.halted ?? null },
    traceOf(written),
  );
};

export const haltOutreach: DeskHandler<'haltOutreach'> = (deps, input, call) =>
  turn(deps, input, call, 'Halt');

export const resumeOutreach: DeskHandler<'resumeOutreach'> = (deps, input, call) =>
  turn(deps, input, call, 'Resume');
