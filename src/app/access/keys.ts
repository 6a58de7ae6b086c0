import type { KeyRecord } from '#contracts/records/access.ts';
import { LIMITS } from '#contracts/limits.ts';
import { apiKey, type KeyState } from '#src/domain/access.ts';
import { accessScope, type KeyRow } from '#src/ports/rows.ts';
import { mintCredential } from '../pipeline/authenticate.ts';
import { type DeskCall, unkeyed } from '../pipeline/call.ts';
import { createOnce, decideAndAppend, traceOf } from '../events/decide-and-append.ts';
import { KEY_PROBLEMS, refuseRejected } from '../events/rejections.ts';
import { listing, pageOf } from '../read-models/listing.ts';
import { done, type Outcome, type Refusal, refuse } from '../pipeline/outcome.ts';
import { DAY_MS, HOUR_MS, iso, renderAsOf } from '../shared/time.ts';
import { type DeskDeps, type DeskHandler, mayActFor } from '../pipeline/desk-handler.ts';
import { keyIdOf } from './key-id.ts';

type Issued = KeyRecord & { api_key: string };

const SECRET_CHARS = 43;
const NO_KEY = refuse('resource_not_found', 'There is no such key.');

const render = (ownerId: string, state: KeyState | KeyRow, at: number): KeyRecord => ({
  id: state.key_id,
  owner_id: ownerId,
  agent_id: state.agent_id,
  environment: state.environment,
  prefix: `trb_${state.environment}_${state.key_id}`,
  last4: state.last4,
  status: state.status !== 'revoked' && state.expires_at <= at ? 'expired' : state.status,
  created_at: iso(state.created_at),
  expires_at: iso(state.expires_at),
});

const streamOfKey = (ownerId: string, keyId: string): string => `${ownerId}-key_${keyId}`;

type Wanted = {
  ownerId: string;
  agentId: string;
  environment: 'live' | 'test';
  expiresInDays: number;
  rotatedFrom?: string;
};

/** Mints a key and stores its keyed hash. The key itself leaves in this answer and is gone. */
const issue = async (deps: DeskDeps, call: DeskCall, wanted: Wanted): Promise<Outcome<Issued>> => {
  const { ownerId, agentId, environment } = wanted;
  const keyId = keyIdOf(ownerId, call.idem ?? '');
  const credential = mintCredential(`trb_${environment}`, keyId, deps.ids.base62(SECRET_CHARS));
  const written = await createOnce(
    deps,
    { ...call, ownerId },
    {
      stream: streamOfKey(ownerId, keyId),
      decider: apiKey,
      command: {
        type: 'IssueKey',
        key: {
          key_id: keyId,
          agent_id: agentId,
          environment,
          last4: credential.slice(-4),
          hash: deps.secrets.mac('api-key', credential),
          pepper_version: deps.secrets.pepperVersion,
          expires_at: call.at + wanted.expiresInDays * DAY_MS,
          ...(wanted.rotatedFrom !== undefined && { rotated_from: wanted.rotatedFrom }),
        },
      },
    },
  );
  if (!written.ok) return written;
  if (written.replayOf !== undefined)
    return refuse('state_conflict', 'This key was issued before and is shown once; rotate it.');
  return done(
    { ...render(ownerId, written.state, call.at), api_key: credential },
    written.position === undefined ? {} : { position: written.position },
  );
};

const PAGE_KEYS = 1_000;

/** Refuses one more key where an agent has as many live ones as it may. */
const keysFull = async (
  deps: DeskDeps,
  call: DeskCall,
  { owner, agent_id }: { owner: string; agent_id: string },
  environment: 'live' | 'test',
): Promise<Refusal | undefined> => {
  const isLive = (key: KeyRow): boolean =>
    key.agent_id === agent_id &&
    key.environment === environment &&
    key.status !== 'revoked' &&
    key.expires_at > call.at &&
    key.key_id !== keyIdOf(owner, call.idem ?? '');
  const all = { scope: accessScope(owner, 'key'), limit: PAGE_KEYS };
  const live: KeyRow[] = [];
  for await (const page of listing<KeyRow>(deps.readModels, 'access', all)) {
    live.push(...page.flatMap(({ row }) => (isLive(row) ? [row] : [])));
    if (live.length >= LIMITS.KEYS_PER_AGENT_MAX) break;
  }
  if (live.length < LIMITS.KEYS_PER_AGENT_MAX) return undefined;
  const named = live.map(({ key_id, last4, status }) => `${key_id} (…${last4}, ${status})`);
  return refuse(
    'state_conflict',
    `An agent has at most ${LIMITS.KEYS_PER_AGENT_MAX} live keys, and this one has ` +
      `${named.join(' and ')}. Revoke one of them first.`,
  );
};

export const issueKey: DeskHandler<'issueKey'> = async (deps, input, call) => {
  const agent = deps.credentials.agent(input.agent_id);
  if (!agent || !mayActFor(call, agent.owner))
    return refuse('resource_not_found', 'There is no such agent.');
  if (agent.status !== 'approved')
    return refuse('state_conflict', `The agent is ${agent.status}; a key needs an approved one.`);
  const full = await keysFull(deps, call, agent, input.environment);
  if (full) return full;
  return issue(deps, call, {
    ownerId: agent.owner,
    agentId: agent.agent_id,
    environment: input.environment,
    expiresInDays: input.expires_in_days,
  });
};

export const rotateKey: DeskHandler<'rotateKey'> = async (deps, input, call) => {
  const old = deps.credentials.key(input.key_id);
  if (!old || !mayActFor(call, old.owner)) return NO_KEY;
  const newId = keyIdOf(old.owner, call.idem ?? '');
  const again = deps.credentials.key(newId) !== undefined;
  if (!again) {
    if (old.status !== 'active' || old.expires_at <= call.at)
      return refuse(
        'state_conflict',
        `The key is ${old.status}; only an active one can be rotated.`,
      );
    const full = await keysFull(deps, call, old, old.environment);
    if (full) return full;
  }
  const issued = await issue(deps, call, {
    ownerId: old.owner,
    agentId: old.agent_id,
    environment: old.environment,
    expiresInDays: input.expires_in_days,
    rotatedFrom: old.key_id,
  });
  // Also when the new key was issued before and cannot be shown again: a first try may have ended here.
  const retiring = unkeyed(call);
  const retired = await decideAndAppend(
    deps,
    { ...retiring, ownerId: old.owner },
    {
      stream: streamOfKey(old.owner, old.key_id),
      decider: apiKey,
      command: () => ({
        type: 'RetireKey' as const,
        replacedBy: newId,
        expiresAt: call.at + input.overlap_hours * HOUR_MS,
        at: call.at,
      }),
    },
  );
  if (!issued.ok) return issued;
  if (!retired.ok)
    return refuse(
      'state_conflict',
      'The new key was issued; the old one could not be retired: revoke it.',
    );
  return { ...issued, ...traceOf({ position: retired.position ?? issued.position ?? 0 }) };
};

export const revokeKey: DeskHandler<'revokeKey'> = async (deps, { key_id, reason }, call) => {
  const known = deps.credentials.key(key_id);
  if (!known || !mayActFor(call, known.owner)) return NO_KEY;
  const written = await decideAndAppend(
    deps,
    { ...call, ownerId: known.owner },
    {
      stream: streamOfKey(known.owner, key_id),
      decider: apiKey,
      command: () => ({ type: 'RevokeKey' as const, reason }),
    },
  );
  if (!written.ok)
    return 'rejected' in written ? refuseRejected(KEY_PROBLEMS, written, NO_KEY) : written;
  return done(render(known.owner, written.state, call.at), traceOf(written));
};

export const listKeys: DeskHandler<'listKeys'> = async (deps, input, call) => {
  const { owner_id } = input;
  if (!mayActFor(call, owner_id)) return refuse('resource_not_found', 'There is no such owner.');
  const scope = accessScope(owner_id, 'key');
  const { rows, next_before } = await pageOf<KeyRow>(deps.readModels, 'access', {
    ...input,
    scope,
  });
  return done({
    data: rows.map((row) => render(owner_id, row, call.at)),
    next_before,
    as_of: renderAsOf(deps.following.asOf()),
  });
};
