import type { ToolOperation } from '#contracts/operation.ts';
import { LIMITS } from '#contracts/limits.ts';
import type { Declared } from '#contracts/operation.ts';
import { allows, type NeededScope, type Scope } from '#contracts/scopes.ts';
import { fingerprintOf } from '#src/writing/hash.ts';
import { DAY_MS } from '#src/shared/time.ts';
import type { Concurrency } from './concurrency.ts';
import { type Authenticator, refuseEnded } from './authenticate.ts';
import type { Deps } from './call.ts';
import type { AgentCall, AgentCaller, Call } from '#src/shared/call.ts';
import type { CredentialState } from './credential-check.ts';
import { idemOf } from '#src/writing/idempotency.ts';
import { type Limiter, spacingOf, tooMany } from './limiter.ts';
import { isRecorded, refuse, scopeMissing } from '#src/shared/outcome.ts';
import { parseInput } from './parse-input.ts';
import type { ActorRules, Incoming } from './rules.ts';
import { streamOf, streamOfKey } from '#src/writing/streams.ts';

export type AgentLimiters = Record<'read' | 'write' | 'outreach', Limiter>;
/** Limits of the calls in progress, by kind of operation. */
export type AtOnce = Record<Declared['kind'], Concurrency>;

type AgentOperation = Pick<ToolOperation, 'openWorld'> & Declared & { scope: NeededScope };

/** `D`: what the handlers of its registry need. */
export type AgentActor<D extends Deps = Deps> = {
  caller: AgentCaller;
  operation: AgentOperation;
  call: AgentCall;
  deps: D;
};

/** Budget of an operation; outreach has one of its own. */
export const agentBudget = ({
  kind,
  openWorld,
}: Pick<AgentOperation, 'kind' | 'openWorld'>): keyof AgentLimiters => {
  if (kind === 'query') return 'read';
  return openWorld ? 'outreach' : 'write';
};

const SUNSET_NOTICE_MS = LIMITS.KEY_NOTICE_DAYS * DAY_MS;

/** Takes calls from budgets, with the RateLimit and RateLimit-Policy headers. */
export const rateLimits = <Name extends string>(limiters: Record<Name, Limiter>) => {
  const policies = new Map<string, string>();
  for (const [name, { rate }] of Object.entries<Limiter>(limiters))
    policies.set(name, `"${name}";q=${rate.count};w=${spacingOf(rate).periodMs / 1_000}`);
  return (key: string, budget: Name) => {
    const limiter = limiters[budget];
    const verdict = limiter.take(key);
    const headers: Record<string, string> = {
      'ratelimit-policy': policies.get(budget) ?? '',
      ratelimit: `"${budget}";r=${verdict.remaining};t=${verdict.windowS}`,
    };
    return verdict.allowed ? { headers } : { headers, refusal: tooMany(verdict, limiter) };
  };
};

/** The members of an agent's call that do not depend on its input. */
export const agentCall = (
  deps: Pick<Deps, 'clock'>,
  { caller, surface, requestId }: Pick<Incoming<AgentCaller>, 'caller' | 'surface' | 'requestId'>,
  { id, scope }: { id: string; scope: NeededScope },
): Call & { caller: AgentCaller } => {
  const used = scopeUsed(scope, caller);
  return {
    caller,
    ownerId: caller.ownerId,
    actor: caller.agentId,
    keyId: caller.keyId,
    surface,
    operation: id,
    ...(used !== undefined && { scope: used }),
    requestId,
    at: deps.clock.now(),
  };
};

const refuseScope = ({ id, scope }: AgentOperation, scopes: ReadonlySet<string>) =>
  allows(scope, scopes) ? undefined : scopeMissing(id, scope, { scopes });

/** What this process knows of the key and the agent of a caller. */
const currentKey = (
  { credentials }: Pick<Deps, 'credentials'>,
  operation: AgentOperation,
  { keyId, agentId }: AgentCaller,
): CredentialState => {
  const key = credentials.key(keyId);
  const agent = credentials.agent(agentId);
  if (!key || !agent) return { refusal: undefined, streams: [] };
  return {
    refusal: refuseEnded(key, agent) ?? refuseScope(operation, new Set(agent.granted)),
    streams: [
      { stream: streamOfKey(key.owner, keyId), revision: key.version },
      { stream: streamOf(agent.owner, 'agent', agentId), revision: agent.version },
    ],
  };
};

/** Rules for agents: API keys, scopes, budgets by key, idempotency keys; calls that write no event are audited. */
export const agentRules = <D extends Deps>(
  deps: D,
  authenticator: Authenticator,
  { atOnce, ...limiters }: AgentLimiters & { atOnce: AtOnce },
): ActorRules<AgentActor<D>> => {
  const take = rateLimits(limiters);

  /** Deprecation (RFC 9745) and Sunset (RFC 8594) headers of a key that is rotated or expires soon. */
  const endOf = ({ keyId }: AgentCaller): Record<string, string> => {
    const key = deps.credentials.key(keyId);
    if (!key) return {};
    const ends = key.status === 'rotating' || key.expires_at - deps.clock.now() < SUNSET_NOTICE_MS;
    return {
      ...(key.rotated_at !== undefined && {
        deprecation: `@${Math.floor(key.rotated_at / 1000)}`,
      }),
      ...(ends && { sunset: new Date(key.expires_at).toUTCString() }),
    };
  };

  return {
    identify({ credential }) {
      if (credential === undefined)
        return refuse('credential_missing', 'Send Authorization: Bearer <API_KEY>.');
      return authenticator.agent(credential);
    },
    confirm: ({ keyId }) => authenticator.agentOfKey(keyId),
    authorize: (operation, { scopes }) => refuseScope(operation, scopes),
    budgetFor: agentBudget,
    charge(caller, budget) {
      const taken = take(caller.keyId, budget as keyof AgentLimiters);
      return taken.refusal ? taken : { headers: { ...taken.headers, ...endOf(caller) } };
    },
    occupy: ({ kind }, { keyId }) => atOnce[kind](keyId),
    currentCredential: (operation, caller) => currentKey(deps, operation, caller),
    parse: parseInput,
    callFor(incoming, { operation, input }): AgentCall {
      const { task, file } = incoming;
      const base = {
        ...agentCall(deps, incoming, operation),
        ...(task && { task }),
        ...(file && { file: true as const }),
      };
      if (!('idempotency_key' in input)) return base;
      const { idempotency_key, ...fields } = input as { idempotency_key: string };
      return {
        ...base,
        idem: idemOf(incoming.caller, operation.id, idempotency_key),
        fingerprint: fingerprintOf(operation.id, fields),
      };
    },
    readModelScope: ({ kind }, { ownerId }) => (kind === 'query' ? ownerId : undefined),
    auditedCallerOf: ({ ownerId, agentId, keyId }) => ({ kind: 'agent', ownerId, agentId, keyId }),
    isAudited: (_operation, outcome) => !isRecorded(outcome),
  };
};

const scopeUsed = (needed: NeededScope, { scopes }: AgentCaller): Scope | undefined => {
  const alternatives = typeof needed === 'string' ? [needed] : (needed ?? []);
  return alternatives.find((name) => scopes.has(name));
};
