import { z } from 'zod';
import { line } from '../fields.ts';
import { defineBuyerOperation } from '../operation.ts';

/*
 * What the holder of a review link can do. The link is the credential; no agent interface and no desk
 * interface names these operations.
 */

/** Texts by line id, as the buyer entered them; the operation says which of them are not quantities. */
const quantities = z.map(z.string(), z.string()).default(new Map());
const listRevision = z.int().min(0);
const enteredText = z.string();

/** The buyer's contact, checked when the list can still be sent. */
export const buyerContact = z.strictObject({
  name: line(200),
  email: z.email().max(254),
  company: line(200).optional(),
  phone: line(40).optional(),
});

/** A reason for declining: one line, and optional. */
export const declineReason = line(500);

/** The list as its buyer sees it. What its page shows beyond this is no contract. */
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
] as const;

/** Shows the list, priced with the quantities that the buyer entered. Changes nothing. */
const reviewHandoff = defineBuyerOperation({
  id: 'reviewHandoff',
  kind: 'query',
  input: z.strictObject({ quantities }),
  output: review,
  problems,
});

/** Records that the buyer looked at the list. */
const openHandoff = defineBuyerOperation({
  id: 'openHandoff',
  kind: 'command',
  input: z.strictObject({}),
  output: review,
  problems: actProblems,
  writes: ['HandoffOpenedByBuyer'],
});

/** Saves other quantities; 0 removes a line. Prices the lines that change as they are now. */
const reviseList = defineBuyerOperation({
  id: 'reviseList',
  kind: 'command',
  input: z.strictObject({ list_revision: listRevision, quantities }),
  output: review,
  problems: actProblems,
  writes: ['HandoffOpenedByBuyer', 'HandoffListRevisedByBuyer'],
});

const declineHandoff = defineBuyerOperation({
  id: 'declineHandoff',
  kind: 'command',
  input: z.strictObject({ reason: enteredText }),
  output: review,
  problems: actProblems,
  writes: ['HandoffOpenedByBuyer', 'HandoffDeclinedByBuyer'],
});

/** Sends the list as a request for a quotation. The only operation of any registry that does. */
const submitRfq = defineBuyerOperation({
  id: 'submitRfq',
  kind: 'command',
  input: z.strictObject({
    list_revision: listRevision,
    quantities,
    /** The totals that the buyer saw; the list's own where nothing is said. */
    shown: z.array(z.strictObject({ amount: z.int(), currency: z.string() })).optional(),
    consent: z.boolean(),
    contact: z.strictObject({
      name: enteredText,
      email: enteredText,
      company: enteredText.optional(),
      phone: enteredText.optional(),
    }),
  }),
  output: review,
  problems: actProblems,
  writes: [
    'HandoffOpenedByBuyer',
    'HandoffListRevisedByBuyer',
    'RfqSubmittedByBuyer',
    'LeadRfqObserved',
  ],
});

/** Everything that the holder of a review link can do. */
export const buyerOperations = {
  reviewHandoff,
  openHandoff,
  reviseList,
  declineHandoff,
  submitRfq,
} as const;

export type BuyerOperations = typeof buyerOperations;
export type BuyerOperationId = keyof BuyerOperations;
