/**
 * Passkeys: added and removed by a person who is signed in, and used to sign in. The browser finds the passkey by itself, so
 * nobody types a mailbox, and no answer tells who has one. The passkey names its person, by the id that it was made with.
 */
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import { LIMITS } from '#contracts/limits.ts';
import { DESK } from '#src/calls/audit.ts';
import type { DeskHandler, HolderHandler } from '#src/calls/desk-handler.ts';
import type { Deps } from '#src/calls/handlers.ts';
import type { DeskCall, HolderCall } from '#src/shared/call.ts';
import { onLocalhost } from '#src/shared/localhost.ts';
import { done, type Outcome, refuse, refuseField, type Refusal } from '#src/shared/outcome.ts';
import { MINUTE_MS } from '#src/shared/time.ts';
import { decideAndAppend, issue, traceOf } from '#src/writing/decide-and-append.ts';
import { refuseRejected } from '#src/writing/rejections.ts';
import { streamOfPerson } from '#src/writing/streams.ts';
import { derivedFrom, isAnswered, isAsked, newAsked, sessionIdFrom } from './asked.ts';
import { type Passkey, person, type PersonCommand, type PersonState } from './person.decider.ts';
import { readPersonState } from './people.ts';
import { beginSession, type StartedSession, type UsedFrom } from './sessions.ts';

/** Loaded with the first passkey: it is larger than all else that a sign-in needs. */
const library = () => import('@simplewebauthn/server');

/** EdDSA, ES256 and RS256 in COSE, which all authenticators have one of. */
const ALGORITHMS = [-8, -7, -257];

const TIMEOUT_MS = LIMITS.PASSKEY_MINUTES * MINUTE_MS;

/** For whom a browser makes passkeys: they work for this host alone. */
const relyingParty = ({ origin }: Pick<Deps, 'origin'>): { id: string; origin: string } => {
  const own = onLocalhost(origin());
  return { id: new URL(own).hostname, origin: own };
};

const challengeOf = (deps: Pick<Deps, 'secrets'>, purpose: string, asked: string): Buffer =>
  Buffer.from(derivedFrom(deps, purpose, asked), 'hex');

/** What the answer must fit. Whatever the library throws on an answer, the answer does not. */
const expectedOf = (deps: Pick<Deps, 'origin'>, challenge: Buffer) => {
  const { id, origin } = relyingParty(deps);
  return {
    expectedChallenge: challenge.toString('base64url'),
    expectedOrigin: origin,
    expectedRPID: id,
    requireUserVerification: true,
  };
};

/** The challenge of a new passkey fits the session that asked for it alone. */
const purposeOf = ({ caller }: Pick<DeskCall, 'caller'>): string =>
  `add-passkey:${caller.session?.id}`;

/** A token of a command line lives for a month, and must not make a way in that outlives it. */
const IN_A_BROWSER = refuse(
  'state_conflict',
  'A passkey is added in a browser: sign in there, and add it on the page /me.',
);
const NO_PASSKEY = refuse('resource_not_found', 'You have no such passkey.');

export const offerPasskey: DeskHandler<'offerPasskey'> = async (deps, _input, call) => {
  const { id: personId, session } = call.caller;
  const state = await readPersonState(deps, personId);
  if (session?.usedIn !== 'browser' || !state) return IN_A_BROWSER;
  const { generateRegistrationOptions } = await library();
  const asked = newAsked(deps, { at: call.at, minutes: LIMITS.PASSKEY_MINUTES });
  const options = await generateRegistrationOptions({
    rpName: 'Tributary',
    rpID: relyingParty(deps).id,
    userID: new TextEncoder().encode(personId),
    userName: state.name,
    userDisplayName: state.name,
    challenge: new Uint8Array(challengeOf(deps, purposeOf(call), asked)),
    timeout: TIMEOUT_MS,
    supportedAlgorithmIDs: ALGORITHMS,
    excludeCredentials: state.passkeys.map(({ passkey_id: id, transports }) => ({
      id,
      transports,
    })),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
  });
  return done({ asked, options: { ...options } });
};

const refuseAnswer = (code: string, detail: string): Refusal =>
  refuseField('/answer', code, detail);

const TOO_LATE = refuseAnswer(
  'too_late',
  `took longer than ${LIMITS.PASSKEY_MINUTES} minutes, or was asked for in another tab or browser: try again`,
);
const MISFIT = refuseAnswer(
  'wrong',
  'does not fit: the answer is of another site, of an earlier attempt, or of a device that did not check who you are. Try again on this page',
);

/** The new passkey in an answer; undefined if it does not fit the challenge, this site, or a passkey. */
const readNewPasskey = async (
  deps: Deps,
  answer: string,
  challenge: Buffer,
): Promise<Omit<Passkey, 'sealed_name'> | undefined> => {
  const { verifyRegistrationResponse } = await library();
  try {
    const response = JSON.parse(answer) as RegistrationResponseJSON;
    const { verified, registrationInfo } = await verifyRegistrationResponse({
      response,
      ...expectedOf(deps, challenge),
      supportedAlgorithmIDs: ALGORITHMS,
    });
    if (!verified) return undefined;
    const { id, publicKey, counter, transports = [] } = registrationInfo.credential;
    return {
      passkey_id: id,
      public_key: Buffer.from(publicKey).toString('base64url'),
      counter,
      transports: transports.filter((one) => /^[a-z-]{1,20}$/.test(one)),
    };
  } catch {
    return undefined;
  }
};

export const addPasskey: DeskHandler<'addPasskey'> = async (deps, input, call) => {
  const { asked, answer, name } = input;
  const { id: personId, session } = call.caller;
  const state = await readPersonState(deps, personId);
  if (session?.usedIn !== 'browser' || !state) return IN_A_BROWSER;
  if (!isAsked(asked, call)) return TOO_LATE;
  const made = await readNewPasskey(deps, answer, challengeOf(deps, purposeOf(call), asked));
  if (!made) return MISFIT;
  // Where the mailbox is erased, so is this.
  const sealed_name = (await deps.vault.seal(state.sealed_for, name)) ?? '';
  const written = await changePasskeys(deps, call, {
    type: 'AddPasskey',
    passkey: { ...made, sealed_name },
    max: LIMITS.PASSKEYS_PER_PERSON_MAX,
  });
  return written.ok ? { ...written, value: { id: made.passkey_id, name } } : written;
};

const changePasskeys = async (
  deps: Deps,
  call: DeskCall,
  command: PersonCommand,
): Promise<Outcome<PersonState>> => {
  const written = await decideAndAppend(deps, call, {
    stream: streamOfPerson(call.caller.id),
    decider: person,
    command: (state) => (state ? issue(command) : NO_PASSKEY),
  });
  if ('rejected' in written) return refuseRejected(written, NO_PASSKEY);
  return written.ok ? done(written.state, traceOf(written)) : written;
};

export const removePasskey: DeskHandler<'removePasskey'> = async (
  deps,
  { passkey_id: id },
  call,
) => {
  const removed = await changePasskeys(deps, call, { type: 'RemovePasskey', passkeyId: id });
  return removed.ok ? { ...removed, value: { id, removed: true as const } } : removed;
};

/** What a browser needs to ask for a passkey: the page keeps `asked` in a cookie, and its script has the options. */
export type PasskeyQuestion = { asked: string; options: object };

export const askForPasskey: HolderHandler<'askForPasskey', PasskeyQuestion> = async (
  deps,
  _input,
  call,
) => {
  const { generateAuthenticationOptions } = await library();
  const asked = newAsked(deps, { at: call.at, minutes: LIMITS.PASSKEY_MINUTES });
  const options = await generateAuthenticationOptions({
    rpID: relyingParty(deps).id,
    challenge: new Uint8Array(challengeOf(deps, 'use-passkey', asked)),
    timeout: TIMEOUT_MS,
    userVerification: 'required',
  });
  return done({ asked, options });
};

/** The same for a passkey that was removed, one of a person who was ended, and one that never existed. */
const UNKNOWN = refuseAnswer(
  'unknown',
  'does not work here: it was removed, or its person was ended. Sign in with a mailed link',
);
const USED = refuseAnswer('used', 'gave this answer before, and an answer works once: try again');
const COPIED = refuseAnswer(
  'copied',
  'is refused, because somebody else may have a copy of it. Sign in with a mailed link, and remove it on your page /me',
);

const PERSON_ID = /^per_[0-9a-z]{24}$/;

/** Finds the person and the passkey that an answer names, without any search. */
const findPasskey = async (
  deps: Pick<Deps, 'log'>,
  answer: AuthenticationResponseJSON,
): Promise<{ state: PersonState; passkey: Passkey } | undefined> => {
  const personId = Buffer.from(answer.response.userHandle ?? '', 'base64url').toString();
  const state = PERSON_ID.test(personId) ? await readPersonState(deps, personId) : undefined;
  const passkey = state?.passkeys.find(({ passkey_id }) => passkey_id === answer.id);
  return state && passkey && { state, passkey };
};

const readAnswer = (text: string): AuthenticationResponseJSON | undefined => {
  try {
    const answer = JSON.parse(text) as AuthenticationResponseJSON;
    return typeof answer.response.userHandle === 'string' ? answer : undefined;
  } catch {
    return undefined;
  }
};

/** The counter in an answer that the passkey signed; undefined if the answer does not fit. */
const readCounter = async (
  deps: Deps,
  response: AuthenticationResponseJSON,
  { passkey, challenge }: { passkey: Passkey; challenge: Buffer },
): Promise<number | undefined> => {
  const { verifyAuthenticationResponse } = await library();
  const { passkey_id: id, public_key } = passkey;
  try {
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response,
      ...expectedOf(deps, challenge),
      // The decider compares counters, once the signature proves that of the answer.
      credential: {
        id,
        publicKey: new Uint8Array(Buffer.from(public_key, 'base64url')),
        counter: 0,
      },
    });
    return verified ? authenticationInfo.newCounter : undefined;
  } catch {
    return undefined;
  }
};

type Entering = UsedFrom & { replaces?: string | undefined };

/** Uses the passkey, and starts the session in the same append. */
const enterWith = async (
  deps: Deps,
  call: HolderCall,
  {
    asked,
    state,
    use,
    client: { replaces, ...client },
  }: {
    asked: string;
    state: PersonState;
    use: { passkeyId: string; counter: number };
    client: Entering;
  },
): Promise<Outcome<StartedSession>> => {
  const begun = await beginSession(deps, call, {
    person: state,
    way: 'passkey',
    usedIn: 'browser',
    client,
    replaces,
    sessionId: sessionIdFrom(deps, asked),
  });
  const target = { stream: streamOfPerson(state.person_id), decider: person };
  const written = await decideAndAppend(deps, begun.call, {
    ...target,
    command: async () =>
      (await isAnswered(deps, asked))
        ? USED
        : issue<PersonCommand>({ type: 'UsePasskey', ...use }, { claims: begun.appends }),
  });
  if (written.ok) return done({ credential: begun.credential, name: state.name }, traceOf(written));
  if (!('rejected' in written)) return written;
  if (written.rejected !== 'passkey_copied') return UNKNOWN;
  const noted = await decideAndAppend(
    deps,
    { ...call, ownerId: DESK, actor: 'person' },
    {
      ...target,
      command: () => issue<PersonCommand>({ type: 'RefusePasskey', passkeyId: use.passkeyId }),
    },
  );
  return noted.ok || 'rejected' in noted ? COPIED : noted;
};

/** Starts the session of the person of a passkey. */
export const usePasskey: HolderHandler<'usePasskey', StartedSession> = async (
  deps,
  { answer: text, to, ...client },
  call,
) => {
  const asked = call.caller.token;
  if (!isAsked(asked, call)) return TOO_LATE;
  const answer = readAnswer(text);
  if (!answer) return MISFIT;
  const found = await findPasskey(deps, answer);
  if (!found) return UNKNOWN;
  const { state, passkey } = found;
  const challenge = challengeOf(deps, 'use-passkey', asked);
  const counter = await readCounter(deps, answer, { passkey, challenge });
  if (counter === undefined) return MISFIT;
  const use = { passkeyId: passkey.passkey_id, counter };
  const entered = await enterWith(deps, call, { asked, state, use, client });
  return entered.ok ? { ...entered, value: { ...entered.value, to } } : entered;
};
