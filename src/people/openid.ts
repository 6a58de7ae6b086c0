/**
 * Sign-in with an account of the configured OpenID provider. The account belongs to the person who first came with it, for
 * good; the first time, the mailbox tells who that is, if the provider has verified it.
 */
import { canonicalAddress, mailbox as mailboxField } from '#contracts/mailbox.ts';
import { LIMITS } from '#contracts/limits.ts';
import { personName } from '#contracts/person.ts';
import type { DeskRole } from '#contracts/scopes.ts';
import type { EventData } from '#contracts/registries/events.ts';
import { DESK } from '#src/calls/audit.ts';
import type { DeskHandler, HolderHandler } from '#src/calls/desk-handler.ts';
import type { Deps } from '#src/calls/handlers.ts';
import { type Append, NO_STREAM } from '#src/ports/event-log.ts';
import type { OpenIdAccount, OpenIdBinding, OpenIdProvider } from '#src/ports/openid.ts';
import type { Call, HolderCall } from '#src/shared/call.ts';
import { openOne } from '#src/sealing/sealed-texts.ts';
import { onLocalhost } from '#src/shared/localhost.ts';
import { done, isRefusal, type Outcome, refuse, type Refusal } from '#src/shared/outcome.ts';
import { attribute } from '#src/writing/attribution.ts';
import { changeRecord, issue } from '#src/writing/decide-and-append.ts';
import { present } from '#src/shared/json.ts';
import { refuseRejected } from '#src/writing/rejections.ts';
import { stateOf, streamOfPerson, findKeyedStream } from '#src/writing/streams.ts';
import { derivedFrom, isAnswered, isAsked, newAsked, sessionIdFrom } from './asked.ts';
import { person, personClaim, type PersonCommand, type PersonState } from './person.decider.ts';
import { findPersonOf, readPersonState, refuseName, sealMailbox } from './people.ts';
import { beginSession, type StartedSession, type UsedFrom } from './sessions.ts';

/** The provider, and what its accounts may become. */
export type OpenIdSignIn = {
  provider: OpenIdProvider;
  /** The roles of new people by a claim, which is a text or a list of texts. */
  roles?: { claim: string; byValue: ReadonlyMap<string, DeskRole> } | undefined;
  /** The role of new people by the domain of their mailbox; one of another domain needs an invitation. */
  create: ReadonlyMap<string, DeskRole>;
};

export const OPENID_CALLBACK = '/signin/openid/callback';

/** Where the operator configured a provider. */
export type OpenIdDeps = { openId?: OpenIdSignIn | undefined };

/**
 * What binds the answer of the provider to the browser: all of it follows from what its cookie has. An answer that links an
 * account is bound to the session that asked, too.
 */
const bindingOf = (
  deps: Pick<Deps, 'secrets' | 'origin'>,
  asked: string,
  session: string | undefined,
): OpenIdBinding => {
  const derived = (name: string): string =>
    derivedFrom(
      deps,
      ['openid', name, ...(session === undefined ? [] : [session])].join('-'),
      asked,
    );
  return {
    redirectUri: `${onLocalhost(deps.origin())}${OPENID_CALLBACK}`,
    state: derived('state'),
    nonce: derived('nonce'),
    verifier: derived('verifier'),
  };
};

const NOT_CONFIGURED = refuse(
  'resource_not_found',
  'This service has no OpenID provider. Sign in with a mailed link.',
);
const DOWN = refuse(
  'overloaded',
  'The service where you have your account does not answer, or not as it should. Sign in with a mailed link, or try again in a minute.',
  { retryAfterS: 60 },
);

/** Where the browser goes, and what it keeps until it is back. */
export type OpenIdQuestion = { asked: string; url: string };

const askProvider = async (
  deps: Deps & OpenIdDeps,
  { at, session }: { at: number; session?: string },
): Promise<Outcome<OpenIdQuestion>> => {
  const { openId } = deps;
  if (!openId) return NOT_CONFIGURED;
  const asked = newAsked(deps, { at, minutes: LIMITS.SIGN_IN_MINUTES });
  const url = await openId.provider.begin(bindingOf(deps, asked, session));
  return url === undefined ? DOWN : done({ asked, url });
};

export const openIdAsker =
  (openId: OpenIdSignIn | undefined): HolderHandler<'askForOpenId', OpenIdQuestion> =>
  (deps, _input, { at }) =>
    askProvider({ ...deps, openId }, { at });

const refuseAccount = (detail: string): Refusal => refuse('state_conflict', detail);

export const TOO_LATE = refuseAccount(
  `The sign-in took longer than ${LIMITS.SIGN_IN_MINUTES} minutes, or was begun in another browser. Begin again.`,
);
const USED = refuseAccount('This answer was used before, and an answer works once. Begin again.');
const MISFIT = refuseAccount(
  'The answer does not fit: it is of an earlier attempt, of another browser, or was made for another service. Begin again.',
);
const DENIED = refuseAccount(
  'You, or the service where you have your account, did not allow the sign-in. Begin again, or sign in with a mailed link.',
);
const ENDED = refuseAccount(
  'The person of this account was ended. Ask an operator to invite you again.',
);
const UNLINKED = refuseAccount(
  'You unlinked this account. Sign in with a mailed link or a passkey; on your page /me you can link it again.',
);
const OTHER_ACCOUNT = refuseAccount(
  'Another account signs in as this person. Use that one, or sign in with a mailed link and unlink it on your page /me.',
);
const UNVERIFIED = refuseAccount(
  'The service where you have your account does not say that your mailbox is verified. Verify it there, or sign in with a mailed link.',
);
const NOBODY = refuseAccount(
  'Nobody with the mailbox of this account is invited. Ask an operator for an invitation, with the same mailbox.',
);
const NO_NAME = refuseAccount(
  'Your account has no name that can be used here, or one that looks like that of somebody else. Ask an operator for an invitation.',
);
const CONTENDED = refuseAccount(
  'Something about this person was changed at the same time. Begin again.',
);

/** Keyed, because a subject can be an address. */
const claimStream = (
  deps: Pick<Deps, 'log' | 'secrets'>,
  { issuer, subject }: Pick<OpenIdAccount, 'issuer' | 'subject'>,
): Promise<string> => {
  const value = JSON.stringify(['openid', issuer, subject]);
  return findKeyedStream(deps, 'claims-account', { purpose: 'claim', value });
};

/** Makes the append that gives an account to its person, for good. */
const claimOf = (
  { ids }: Pick<Deps, 'ids'>,
  call: Call,
  { stream, personId }: { stream: string; personId: string },
): Append[] => {
  const claimed = personClaim.decide(undefined, { type: 'ClaimPerson', personId });
  if (!claimed.accepted) throw new Error(`a first claim was rejected: ${claimed.detail}`);
  return [{ stream, expected: NO_STREAM, events: attribute(call, claimed.events, ids) }];
};

/** The person of an account, and the events that make it so. */
type Found = {
  /** As the session begins: with what `recognized` says. */
  state: PersonState;
  /** Makes a new person. */
  recognized?: EventData<'PersonRecognized'>;
  isClaimed: boolean;
};

/** The roles that the claims of an account give; those that no role is configured for give none. */
const rolesIn = (
  { roles }: OpenIdSignIn,
  { claims }: Pick<OpenIdAccount, 'claims'>,
): DeskRole[] => {
  const values = roles ? [claims[roles.claim]].flat() : [];
  return [
    ...new Set(
      values.flatMap((value) =>
        typeof value === 'string' ? (roles?.byValue.get(value) ?? []) : [],
      ),
    ),
  ];
};

/** Makes a person of an account whose domain may become one. */
const newPerson = async (
  deps: Deps,
  openId: OpenIdSignIn,
  {
    account,
    mailbox,
    personId,
    call,
  }: {
    account: OpenIdAccount;
    mailbox: string;
    personId: string;
    call: HolderCall;
  },
): Promise<Found | Refusal> => {
  const role = openId.create.get(canonicalAddress(mailbox).split('@').at(-1) ?? '');
  if (role === undefined) return NOBODY;
  const name = personName.safeParse(account.name);
  // Some providers give the mailbox as the name, and names stay in records for good.
  if (
    !name.success ||
    name.data.includes('@') ||
    (await refuseName(deps, { name: name.data, personId }))
  )
    return NO_NAME;
  const given = rolesIn(openId, account);
  const recognized = {
    person_id: personId,
    name: name.data,
    ...(await sealMailbox(deps, { personId, mailbox, request: call.requestId })),
    roles: given.length > 0 ? given : [role],
    owners: [],
    by: 'openid' as const,
  };
  const data = { type: 'PersonRecognized' as const, data: recognized, at: call.at };
  return { state: person.evolve(undefined, data), recognized, isClaimed: false };
};

const findByMailbox = async (
  deps: Deps,
  openId: OpenIdSignIn,
  { account, call }: { account: OpenIdAccount; call: HolderCall },
): Promise<Found | Refusal> => {
  const mailbox = mailboxField.safeParse(account.mailbox);
  if (!mailbox.success) return UNVERIFIED;
  const { personId, state } = await findPersonOf(deps, mailbox.data);
  if (!state) return newPerson(deps, openId, { account, mailbox: mailbox.data, personId, call });
  if (state.status === 'ended') return ENDED;
  if (state.accounts.some(({ issuer }) => issuer === account.issuer)) return OTHER_ACCOUNT;
  return state.unlinked.includes(account.issuer) ? UNLINKED : { state, isClaimed: false };
};

const findPersonFor = async (
  deps: Deps,
  openId: OpenIdSignIn,
  found: { account: OpenIdAccount; call: HolderCall },
): Promise<Found | Refusal> => {
  const { account } = found;
  const stream = await claimStream(deps, account);
  const claim = await stateOf(deps, { stream, decider: personClaim });
  if (!claim) return findByMailbox(deps, openId, found);
  const state = await readPersonState(deps, claim.person_id);
  if (!state || state.status === 'ended') return ENDED;
  return state.unlinked.includes(account.issuer) ? UNLINKED : { state, isClaimed: true };
};

type Entering = UsedFrom & { replaces?: string | undefined };

/** Starts the session, with the events that make the account that of the person, in one append. */
const enterWith = async (
  deps: Deps,
  call: HolderCall,
  {
    asked,
    account,
    found: { state, recognized, isClaimed },
    client: { replaces, ...client },
  }: {
    asked: string;
    account: OpenIdAccount;
    found: Found;
    client: Entering;
  },
): Promise<Outcome<StartedSession>> => {
  const { person_id, sealed_for } = state;
  const begun = await beginSession(deps, call, {
    person: state,
    way: 'openid',
    usedIn: 'browser',
    client,
    replaces,
    sessionId: sessionIdFrom(deps, asked),
  });
  const sealed_subject = (await deps.vault.seal(sealed_for, account.subject)) ?? '';
  const linked = person.decide(state, {
    type: 'LinkAccount',
    account: { issuer: account.issuer, sealed_subject },
  });
  if (!linked.accepted) return ENDED;
  const stream = streamOfPerson(person_id);
  const joining = begun.appends.find((append) => append.stream === stream)?.events ?? [];
  const events = attribute(
    begun.call,
    [
      ...(recognized ? [{ type: 'PersonRecognized' as const, data: recognized }] : []),
      ...linked.events,
    ],
    deps.ids,
  );
  const claimed = { stream: await claimStream(deps, account), personId: person_id };
  const appends: Append[] = [
    ...(isClaimed ? [] : claimOf(deps, begun.call, claimed)),
    {
      stream,
      expected: recognized ? NO_STREAM : state.version,
      events: [...joining, ...events],
    },
    ...begun.appends.filter((append) => append.stream !== stream),
  ].filter((append) => append.events.length > 0);
  const appended = await deps.log.appendAll(appends);
  if (appended.outcome === 'conflict') return CONTENDED;
  return done({ credential: begun.credential, name: state.name }, { position: appended.position });
};

/** Makes a handler that takes the answer of the provider. */
export const openIdTaker =
  (openId: OpenIdSignIn | undefined): HolderHandler<'useOpenId', StartedSession> =>
  async (deps, { query, to, ...client }, call) => {
    if (!openId) return NOT_CONFIGURED;
    const asked = call.caller.token;
    if (!isAsked(asked, call)) return TOO_LATE;
    if (await isAnswered(deps, asked)) return USED;
    const result = await openId.provider.finish(query, bindingOf(deps, asked, undefined));
    if (result.outcome === 'unavailable') return DOWN;
    if (result.outcome === 'refused') return result.isDenied ? DENIED : MISFIT;
    const { account } = result;
    const found = await findPersonFor(deps, openId, { account, call });
    if (isRefusal(found)) return found;
    const entered = await enterWith(deps, call, { asked, account, found, client });
    return entered.ok ? { ...entered, value: { ...entered.value, to } } : entered;
  };

/** An account is linked in the browser that was sent to the provider, by the person who is signed in there. */
const IN_A_BROWSER = refuseAccount(
  'An account is linked in a browser: sign in there, and link it on the page /me.',
);
const OF_ANOTHER = refuseAccount(
  'This account is that of another person here, or has the mailbox of one. Nothing was changed. Sign out of it where you have it, and link your own.',
);
const ONE_IS_LINKED = refuseAccount(
  'Another account of yours is linked already. Unlink it first, and link this one then.',
);

export const offerAccountLink: DeskHandler<'offerAccountLink', Deps & OpenIdDeps> = async (
  deps,
  _input,
  { at, caller: { session } },
) =>
  session?.usedIn === 'browser' ? askProvider(deps, { at, session: session.id }) : IN_A_BROWSER;

/** Whether an account signs in as another person, or would with its mailbox. */
const isOfAnother = async (
  deps: Pick<Deps, 'log' | 'secrets'>,
  {
    account,
    personId,
    claimedBy,
  }: { account: OpenIdAccount; personId: string; claimedBy?: string },
): Promise<boolean> => {
  if (claimedBy !== undefined) return claimedBy !== personId;
  const mailbox = mailboxField.safeParse(account.mailbox);
  if (!mailbox.success) return false;
  const { personId: known, state } = await findPersonOf(deps, mailbox.data);
  return state !== undefined && known !== personId;
};

export const linkAccount: DeskHandler<'linkAccount', Deps & OpenIdDeps> = async (
  deps,
  { asked, answer },
  call,
) => {
  const { id: personId, session } = call.caller;
  if (session?.usedIn !== 'browser') return IN_A_BROWSER;
  if (!deps.openId) return NOT_CONFIGURED;
  if (!isAsked(asked, call)) return TOO_LATE;
  const result = await deps.openId.provider.finish(answer, bindingOf(deps, asked, session.id));
  if (result.outcome === 'unavailable') return DOWN;
  if (result.outcome === 'refused') return result.isDenied ? DENIED : MISFIT;
  const { account } = result;
  const { issuer, subject } = account;
  const stream = await claimStream(deps, account);
  const claim = await stateOf(deps, { stream, decider: personClaim });
  const owned = { account, personId, ...present({ claimedBy: claim?.person_id }) };
  if (await isOfAnother(deps, owned)) return OF_ANOTHER;
  return changeRecord(deps, call, {
    ownerId: DESK,
    stream: streamOfPerson(personId),
    decider: person,
    async command(state) {
      if (!state) return NO_ACCOUNT;
      const linked = state.accounts.find((one) => one.issuer === issuer);
      if (linked && (await openOne(deps.vault, linked.sealed_subject)) !== subject)
        return ONE_IS_LINKED;
      const sealed_subject = (await deps.vault.seal(state.sealed_for, subject)) ?? '';
      return issue<PersonCommand>(
        { type: 'LinkAccount', account: { issuer, sealed_subject } },
        { claims: claim ? [] : claimOf(deps, call, { stream, personId }) },
      );
    },
    refusal: (rejection) => refuseRejected(rejection, NO_ACCOUNT),
    render: () => ({ issuer }),
  });
};

const NO_ACCOUNT = refuse('resource_not_found', 'You have no such account.');

export const unlinkAccount: DeskHandler<'unlinkAccount'> = (deps, { issuer }, call) =>
  changeRecord(deps, call, {
    ownerId: DESK,
    stream: streamOfPerson(call.caller.id),
    decider: person,
    command: (state) =>
      state ? issue<PersonCommand>({ type: 'UnlinkAccount', issuer }) : NO_ACCOUNT,
    refusal: (rejection) => refuseRejected(rejection, NO_ACCOUNT),
    render: () => ({ issuer, unlinked: true as const }),
  });
