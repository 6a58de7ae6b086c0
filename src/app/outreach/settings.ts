import { liveOwnerOf } from '#contracts/spaces.ts';
import type { OutreachChannel, OutreachKind, OutreachState } from '#src/domain/outreach.ts';
import { outreach } from '#src/domain/outreach.ts';
import type { Position } from '#src/ports/event-log.ts';
import { foldOf, stateOf } from '../events/fold.ts';
import type { Deps } from '../pipeline/deps.ts';
import { type Refusal, refuse } from '../pipeline/outcome.ts';

/** The owner under whom the halt that binds everybody stands. */
export const EVERYBODY = 'desk';

export const settingsStream = (ownerId: string): string => `${ownerId}-outreach_settings`;

/** An owner's settings; a test space has those of its owner. */
export const settingsOf = async (
  deps: Pick<Deps, 'log'>,
  ownerId: string,
): Promise<OutreachState | undefined> =>
  stateOf(deps, { stream: settingsStream(liveOwnerOf(ownerId)), decider: outreach });

/** Why nothing of this owner may leave now: its own halt, or everybody's. */
export const haltOf = async (
  deps: Pick<Deps, 'log'>,
  own: OutreachState | undefined,
): Promise<string | undefined> => {
  return own?.halted ?? everybodysHalt(deps);
};

/** Why nothing of any owner may leave, as of a place in the log. */
export const everybodysHalt = async (
  { log }: Pick<Deps, 'log'>,
  asOf: Position = Infinity,
): Promise<string | undefined> => {
  const stored = await log.readStream(settingsStream(EVERYBODY));
  return foldOf(
    outreach,
    stored.filter(({ position }) => position <= asOf),
  )?.halted;
};

/** Without the reason, which a person wrote for people. */
export const halted = (): Refusal => refuse('outreach_halted', 'Outreach is halted by a person.');

export type Route = {
  mode: 'owner_controlled' | 'admin_approved';
  required: number;
  channel: Pick<OutreachChannel, 'adapter' | 'url'>;
};

/** Who decides on a request of this kind, and where it would go; or why nothing can be proposed. */
export const routeOf = async (
  deps: Pick<Deps, 'log'>,
  ownerId: string,
  kind: OutreachKind,
): Promise<Route | Refusal> => {
  const own = await settingsOf(deps, ownerId);
  const halt = await haltOf(deps, own);
  if (halt !== undefined) return halted();
  const settings = own?.settings;
  if (!settings) return refuse('approver_missing', 'No approver is configured for this owner.');
  const channel = settings.channels[kind];
  if (!channel) return refuse('channel_not_verified', `No channel is connected for ${kind}.`);
  if (own.disabled[kind] !== undefined)
    return refuse('channel_not_verified', `The channel for ${kind} is disabled.`);
  // What a test key proposes goes the whole way, and never leaves the machine.
  const isTest = liveOwnerOf(ownerId) !== ownerId;
  return {
    mode: settings.mode,
    required: settings.approvals_required,
    channel: isTest
      ? { adapter: 'file' }
      : { adapter: channel.adapter, ...(channel.url !== undefined && { url: channel.url }) },
  };
};
