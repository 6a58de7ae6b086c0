import { hash, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { LIMITS } from '#contracts/limits.ts';
import { DESK_BASE } from '#contracts/places.ts';
import type { Role } from '#contracts/scopes.ts';
import { testSpaceOf } from '#contracts/spaces.ts';
import { LogUnavailable } from '#src/ports/event-log.ts';
import type { AgentRow, DeskTokenRow, KeyRow } from '#src/ports/rows.ts';
import type { Clock, Secrets } from '#src/ports/system.ts';
import type { AgentCaller, DeskCaller } from './call.ts';
import type { Confirmation } from './confirmation.ts';
import { refusalFor, unavailable } from './failure.ts';
import { done, type Refusal, refuse } from './outcome.ts';
import type { Identified } from './rules.ts';

/**
 * Credentials on this node, followed live: no promise, because every request asks. They throw
 * ReadModelRebuilding when it is not known what has become of a credential.
 */
export type Credentials = {
  key(keyId: string): KeyRow | undefined;
  agent(agentId: string): AgentRow | undefined;
  deskToken(tokenId: string): DeskTokenRow | undefined;
};

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** The published pattern of an agent key, for secret scanners. */
const AGENT_KEY = /^trb_(live|test)_([0-9A-Za-z]{12})_[0-9A-Za-z]{49}$/;
const DESK_TOKEN = /^trbd_([0-9A-Za-z]{12})_[0-9A-Za-z]{49}$/;

/** Anything that looks like one of our credentials, anywhere in a text. */
export const CREDENTIAL_PATTERN = /trbd?_(?:live_|test_)?[0-9A-Za-z]{12}_[0-9A-Za-z]{49}/;

const checksum = (text: string): string => {
  let value = crc32(text);
  let out = '';
  for (let i = 0; i < 6; i++) {
    out = BASE62[value % 62] + out;
    value = Math.floor(value / 62);
  }
  return out;
};

/** `prefix_id_secret` with six characters of CRC-32 behind it, so that a slip is seen offline. */
export const mintCredential = (prefix: string, id: string, secret: string): string => {
  const body = `${prefix}_${id}_${secret}`;
  return body + checksum(body);
};

const wellFormed = (credential: string): boolean =>
  checksum(credential.slice(0, -6)) === credential.slice(-6);

const same = (a: string, b: string): boolean =>
  a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));

/** Never throws: what cannot be known now is refused, and not for the credential's fault. */
export type Authenticator = {
  agent(credential: string): Identified<AgentCaller>;
  desk(credential: string): Identified<DeskCaller>;
};

/** A test key acts in the test space of its owner. */
const ownerOf = ({ environment, owner }: KeyRow): string =>
  environment === 'test' ? testSpaceOf(owner) : owner;

const REMEMBERED_MAX = 10_000;
const INVALID = 'The credential is not one of ours, or not complete.';
const OF_PEOPLE = `This is a desk token. It opens ${DESK_BASE} alone; here it takes the API key of an agent.`;
const OF_AGENTS =
  'This is the API key of an agent. It never opens the desk; that takes a desk token.';
const UNCONFIRMED: Refusal = {
  ...unavailable(new LogUnavailable('fault', 'no', 'the log confirms no credential')),
  detail:
    `The log has given this process no answer for ${LIMITS.CREDENTIALS_UNCONFIRMED_MS_MAX / 1_000} s: ` +
    'whether the credential is still good cannot be told until it does.',
};

/**
 * Who stands behind a credential. The keyed hash of a secret that was right once is remembered by
 * its digest; status, expiry and scopes are looked up on every call, so a revocation binds at once.
 */
export const authenticator = (deps: {
  credentials: Credentials;
  confirmation?: Confirmation;
  secrets: Secrets;
  clock: Clock;
}): Authenticator => {
  const { credentials, confirmation, secrets, clock } = deps;
  const remembered = new Map<string, string>();
  /** By the rows they were made of: another row is another caller. */
  const callers = new WeakMap<AgentRow, { key: KeyRow; caller: AgentCaller }>();

  const callerOf = (key: KeyRow, agent: AgentRow): AgentCaller => {
    const made = callers.get(agent);
    if (made?.key === key) return made.caller;
    const caller: AgentCaller = {
      kind: 'agent',
      ownerId: ownerOf(key),
      agentId: key.agent_id,
      keyId: key.key_id,
      scopes: new Set(agent.granted),
      environment: key.environment,
    };
    callers.set(agent, { key, caller });
    return caller;
  };

  const digestOf = (credential: string): string => hash('sha256', credential, 'base64url');

  const proven = (
    purpose: 'api-key' | 'desk-token',
    credential: string,
    digest: string,
    stored: string,
  ): boolean => {
    if (remembered.get(digest) === stored) return true;
    if (!same(secrets.mac(purpose, credential), stored)) return false;
    if (remembered.size >= REMEMBERED_MAX) remembered.clear();
    remembered.set(digest, stored);
    return true;
  };

  const authenticate: Authenticator = {
    agent(credential) {
      const [, environment, keyId] = AGENT_KEY.exec(credential) ?? [];
      if (!keyId)
        return refuse('credential_invalid', DESK_TOKEN.test(credential) ? OF_PEOPLE : INVALID);
      const digest = digestOf(credential);
      // What was right once has its checksum; what was not must pass it before anything is looked up.
      if (!remembered.has(digest) && !wellFormed(credential))
        return refuse('credential_invalid', INVALID);
      const key = credentials.key(keyId);
      if (key?.environment !== environment) return refuse('credential_invalid', INVALID);
      if (!key || !proven('api-key', credential, digest, key.hash))
        return refuse('credential_invalid', INVALID);
      const of = { kind: 'agent' as const, ownerId: ownerOf(key), agentId: key.agent_id, keyId };
      if (key.status === 'revoked')
        return { ...refuse('credential_revoked', 'The key was revoked.'), of };
      if (key.expires_at <= clock.now())
        return { ...refuse('credential_expired', 'The key has expired.'), of };
      const agent = credentials.agent(key.agent_id);
      if (agent?.status !== 'approved')
        return {
          ...refuse('agent_suspended', `The agent is ${agent?.status ?? 'unknown'}.`),
          of,
        };
      return done(callerOf(key, agent));
    },

    desk(credential) {
      const [, tokenId] = DESK_TOKEN.exec(credential) ?? [];
      if (!tokenId || !wellFormed(credential))
        return refuse('credential_invalid', AGENT_KEY.test(credential) ? OF_AGENTS : INVALID);
      const token = credentials.deskToken(tokenId);
      if (!token || !proven('desk-token', credential, digestOf(credential), token.hash))
        return refuse('credential_invalid', INVALID);
      const of = { kind: 'desk' as const, tokenId };
      if (token.status === 'revoked')
        return { ...refuse('credential_revoked', 'The token was revoked.'), of };
      if (token.expires_at !== undefined && token.expires_at <= clock.now())
        return { ...refuse('credential_expired', 'The token has expired.'), of };
      return done({
        kind: 'desk',
        tokenId,
        name: token.name,
        roles: new Set(token.roles as Role[]),
        ...(token.owner_id && { ownerId: token.owner_id }),
      });
    },
  };
  const knowing = <Answer>(ask: () => Answer): Answer | Refusal => {
    if (confirmation?.holds() === false) return UNCONFIRMED;
    try {
      return ask();
    } catch (error) {
      const detail = 'Whether the credential is still good cannot be told just now.';
      return { ...refusalFor(error), detail };
    }
  };
  return {
    agent: (credential) => knowing(() => authenticate.agent(credential)),
    desk: (credential) => knowing(() => authenticate.desk(credential)),
  };
};
