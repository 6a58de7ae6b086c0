import type { z } from 'zod';
import type { BuyerOperationId, BuyerOperations } from '#contracts/registries/holders.ts';
import type { BuyerCall, Deps } from '#src/calls/call.ts';
import type { Outcome } from '#src/shared/outcome.ts';
import type { Pipeline } from '#src/calls/pipeline.ts';
import type { BuyerActor } from './public-rules.ts';
import type { SignaturesOf } from '#src/calls/rules.ts';
import type { KeyRecord } from '#contracts/access/access.records.ts';
import type { ApplicationView } from '#src/access/confirm-application.ts';
import type { MailboxToConfirm } from '#src/owners/confirm-mailbox.ts';
import type { Erasure, OwnData, OwnDataCopy } from '#src/privacy/own-data.ts';
import type { BuyerRequest } from '#src/handoffs/confirm-rfq.ts';
import type { Review } from '#src/handoffs/review.ts';

/** The answer of each operation, for the page that shows it. */
type OfRequest = 'readRequest' | 'confirmRequest' | 'withdrawRequest' | 'disownRequest';
type OfPerson = 'readOwnData' | 'refuseOwnContact' | 'allowOwnContact';
type OfMailbox = 'readOwnMailbox' | 'confirmOwnMailbox' | 'disownMailbox';
type OfApplicant = 'readApplication' | 'confirmApplication';
type Other = {
  applyForAccess: { sent: true };
  disownApplication: { ended: true };
  issueFirstKey: KeyRecord & { api_key: string };
  createList: { token: string };
  requestPrivacyLink: { sent: true };
  exportOwnData: OwnDataCopy;
  eraseOwnData: Erasure;
};
type Answers = Record<
  Exclude<BuyerOperationId, keyof Other | OfRequest | OfPerson | OfMailbox | OfApplicant>,
  Review
> &
  Record<OfRequest, BuyerRequest> &
  Record<OfPerson, OwnData> &
  Record<OfMailbox, MailboxToConfirm> &
  Record<OfApplicant, ApplicationView> &
  Other;

export type BuyerHandler<Id extends BuyerOperationId> = (
  deps: Deps,
  input: z.output<BuyerOperations[Id]['input']>,
  call: BuyerCall,
) => Promise<Outcome<Answers[Id]>>;

/** One handler per operation: a missing one does not compile. */
export type BuyerHandlers = { [Id in BuyerOperationId]: BuyerHandler<Id> };

export type BuyerPipeline = Pipeline<SignaturesOf<BuyerHandlers>, BuyerActor>;
