/** Finds the caller of a credential, and confirms with the log that it is still valid. */
import { hash, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { LIMITS } from '#contracts/limits.ts';
import { DESK_BASE } from '#contracts/places.ts';
import type { DeskRole } from '#contracts/scopes.ts';
import { testSpaceOf } from '#contracts/spaces.ts';
import {
  LogUnavailable,
  type EventLog,
  type Position,
  type StreamRevision,
} from '#src/ports/event-log.ts';
import type { AgentRow, DeskTokenRow, KeyRow, PersonRow, SessionRow } from '#src/ports/rows.ts';
import type { Clock, Secrets } from '#src/ports/system.ts';
import type { AgentCaller, DeskCaller, Caller } from '#src/shared/call.ts';
import { done, type Refusal, refuse, type Done } from '#src/shared/outcome.ts';
import { HOUR_MS } from '#src/shared/time.ts';
import type { Timeline } from '#src/writing/timeline.ts';
import type { AuditedCaller } from './audit.ts';
import { CLOCK_BEHIND, storeRefusal, unavailable } from './failure.ts';

/**
 * Credentials as this process has followed them; read synchronously on every request. The functions throw
 * ReadModelRebuilding while the state of a credential is not known.
 */
export type Credentials = {
  key(keyId: string): KeyRow | undefined;
  agent(agentId: string): AgentRow | undefined;
  deskToken(tokenId: string): DeskTokenRow | undefined;
  person(personId: string): PersonRow | undefined;
  session(sessionId: string): SessionRow | undefined;
};

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

const CHECKSUM_CHARS = 6;

/** The published pattern of an agent key, for secret scanners. */
const AGENT_KEY = /^trb_(live|test)_([0-9A-Za-z]{12})_[0-9A-Za-z]{49}$/;

const DESK_TOKEN = /^trbd_([0-9A-Za-z]{12})_[0-9A-Za-z]{49}$/;

/** The secret of a session: in the cookie of a browser, or the token of a command line. */
const SESSION = /^trbs_([0-9A-Za-z]{12})_[0-9A-Za-z]{49}$/;

/** Anything that looks like a credential of this service, anywhere in a text. */
export const CREDENTIAL_PATTERN = /trb[ds]?_(?:live_|test_)?[0-9A-Za-z]{12}_[0-9A-Za-z]{49}/;

/** The id in the credential of a session, which proves nothing yet; undefined if it has another form. */
export const sessionIdIn = (credential: string): string | undefined =>
  SESSION.exec(credential)?.[1];

const checksum = (text: string): string => {
  let value = crc32(text);
  let out = '';
  for (let i = 0; i < CHECKSUM_CHARS; i++) {
    out = BASE62[value % 62] + out;
    value = Math.floor(value / 62);
  }
  return out;
};

/** Makes `prefix_id_secret` followed by a CRC-32 in six characters, so that a typing error is found offline. */
export const mintCredential = (prefix: string, id: string, secret: string): string => {
  const body = `${prefix}_${id}_${secret}`;
  return body + checksum(body);
};

const hasValidChecksum = (credential: string): boolean =>
  checksum(credential.slice(0, -CHECKSUM_CHARS)) === credential.slice(-CHECKSUM_CHARS);

export const areEqual = (a: string, b: string): boolean =>
  a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));

/** Finds the caller of a credential. Never throws: a state that is not known now is a 503. */
export type Authenticator = {
  agent(credential: string): Identified<AgentCaller>;
  /** Finds the caller of a key whose secret was verified before: the secret of a key never changes. */
  agentOfKey(keyId: string): Identified<AgentCaller>;
  /** Finds the person at the desk. `usedIn`: where the session of a credential must be used; desk tokens are none of browsers. */
  desk(credential: string, usedIn?: SessionRow['used_in']): Identified<DeskCaller>;
};

/** A test key acts in the test space of its owner. */
const spaceOf = ({ environment, owner }: KeyRow): string =>
  environment === 'test' ? testSpaceOf(owner) : owner;

const VERIFIED_MAX = 10_000;

const INVALID = refuse('credential_invalid', 'The credential is unknown or incomplete.');

const IS_DESK_TOKEN = refuse(
  'credential_invalid',
  `This is a desk token, which is valid under ${DESK_BASE} only. Send the API key of an agent.`,
);

const IS_AGENT_KEY = refuse(
  'credential_invalid',
  'This is the API key of an agent, which is not valid at the desk. Send a desk token.',
);

/** Refuses the credential of a process that has not heard from its log. */
export const UNCONFIRMED: Refusal = {
  ...unavailable(new LogUnavailable('fault', 'no', 'the log confirms no credential')),
  detail:
    'The log does not answer this process. Until it does, the service cannot know whether the credential is ' +
    'still valid.',
};

/** What this process knows of the credential of an admitted caller. */
export type CredentialState = {
  /** Why the credential no longer allows the operation. */
  refusal: Refusal | undefined;
  /** The streams that tell so, as far as they were read; none for a caller in this process without a credential. */
  streams: readonly StreamRevision[];
};

/** Refuses a revoked key, and the key of an agent that is not approved. */
export const refuseEnded = (key: KeyRow, agent: AgentRow | undefined): Refusal | undefined => {
  if (key.status === 'revoked') return refuse('credential_revoked', 'The key was revoked.');
  return agent?.status === 'approved'
    ? undefined
    : refuse('agent_suspended', `The agent is ${agent?.status ?? 'unknown'}.`);
};

export const refuseRevoked = ({ status }: DeskTokenRow): Refusal | undefined =>
  status === 'revoked' ? refuse('credential_revoked', 'The token was revoked.') : undefined;

/** Refuses a session that was ended, of a person who was ended, or from before the person's roles changed. */
export const refuseEndedSession = (
  { status, rights }: SessionRow,
  person: PersonRow | undefined,
): Refusal | undefined => {
  if (status === 'ended') return refuse('credential_revoked', 'The session has ended.');
  if (person?.status === 'ended') return refuse('credential_revoked', 'The person was ended.');
  return person && rights !== person.rights
    ? refuse('credential_revoked', 'The roles of the person have changed. Sign in again.')
    : undefined;
};

/** When a session ends by itself, in epoch milliseconds: one of a browser also ends when nobody uses it. */
export const endOfSession = ({ used_in, used_at, expires_at }: SessionRow): number =>
  used_in === 'browser'
    ? Math.min(expires_at, used_at + LIMITS.SESSION_IDLE_HOURS * HOUR_MS)
    : expires_at;

/** Refuses the token of a person who was ended, also after they were invited again. */
const refuseEndedHolder = (
  credentials: Pick<Credentials, 'person'>,
  { person_id, created_at }: DeskTokenRow,
): Refusal | undefined =>
  created_at <= (credentials.person(person_id)?.ended_at ?? -Infinity)
    ? refuse('credential_revoked', 'The person of the token was ended.')
    : undefined;

/** Whether a desk token would act for every promoter: it has the role owner and no owner. */
export const lacksOwner = ({
  roles,
  owner_id,
}: {
  roles: readonly string[];
  owner_id?: string | undefined;
}): boolean => roles.includes('owner') && owner_id === undefined;

const LACKS_OWNER = refuse(
  'credential_invalid',
  'The token has the role owner and no owner. Revoke it, and issue one with owner_id.',
);

/** The roles that a token gives: without an owner, not that of an owner. */
const rolesIn = (token: DeskTokenRow): Set<DeskRole> => {
  const roles = new Set(token.roles as DeskRole[]);
  if (lacksOwner(token)) roles.delete('owner');
  return roles;
};

type Parts = {
  credentials: Credentials;
  confirmation?: Confirmation;
  secrets: Secrets;
  clock: Clock;
  timeline?: Pick<Timeline, 'hasPassed'>;
};

/**
 * Looks status, expiry and scopes up on every call, so that a revocation binds at once. Only the proof that
 * a secret is right is remembered, by its digest: the keyed hash is the slow part.
 */
class LiveAuthenticator implements Authenticator {
  readonly #parts: Parts;
  /** Stored hash by digest of the credential that it was verified for. */
  readonly #verified = new Map<string, string>();
  /** By the rows that a caller was made from: another row makes another caller. */
  readonly #callers = new WeakMap<AgentRow, { key: KeyRow; caller: AgentCaller }>();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  agent(credential: string): Identified<AgentCaller> {
    return this.#whileKnown(() => this.#agent(credential));
  }

  agentOfKey(keyId: string): Identified<AgentCaller> {
    return this.#whileKnown(() => this.#agentOf(this.#parts.credentials.key(keyId)));
  }

  desk(credential: string, usedIn: SessionRow['used_in'] = 'command_line'): Identified<DeskCaller> {
    return this.#whileKnown(() =>
      SESSION.test(credential) || usedIn === 'browser'
        ? this.#session(credential, usedIn)
        : this.#desk(credential),
    );
  }

  #agent(credential: string): Identified<AgentCaller> {
    const { credentials } = this.#parts;
    const [, environment, keyId] = AGENT_KEY.exec(credential) ?? [];
    if (!keyId) return DESK_TOKEN.test(credential) ? IS_DESK_TOKEN : INVALID;
    const digest = digestOf(credential);
    if (!this.#verified.has(digest) && !hasValidChecksum(credential)) return INVALID;
    const key = credentials.key(keyId);
    if (!key || key.environment !== environment) return INVALID;
    if (!this.#isVerified('api-key', credential, { digest, stored: key.hash })) return INVALID;
    return this.#agentOf(key);
  }

  #agentOf(key: KeyRow | undefined): Identified<AgentCaller> {
    if (!key) return INVALID;
    const { agent_id: agentId, key_id: keyId } = key;
    const of = { kind: 'agent' as const, ownerId: spaceOf(key), agentId, keyId };
    const agent = this.#parts.credentials.agent(agentId);
    const ended = refuseEnded(key, agent);
    if (ended?.code === 'credential_revoked') return { ...ended, of };
    const hasExpired = this.#hasPassed(key.expires_at);
    if (hasExpired === undefined) return CLOCK_BEHIND;
    if (hasExpired) return { ...refuse('credential_expired', 'The key has expired.'), of };
    if (ended || !agent) return { ...(ended ?? INVALID), of };
    return done(this.#callerOf(key, agent));
  }

  #desk(credential: string): Identified<DeskCaller> {
    const { credentials } = this.#parts;
    const [, tokenId] = DESK_TOKEN.exec(credential) ?? [];
    if (!tokenId || !hasValidChecksum(credential))
      return AGENT_KEY.test(credential) ? IS_AGENT_KEY : INVALID;
    const token = credentials.deskToken(tokenId);
    if (!token) return INVALID;
    const proof = { digest: digestOf(credential), stored: token.hash };
    if (!this.#isVerified('desk-token', credential, proof)) return INVALID;
    const of = { kind: 'desk' as const, id: tokenId };
    const ended = refuseRevoked(token) ?? refuseEndedHolder(credentials, token);
    if (ended) return { ...ended, of };
    const hasExpired = token.expires_at !== undefined && this.#hasPassed(token.expires_at);
    if (hasExpired === undefined) return CLOCK_BEHIND;
    if (hasExpired) return { ...refuse('credential_expired', 'The token has expired.'), of };
    const roles = rolesIn(token);
    if (roles.size === 0) return { ...LACKS_OWNER, of };
    return done({
      kind: 'desk',
      id: tokenId,
      name: token.name,
      personId: token.person_id,
      roles,
      ...(token.owner_id && { owners: [token.owner_id] }),
    });
  }

  #session(credential: string, usedIn: SessionRow['used_in']): Identified<DeskCaller> {
    const { credentials } = this.#parts;
    const sessionId = sessionIdIn(credential);
    const session =
      sessionId && hasValidChecksum(credential) ? credentials.session(sessionId) : undefined;
    if (session?.used_in !== usedIn) return INVALID;
    const proof = { digest: digestOf(credential), stored: session.hash };
    if (!this.#isVerified('session', credential, proof)) return INVALID;
    const person = credentials.person(session.person_id);
    const of = { kind: 'desk' as const, id: session.person_id, session: session.session_id };
    const ended = refuseEndedSession(session, person);
    if (ended || !person) return { ...(ended ?? INVALID), of };
    const hasExpired = this.#hasPassed(endOfSession(session));
    if (hasExpired === undefined) return CLOCK_BEHIND;
    if (hasExpired) return { ...refuse('credential_expired', 'The session has expired.'), of };
    return done({
      kind: 'desk',
      id: person.person_id,
      name: person.name,
      personId: person.person_id,
      roles: new Set(person.roles as DeskRole[]),
      ...(person.roles.includes('owner') && { owners: person.owners }),
      session: { id: session.session_id, usedIn, startedAt: session.started_at },
    });
  }

  /** Undefined while clock and log disagree about it. */
  #hasPassed(at: number): boolean | undefined {
    const { timeline, clock } = this.#parts;
    return timeline ? timeline.hasPassed(at) : at <= clock.now();
  }

  #callerOf(key: KeyRow, agent: AgentRow): AgentCaller {
    const made = this.#callers.get(agent);
    if (made?.key === key) return made.caller;
    const caller: AgentCaller = {
      kind: 'agent',
      ownerId: spaceOf(key),
      agentId: key.agent_id,
      keyId: key.key_id,
      scopes: new Set(agent.granted),
      environment: key.environment,
    };
    this.#callers.set(agent, { key, caller });
    return caller;
  }

  #isVerified(
    purpose: 'api-key' | 'desk-token' | 'session',
    credential: string,
    { digest, stored }: { digest: string; stored: string },
  ): boolean {
    if (this.#verified.get(digest) === stored) return true;
    if (!areEqual(this.#parts.secrets.mac(purpose, credential), stored)) return false;
    if (this.#verified.size >= VERIFIED_MAX) this.#verified.clear();
    this.#verified.set(digest, stored);
    return true;
  }

  #whileKnown<Answer>(identify: () => Answer): Answer | Refusal {
    if (this.#parts.confirmation?.holds() === false) return UNCONFIRMED;
    try {
      return identify();
    } catch (error) {
      const detail = 'The service cannot know just now whether the credential is still valid.';
      return { ...storeRefusal(error), detail };
    }
  }
}

const digestOf = (credential: string): string => hash('sha256', credential, 'base64url');

export const authenticator = (parts: Parts): Authenticator => new LiveAuthenticator(parts);

/** The refusal of a known credential has its subject, so that the attempt is audited. */
export type Identified<C extends Caller> = Done<C> | (Refusal & { of?: AuditedCaller });

/**
 * Whether the credentials that this process has read are those of the log. A process that is cut off from its
 * log, or was paused, does not learn that a key was revoked.
 */
export type Confirmation = {
  /** False when the last confirmation is older than LIMITS.CREDENTIALS_UNCONFIRMED_MS_MAX. */
  holds(): boolean;
  /** Whether the last confirmation is at most a second old, as a write requires. */
  isRecent(): boolean;
  /**
   * After a pause: resolves with the next confirmation, or after a second. Undefined while the last confirmation is
   * recent, and after a wait that brought none.
   */
  awaited(): Promise<void> | undefined;
};

const ASK_MS = 500;
/** A confirmation that is older than this means that the process or the log was paused. */
const DOUBT_MS = 1_000;
const AWAITED_MS_MAX = 1_000;

/**
 * Reads the head of the log again and again. An answer confirms the credentials as of the moment of the request,
 * once they are folded up to that head: the answer itself may have been delayed.
 */
export const confirmation = (deps: {
  log: Pick<EventLog, 'head'>;
  /** True once the credentials are folded up to `position`. */
  passed(position: Position, waitMs: number): Promise<boolean>;
  clock: Pick<Clock, 'monotonic'>;
  signal: AbortSignal;
  /** Runs `task` after `ms`, and keeps no process alive. */
  schedule(task: () => void, ms: number): void;
}): Confirmation => {
  const { log, passed, clock, signal, schedule } = deps;
  let confirmedAt = clock.monotonic();
  /** The last confirmation when the last wait began. */
  let awaitedAfter = -Infinity;
  let asking: Promise<void> | undefined;
  let waiting: Promise<void> | undefined;

  const age = (): number => clock.monotonic() - confirmedAt;

  const askOnce = async (): Promise<void> => {
    const askedAt = clock.monotonic();
    const { position } = await log.head();
    if (await passed(position, DOUBT_MS)) confirmedAt = askedAt;
  };
  const ask = (): Promise<void> =>
    (asking ??= askOnce()
      .catch(() => undefined)
      .finally(() => (asking = undefined)));
  const askOn = async (): Promise<void> => {
    await ask();
    if (!signal.aborted) schedule(() => void askOn(), ASK_MS);
  };

  const settled = async (): Promise<void> => {
    await ask();
    // The request under way may have been sent before the pause.
    if (age() > DOUBT_MS) await ask();
  };
  const wait = async (): Promise<void> => {
    awaitedAfter = confirmedAt;
    const late = new Promise<void>((resolve) => schedule(resolve, AWAITED_MS_MAX));
    await Promise.race([settled(), late]);
    waiting = undefined;
  };

  void askOn();
  const isRecent = (): boolean => age() <= DOUBT_MS;

  return {
    holds: () => age() <= LIMITS.CREDENTIALS_UNCONFIRMED_MS_MAX,
    isRecent,
    awaited() {
      if (isRecent()) return undefined;
      if (!waiting && awaitedAfter < confirmedAt) waiting = wait();
      return waiting;
    },
  };
};
