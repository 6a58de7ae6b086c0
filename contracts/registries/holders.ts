/** The operations of the holders of links: buyers, applicants, owners, and people who ask about their data. */
import { z } from 'zod';
import { homeCountry, line, productId, quantity, text } from '#contracts/fields.ts';
import { LIMITS } from '#contracts/limits.ts';
import { registryOf } from '#contracts/operation.ts';
import { applicantOperations } from '#contracts/access/operations.ts';
import { ownerMailboxOperations } from '#contracts/owners/operations.ts';
import { personOperations } from '#contracts/privacy/operations.ts';
import { holderActs, holderView } from '#contracts/holder-operation.ts';

/*
 * The operations of holders of a link: of buyers here, and of applicants, owners and persons. The link is the credential. No
 * interface of agents or of the desk offers these operations.
 */

/** Texts by line id, as the buyer entered them; the operation refuses those that are not quantities. */
const quantities = z.map(z.string(), z.string()).default(new Map());
/** More would not fit into an address. */
const LIST_TOKENS_MAX = 4;
const listRevision = z.int().min(0);
const enteredText = z.string();

/** The buyer's contact, checked only if the list can still be sent. */
export const buyerContact = z.strictObject({
  name: line(200),
  email: z.email().max(254),
  company: line(200).optional(),
  phone: line(40).optional(),
  /** Where the goods are to go. */
  country: homeCountry.optional(),
  message: text(2_000).optional(),
});

export type BuyerContact = z.output<typeof buyerContact>;

export const declineReason = line(500);

/** The list as its buyer sees it. What else the page shows is not part of the contract. */
const review = z.looseObject({
  handoffId: z.string(),
  ownerId: z.string(),
  open: z.boolean(),
  expired: z.boolean(),
});

/** A sent RFQ as the holder of its mailbox sees it, behind the link in the mail. */
const request = z.looseObject({ phase: z.string() });

const ACT_PROBLEMS = [
  'resource_not_found',
  'state_conflict',
  'validation_failed',
  'payload_too_large',
  'storage_unavailable',
  'storage_full',
  'log_replaced',
] as const;

const act = holderActs(ACT_PROBLEMS);

export const holderOperations = registryOf({
  ...personOperations,
  ...ownerMailboxOperations,
  ...applicantOperations,
  /** Makes a list of the products that a visitor has put together in the address of landing pages. */
  createList: holderActs([...ACT_PROBLEMS, 'product_unavailable'])(
    {
      lines: z
        .array(z.strictObject({ product_id: productId, quantity }))
        .min(1)
        .max(LIMITS.LIST_LINES_MAX),
      /** Attribution tokens: the first is the source if it is valid, others of its owner are alternatives. */
      attribution: z.array(z.string()).max(LIST_TOKENS_MAX),
      /** Chosen by the page with the form, so that a repeated form makes one list. */
      once: z.string().regex(/^[0-9A-Za-z]{22}$/),
      /** The client's address; counted, and not stored. */
      address: z.string(),
    },
    z.object({ token: z.string() }),
    ['BuyerListCreated'],
  ),
  /** Shows the list, priced with the quantities that the buyer entered, and products that match words. Changes nothing. */
  reviewHandoff: holderView({ quantities, words: enteredText.default('') }, review),
  openHandoff: act({}, review, ['HandoffOpenedByBuyer']),
  /**
   * Saves new quantities, and puts a line on the list; 0 removes a line. Changed and added lines get their current prices.
   */
  reviseList: act(
    {
      list_revision: listRevision,
      quantities,
      /** The id of a line that the buyer removed. */
      restore: enteredText.optional(),
      /** The id of a product. */
      add: enteredText.optional(),
    },
    review,
    ['HandoffOpenedByBuyer', 'HandoffListRevisedByBuyer'],
  ),
  declineHandoff: act({ reason: enteredText }, review, [
    'HandoffOpenedByBuyer',
    'HandoffDeclinedByBuyer',
    'RfqDropped',
  ]),
  /** Sends the list as a request for quotation. No other operation of any registry can. */
  submitRfq: act(
    {
      list_revision: listRevision,
      quantities,
      /** The totals that the buyer saw; default: those of the list. */
      shown: z.array(z.strictObject({ amount: z.int(), currency: z.string() })).optional(),
      consent: z.boolean(),
      contact: z.strictObject({
        name: enteredText,
        email: enteredText,
        company: enteredText.optional(),
        phone: enteredText.optional(),
        country: enteredText.optional(),
        message: enteredText.optional(),
      }),
      /** The client's address; counted, and not stored. */
      address: z.string(),
    },
    review,
    [
      'HandoffOpenedByBuyer',
      'HandoffListRevisedByBuyer',
      'RfqDropped',
      'RfqSubmittedByBuyer',
      'MailQueued',
    ],
  ),
  /** Shows a sent RFQ to the holder of its mailbox. Changes nothing. */
  readRequest: holderView({}, request),
  /** Confirms the RFQ. No other operation but a move by staff can; the review link cannot. */
  confirmRequest: act({ list_revision: listRevision }, request, [
    'RfqConfirmedByBuyer',
    'LeadRfqObserved',
    'MailQueued',
    'PrivacyRequestRecorded',
  ]),
  withdrawRequest: act({}, request, [
    'RfqWithdrawn',
    'LeadRfqObserved',
    'LeadLost',
    'LeadClaimReleased',
  ]),
  /** Ends an RFQ that was sent with the mailbox of another person. */
  disownRequest: act({}, request, ['RfqDropped', 'MailboxBlocked']),
});

export type HolderOperations = typeof holderOperations;
export type HolderOperationId = keyof HolderOperations;
