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
import type { Limiter } from '#src/calls/limits.ts';
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
import { deviceLoginStarter, pollDeviceLogin } from '#src/people/device-login.ts';
import { openIdAsker, type OpenIdSignIn, openIdTaker } from '#src/people/openid.ts';
import { askForPasskey, passkeyTaker } from '#src/people/passkeys.ts';
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

export type HolderLimits = {
  /** Lists and RFQs of one network. */
  lists: Limiter;
  rfqs: Pick<Limiter, 'take'>;
  /** Links to a mailbox that anybody can have typed, of one network. */
  links: Pick<Limiter, 'take'>;
  /** Links to sign in and codes: of one network, and links of one mailbox. */
  signIns: Record<'networks' | 'mailboxes', Limiter>;
};

/** Where an operator configured a provider. */
type SignInSettings = { openId?: OpenIdSignIn | undefined };

/** The handlers of the link holders' operations, one line each. */
export const holderHandlers = (
  { lists, rfqs, links, signIns }: HolderLimits,
  { openId }: SignInSettings,
) =>
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
    startDeviceLogin: deviceLoginStarter(signIns.networks),
    pollDeviceLogin,
    askForPasskey,
    usePasskey: passkeyTaker(signIns.networks),
    askForOpenId: openIdAsker(openId),
    useOpenId: openIdTaker(openId, signIns.networks),
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
  }) satisfies {
    // One handler per operation: a missing one does not compile.
    [Id in HolderOperationId]: HolderHandler<Id, unknown>;
  };

export type HolderHandlers = ReturnType<typeof holderHandlers>;
export type HolderPipeline = Pipeline<SignaturesOf<HolderHandlers>, HolderActor>;
