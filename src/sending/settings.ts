/** Settings of outreach, and halts, which also stop mail. */
import { isTestSpace, liveOwnerOf } from '#contracts/spaces.ts';
import {
  type OutreachChannel,
  type OutreachKind,
  type OutreachState,
  outreach,
} from './settings.decider.ts';
import type { Position } from '#src/ports/event-log.ts';
import { foldOf, stateOf } from '#src/writing/streams.ts';
import { type Refusal, refuse } from '#src/shared/outcome.ts';
import { present } from '#src/shared/json.ts';
import type { Deps } from '#src/calls/handlers.ts';

type Log = Pick<Deps, 'log'>;

/** The owner whose settings stream holds the halt that applies to all owners. */
export const EVERYBODY = 'desk';

export const settingsStream = (ownerId: string): string => `${ownerId}-outreach_settings`;

/** Reads an owner's settings; a test space has those of its owner. */
export const readSettings = (deps: Log, ownerId: string): Promise<OutreachState | undefined> =>
  stateOf(deps, { stream: settingsStream(liveOwnerOf(ownerId)), decider: outreach });

/** Reads why nothing of the owner with these settings may be sent; undefined when it may. */
export const readHalt = async (
  deps: Log,
  settings: OutreachState | undefined,
): Promise<string | undefined> => settings?.halted ?? readHaltForEverybody(deps);

/** Reads why nothing of any owner may be sent, as of a position in the log. */
export const readHaltForEverybody = async (
  { log }: Log,
  asOf: Position = Infinity,
): Promise<string | undefined> => {
  const events = await log.readStream(settingsStream(EVERYBODY));
  const past = events.filter(({ position }) => position <= asOf);
  return foldOf(outreach, past)?.halted;
};

/** Omits the reason, which a person wrote for people. */
export const HALTED = refuse('outreach_halted', 'Outreach is halted by a person.');

/** The channel configured for a kind. Requests of a test space go to a file on this machine. */
export const configuredChannel = (
  settings: OutreachState | undefined,
  ownerId: string,
  kind: OutreachKind,
): OutreachChannel | undefined => {
  const channel = settings?.settings?.channels[kind];
  return channel && isTestSpace(ownerId) ? { adapter: 'file' } : channel;
};

/** Finds who decides on an owner's outreach; refuses if nobody does, or sending is halted. */
export const findApprovers = async (
  deps: Log,
  ownerId: string,
): Promise<
  { ok: true; own: OutreachState & Required<Pick<OutreachState, 'settings'>> } | Refusal
> => {
  const own = await readSettings(deps, ownerId);
  if ((await readHalt(deps, own)) !== undefined) return HALTED;
  return own?.settings
    ? { ok: true, own: { ...own, settings: own.settings } }
    : refuse('approver_missing', 'No approver is configured for this owner.');
};

type Route = {
  mode: 'owner_controlled' | 'admin_approved';
  required: number;
  channel: Pick<OutreachChannel, 'adapter' | 'url'>;
};

/** Finds who decides on a request of this kind and where it would go; refuses when it cannot be sent. */
export const findRoute = async (
  deps: Log,
  ownerId: string,
  kind: OutreachKind,
): Promise<Route | Refusal> => {
  const found = await findApprovers(deps, ownerId);
  if (!found.ok) return found;
  const { own } = found;
  const channel = configuredChannel(own, ownerId, kind);
  if (!channel) return refuse('channel_not_verified', `No channel is connected for ${kind}.`);
  if (own.disabled[kind] !== undefined)
    return refuse('channel_not_verified', `The channel for ${kind} is disabled.`);
  const { mode, approvals_required: required } = own.settings;
  const { adapter, url } = channel;
  return { mode, required, channel: { adapter, ...present({ url }) } };
};
