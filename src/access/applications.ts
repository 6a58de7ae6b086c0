/** Public applications for access: received from a form, confirmed by mail, ended after a time. */
import type { Application } from '#contracts/access/operations.ts';
import type { KeyRecord } from '#contracts/access/records.ts';
import { LIMITS } from '#contracts/limits.ts';
import { DESK } from '#src/calls/audit.ts';
import { requireCurrent } from '#src/calls/failure.ts';
import type { Deps } from '#src/calls/handlers.ts';
import type { HolderHandler } from '#src/calls/desk-handler.ts';
import { type Limiter, refuseLink } from '#src/calls/limits.ts';
import { MAILED_LINK_MS, profileStream, readProfile } from '#src/owners/profile.ts';
import { type Append, NO_STREAM } from '#src/ports/event-log.ts';
import {
  accessScope,
  ALL_OWNERS,
  type DeskTokenRow,
  OPEN_RECORDS,
  type OpenRow,
} from '#src/ports/rows.ts';
import type { Secrets } from '#src/ports/system.ts';
import { listing } from '#src/reading/lists.ts';
import { openRecord } from '#src/sealing/sealed-texts.ts';
import { deriveMailboxKeys } from '#src/sealing/suppression.ts';
import {
  linkToken,
  queueMail,
  blockMailbox,
  isLinkAbout,
  subjectOfLink,
} from '#src/sending/mail.ts';
import { settingsStream } from '#src/sending/settings.ts';
import type { Call, SystemCall, HolderCall } from '#src/shared/call.ts';
import { refuseHouseNames } from '#src/shared/house-names.ts';
import {
  done,
  refuse,
  Refused,
  refuseField,
  type Outcome,
  isRefusal,
  type Refusal,
} from '#src/shared/outcome.ts';
import { DAY_MS } from '#src/shared/time.ts';
import { attribute } from '#src/writing/attribution.ts';
import { decideAndAppend, issue, traceOf, type Issued } from '#src/writing/decide-and-append.ts';
import {
  stateOf,
  nameOf,
  digestOf,
  fingerprintsOf,
  streamOf,
  streamOfKey,
} from '#src/writing/streams.ts';
import type { EventWriter } from '#src/writing/idempotency.ts';
import {
  application,
  type ApplicationState,
  agent,
  type AgentState,
  type ApplicationCommand,
} from './access.decider.ts';
import { keyIdOf, issueOnce, refuseIfFull } from './keys.ts';

/** How long the mailed link works after the confirmation. */
export const APPLICATION_MS = LIMITS.APPLICATION_DAYS * DAY_MS;

export const applicationStream = (id: string): string => streamOf(DESK, 'application', id);

export const applicationPath = (token: string): string => `/apply/${token}`;

export const linkOfApplication = (secrets: Pick<Secrets, 'mac'>, id: string): string =>
  applicationPath(linkToken(secrets, { subject: id }));

const PAGE_ROWS = 100;

/**
 * Whether an owner exists, or staff have prepared one: an agent of it requested access, it has a profile or settings of
 * outreach, or a desk token is bound to it. Reads all desk tokens. Throws Refused or ReadModelRebuilding while this process does not know.
 */
const isOwnerTaken = async (
  { log, readModels, following }: Pick<Deps, 'log' | 'readModels' | 'following'>,
  ownerId: string,
): Promise<boolean> => {
  // Another process may have begun the owner just now.
  await requireCurrent({ log, following });
  if ((await readModels.get('owners', ALL_OWNERS, ownerId)) !== undefined) return true;
  for (const stream of [profileStream(ownerId), settingsStream(ownerId)])
    if ((await log.readStream(stream)).length > 0) return true;
  const tokens = { scope: accessScope(DESK, 'desk'), limit: PAGE_ROWS };
  for await (const page of listing<DeskTokenRow>(readModels, 'access', tokens))
    if (page.some(({ row }) => row.owner_id === ownerId && row.status === 'active')) return true;
  return false;
};

const ID_CHARS = 22;

const TAKEN = refuseField('/owner_id', 'taken', 'belongs to somebody else');

/**
 * Makes a handler that mails a link to the applicant, within a limit for each network. It looks nothing up by the mailbox,
 * so that neither the answer nor its delay depends on it.
 */
export const applicationReceiver =
  (limit: Pick<Limiter, 'take'>): HolderHandler<'applyForAccess', { sent: true }> =>
  async (deps, { address, ...entered }, holderCall) => {
    const refusal = refuseLink(limit, address);
    if (refusal) return refusal;
    const { owner_id, name, agent_name } = entered;
    const reserved = refuseHouseNames(deps, {
      '/owner_id': owner_id,
      '/name': name,
      '/agent_name': agent_name,
    });
    if (reserved) return reserved;
    if (await isOwnerTaken(deps, owner_id)) return TAKEN;
    const call = { ...holderCall, ownerId: DESK, actor: 'applicant' };
    const id = `apl_${nameOf('application', deps.ids.base62(ID_CHARS))}`;
    const sealed = await deps.vault.seal(id, JSON.stringify(entered));
    if (sealed === null) throw new Error(`${id} is new and was erased`);
    const until = call.at + MAILED_LINK_MS;
    const received = {
      application_id: id,
      sealed_application: sealed,
      mailbox_keys: deriveMailboxKeys(deps.secrets, entered.mailbox),
      expires_at: until,
    };
    const facts = { path: linkOfApplication(deps.secrets, id), until };
    const letter = { kind: 'application' as const, sealedFor: id, to: entered.mailbox, facts };
    const written = await decideAndAppend(deps, call, {
      stream: applicationStream(id),
      decider: application,
      expected: [],
      command: () =>
        issue(
          { type: 'Receive' as const, application: received },
          { effects: () => queueMail(deps, call, letter) },
        ),
    });
    if ('rejected' in written) throw new Error(`a new application was rejected: ${written.detail}`);
    return written.ok ? done({ sent: true as const }, traceOf(written)) : written;
  };

type EndingDeps = EventWriter & Pick<Deps, 'vault'>;

/** Whether a record in which a person is found is a public application. */
export const isApplication = (id: string): boolean => id.startsWith('apl_');

/**
 * Opens what an applicant entered; undefined once the key is destroyed, as it is from the confirmation on. A text says that
 * the key is lost.
 */
export const openApplication = async (deps: Pick<Deps, 'log' | 'vault'>, id: string) => {
  const state = await stateOf(deps, { stream: applicationStream(id), decider: application });
  return state && openRecord<Application>(deps.vault, state.sealed_application);
};

/** Ends an application that waits. Appends the event before it destroys the key, which the next start does after a crash. */
export const eraseApplication = async (
  deps: EndingDeps,
  call: Call,
  { subject, reason }: { subject: string; reason: string },
): Promise<Outcome<{ subject: string }>> => {
  const written = await decideAndAppend(deps, call, {
    stream: applicationStream(subject),
    decider: application,
    command: () => issue({ type: 'EndApplication' as const, reason }),
  });
  if ('rejected' in written) return refuse('resource_not_found', 'There is no such application.');
  if (!written.ok) return written;
  await deps.vault.destroy(subject);
  return done({ subject }, traceOf(written));
};

/** Ends the applications that were not confirmed in time; answers how many. The next run continues after a failure. */
export const expireApplications = async (
  deps: EndingDeps & Pick<Deps, 'readModels'>,
  call: SystemCall,
): Promise<number> => {
  let expired = 0;
  const query = { scope: OPEN_RECORDS, limit: PAGE_ROWS };
  const pages = listing<OpenRow<ApplicationState>>(deps.readModels, 'open-applications', query);
  for await (const page of pages)
    for (const { row } of page) {
      if (call.signal.aborted) return expired;
      const { application_id: subject, expires_at } = row.state;
      if (expires_at > call.at) continue;
      const about = { subject, reason: 'It was not confirmed in time.' };
      const ended = await eraseApplication(deps, { ...call, ownerId: row.owner }, about);
      if (!ended.ok) throw new Refused(ended);
      expired += 1;
    }
  return expired;
};

type Confirmed = {
  phase: AgentState['status'];
  ownerId: string;
  agent: AgentState;
  /** Whether the first key was issued. */
  hasKey: boolean;
};

/** An application as the holder of its link sees it. `until`: when the link ends, in epoch milliseconds. */
export type ApplicationView = { until: number } & (
  | { phase: 'waiting'; application: Application }
  | Confirmed
);

const NO_LINK = refuse(
  'resource_not_found',
  `This link is over, or not complete. An application is confirmed within ${LIMITS.MAILED_LINK_DAYS} days, and shown for ` +
    `${LIMITS.APPLICATION_DAYS} days after that. You can apply again.`,
);
const IS_CONFIRMED = refuse('state_conflict', 'The application is confirmed already.');

/** The id in a token, if the service made the token. */
const idIn = ({ secrets }: Pick<Deps, 'secrets'>, { caller }: HolderCall): string | undefined => {
  const subject = subjectOfLink(caller.token);
  return subject !== undefined && isLinkAbout(secrets, caller.token, { subject })
    ? subject
    : undefined;
};

/** The idempotency key of the first key of an application: however often the button is pressed, there is one. */
const firstKeyIdem = (id: string): string => digestOf('firstKey', id);

/** Shows a confirmed application while the owner has the mailbox that confirmed it. */
const showConfirmed = async (
  deps: Pick<Deps, 'log'>,
  { application_id: id, confirmed }: ApplicationState,
  at: number,
): Promise<(Confirmed & { until: number }) | undefined> => {
  if (!confirmed || at >= confirmed.at + APPLICATION_MS) return undefined;
  const { owner_id: ownerId, agent_id } = confirmed;
  const profile = await readProfile(deps, ownerId);
  const isSameMailbox = (profile?.confirmed_at ?? Infinity) <= confirmed.at;
  const stream = streamOf(ownerId, 'agent', agent_id);
  const state = isSameMailbox ? await stateOf(deps, { stream, decider: agent }) : undefined;
  if (!state) return undefined;
  const key = streamOfKey(ownerId, keyIdOf(ownerId, firstKeyIdem(id)));
  const hasKey = (await deps.log.readStream(key)).length > 0;
  const until = confirmed.at + APPLICATION_MS;
  return { phase: state.status, ownerId, agent: state, hasKey, until };
};

const show = async (
  deps: Pick<Deps, 'log' | 'vault'>,
  state: ApplicationState | undefined,
  at: number,
): Promise<ApplicationView | Refusal> => {
  if (state?.status !== 'waiting')
    return (state && (await showConfirmed(deps, state, at))) ?? NO_LINK;
  const entered =
    at < state.expires_at ? await openApplication(deps, state.application_id) : undefined;
  return typeof entered === 'object'
    ? { phase: 'waiting', application: entered, until: state.expires_at }
    : NO_LINK;
};

const readState = async (
  deps: Pick<Deps, 'log' | 'secrets'>,
  call: HolderCall,
): Promise<ApplicationState | undefined> => {
  const id = idIn(deps, call);
  return id === undefined
    ? undefined
    : stateOf(deps, { stream: applicationStream(id), decider: application });
};

/** Shows the application, or its decision. It changes nothing, because mail scanners also open links. */
export const readApplication: HolderHandler<'readApplication', ApplicationView> = async (
  deps,
  _input,
  call,
) => {
  const shown = await show(deps, await readState(deps, call), call.at);
  return isRefusal(shown) ? shown : done(shown);
};

type CommandFor = (
  shown: ApplicationView,
  about: { state: ApplicationState; call: HolderCall },
) => Promise<Issued<ApplicationCommand> | Refusal>;

const actOnApplication = async (deps: Deps, holderCall: HolderCall, command: CommandFor) => {
  const call = { ...holderCall, ownerId: DESK, actor: 'applicant' };
  const id = idIn(deps, call);
  if (id === undefined) return NO_LINK;
  const written = await decideAndAppend(deps, call, {
    stream: applicationStream(id),
    decider: application,
    async command(state) {
      const shown = await show(deps, state, call.at);
      return isRefusal(shown) || !state ? NO_LINK : command(shown, { state, call });
    },
  });
  if (!written.ok) return 'rejected' in written ? NO_LINK : written;
  // The profile holds the texts now, or the application has ended.
  await deps.vault.destroy(id);
  return written;
};

/**
 * Makes the appends that begin a new owner; refuses one that exists. An owner that an interrupted call of this application
 * began is continued.
 */
const beginOwner = async (
  deps: Deps,
  call: HolderCall,
  { application_id, agentId, entered }: Begun,
): Promise<Append[] | Refusal> => {
  const { ownerId } = call;
  const { name, postal_address, mailbox, agent_name, purpose, scopes } = entered;
  const digest = Buffer.from(digestOf('profile', application_id), 'base64url').toString('hex');
  const sealedFor = `own_${digest.slice(0, SUBJECT_CHARS)}`;
  const profile = await readProfile(deps, ownerId);
  if (profile ? profile.sealed_for !== sealedFor : await isOwnerTaken(deps, ownerId)) return TAKEN;
  const texts = JSON.stringify({ name, postal_address, mailbox });
  const sealed = await deps.vault.seal(sealedFor, texts);
  if (sealed === null) return NO_LINK;
  const mailbox_keys = deriveMailboxKeys(deps.secrets, mailbox);
  const set = { sealed_for: sealedFor, sealed_profile: sealed, mailbox_keys };
  const request = { agent_id: agentId, name: agent_name, purpose, application_id };
  const appends = [
    {
      stream: profileStream(ownerId),
      decided: [
        { type: 'OwnerProfileSet', data: set },
        { type: 'OwnerMailboxConfirmed', data: {} },
      ],
    },
    {
      stream: streamOf(ownerId, 'agent', agentId),
      decided: [{ type: 'AccessRequested', data: { ...request, scopes: [...new Set(scopes)] } }],
    },
  ];
  const begun = await Promise.all(appends.map(({ stream }) => deps.log.readStream(stream)));
  return appends
    .filter((_append, index) => begun[index]?.length === 0)
    .map(({ stream, decided }) => ({
      stream,
      expected: NO_STREAM,
      events: attribute(call, decided, deps.ids),
    }));
};

type Begun = { application_id: string; agentId: string; entered: Application };
const SUBJECT_CHARS = 32;

/** Makes the new owner `owner_id`, and requests access for its agent. A repetition leaves everything as it is. */
export const confirmApplication: HolderHandler<'confirmApplication', ApplicationView> = async (
  deps,
  { owner_id: ownerId },
  holderCall,
) => {
  const reserved = refuseHouseNames(deps, { '/owner_id': ownerId });
  if (reserved) return reserved;
  const written = await actOnApplication(deps, holderCall, async (shown, { state, call }) => {
    const { application_id } = state;
    const agentId = `agt_${nameOf('agent', ownerId, application_id)}`;
    const command = { type: 'ConfirmApplication' as const, at: call.at, ownerId, agentId };
    if (shown.phase !== 'waiting') return issue(command);
    const entered = shown.application;
    const claims = await beginOwner(
      deps,
      { ...call, ownerId },
      { application_id, agentId, entered },
    );
    return isRefusal(claims) ? claims : issue(command, { claims });
  });
  if (!written.ok) return written;
  const shown = await show(deps, written.state, holderCall.at);
  return isRefusal(shown) ? shown : done(shown, traceOf(written));
};

/** Ends an application with the mailbox of somebody else, and blocks such messages to it. The block comes first. */
export const disownApplication: HolderHandler<'disownApplication', { ended: true }> = async (
  deps,
  _input,
  holderCall,
) => {
  const written = await actOnApplication(deps, holderCall, async (shown, { call }) => {
    if (shown.phase !== 'waiting') return IS_CONFIRMED;
    const refusal = await blockMailbox(deps, call, shown.application.mailbox);
    const reason = 'The holder of its mailbox did not ask for it.';
    return refusal ?? issue({ type: 'EndApplication', reason });
  });
  return written.ok ? done({ ended: true as const }, traceOf(written)) : written;
};

/** Issues the first key of the approved agent. The id of the key follows from the application, so there is one at most. */
export const issueFirstKey: HolderHandler<
  'issueFirstKey',
  KeyRecord & { api_key: string }
> = async (deps, input, holderCall) => {
  const state = await readState(deps, holderCall);
  const shown = state && (await showConfirmed(deps, state, holderCall.at));
  if (!shown) return NO_LINK;
  const { ownerId, agent: holder } = shown;
  if (holder.status !== 'approved')
    return refuse('state_conflict', `The agent is ${holder.status}; a key needs an approved one.`);
  const call = {
    ...holderCall,
    ownerId,
    actor: 'applicant',
    idem: firstKeyIdem(state.application_id),
    fingerprints: fingerprintsOf(deps.secrets, 'issueFirstKey', input),
  };
  const { agent_id } = holder;
  const key = { owner: ownerId, agent_id, environment: 'live' as const };
  const refusal = await refuseIfFull(deps, call, key);
  return refusal ?? issueOnce(deps, call, { ...key, expires_in_days: LIMITS.KEY_DAYS_DEFAULT });
};
