import type { Declared } from '#contracts/operation.ts';
import { reviewTokenHash } from '#src/shared/review-token.ts';
import type { VisitorDeps } from '#src/links/visitor-handler.ts';
import type {
  BuyerCall,
  BuyerCaller,
  Caller,
  Deps,
  VisitorCall,
  VisitorCaller,
} from '#src/calls/call.ts';
import { type Limiter, tooMany } from '#src/calls/limiter.ts';
import { done } from '#src/shared/outcome.ts';
import { parseFields } from '#src/calls/parse-input.ts';
import type { ActorRules, Incoming } from '#src/calls/rules.ts';

const noHeaders = { headers: {} };

/** A call without an owner: the operation finds whose records it is about. */
const publicCall = <C extends Caller>(
  deps: Pick<Deps, 'clock'>,
  { caller, surface, requestId }: Incoming<C>,
  { id }: Declared,
) => ({
  caller,
  ownerId: '',
  actor: caller.kind,
  surface,
  operation: id,
  requestId,
  at: deps.clock.now(),
});

/** Rules for buyers: the review link is the credential; acts are limited and refusals audited by link. */
export const buyerRules = (deps: Deps, acts: Limiter): ActorRules<BuyerCaller, Declared, Deps> => ({
  identify: ({ credential = '' }) => done({ kind: 'buyer', token: credential }),
  authorize: () => undefined,
  budgetFor: ({ kind }) => (kind === 'query' ? 'read' : 'buyer'),
  charge({ token }, budget) {
    if (budget === 'read') return noHeaders;
    const verdict = acts.take(reviewTokenHash(token));
    return verdict.allowed ? noHeaders : { ...noHeaders, refusal: tooMany(verdict, acts) };
  },
  parse: parseFields,
  callFor: (incoming, { operation }): BuyerCall => publicCall(deps, incoming, operation),
  readModelScope: () => undefined,
  auditedCallerOf: ({ token }) => ({ kind: 'buyer', tokenHash: reviewTokenHash(token) }),
  isAudited: ({ kind }, { ok }) => !ok && kind === 'command',
});

/** Rules for visitors: no credential, no limit, no audit record. A visit is an event of its own. */
export const visitorRules = (
  deps: VisitorDeps,
): ActorRules<VisitorCaller, Declared, VisitorDeps> => ({
  identify: () => done({ kind: 'visitor' }),
  authorize: () => undefined,
  budgetFor: ({ id }) => (id === 'visitLink' ? 'redirect' : 'read'),
  charge: () => noHeaders,
  parse: parseFields,
  callFor: (incoming, { operation }): VisitorCall => publicCall(deps, incoming, operation),
  readModelScope: () => undefined,
  auditedCallerOf: () => undefined,
  isAudited: () => false,
});
