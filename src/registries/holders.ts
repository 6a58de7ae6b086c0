/** The table of handlers of the holders of links, and the rules of their calls. */
import { LIMITS } from '#contracts/limits.ts';
import type { Declared } from '#contracts/operation.ts';
import { declineReason, type HolderOperationId } from '#contracts/registries/holders.ts';
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
import { isOpen } from '#src/handoffs/handoff.decider.ts';
import {
  actOnList,
  ERASED_LIST,
  openList,
  lineToAdd,
  withQuantities,
  type Review,
  reviewHandoff,
} from '#src/handoffs/review.ts';
import { rfqSubmitter } from '#src/handoffs/submit-rfq.ts';
import { readOwnMailbox, confirmOwnMailbox, disownMailbox } from '#src/owners/confirm-mailbox.ts';
import {
  linkRequester,
  readOwnData,
  exportOwnData,
  refuseOwnContact,
  allowOwnContact,
  eraseOwnData,
} from '#src/privacy/own-data.ts';
import type { HolderCall, HolderCaller } from '#src/shared/call.ts';
import { refuse, done } from '#src/shared/outcome.ts';
import { reviewTokenHash } from '#src/shared/signing.ts';
import { issue } from '#src/writing/decide-and-append.ts';

const REVISION_LIMITS = {
  revisions: LIMITS.HANDOFF_REVISIONS_MAX,
  lines: LIMITS.HANDOFF_REVISED_LINES_MAX,
};

const openHandoff: HolderHandler<'openHandoff', Review> = (deps, _input, call) =>
  openList(deps, call);

const reviseList: HolderHandler<'reviseList', Review> = (deps, input, call) =>
  actOnList(deps, call, (state, { at }) => {
    const { list_revision: listRevision, quantities: entered, ...addition } = input;
    const addable = lineToAdd(deps.catalog, state, addition);
    const list =
      'faults' in addable
        ? addable
        : withQuantities(deps.catalog, state, { entered, added: addable.lines });
    return 'faults' in list
      ? refuse('validation_failed', 'The list cannot be changed like this.', {
          errors: list.faults,
        })
      : issue({ type: 'ReviseList', at, listRevision, limits: REVISION_LIMITS, ...list });
  });

const INVALID_REASON = refuse('validation_failed', 'The reason is not valid.', {
  errors: [{ pointer: '/reason', code: 'invalid', detail: 'one line of at most 500 characters' }],
});

const declineHandoff: HolderHandler<'declineHandoff', Review> = (deps, { reason: entered }, call) =>
  actOnList(deps, call, async (state, { at }) => {
    const reason = entered.trim();
    if (reason !== '' && !declineReason.safeParse(reason).success) return INVALID_REASON;
    if (reason === '' || !isOpen(state, at)) return issue({ type: 'DeclineHandoff', at });
    const sealedReason = await deps.vault.seal(state.handoff_id, reason);
    return sealedReason === null
      ? ERASED_LIST
      : issue({ type: 'DeclineHandoff', at, sealedReason });
  });

type HolderLimits = {
  /** Lists and RFQs of one network. */
  lists: Limiter;
  rfqs: Pick<Limiter, 'take'>;
  /** Links to a mailbox that anybody can have typed, of one network. */
  links: Pick<Limiter, 'take'>;
};

/** The handlers of the operations of holders of a link, one line each. */
export const holderHandlers = ({ lists, rfqs, links }: HolderLimits) =>
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
  readModelScope: () => undefined,
  auditedCallerOf: ({ token }) => ({ kind: 'holder', tokenHash: reviewTokenHash(token) }),
  isAudited: ({ kind }, { ok }) => !ok && kind === 'command',
});
