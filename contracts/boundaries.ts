/**
 * The five acts that no agent interface offers (SPEC "What the service does" 5). Shown in getConnection, llms.txt
 * and on the buyer's page. Tests search every interface for them.
 */
export const BOUNDARIES = [
  {
    id: 'accept_quotation',
    statement: 'Agents cannot accept quotations.',
    instead:
      'Staff control pricing; the buyer answers a quotation with staff directly, behind a link that only the letter has.',
  },
  {
    id: 'submit_rfq',
    statement: 'Agents cannot submit buyer RFQs.',
    instead:
      'Create a handoff, and give its review link to the buyer or let the service deliver it; the buyer sends the RFQ and confirms it by mail.',
  },
  {
    id: 'place_order',
    statement: 'Agents cannot place orders.',
    instead: 'Ordering happens between the buyer and staff, after the buyer agreed to a quotation.',
  },
  {
    id: 'reserve_stock',
    statement: 'Agents cannot reserve stock.',
    instead: 'Stock figures are a signal; staff control allocation.',
  },
  {
    id: 'send_payment',
    statement: 'Agents cannot send payment.',
    instead: 'No payment passes through this service.',
  },
] as const;

export type BoundaryId = (typeof BOUNDARIES)[number]['id'];

/** Patterns of words that name one of the five acts, also in compounds. */
const NAMED: readonly [BoundaryId, RegExp][] = [
  ['accept_quotation', /^quot|quotation/],
  ['submit_rfq', /rfq/],
  ['place_order', /^order|(place|create|submit|buy)order|purchas|checkout|^buy$/],
  ['reserve_stock', /^reserv|reservation|stockreserv|reservestock|^allocat|backorder/],
  ['send_payment', /^pay$|payment|payout|^charge|refund|invoic|^settle/],
];

/**
 * Returns the forbidden act that a name (of a path, tool, skill, method or action) means; undefined for any other
 * name. The refusal of such an act says what to do instead.
 */
export const boundaryOf = (name: string): BoundaryId | undefined => {
  const words = name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]+/);
  return NAMED.find(([, pattern]) => words.some((word) => pattern.test(word)))?.[0];
};

/**
 * Events that only a buyer can cause: the holder of a review link, of a link by mail that confirms or quotes an RFQ, or a
 * visitor who makes a list.
 */
export const BUYER_EVENTS = [
  'BuyerListCreated',
  'HandoffOpenedByBuyer',
  'HandoffListRevisedByBuyer',
  'HandoffDeclinedByBuyer',
  'RfqSubmittedByBuyer',
  'RfqConfirmedByBuyer',
  'QuotationAgreed',
  'QuotationDeclined',
  'QuotationQuestionAsked',
] as const;

/**
 * What an agent learns from each number and state of an RFQ, and who can cause it. It learns nothing else: not that staff
 * quoted, a price, a question, what the buyer answered, or what staff read of how the RFQ came about.
 */
export const LEARNED: readonly { from: string; causedBy: string; means: string }[] = [
  {
    from: '`handoffs_opened`, `handoffs_declined`',
    causedBy: 'a holder of the review link',
    means: 'Somebody used the link. The agent holds it too, unless the service delivered it.',
  },
  {
    from: '`rfqs_unconfirmed`',
    causedBy: 'a holder of the review link',
    means: 'The list was sent, and no mailbox has confirmed it.',
  },
  {
    from: '`rfqs_submitted`, `open`',
    causedBy: 'a person or a program that reads a mailbox, or staff',
    means:
      'A mailbox confirmed the list. It proves a mailbox, never a buyer: a program can read it.',
  },
  {
    from: '`rfqs_confirmed_by_staff`',
    causedBy: 'staff',
    means: 'Staff know the buyer otherwise.',
  },
  {
    from: '`rfqs_taken_up`, `rfq_lines`, `rfq_value`',
    causedBy: 'staff',
    means: 'Staff work on the RFQ. No agent can make this number.',
  },
  {
    from: '`rfqs_won`, `won_lines`, `won_value`, `won`, `lost`, `withdrawn`, `expired`',
    causedBy: 'staff, or the buyer who withdraws',
    means: 'The outcome, and what it was won for. Staff can correct it.',
  },
];

/** Shown with every handoff, to the agent and to the buyer. Part of stored answers: never change it. */
export const HANDOFF_DISCLAIMER =
  'Creating this handoff did not submit an RFQ, reserve stock, place an order or accept a price. ' +
  'Only the buyer can send the RFQ.';

/** The text to show beside an attributed link. Part of stored answers: never change it. */
export const LINK_DISCLOSURE =
  'Promotional link: the promoter who shared it may be rewarded for what comes of it.';

/** The texts that count as disclosure; a text with a link must contain one of them literally. */
export const DISCLOSURES = [LINK_DISCLOSURE, 'Promotional link', '#ad'] as const;
