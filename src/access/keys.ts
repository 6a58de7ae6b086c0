/** Keys of agents: issued, rotated, revoked and listed at the desk. */
import type { KeyRecord } from '#contracts/access/records.ts';
import { LIMITS } from '#contracts/limits.ts';
import { mintCredential } from '#src/calls/authenticate.ts';
import type { Deps } from '#src/calls/handlers.ts';
import { type DeskHandler, mayActFor, NO_OWNER } from '#src/calls/desk-handler.ts';
import { accessScope, type AgentRow, type KeyRow } from '#src/ports/rows.ts';
import { listing } from '#src/reading/lists.ts';
import { listRows } from '#src/reading/inbox.ts';
import { type Call, type DeskCall, unkeyed } from '#src/shared/call.ts';
import { done, type Outcome, type Refusal, refuse } from '#src/shared/outcome.ts';
import { present } from '#src/shared/json.ts';
import { DAY_MS, HOUR_MS, iso } from '#src/shared/time.ts';
import { createOnce, issue, traceOf, changeRecord } from '#src/writing/decide-and-append.ts';
import { digestOf, streamOfKey } from '#src/writing/streams.ts';
import type { EventWriter } from '#src/writing/idempotency.ts';
import { refuseRejected } from '#src/writing/rejections.ts';
import { lastUsesOfKeys } from './last-uses.ts';
import { apiKey, type KeyCommand, type KeyState } from './access.decider.ts';

const ID_CHARS = 12;

/** The public part of a credential, derived from its owner and the digest of the idempotency key. */
export const keyIdOf = (ownerId: string, idem: string): string =>
  digestOf('credential', ownerId, idem)
    .replaceAll('-', 'a')
    .replaceAll('_', 'b')
    .slice(0, ID_CHARS);

const SECRET_CHARS = 43;
const PAGE_KEYS = 1_000;
const NO_KEY = refuse('resource_not_found', 'There is no such key.');

/** `agent`: that of the key now, whose suspension suspends the key. */
export const renderKey = (
  ownerId: string,
  state: KeyState | KeyRow,
  { at, agent }: { at: number; agent?: Pick<AgentRow, 'status'> | undefined },
): KeyRecord => ({
  id: state.key_id,
  owner_id: ownerId,
  agent_id: state.agent_id,
  environment: state.environment,
  prefix: `trb_${state.environment}_${state.key_id}`,
  last4: state.last4,
  status: statusOf(state, { at, agent }),
  created_at: iso(state.created_at),
  expires_at: iso(state.expires_at),
});

const statusOf = (
  { status, expires_at }: KeyState | KeyRow,
  { at, agent }: { at: number; agent?: Pick<AgentRow, 'status'> | undefined },
): KeyRecord['status'] => {
  if (status === 'revoked') return status;
  if (expires_at <= at) return 'expired';
  return agent?.status === 'suspended' ? 'suspended' : status;
};

type KeyHolder = { owner: string; agent_id: string; environment: 'live' | 'test' };
type IssuingDeps = EventWriter & Pick<Deps, 'secrets' | 'readModels'>;
type KeyRequest = KeyHolder & { expires_in_days: number; rotated_from?: string };

/** Mints the one key of the call's idempotency key, and stores its keyed hash. Only this answer holds the key itself. */
export const issueOnce = async (
  deps: IssuingDeps,
  call: Call,
  { owner, agent_id, environment, expires_in_days, rotated_from }: KeyRequest,
): Promise<Outcome<KeyRecord & { api_key: string }>> => {
  const key_id = keyIdOf(owner, call.idem ?? '');
  const credential = mintCredential(`trb_${environment}`, key_id, deps.ids.base62(SECRET_CHARS));
  const key = {
    key_id,
    agent_id,
    environment,
    last4: credential.slice(-4),
    hash: deps.secrets.mac('api-key', credential),
    expires_at: call.at + expires_in_days * DAY_MS,
    ...present({ rotated_from }),
  };
  const owned = { ...call, ownerId: owner };
  const written = await createOnce(deps, owned, {
    stream: streamOfKey(owner, key_id),
    decider: apiKey,
    command: { type: 'IssueKey', key },
  });
  if (!written.ok) return written;
  if (written.replayOf !== undefined)
    return refuse('state_conflict', 'This key was issued before and is shown once. Rotate it.');
  return done(
    { ...renderKey(owner, written.state, { at: call.at }), api_key: credential },
    traceOf(written),
  );
};

/** Reads an agent's keys that are not revoked, newest first, page by page. Reads the list of its owner's keys. */
export async function* keyPages(
  { readModels }: Pick<Deps, 'readModels'>,
  { owner, agent_id }: Pick<KeyHolder, 'owner' | 'agent_id'>,
): AsyncGenerator<KeyRow[], void> {
  const query = { scope: accessScope(owner, 'key'), limit: PAGE_KEYS };
  for await (const page of listing<KeyRow>(readModels, 'access', query))
    yield page
      .map(({ row }) => row)
      .filter((key) => key.agent_id === agent_id && key.status !== 'revoked');
}

/** Refuses when the agent has as many live keys in this environment as are allowed. */
export const refuseIfFull = async (
  deps: Pick<Deps, 'readModels'>,
  call: Call,
  { owner, agent_id, environment }: KeyHolder,
): Promise<Refusal | undefined> => {
  const newId = keyIdOf(owner, call.idem ?? '');
  const isLive = (key: KeyRow): boolean =>
    key.environment === environment && key.expires_at > call.at && key.key_id !== newId;
  const live: KeyRow[] = [];
  for await (const page of keyPages(deps, { owner, agent_id })) {
    live.push(...page.filter(isLive));
    if (live.length >= LIMITS.KEYS_PER_AGENT_MAX) break;
  }
  if (live.length < LIMITS.KEYS_PER_AGENT_MAX) return undefined;
  const names = live.map(({ key_id, last4, status }) => `${key_id} (…${last4}, ${status})`);
  return refuse(
    'state_conflict',
    `An agent has at most ${LIMITS.KEYS_PER_AGENT_MAX} live keys, and this one has ` +
      `${names.join(' and ')}. Revoke one of them first.`,
  );
};

export const issueKey: DeskHandler<'issueKey'> = async (deps, input, call) => {
  const agent = deps.credentials.agent(input.agent_id);
  if (!agent || !mayActFor(call, agent.owner))
    return refuse('resource_not_found', 'There is no such agent.');
  if (agent.status !== 'approved')
    return refuse('state_conflict', `The agent is ${agent.status}; a key needs an approved one.`);
  const { environment, expires_in_days } = input;
  const { owner, agent_id } = agent;
  const refusal = await refuseIfFull(deps, call, { owner, agent_id, environment });
  return refusal ?? issueOnce(deps, call, { owner, agent_id, environment, expires_in_days });
};

type KeyChange = { owner: string; key_id: string; command: KeyCommand };

const changeKey = (
  deps: Deps,
  call: DeskCall,
  { owner, key_id, command }: KeyChange,
): Promise<Outcome<KeyRecord>> =>
  changeRecord(deps, call, {
    ownerId: owner,
    stream: streamOfKey(owner, key_id),
    decider: apiKey,
    command: () => issue(command),
    refusal: (rejection) => refuseRejected(rejection, NO_KEY),
    render: (state) =>
      renderKey(owner, state, { at: call.at, agent: deps.credentials.agent(state.agent_id) }),
  });

export const rotateKey: DeskHandler<'rotateKey'> = async (deps, input, call) => {
  const old = deps.credentials.key(input.key_id);
  if (!old || !mayActFor(call, old.owner)) return NO_KEY;
  const { owner, key_id, agent_id, environment } = old;
  const newId = keyIdOf(owner, call.idem ?? '');
  if (deps.credentials.key(newId) === undefined) {
    if (old.status !== 'active' || old.expires_at <= call.at)
      return refuse(
        'state_conflict',
        `The key is ${old.status}; only an active key can be rotated.`,
      );
    const refusal = await refuseIfFull(deps, call, old);
    if (refusal) return refusal;
  }
  const { expires_in_days, overlap_hours } = input;
  const request = { owner, agent_id, environment, expires_in_days, rotated_from: key_id };
  const issued = await issueOnce(deps, call, request);
  // Retires the old key also when `issued` is refused: an earlier try may have stopped between both.
  const retired = await changeKey(deps, unkeyed(call), {
    owner,
    key_id,
    command: {
      type: 'RetireKey',
      replacedBy: newId,
      expiresAt: call.at + overlap_hours * HOUR_MS,
      at: call.at,
    },
  });
  if (!issued.ok) return issued;
  if (!retired.ok)
    return refuse(
      'state_conflict',
      'The new key was issued, but the old one could not be retired. Revoke the old one.',
    );
  return { ...issued, position: retired.position ?? issued.position ?? 0 };
};

export const revokeKey: DeskHandler<'revokeKey'> = async (deps, { key_id, reason }, call) => {
  const owner = deps.credentials.key(key_id)?.owner;
  if (owner === undefined || !mayActFor(call, owner)) return NO_KEY;
  return changeKey(deps, call, { owner, key_id, command: { type: 'RevokeKey', reason } });
};

export const listKeys: DeskHandler<'listKeys'> = async (deps, query, call) => {
  const { owner_id } = query;
  if (!mayActFor(call, owner_id)) return NO_OWNER;
  const lastUse = await lastUsesOfKeys(deps, owner_id);
  return listRows(deps, call, {
    name: 'access',
    scope: accessScope(owner_id, 'key'),
    query,
    render: (row: KeyRow) => ({
      ...renderKey(owner_id, row, { at: call.at, agent: deps.credentials.agent(row.agent_id) }),
      ...lastUse(row.key_id, row.created_at),
    }),
  });
};

export const readKey: DeskHandler<'readKey'> = async (deps, { key_id }, call) => {
  const key = deps.credentials.key(key_id);
  if (!key || !mayActFor(call, key.owner)) return NO_KEY;
  return done(
    renderKey(key.owner, key, { at: call.at, agent: deps.credentials.agent(key.agent_id) }),
  );
};
