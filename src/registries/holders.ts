/** The table of handlers for the holders of links, and the rules for their calls. */
import type { Declared } from '#contracts/operation.ts';
import type { HolderOperationId } from '#contracts/registries/holders.ts';
import {
  applicationReceiver,
  readApplication,
  confirmApplication,
  disownApplication,
  issueFirstKey,
} from '#src/access/applications.ts';
import type { Deps } from '#src/calls/handlers.ts';
import type { HolderHandler } from '#src/calls/desk-handler.ts';
import { parseFields } from '#src/calls/input.ts';
import { type Limiter, tooMany } from '#src/calls/limits.ts';
import type { Pipeline } from '#src/calls/pipeline.ts';
import type { SignaturesOf, ActorRules } from '#src/calls/rules.ts';
import {
  confirmRequest,
  disownRequest,
  readRequest,
  withdrawRequest,
} from '#src/handoffs/confirm-rfq.ts';
import { listCreator } from '#src/handoffs/create-list.ts';
import { declineHandoff, openHandoff, reviewHandoff, reviseList } from '#src/handoffs/review.ts';
import { rfqSubmitter } from '#src/handoffs/submit-rfq.ts';
import { readOwnMailbox, confirmOwnMailbox, disownMailbox } from '#src/owners/confirm-mailbox.ts';
import {
  acceptInvitation,
  codeTaker,
  readInvitation,
  readSignIn,
  signInStarter,
  useSignIn,
} from '#src/people/sign-in.ts';
import {
  linkRequester,
  readOwnData,
  exportOwnData,
  refuseOwnContact,
  allowOwnContact,
  eraseOwnData,
} from '#src/privacy/own-data.ts';
import type { HolderCall, HolderCaller } from '#src/shared/call.ts';
import { done } from '#src/shared/outcome.ts';
import { reviewTokenHash } from '#src/shared/signing.ts';

type HolderLimits = {
  /** Lists and RFQs of one network. */
  lists: Limiter;
  rfqs: Pick<Limiter, 'take'>;
  /** Links to a mailbox that anybody can have typed, of one network. */
  links: Pick<Limiter, 'take'>;
  /** Links to sign in and codes: of one network, and links of one mailbox. */
  signIns: Record<'networks' | 'mailboxes', Limiter>;
};

/** The handlers of the link holders' operations, one line each. */
export const holderHandlers = ({ lists, rfqs, links, signIns }: HolderLimits) =>
  ({
    requestPrivacyLink: linkRequester(links),
    readOwnData,
    exportOwnData,
    refuseOwnContact,
    allowOwnContact,
    eraseOwnData,
    readOwnMailbox,
    confirmOwnMailbox,
    disownMailbox,
    applyForAccess: applicationReceiver(links),
    readApplication,
    confirmApplication,
    disownApplication,
    issueFirstKey,
    startSignIn: signInStarter(signIns),
    readSignIn,
    useSignIn,
    enterSignInCode: codeTaker(signIns.networks),
    readInvitation,
    acceptInvitation,
    createList: listCreator(lists),
    reviewHandoff,
    openHandoff,
    reviseList,
    declineHandoff,
    submitRfq: rfqSubmitter(rfqs),
    readRequest,
    confirmRequest,
    withdrawRequest,
    disownRequest,
  }) satisfies {
    // One handler per operation: a missing one does not compile.
    [Id in HolderOperationId]: HolderHandler<Id, unknown>;
  };

export type HolderHandlers = ReturnType<typeof holderHandlers>;
export type HolderPipeline = Pipeline<SignaturesOf<HolderHandlers>, HolderActor>;

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
  reads: ({ kind }) => (kind === 'query' ? {} : undefined),
  auditedCallerOf: ({ token }) => ({ kind: 'holder', tokenHash: reviewTokenHash(token) }),
  isAudited: ({ kind }, { ok }) => !ok && kind === 'command',
});
