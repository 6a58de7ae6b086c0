import { declineReason, type HolderOperationId } from '#contracts/registries/holders.ts';
import type { Pipeline } from '#src/calls/pipeline.ts';
import type { SignaturesOf } from '#src/calls/rules.ts';
import type { HolderActor } from './public-rules.ts';
import { LIMITS } from '#contracts/limits.ts';
import { isOpen } from '#src/handoffs/handoff.decider.ts';
import type { Limiter } from '#src/calls/limiter.ts';
import { refuse } from '#src/shared/outcome.ts';
import { applicationReceiver } from '#src/access/apply.ts';
import {
  readApplication,
  confirmApplication,
  disownApplication,
  issueFirstKey,
} from '#src/access/confirm-application.ts';
import { readOwnMailbox, confirmOwnMailbox, disownMailbox } from '#src/owners/confirm-mailbox.ts';
import {
  linkRequester,
  readOwnData,
  exportOwnData,
  refuseOwnContact,
  allowOwnContact,
  eraseOwnData,
} from '#src/privacy/own-data.ts';
import { actOnList, ERASED_LIST, openList } from '#src/handoffs/buyer-act.ts';
import { lineToAdd } from '#src/handoffs/added-line.ts';
import type { HolderHandler } from '#src/calls/desk-handler.ts';
import {
  confirmRequest,
  disownRequest,
  readRequest,
  withdrawRequest,
} from '#src/handoffs/confirm-rfq.ts';
import { listCreator } from '#src/handoffs/create-list.ts';
import { withQuantities } from '#src/handoffs/entered-quantities.ts';
import { type Review, reviewHandoff } from '#src/handoffs/review.ts';
import { rfqSubmitter } from '#src/handoffs/submit-rfq.ts';
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
