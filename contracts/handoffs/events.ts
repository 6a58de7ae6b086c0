/** Events of a handoff and of its RFQ. */
import { z } from 'zod';
import { GOODS_STATES } from '#contracts/moves.ts';
import {
  attributionDims,
  mailboxKeys,
  storedMetadata,
  moneyAmount,
  sealed,
  storedLine,
  storedWarnings,
  valuedLine,
  windowDays,
  reasonFields,
} from '#contracts/event-fields.ts';

const HandoffCreated = z.object({
  handoff_id: z.string(),
  agent_id: z.string(),
  title: z.string(),
  sealed_note_to_buyer: sealed.optional(),
  locale: z.string(),
  link_id: z.string().optional(),
  external_id: z.string().optional(),
  dims: attributionDims,
  buyer: z.object({
    company: z.string().optional(),
    country: z.string().optional(),
    email: sealed.optional(),
  }),
  /** Of the buyer's address, with it. */
  mailbox_keys: mailboxKeys.optional(),
  lines: z.array(storedLine),
  /** The notes of all lines by line id, as sealed JSON. */
  sealed_line_notes: sealed.optional(),
  totals: z.array(moneyAmount),
  token_hash: z.string(),
  review_origin: z.string(),
  expires_at: z.number(),
  /** The service mails the review link to the buyer, and no agent gets it. */
  deliver: z.literal(true).optional(),
  /** The A2A task that created the handoff, and its context. */
  task_id: z.string().optional(),
  context_id: z.string().optional(),
  window_days: windowDays,
  warnings: storedWarnings,
  metadata: storedMetadata,
});

/**
 * The first event of a list that its buyer made on landing pages, instead of HandoffCreated. Its personal data is only
 * the contact of a later RFQ.
 */
const BuyerListCreated = z.object({
  handoff_id: z.string(),
  agent_id: z.string(),
  link_id: z.string().optional(),
  dims: attributionDims,
  /** The visit that is credited; absent if none is. */
  visit_id: z.string().optional(),
  /** Other visits of the same owner whose tokens the list's address had. */
  alternatives: z
    .array(z.object({ agent_id: z.string(), link_id: z.string(), visit_id: z.string() }))
    .optional(),
  window_days: windowDays,
  locale: z.string(),
  lines: z.array(storedLine),
  totals: z.array(moneyAmount),
  token_hash: z.string(),
  review_origin: z.string(),
  expires_at: z.number(),
});

const subject = {
  handoff_id: z.string(),
  agent_id: z.string(),
  dims: attributionDims,
  link_id: z.string().optional(),
};

/**
 * Written before the letter with the review link is given to the mail server: from then on the buyer may have the link,
 * and the list is theirs. The outreach request `outbound_id` has the outcome.
 */
const HandoffDelivered = z.object({ ...subject, outbound_id: z.string(), list_sha256: z.string() });

/** The act was made by a client without the headers that browsers send. */
const byProgram = z.literal(true).optional();

const HandoffOpenedByBuyer = z.object({ ...subject, by_program: byProgram });

const HandoffListRevisedByBuyer = z.object({
  ...subject,
  /** The lines that changed, each complete. The order of the list stays. */
  changed: z.array(storedLine).optional(),
  /** Ids of removed lines. */
  removed: z.array(z.string()).optional(),
  /** Lines that the buyer added, or put back with the ids that they had; complete, as `changed`. */
  added: z.array(storedLine).optional(),
  /** Totals of the whole list. */
  totals: z.array(moneyAmount),
});

const HandoffDeclinedByBuyer = z.object({ ...subject, sealed_reason: sealed.optional() });

/** Catalog data of a line when the RFQ was sent. A withdrawn product has no price. */
const lineNews = z.object({
  line_id: z.string(),
  price: moneyAmount.optional(),
  warnings: z.array(z.string()),
});

/** The only event that submits an RFQ; only the holder of the review link can cause it. */
const RfqSubmittedByBuyer = z.object({
  ...subject,
  list_revision: z.number(),
  totals: z.array(moneyAmount),
  contact: sealed,
  /** Of the contact. */
  mailbox_keys: mailboxKeys,
  /** The subject for which the contact is sealed. */
  contact_subject: z.string(),
  /** The RFQ waits for the confirmation of its mailbox. */
  confirmation: z.object({
    /** The number of this sending of the list, from 1. A later one ends the link of an earlier one. */
    number: z.number(),
    token_hash: z.string(),
    /** Epoch milliseconds. */
    until: z.number(),
    /** When the list was first sent, in epoch milliseconds, if this replaces a sending that was not confirmed. */
    first_at: z.number().optional(),
  }),
  consent_text: z.string(),
  /** Lines whose price or warnings had changed in the catalog. */
  news: z.array(lineNews).optional(),
  /** What staff should know of how the list was sent; never a reason to refuse. */
  seen: z.object({
    /** Whether the contact has the mailbox that the agent named. */
    named: z.enum(['same', 'other', 'nobody']),
    /** The contact is at the domain of the promoter's own mailbox. */
    is_promoters: z.literal(true).optional(),
    /** The service mailed the review link. */
    is_delivered: z.literal(true).optional(),
    /** When the list was created, in epoch milliseconds. */
    created_at: z.number(),
    by_program: byProgram,
  }),
});

/** The agent replaced what the buyer had not seen yet. What is absent stays. */
const HandoffRevisedByAgent = z.object({
  ...subject,
  title: z.string().optional(),
  sealed_note_to_buyer: sealed.optional(),
  expires_at: z.number().optional(),
  /** The whole list. */
  list: z
    .object({
      lines: z.array(storedLine),
      sealed_line_notes: sealed.optional(),
      totals: z.array(moneyAmount),
    })
    .optional(),
});

const closed = z.object({ handoff_id: z.string(), sealed_reason: sealed });
const HandoffWithdrawn = closed;
const HandoffInvalidated = closed;

export const handoffEvents = {
  BuyerListCreated,
  HandoffCreated,
  HandoffDeclinedByBuyer,
  HandoffDelivered,
  HandoffInvalidated,
  HandoffListRevisedByBuyer,
  HandoffOpenedByBuyer,
  HandoffRevisedByAgent,
  HandoffWithdrawn,
  RfqSubmittedByBuyer,
};

const values = z.array(moneyAmount);
const outcome = z.enum(['won', 'lost', 'withdrawn']);

/** One person did it where two must: SECOND_PERSON was none. */
const alone = z.literal(true).optional();

const moved = z.object({ ...subject, ...reasonFields });

/** Lines that are counted, so that performance needs no other event. */
const countedLines = z.array(valuedLine);

const confirmed = moved.extend({
  totals: z.array(moneyAmount),
  lines: countedLines,
  /** When the list was first sent, in epoch milliseconds: it counted as unconfirmed from then on. */
  submitted_at: z.number(),
});

/** Only the holder of the contact's mailbox can cause it. */
const RfqConfirmedByBuyer = confirmed.extend({
  /** The keyed hash of the contact's mailbox. */
  mailbox: z.string(),
  by_program: byProgram,
});

/** Staff know the buyer otherwise; the reason says how. */
const RfqConfirmedByStaff = confirmed.extend({ sealed_reason: sealed });

/** The subject of an erasure, whose key is destroyed with the event. */
const forgotten = z.object({ ...subject, contact_subject: z.string() });

/** The RFQ was not confirmed in time, and is none. */
const RfqConfirmationExpired = forgotten;

/**
 * An unconfirmed RFQ ended: the holder of the mailbox did not send it or erased their data, another sending replaced it,
 * or the list was closed.
 */
const RfqDropped = forgotten.extend({
  reason: z.enum(['disowned', 'erased', 'replaced', 'closed']),
});

/** With its lines the first time only: an RFQ and its value count once as taken up. */
const RfqTakenUp = moved.extend({ lines: countedLines.optional() });

/** A line as staff offer it. Each line of the list is offered or left out. */
const quotedLine = z.object({
  /** The line of the list that it answers. */
  line_id: z.string(),
  product_id: z.string(),
  product_revision: z.number(),
  sku: z.string(),
  title: z.string(),
  category: z.string(),
  quantity: z.number(),
  /** In minor units of the currency of the list's line. */
  unit_price: z.number(),
  currency: z.string(),
  /** The product of the list's line, if this is another one. */
  replaces: z.object({ product_id: z.string(), sku: z.string(), title: z.string() }).optional(),
});

/** What staff offer: the buyer sees all of it. */
const quotation = z.object({
  lines: z.array(quotedLine),
  left_out: z.array(z.object({ line_id: z.string() })),
  /** Shipping and others; not part of a line's price. */
  charges: z.array(moneyAmount.extend({ label: z.string() })),
  /** What lines and charges come to. */
  values,
  /** Epoch milliseconds. */
  valid_until: z.number(),
  /** Sealed JSON: `terms`, and in `reasons` by line id why lines are replaced or left out. */
  sealed_texts: sealed.optional(),
});

/** The reason is for staff: why a total differs much from the list's. */
const RfqQuoted = moved.extend({
  ...quotation.shape,
  /** From 1. It voids the quotation before it. */
  number: z.number(),
  /** SHA-256 of the quotation as it is stored, so that it contains no personal data. */
  hash: z.string(),
  /** Of the link by mail that shows it. */
  token_hash: z.string(),
  alone,
});

/** Which quotation is answered, or won. */
const answered = z.object({ number: z.number(), hash: z.string() });

/** The buyer's word, and not an order. Only the holder of the mailed link can cause it, and QuotationDeclined. */
const QuotationAgreed = z.object({ ...subject, ...answered.shape });

const QuotationDeclined = QuotationAgreed.extend({ sealed_reason: sealed.optional() });

/** Of the buyer to staff. `question` is its number, from 1. */
const QuotationQuestionAsked = z.object({
  ...subject,
  number: z.number(),
  question: z.number(),
  sealed_question: sealed,
});

const QuotationQuestionAnswered = z.object({
  ...subject,
  question: z.number(),
  sealed_answer: sealed,
});

const RfqWon = moved.extend({
  values,
  /** What each line was won for; the rest of the values are charges. */
  lines: countedLines,
  /** The quotation that it was won with. */
  quotation: answered,
  /** The buyer had agreed to it. */
  agreed: z.literal(true).optional(),
  alone,
  /** The only lead of the handoff that counts as won. */
  counted_lead: z.string().optional(),
});

const RfqLost = moved;
const RfqWithdrawn = moved;

/** Quantities of lines that were won. */
const goodsLines = z.array(z.object({ line_id: z.string(), quantity: z.number() }));

/** A move or a correction that another person must approve. */
const RfqMoveProposed = moved.extend({
  to: z.enum(['in_progress', 'quoted', 'won', 'lost', 'withdrawn']),
  values: values.optional(),
  /** With `quoted`: what would be offered. */
  offer: quotation.optional(),
  /** With `won`: the quotation that it would be won with. */
  quotation: answered.optional(),
  is_correction: z.literal(true).optional(),
  /** With a correction of `won`: the goods that came back, which lower its value. */
  returned: goodsLines.optional(),
  keep_charges: z.literal(true).optional(),
});

const RfqMoveRefused = moved.extend({ sealed_reason: sealed });

const RfqOutcomeCorrected = moved.extend({
  from: z.object({ state: outcome, values: values.optional(), lines: countedLines.optional() }),
  to: z.object({
    state: z.enum(['in_progress', 'won', 'lost', 'withdrawn']),
    values: values.optional(),
    lines: countedLines.optional(),
  }),
  /** The lines of the list, if this takes the RFQ up for the first time. */
  taken_up: countedLines.optional(),
  /** When the RFQ got the outcome that is corrected, in epoch milliseconds: numbers change on that day. */
  outcome_at: z.number(),
  counted_lead: z.string().optional(),
  alone,
});

export const rfqEvents = {
  QuotationAgreed,
  QuotationDeclined,
  QuotationQuestionAnswered,
  QuotationQuestionAsked,
  RfqConfirmationExpired,
  RfqConfirmedByBuyer,
  RfqConfirmedByStaff,
  RfqDropped,
  RfqLost,
  RfqMoveProposed,
  RfqMoveRefused,
  RfqOutcomeCorrected,
  RfqQuoted,
  RfqTakenUp,
  RfqWithdrawn,
  RfqWon,
};

/** `goods`: where the goods that are least far are, after the event. */
const goods = z.object({
  ...subject,
  ...reasonFields,
  lines: goodsLines,
  goods: z.enum(GOODS_STATES),
});

/** What a line has allocated and not shipped from now on. */
const GoodsAllocated = goods.extend({
  lines: z.array(
    z.object({
      line_id: z.string(),
      quantity: z.number(),
      /** A supplier, or a reference to stock. */
      source: z.string().optional(),
      warnings: z.array(z.string()).optional(),
    }),
  ),
});

/** A parcel. `sealed_parcel` is JSON: `carrier` and `reference`, which lead to an address. */
const GoodsShipped = goods.extend({
  /** From 1. */
  shipment: z.number(),
  shipped_on: z.string(),
  sealed_parcel: sealed.optional(),
});

const GoodsDelivered = goods.extend({ shipments: z.array(z.number()), delivered_on: z.string() });

/** Before an RfqOutcomeCorrected with the value that is left, if the goods had any; so is GoodsReturned. */
const GoodsCancelled = goods;
const GoodsReturned = goods.extend({ alone });

/** What staff do with the goods of a won RFQ. */
export const goodsEvents = {
  GoodsAllocated,
  GoodsCancelled,
  GoodsDelivered,
  GoodsReturned,
  GoodsShipped,
};
