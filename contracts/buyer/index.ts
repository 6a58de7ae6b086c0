import { z } from 'zod';
import { homeCountry, line, productId, quantity, text } from '../fields.ts';
import { LIMITS } from '../limits.ts';
import { defineBuyerOperation, registryOf } from '../operation.ts';
import { applicantOperations } from './applicant.ts';
import { ownerMailboxOperations } from './owner.ts';
import { personOperations } from './person.ts';

/*
 * The operations of the holder of a review link. The link is the credential. No interface of agents or of the desk
 * offers these operations.
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

/** An optional reason for declining. */
export const declineReason = line(500);

/** The list as its buyer sees it. What else the page shows is not part of the contract. */
const review = z.looseObject({
  handoffId: z.string(),
  ownerId: z.string(),
  open: z.boolean(),
  expired: z.boolean(),
});

const problems = ['resource_not_found'] as const;
const actProblems = [
  'resource_not_found',
  'state_conflict',
  'validation_failed',
  'payload_too_large',
  'storage_unavailable',
  'storage_full',
  'log_replaced',
] as const;

/** Makes a list of the products that a visitor has put together in the address of landing pages. */
const createList = defineBuyerOperation({
  kind: 'command',
  input: z.strictObject({
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
  }),
  output: z.object({ token: z.string() }),
  problems: [...actProblems, 'product_unavailable'],
  writes: ['BuyerListCreated'],
});

/** Shows the list, priced with the quantities that the buyer entered, and products that match words. Changes nothing. */
const reviewHandoff = defineBuyerOperation({
  kind: 'query',
  input: z.strictObject({ quantities, words: enteredText.default('') }),
  output: review,
  problems,
});

/** Records that the buyer opened the list. */
const openHandoff = defineBuyerOperation({
  kind: 'command',
  input: z.strictObject({}),
  output: review,
  problems: actProblems,
  writes: ['HandoffOpenedByBuyer'],
});

/**
 * Saves new quantities, and puts a line on the list; 0 removes a line. Changed and added lines get their current prices.
 */
const reviseList = defineBuyerOperation({
  kind: 'command',
  input: z.strictObject({
    list_revision: listRevision,
    quantities,
    /** The id of a line that the buyer removed. */
    restore: enteredText.optional(),
    /** The id of a product. */
    add: enteredText.optional(),
  }),
  output: review,
  problems: actProblems,
  writes: ['HandoffOpenedByBuyer', 'HandoffListRevisedByBuyer'],
});

const declineHandoff = defineBuyerOperation({
  kind: 'command',
  input: z.strictObject({ reason: enteredText }),
  output: review,
  problems: actProblems,
  writes: ['HandoffOpenedByBuyer', 'HandoffDeclinedByBuyer', 'RfqDropped'],
});

/** Sends the list as a request for quotation. No other operation of any registry can. */
const submitRfq = defineBuyerOperation({
  kind: 'command',
  input: z.strictObject({
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
  }),
  output: review,
  problems: actProblems,
  writes: [
    'HandoffOpenedByBuyer',
    'HandoffListRevisedByBuyer',
    'RfqDropped',
    'RfqSubmittedByBuyer',
    'MailQueued',
  ],
});

/** A sent RFQ as the holder of its mailbox sees it, behind the link in the mail. */
const request = z.looseObject({ phase: z.string() });

/** Shows a sent RFQ to the holder of its mailbox. Changes nothing. */
const readRequest = defineBuyerOperation({
  kind: 'query',
  input: z.strictObject({}),
  output: request,
  problems,
});

/** Confirms the RFQ. No other operation but a move by staff can; the review link cannot. */
const confirmRequest = defineBuyerOperation({
  kind: 'command',
  input: z.strictObject({ list_revision: listRevision }),
  output: request,
  problems: actProblems,
  writes: ['RfqConfirmedByBuyer', 'LeadRfqObserved', 'MailQueued', 'PrivacyRequestRecorded'],
});

/** Withdraws a confirmed RFQ. */
const withdrawRequest = defineBuyerOperation({
  kind: 'command',
  input: z.strictObject({}),
  output: request,
  problems: actProblems,
  writes: ['RfqWithdrawn', 'LeadRfqObserved', 'LeadLost', 'LeadClaimReleased'],
});

/** Ends an RFQ that was sent with the mailbox of another person. */
const disownRequest = defineBuyerOperation({
  kind: 'command',
  input: z.strictObject({}),
  output: request,
  problems: actProblems,
  writes: ['RfqDropped', 'MailboxBlocked'],
});

export const buyerOperations = registryOf({
  ...personOperations,
  ...ownerMailboxOperations,
  ...applicantOperations,
  createList,
  reviewHandoff,
  openHandoff,
  reviseList,
  declineHandoff,
  submitRfq,
  readRequest,
  confirmRequest,
  withdrawRequest,
  disownRequest,
});

export type BuyerOperations = typeof buyerOperations;
export type BuyerOperationId = keyof BuyerOperations;
