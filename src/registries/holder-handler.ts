import type { z } from 'zod';
import type { HolderOperationId, HolderOperations } from '#contracts/registries/holders.ts';
import type { Deps } from '#src/calls/call.ts';
import type { HolderCall } from '#src/shared/call.ts';
import type { Outcome } from '#src/shared/outcome.ts';
import type { Pipeline } from '#src/calls/pipeline.ts';
import type { HolderActor } from './public-rules.ts';
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
  Exclude<HolderOperationId, keyof Other | OfRequest | OfPerson | OfMailbox | OfApplicant>,
  Review
> &
  Record<OfRequest, BuyerRequest> &
  Record<OfPerson, OwnData> &
  Record<OfMailbox, MailboxToConfirm> &
  Record<OfApplicant, ApplicationView> &
  Other;

export type HolderHandler<Id extends HolderOperationId> = (
  deps: Deps,
  input: z.output<HolderOperations[Id]['input']>,
  call: HolderCall,
) => Promise<Outcome<Answers[Id]>>;

/** One handler per operation: a missing one does not compile. */
export type HolderHandlers = { [Id in HolderOperationId]: HolderHandler<Id> };

export type HolderPipeline = Pipeline<SignaturesOf<HolderHandlers>, HolderActor>;
