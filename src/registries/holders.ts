/** The table of handlers for the holders of links. */
import {
  agreeToQuotation,
  askAboutQuotation,
  declineQuotation,
  readQuotation,
} from '#src/handoffs/answer-quotation.ts';
import type { HolderOperationId } from '#contracts/registries/holders.ts';
import {
  applicationReceiver,
  readApplication,
  confirmApplication,
  disownApplication,
  issueFirstKey,
} from '#src/access/applications.ts';
import type { HolderHandler } from '#src/calls/desk-handler.ts';
import { type Limiter, networkOf, tooMany } from '#src/calls/limits.ts';
import type { Pipeline } from '#src/calls/pipeline.ts';
import type { HolderActor, SignaturesOf } from '#src/calls/rules.ts';
import {
  confirmRequest,
  disownRequest,
  readRequest,
  withdrawRequest,
} from '#src/handoffs/confirm-rfq.ts';
import { listCreator } from '#src/handoffs/create-list.ts';
import {
  declineHandoff,
  disownList,
  openHandoff,
  reviewHandoff,
  reviseList,
} from '#src/handoffs/review.ts';
import { rfqSubmitter } from '#src/handoffs/submit-rfq.ts';
import { readOwnMailbox, confirmOwnMailbox, disownMailbox } from '#src/owners/confirm-mailbox.ts';
import { pollDeviceLogin, startDeviceLogin } from '#src/people/device-login.ts';
import { openIdAsker, type OpenIdDeps, openIdTaker } from '#src/people/openid.ts';
import { askForPasskey, usePasskey } from '#src/people/passkeys.ts';
import {
  acceptInvitation,
  enterSignInCode,
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

export type HolderLimits = {
  /** Lists and RFQs of one network. */
  lists: Limiter;
  rfqs: Pick<Limiter, 'take'>;
  /** Links to a mailbox that anybody can have typed, of one network. */
  links: Pick<Limiter, 'take'>;
  /** Each way to sign in, of one network; and links to sign in of one mailbox. */
  signIns: { networks(way: string): Limiter; mailboxes: Limiter };
};

/** Counts the calls of a handler for each network, before anything else is done. */
const perNetwork = <Id extends HolderOperationId, Answer>(
  limit: Limiter,
  handler: HolderHandler<Id, Answer>,
): HolderHandler<Id, Answer> => {
  return async (deps, input, call) => {
    const { address } = input as { address: string };
    const taken = limit.take(networkOf(address));
    return taken.allowed ? handler(deps, input, call) : tooMany(taken, limit);
  };
};

/** The ways to sign in, each within a limit of its own for each network. */
const signInHandlers = ({ signIns }: HolderLimits, { openId }: OpenIdDeps) => {
  const limited = <Id extends HolderOperationId, Answer>(
    way: Id,
    handler: HolderHandler<Id, Answer>,
  ) => perNetwork(signIns.networks(way), handler);
  return {
    startSignIn: limited('startSignIn', signInStarter(signIns.mailboxes)),
    readSignIn,
    useSignIn: limited('useSignIn', useSignIn),
    enterSignInCode: limited('enterSignInCode', enterSignInCode),
    readInvitation,
    acceptInvitation: limited('acceptInvitation', acceptInvitation),
    startDeviceLogin: limited('startDeviceLogin', startDeviceLogin),
    pollDeviceLogin,
    askForPasskey: limited('askForPasskey', askForPasskey),
    usePasskey: limited('usePasskey', usePasskey),
    askForOpenId: limited('askForOpenId', openIdAsker(openId)),
    useOpenId: limited('useOpenId', openIdTaker(openId)),
  };
};

/** The handlers of the link holders' operations, one line each. */
export const holderHandlers = (limits: HolderLimits, deps: OpenIdDeps) => {
  const { lists, rfqs, links } = limits;
  return {
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
    ...signInHandlers(limits, deps),
    createList: listCreator(lists),
    reviewHandoff,
    openHandoff,
    reviseList,
    declineHandoff,
    disownList,
    submitRfq: rfqSubmitter(rfqs),
    readRequest,
    confirmRequest,
    withdrawRequest,
    disownRequest,
    readQuotation,
    agreeToQuotation,
    declineQuotation,
    askAboutQuotation,
  } satisfies {
    // One handler per operation: a missing one does not compile.
    [Id in HolderOperationId]: HolderHandler<Id, unknown>;
  };
};

export type HolderHandlers = ReturnType<typeof holderHandlers>;
export type HolderPipeline = Pipeline<SignaturesOf<HolderHandlers>, HolderActor>;
