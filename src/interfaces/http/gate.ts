import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { LIMITS } from '#contracts/limits.ts';
import type { ToolOperation } from '#contracts/operation.ts';
import type { Authenticator } from '#src/app/pipeline/authenticate.ts';
import type { AgentCaller, Surface } from '#src/app/pipeline/call.ts';
import type { Deps } from '#src/app/pipeline/deps.ts';
import { note } from '#src/app/pipeline/agent-dispatch.ts';
import type { Limiter } from '#src/app/pipeline/limiter.ts';
import type { Outcome, Refusal } from '#src/app/pipeline/outcome.ts';
import { refuse } from '#src/app/pipeline/outcome.ts';
import { DAY_MS } from '#src/app/shared/time.ts';
import { limitedByAddress, tooMany } from './by-address.ts';

/** What a call is counted against: names of the RateLimit fields. */
export type Policy = 'read' | 'write' | 'outreach';

/** By key; those two by address. */
export type Limiters = Record<Policy | 'failed' | 'unauthenticated', Limiter>;

export const policyOf = ({
  kind,
  openWorld,
}: Pick<ToolOperation, 'kind' | 'openWorld'>): Policy => {
  if (kind === 'query') return 'read';
  return openWorld ? 'outreach' : 'write';
};

/** What a call is recorded as, when it gets no further than the door. */
type Attempt = { operation: string; surface: Surface };

/** The door of every agent interface: who asks, and whether there is room; the same on all of them. */
export type Gate = {
  /**
   * The caller behind the bearer token; failures from one address are limited, successes are not. A
   * key that is right but no longer good is refused on the record of its agent.
   */
  identify(request: FastifyRequest, as: Attempt): Outcome<AgentCaller>;
  /** Looked up once more, after the body has come: a revocation in between counts. */
  again(request: Pick<IncomingMessage, 'headers'>): Outcome<AgentCaller>;
  /** Takes one call from the key's budget and tells what is left, in headers; a refusal when nothing is. */
  admit(reply: FastifyReply, caller: AgentCaller, policy: Policy): Refusal | undefined;
  /** The same with the headers as names and values in turn, for an answer that is no fastify reply. */
  take(caller: AgentCaller, policy: Policy): { headers: string[]; refusal?: Refusal };
};

export const bearerOf = (request: Pick<IncomingMessage, 'headers'>): string | undefined =>
  /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1];

export const agentGate = (
  deps: Deps,
  { authenticator, limiters }: { authenticator: Authenticator; limiters: Limiters },
): Gate => {
  const policies = new Map<Policy, string>();
  for (const name of ['read', 'write', 'outreach'] as const)
    policies.set(name, `"${name}";q=${limiters[name].perMinute};w=60`);

  const take = (caller: AgentCaller, policy: Policy): { headers: string[]; refusal?: Refusal } => {
    const limiter = limiters[policy];
    const verdict = limiter.take(caller.keyId);
    const left = `"${policy}";r=${verdict.remaining};t=${verdict.windowS}`;
    const headers = ['ratelimit-policy', policies.get(policy) ?? '', 'ratelimit', left];
    if (!verdict.allowed) return { headers, refusal: tooMany(verdict, limiter) };
    noticeEnd(headers, deps, caller);
    return { headers };
  };

  return {
    identify(request, { operation, surface }) {
      const credential = bearerOf(request);
      if (credential === undefined)
        return limitedByAddress(
          limiters.unauthenticated,
          request,
          refuse('credential_missing', 'Send Authorization: Bearer <API_KEY>.'),
        );
      const caller = authenticator.agent(credential);
      if (caller.ok) return caller;
      const { of, ...refusal } = caller;
      const told =
        caller.code === 'agent_suspended'
          ? refusal
          : limitedByAddress(limiters.failed, request, refusal);
      if (of) note(deps, operation, { caller: of, surface, requestId: request.id }, told);
      return told;
    },
    again: (request) => authenticator.agent(bearerOf(request) ?? ''),
    admit(reply, caller, policy) {
      const { headers, refusal } = take(caller, policy);
      for (let i = 0; i < headers.length; i += 2) reply.header(headers[i] ?? '', headers[i + 1]);
      return refusal;
    },
    take,
  };
};

const SUNSET_NOTICE_MS = LIMITS.KEY_NOTICE_DAYS * DAY_MS;

/** A key on its way out says so in every answer (RFC 9745, RFC 8594): since when, and until when. */
const noticeEnd = (headers: string[], deps: Deps, caller: AgentCaller): void => {
  const key = deps.credentials.key(caller.keyId);
  if (!key) return;
  if (key.rotated_at !== undefined)
    headers.push('deprecation', `@${Math.floor(key.rotated_at / 1000)}`);
  if (key.status === 'rotating' || key.expires_at - deps.clock.now() < SUNSET_NOTICE_MS)
    headers.push('sunset', new Date(key.expires_at).toUTCString());
};
