/**
 * How somebody becomes a person with a session: by a mailed link, its code in another browser, an invitation, or a printed
 * link. Every way ends in `beginSession`.
 */
import { LIMITS } from '#contracts/limits.ts';
import { mailbox as mailboxField, canonicalAddress } from '#contracts/mailbox.ts';
import type { EventData } from '#contracts/registries/events.ts';
import { DESK } from '#src/calls/audit.ts';
import { areEqual } from '#src/calls/authenticate.ts';
import { requireCurrent } from '#src/calls/failure.ts';
import { type Deps, systemCall } from '#src/calls/handlers.ts';
import type { HolderHandler } from '#src/calls/desk-handler.ts';
import type { Limiter } from '#src/calls/limits.ts';
import { openProfile, readProfile } from '#src/owners/profile.ts';
import { type Append, NO_STREAM } from '#src/ports/event-log.ts';
import { accessScope, type MailboxRow, type PersonRow } from '#src/ports/rows.ts';
import { listing } from '#src/reading/lists.ts';
import { openOne } from '#src/sealing/sealed-texts.ts';
import { deriveMailboxKeys, generationsOf } from '#src/sealing/suppression.ts';
import { isLinkAbout, linkToken, queueMail, subjectOfLink } from '#src/sending/mail.ts';
import type { Call, HolderCall } from '#src/shared/call.ts';
import {
  done,
  isRefusal,
  type Outcome,
  refuse,
  refuseField,
  type Refusal,
} from '#src/shared/outcome.ts';
import { present } from '#src/shared/json.ts';
import { DAY_MS, MINUTE_MS } from '#src/shared/time.ts';
import { attribute } from '#src/writing/attribution.ts';
import { decideAndAppend, issue, traceOf } from '#src/writing/decide-and-append.ts';
import { nameOf, stateOf, streamOfPerson } from '#src/writing/streams.ts';
import { person, type PersonState } from './person.decider.ts';
import { findPersonOf, inviterOf, readPersonState, sealMailbox } from './people.ts';
import { beginSession, type UsedFrom, type StartedSession } from './sessions.ts';
import { signIn, type SignInState } from './session.decider.ts';

const signInStream = (id: string): string => `${DESK}-signin_${id.slice(id.indexOf('_') + 1)}`;

/** What the cookie of a browser that asks is made of: the id of the link, and a secret. */
const BROWSER = /^(sgn_[0-9a-z]{24})\.([0-9A-Za-z]{40})$/;
const SECRET_CHARS = 40;

const browserHash = ({ secrets }: Pick<Deps, 'secrets'>, browser: string): string =>
  secrets.mac('sign-in', `browser:${browser}`);

const CODE_DIGITS = 6;

/** The code that another browser shows: only the service can make it, and it works only in the browser that asked. */
const codeOf = ({ secrets }: Pick<Deps, 'secrets'>, id: string): string => {
  const number = Number.parseInt(secrets.mac('sign-in', `code:${id}`).slice(0, 12), 16);
  return String(number % 10 ** CODE_DIGITS).padStart(CODE_DIGITS, '0');
};

export const signInPath = (token: string): string => `/signin/${token}`;

/** The promoters whose confirmed mailbox this is, and for whom nobody signs in yet. Reads all people. */
const promotersOf = async (
  deps: Pick<Deps, 'log' | 'secrets' | 'vault' | 'readModels'>,
  typed: string,
): Promise<{ owner: string; mailbox: string; sealedFor: string }[]> => {
  const address = canonicalAddress(typed);
  const found = [];
  for (const generation of generationsOf(deps.secrets)) {
    const scope = deriveMailboxKeys(deps.secrets, typed, generation).mailbox;
    for await (const page of listing<MailboxRow>(deps.readModels, 'mailboxes', {
      scope,
      limit: 100,
    }))
      for (const { row } of page) {
        if (!row.record.startsWith('own_')) continue;
        const state = await readProfile(deps, row.owner);
        if (state?.confirmed_at === undefined || state.sealed_for !== row.record) continue;
        const profile = await openProfile(deps, state);
        if (profile && canonicalAddress(profile.mailbox) === address)
          found.push({ owner: row.owner, mailbox: profile.mailbox, sealedFor: state.sealed_for });
      }
  }
  const taken = new Set<string>();
  const people = { scope: accessScope(DESK, 'person'), limit: 100 };
  for await (const page of listing<PersonRow>(deps.readModels, 'access', people))
    for (const { row } of page)
      if (row.status !== 'ended') row.owners.forEach((one) => taken.add(one));
  return found.filter(({ owner }) => !taken.has(owner));
};

/** Who can sign in with a mailbox, and where the link goes: to the stored mailbox, not to what was typed. */
const recipientOf = async (
  deps: Deps,
  typed: string,
): Promise<{ to: string; sealedFor: string } | undefined> => {
  const { state } = await findPersonOf(deps, typed);
  if (state) {
    const to =
      state.status === 'ended' ? undefined : await openOne(deps.vault, state.sealed_mailbox);
    return typeof to === 'string' ? { to, sealedFor: state.sealed_for } : undefined;
  }
  const [promoter] = await promotersOf(deps, typed);
  return promoter && { to: promoter.mailbox, sealedFor: promoter.sealedFor };
};

const NO_MAILBOX = refuseField(
  '/mailbox',
  'invalid',
  'must be an e-mail address, like ada@example.com',
);
const TOO_MANY_LINKS = (retryAfterS: number): Refusal =>
  refuse('rate_limited', 'Too many links were asked for with this address. Use the newest one.', {
    retryAfterS,
  });

/** A path of this service, to go on with after the sign-in; undefined for anything else. */
export const localPath = (to: string | undefined): string | undefined =>
  to !== undefined && /^\/(?![/\\])[\w\-./?=&%~+:@,]{0,500}$/.test(to) ? to : undefined;

type Opened = { id: string; expiresAt: number };

/** Makes the append that begins a link to sign in. */
const startedLink = async (
  deps: Pick<Deps, 'ids' | 'vault'>,
  call: Call,
  {
    id,
    expiresAt,
    recipient: { to: mailbox, sealedFor },
    ...bound
  }: Opened & {
    recipient: { to: string; sealedFor: string };
    browser?: string | undefined;
    to?: string | undefined;
  },
): Promise<Append | undefined> => {
  const sealed = await deps.vault.seal(sealedFor, mailbox);
  if (sealed === null) return undefined;
  const data: EventData<'SignInStarted'> = {
    sign_in_id: id,
    sealed_for: sealedFor,
    sealed_mailbox: sealed,
    ...present(bound),
    expires_at: expiresAt,
  };
  const events = attribute(call, [{ type: 'SignInStarted', data }], deps.ids);
  return { stream: signInStream(id), expected: NO_STREAM, events };
};

/**
 * Makes a handler that mails a link to sign in, within a limit for each mailbox. What it answers does not
 * depend on whether the mailbox is somebody's; the page answers after a fixed time, so that the delay does not either.
 */
export const signInStarter =
  (limit: Limiter): HolderHandler<'startSignIn', { sent: true }> =>
  async (deps, { mailbox: entered, browser, to }, holderCall) => {
    const typed = mailboxField.safeParse(entered);
    if (!typed.success) return NO_MAILBOX;
    const [, id] = BROWSER.exec(browser) ?? [];
    if (id === undefined) return NO_LINK;
    const { mailbox: key } = deriveMailboxKeys(deps.secrets, typed.data);
    const verdict = limit.take(key);
    if (!verdict.allowed) return TOO_MANY_LINKS(verdict.retryAfterS);
    // For every mailbox, so that a log that does not answer tells nothing either.
    await requireCurrent(deps);
    const call = { ...holderCall, ownerId: DESK, actor: 'person' };
    const recipient = await recipientOf(deps, typed.data);
    if (!recipient) return done({ sent: true as const });
    const expiresAt = call.at + LIMITS.SIGN_IN_MINUTES * MINUTE_MS;
    const link = await startedLink(deps, call, {
      id,
      expiresAt,
      recipient,
      browser: browserHash(deps, browser),
      to: localPath(to),
    });
    const facts = { path: signInPath(linkToken(deps.secrets, { subject: id })), until: expiresAt };
    const letter = {
      kind: 'sign_in' as const,
      sealedFor: recipient.sealedFor,
      to: recipient.to,
      facts,
    };
    if (link) await deps.log.appendAll([link, ...(await queueMail(deps, call, letter))]);
    return done({ sent: true as const });
  };

const PRINTED_MS = DAY_MS;

/** Makes a link that signs in as a person, once and within a day, in whatever browser: for the demo, whose people have no mail. */
export const printSignIn = async (deps: Deps, mailbox: string): Promise<string | undefined> => {
  const { signal } = new AbortController();
  const call = systemCall(deps, 'printSignIn', { ownerId: DESK, signal });
  const { state } = await findPersonOf(deps, mailbox);
  if (!state || state.status === 'ended') return undefined;
  const id = `sgn_${nameOf('sign-in', deps.ids.base62(SECRET_CHARS))}`;
  const recipient = { to: mailbox, sealedFor: state.sealed_for };
  const link = await startedLink(deps, call, { id, expiresAt: call.at + PRINTED_MS, recipient });
  if (link) await deps.log.appendAll([link]);
  return signInPath(linkToken(deps.secrets, { subject: id }));
};

const NO_LINK = refuse(
  'resource_not_found',
  `This link was used, is over, or is not complete. A mailed link works once, for ${LIMITS.SIGN_IN_MINUTES} minutes: ask for another one.`,
);
const ELSEWHERE = refuse(
  'state_conflict',
  'This is not the browser that asked for the link. Type the code of this page there.',
);

/** What the page of a link shows. */
export type SignInView = {
  name: string;
  until: number;
  /** Whether this browser can sign in with the link; otherwise `code` is for the one that asked. */
  isHere: boolean;
  code: string;
};

const linkState = async (
  deps: Pick<Deps, 'log' | 'secrets'>,
  { caller: { token } }: HolderCall,
): Promise<SignInState | undefined> => {
  const id = subjectOfLink(token);
  return id !== undefined && isLinkAbout(deps.secrets, token, { subject: id })
    ? stateOf(deps, { stream: signInStream(id), decider: signIn })
    : undefined;
};

const isOfBrowser = (
  deps: Pick<Deps, 'secrets'>,
  { browser: bound }: SignInState,
  browser: string | undefined,
): boolean =>
  bound === undefined || (browser !== undefined && areEqual(browserHash(deps, browser), bound));

/** Shows whose link it is. It changes nothing, because mail scanners also open links. */
export const readSignIn: HolderHandler<'readSignIn', SignInView> = async (
  deps,
  { browser },
  call,
) => {
  const state = await linkState(deps, call);
  if (state?.status !== 'open' || call.at >= state.expires_at) return NO_LINK;
  const mailbox = await openOne(deps.vault, state.sealed_mailbox);
  if (typeof mailbox !== 'string') return NO_LINK;
  const { state: known } = await findPersonOf(deps, mailbox);
  if (known?.status === 'ended') return NO_LINK;
  return done({
    name: known?.name ?? mailbox,
    until: state.expires_at,
    isHere: isOfBrowser(deps, state, browser),
    code: codeOf(deps, state.sign_in_id),
  });
};

/** Makes the person of a promoter's confirmed mailbox, whom nobody invited. */
const recognizeOwner = async (
  deps: Deps,
  call: Call,
  mailbox: string,
): Promise<{ state: PersonState; appends: Append[] } | undefined> => {
  const { personId: person_id, state: known } = await findPersonOf(deps, mailbox);
  if (known) return known.status === 'ended' ? undefined : { state: known, appends: [] };
  const owners = (await promotersOf(deps, mailbox)).map(({ owner }) => owner);
  const [name] = owners;
  if (name === undefined) return undefined;
  const sealed = await sealMailbox(deps, { personId: person_id, mailbox, request: call.requestId });
  const data = {
    person_id,
    name,
    ...sealed,
    roles: ['owner'],
    owners,
    by: 'owner_mailbox' as const,
  };
  const decision = person.decide(undefined, { type: 'Recognize', person: data });
  if (!decision.accepted) throw new Error(`a new person was rejected: ${decision.detail}`);
  const acting = { ...call, ownerId: DESK, actor: `desk:${person_id}` };
  const events = attribute(acting, decision.events, deps.ids);
  const state = person.evolve(undefined, { type: 'PersonRecognized', data, at: call.at });
  return { state, appends: [{ stream: streamOfPerson(person_id), expected: NO_STREAM, events }] };
};

type Entering = UsedFrom & { replaces?: string | undefined };

/** Uses up a link, and starts the session of its person in the same append. */
const useLink = async (
  deps: Deps,
  holderCall: HolderCall,
  { state, client }: { state: SignInState; client: Entering },
): Promise<Outcome<StartedSession>> => {
  const mailbox = await openOne(deps.vault, state.sealed_mailbox);
  if (typeof mailbox !== 'string') return NO_LINK;
  const found = await recognizeOwner(deps, holderCall, mailbox);
  if (!found) return NO_LINK;
  const way = state.browser === undefined ? ('printed_link' as const) : ('mailed_link' as const);
  const { replaces, ...used } = client;
  const beginning = {
    person: found.state,
    way,
    usedIn: 'browser' as const,
    client: used,
    replaces,
  };
  const begun = await beginSession(deps, holderCall, beginning);
  const written = await decideAndAppend(deps, begun.call, {
    stream: signInStream(state.sign_in_id),
    decider: signIn,
    command: () =>
      issue(
        {
          type: 'UseSignIn' as const,
          at: holderCall.at,
          max: LIMITS.SIGN_IN_CODES_MAX,
          personId: found.state.person_id,
          sessionId: begun.sessionId,
        },
        { claims: [...found.appends, ...begun.appends] },
      ),
  });
  if (!written.ok) return 'rejected' in written ? NO_LINK : written;
  const { credential } = begun;
  return done(
    { credential, name: found.state.name, ...present({ to: state.to }) },
    traceOf(written),
  );
};

export const useSignIn: HolderHandler<'useSignIn', StartedSession> = async (
  deps,
  { browser, ...client },
  call,
) => {
  const state = await linkState(deps, call);
  if (state?.status !== 'open') return NO_LINK;
  return isOfBrowser(deps, state, browser) ? useLink(deps, call, { state, client }) : ELSEWHERE;
};

/** The same for a wrong code, a code of nobody's link, and one after too many. */
const WRONG_CODE = refuseField(
  '/code',
  'wrong',
  `does not work. After ${LIMITS.SIGN_IN_CODES_MAX} wrong ones, or ${LIMITS.SIGN_IN_MINUTES} minutes, ask for another link`,
);

export const enterSignInCode: HolderHandler<'enterSignInCode', StartedSession> = async (
  deps,
  { browser, code, ...client },
  call,
) => {
  const [, id] = BROWSER.exec(browser) ?? [];
  if (id === undefined) return WRONG_CODE;
  const stream = signInStream(id);
  const state = await stateOf(deps, { stream, decider: signIn });
  if (!state || !isOfBrowser(deps, state, browser) || state.refused >= LIMITS.SIGN_IN_CODES_MAX)
    return WRONG_CODE;
  if (areEqual(codeOf(deps, id), code.replaceAll(/\s/g, ''))) {
    const used = await useLink(deps, call, { state, client });
    return !used.ok && used.code === 'resource_not_found' ? WRONG_CODE : used;
  }
  const written = await decideAndAppend(
    deps,
    { ...call, ownerId: DESK, actor: 'person' },
    {
      stream,
      decider: signIn,
      command: () =>
        issue({ type: 'RefuseCode' as const, at: call.at, max: LIMITS.SIGN_IN_CODES_MAX }),
    },
  );
  return written.ok || 'rejected' in written ? WRONG_CODE : written;
};

const NO_INVITATION = refuse(
  'resource_not_found',
  'This invitation was used, is over, or is not complete, or a later one replaced it. Ask who invited you for another one.',
);

/** What the page of an invitation shows. */
export type InvitationView = {
  name: string;
  roles: readonly string[];
  owners: readonly string[];
  invitedBy: string;
  until: number;
};

const invited = async (
  deps: Pick<Deps, 'log' | 'secrets'>,
  { caller: { token }, at }: HolderCall,
): Promise<PersonState | Refusal> => {
  const subject = subjectOfLink(token);
  const state = subject?.startsWith('per_') ? await readPersonState(deps, subject) : undefined;
  const { invitation } = state ?? {};
  if (
    !state ||
    !subject ||
    !invitation ||
    state.status !== 'invited' ||
    at >= invitation.expires_at
  )
    return NO_INVITATION;
  return isLinkAbout(deps.secrets, token, { subject, version: invitation.invitation_id })
    ? state
    : NO_INVITATION;
};

export const readInvitation: HolderHandler<'readInvitation', InvitationView> = async (
  deps,
  _input,
  call,
) => {
  const state = await invited(deps, call);
  if (isRefusal(state)) return state;
  const { name, roles, owners, invitation } = state;
  const invitedBy = inviterOf(deps, state) ?? '';
  return done({ name, roles, owners, invitedBy, until: invitation?.expires_at ?? call.at });
};

/** Starts the first session of an invited person. The joining uses the invitation up: a second press finds none. */
export const acceptInvitation: HolderHandler<'acceptInvitation', StartedSession> = async (
  deps,
  { replaces, ...client },
  call,
) => {
  const state = await invited(deps, call);
  if (isRefusal(state)) return state;
  const beginning = {
    person: state,
    way: 'invitation' as const,
    usedIn: 'browser' as const,
    client,
    replaces,
  };
  const begun = await beginSession(deps, call, beginning);
  const appended = await deps.log.appendAll(begun.appends);
  return appended.outcome === 'conflict'
    ? NO_INVITATION
    : done({ credential: begun.credential, name: state.name }, { position: appended.position });
};
