import type { Declared } from '#contracts/operation.ts';
import { reviewTokenHash } from '#src/shared/review-token.ts';
import type { BuyerCall, BuyerCaller, Deps } from '#src/calls/call.ts';
import { type Limiter, tooMany } from '#src/calls/limiter.ts';
import { done } from '#src/shared/outcome.ts';
import { parseFields } from '#src/calls/parse-input.ts';
import type { ActorRules } from '#src/calls/rules.ts';

const noHeaders = { headers: {} };

export type BuyerActor = {
  caller: BuyerCaller;
  operation: Declared;
  call: BuyerCall;
  deps: Deps;
};

/** Rules for buyers: the review link is the credential; acts are limited and refusals audited by link. */
export const buyerRules = (deps: Deps, acts: Limiter): ActorRules<BuyerActor> => ({
  identify: ({ credential = '' }) => done({ kind: 'buyer', token: credential }),
  authorize: () => undefined,
  budgetFor: ({ kind }) => (kind === 'query' ? 'read' : 'buyer'),
  charge({ token }, budget) {
    if (budget === 'read') return noHeaders;
    const verdict = acts.take(reviewTokenHash(token));
    return verdict.allowed ? noHeaders : { ...noHeaders, refusal: tooMany(verdict, acts) };
  },
  parse: parseFields,
  // Without an owner: the operation finds whose records it is about.
  callFor: ({ caller, surface, requestId }, { operation }): BuyerCall => ({
    caller,
    ownerId: '',
    actor: caller.kind,
    surface,
    operation: operation.id,
    requestId,
    at: deps.clock.now(),
  }),
  readModelScope: () => undefined,
  auditedCallerOf: ({ token }) => ({ kind: 'buyer', tokenHash: reviewTokenHash(token) }),
  isAudited: ({ kind }, { ok }) => !ok && kind === 'command',
});
