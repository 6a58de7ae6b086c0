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
      'Create a handoff and give its review link to the buyer, who sends the RFQ and confirms it by mail.',
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

/** Shown with every handoff, to the agent and to the buyer. Part of stored answers: never change it. */
export const HANDOFF_DISCLAIMER =
  'Creating this handoff did not submit an RFQ, reserve stock, place an order or accept a price. ' +
  'Only the buyer can send the RFQ.';

/** The text to show beside an attributed link. Part of stored answers: never change it. */
export const LINK_DISCLOSURE =
  'Promotional link: the promoter who shared it may be rewarded for what comes of it.';

/** The texts that count as disclosure; a text with a link must contain one of them literally. */
export const DISCLOSURES = [LINK_DISCLOSURE, 'Promotional link', '#ad'] as const;
