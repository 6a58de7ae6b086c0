import type { Declared } from '#contracts/operation.ts';
import { reviewTokenHash } from '#src/shared/review-token.ts';
import type { Deps } from '#src/calls/call.ts';
import type { HolderCall, HolderCaller } from '#src/shared/call.ts';
import { type Limiter, tooMany } from '#src/calls/limiter.ts';
import { done } from '#src/shared/outcome.ts';
import { parseFields } from '#src/calls/parse-input.ts';
import type { ActorRules } from '#src/calls/rules.ts';

const noHeaders = { headers: {} };

export type HolderActor = {
  caller: HolderCaller;
  operation: Declared;
  call: HolderCall;
  deps: Deps;
};

/** Rules for holders of a link: the link is the credential; acts are limited and refusals audited by link. */
export const holderRules = (deps: Deps, acts: Limiter): ActorRules<HolderActor> => ({
  identify: ({ credential = '' }) => done({ kind: 'holder', token: credential }),
  authorize: () => undefined,
  budgetFor: ({ kind }) => (kind === 'query' ? 'read' : 'holder'),
  charge({ token }, budget) {
    if (budget === 'read') return noHeaders;
    const verdict = acts.take(reviewTokenHash(token));
    return verdict.allowed ? noHeaders : { ...noHeaders, refusal: tooMany(verdict, acts) };
  },
  parse: parseFields,
  // Without an owner: the operation finds whose records it is about.
  callFor: ({ caller, surface, requestId }, { operation }): HolderCall => ({
    caller,
    ownerId: '',
    // Stored in events for every holder of a link; only applicants have another name there.
    actor: 'buyer',
    surface,
    operation: operation.id,
    requestId,
    at: deps.clock.now(),
  }),
  readModelScope: () => undefined,
  auditedCallerOf: ({ token }) => ({ kind: 'holder', tokenHash: reviewTokenHash(token) }),
  isAudited: ({ kind }, { ok }) => !ok && kind === 'command',
});
