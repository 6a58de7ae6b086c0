/** Operations on handoffs and RFQs: of agents, of staff at the desk, and of buyers. */
import { z } from 'zod';
import {
  deskQuery,
  EXAMPLE_AT,
  recordCommands,
  recordState,
  deskList,
} from '#contracts/desk-operation.ts';
import {
  deliveredExample,
  handoffExample,
  ownHandoffExample,
} from '#contracts/examples/records.ts';
import {
  compared,
  date,
  encrypted,
  exempt,
  enteredMoney,
  externalId,
  homeCountry,
  id,
  idempotencyKey,
  line,
  metadata,
  productId,
  quantity,
  sku,
  time,
  money,
  ownerSpace,
  upperCase,
} from '#contracts/fields.ts';
import { closedContact } from '#contracts/leads/records.ts';
import { holderActs, holderView } from '#contracts/holder-operation.ts';
import { LIMITS } from '#contracts/limits.ts';
import { mailbox } from '#contracts/mailbox.ts';
import {
  GOODS_STATES,
  goodsMovesText,
  RFQ_CORRECTIONS,
  RFQ_STATES,
  RFQ_TARGETS,
  rfqMovesText,
} from '#contracts/moves.ts';
import { defineOperation, defineToolOperation } from '#contracts/operation.ts';
import { WRITE_PROBLEMS } from '#contracts/problems.ts';
import {
  APPROVER_RULE,
  proposal,
  proposalNumber,
  proposedBy,
  needsApproval,
  needsApprovalOnly,
} from '#contracts/proposals.ts';
import { OWN_RECORDS } from '#contracts/records/records.ts';
import { handoffRecord, lineItem, moneyList, rfqContact } from './records.ts';
import { planned, inboxList } from '#contracts/plans/operations.ts';

/** The usual spelling of a language tag, of `en_gb` or `EN-GB`: `en-GB`. */
const localeTag = (text: string): string =>
  text
    .trim()
    .replaceAll('_', '-')
    .toLowerCase()
    .replace(/(?<=-)[a-z](?=[a-z]{3}(?:-|$))|(?<=-)[a-z]{2}$/g, upperCase);

const lineItems = z
  .array(
    z
      .strictObject({
        product_id: productId.optional(),
        sku: sku.optional().describe('Stock-keeping unit; instead of product_id'),
        quantity,
        note: encrypted
          .line(500)
          .optional()
          .describe('Shown to the buyer beside the line; encrypted'),
      })
      .refine((item) => (item.product_id === undefined) !== (item.sku === undefined), {
        error: 'must have either product_id or sku',
      })
      .meta({ oneOf: [{ required: ['product_id'] }, { required: ['sku'] }] }),
  )
  .min(1)
  .max(LIMITS.HANDOFF_LINES_MAX);

export const createHandoff = defineOperation({
  kind: 'command',
  scope: 'handoffs:write',
  writes: ['HandoffCreated', 'OutboundProposed', 'DeliveryCounted'],
  http: { method: 'POST', path: '/handoffs', status: 201 },
  summary: 'Prepare a list for a buyer to review; does not submit an RFQ',
  guidance:
    'Give review_url only to the buyer, or set deliver: then the service mails the link to buyer.email once people have ' +
    'approved it, and you never hold it. Warnings do not prevent a handoff: the buyer sees them. ' +
    'A product that is not published is refused with the number of its line, so that you can send the list without it.',
  brief:
    'Give review_url only to the buyer, or set deliver: the service mails it once people approve. A product that is not ' +
    'published is refused with its line.',
  next: 'getRecord follows the list and its RFQ, listChanges all lists; getOutboundRequest shows a delivery.',
  input: z.strictObject({
    idempotency_key: idempotencyKey,
    title: line(120).describe('Title of the list, shown to the buyer; no personal data'),
    note_to_buyer: encrypted
      .text(2_000)
      .optional()
      .describe('Shown to the buyer above the list; encrypted'),
    locale: z
      .string()
      .overwrite(localeTag)
      .regex(/^[a-z]{2,3}(-[A-Z][a-z]{3})?(-[A-Z]{2})?$/, {
        error: 'must be a BCP 47 tag like en-GB',
      })
      .default('en')
      .describe('Language of the page, as a BCP 47 tag'),
    link_id: id('lnk').optional().describe('The link that led to this handoff'),
    buyer: z
      .strictObject({
        company: line(200).optional().describe('Name of the company'),
        country: homeCountry.optional(),
        email: mailbox.optional().describe('E-mail address; personal data, encrypted'),
      })
      .default({})
      .describe('The buyer, as far as known'),
    line_items: lineItems.describe('The proposed products; each line has either product_id or sku'),
    deliver: z
      .boolean()
      .optional()
      .overwrite((deliver) => deliver || undefined)
      .describe(
        'true: the service mails the review link to buyer.email, once it is approved. Needs messages:write and buyer.email',
      ),
    expires_at: time.optional().describe(`Default: ${LIMITS.HANDOFF_DAYS_DEFAULT} days from now`),
    external_id: externalId.optional(),
    metadata: metadata.optional(),
    check_only: z
      .boolean()
      .optional()
      .describe('true: answers what the list would be and stores nothing; the key stays unused'),
  }),
  output: handoffRecord,
  problems: [
    ...WRITE_PROBLEMS,
    'scope_missing',
    'product_unavailable',
    'resource_not_found',
    'resource_erased',
    'approver_missing',
    'outreach_halted',
  ],
  examples: [
    {
      name: 'one line, by sku',
      input: {
        idempotency_key: 'order-555156',
        title: 'Kitchen shelf, autumn',
        buyer: { company: 'Corner Shop', country: 'GB' },
        line_items: [{ sku: 'KIT-101', quantity: 48 }],
      },
      output: handoffExample,
    },
    {
      name: 'delivered by the service',
      input: {
        idempotency_key: 'order-555157',
        title: 'Kitchen shelf, autumn',
        buyer: { company: 'Corner Shop', country: 'GB', email: 'buyer@shop.example' },
        line_items: [{ sku: 'KIT-101', quantity: 48 }],
        deliver: true,
      },
      output: deliveredExample,
    },
  ],
});

const UNSEEN =
  'Until the buyer has opened it. Then make another list; staff can withdraw this one.';
const ownHandoffId = id('hnd').describe('Id of a handoff that this agent created');

const reviseHandoff = defineToolOperation({
  kind: 'command',
  scope: createHandoff.scope,
  writes: ['HandoffRevisedByAgent', 'OutboundRevised', 'RequestBound'],
  summary: 'Change a handoff: what is sent replaces what it has, and line_items the whole list',
  guidance: `${UNSEEN} The review link stays. A delivery that waits needs approval again.`,
  input: z.strictObject({
    idempotency_key: idempotencyKey,
    handoff_id: ownHandoffId,
    title: line(120).optional().describe('Title of the list'),
    note_to_buyer: encrypted.text(2_000).optional().describe('Shown to the buyer; encrypted'),
    line_items: lineItems.optional().describe('The whole new list'),
    expires_at: time.optional(),
  }),
  output: OWN_RECORDS.handoff,
  problems: [
    ...WRITE_PROBLEMS,
    'scope_missing',
    'product_unavailable',
    'resource_not_found',
    'resource_erased',
    'state_conflict',
  ],
  examples: [
    {
      name: 'another quantity',
      after: 'createHandoff',
      input: {
        idempotency_key: 'order-555156:revise',
        handoff_id: handoffExample.id,
        line_items: [{ sku: 'KIT-101', quantity: 144 }],
      },
      output: { ...ownHandoffExample, list_revision: 2, version: 1 },
    },
  ],
});

const withdrawUnseenHandoff = defineToolOperation({
  kind: 'command',
  scope: createHandoff.scope,
  destructive: true,
  writes: ['HandoffWithdrawn', 'RequestBound'],
  summary: 'Withdraw a handoff: its link shows the buyer no list any more',
  guidance: UNSEEN,
  input: z.strictObject({
    idempotency_key: idempotencyKey,
    handoff_id: ownHandoffId,
    reason: encrypted.line(500).optional().describe('Stored encrypted in the history'),
  }),
  output: OWN_RECORDS.handoff,
  problems: [
    ...WRITE_PROBLEMS,
    'scope_missing',
    'resource_not_found',
    'resource_erased',
    'state_conflict',
  ],
  examples: [
    {
      name: 'a wrong list',
      after: 'createHandoff',
      input: { idempotency_key: 'order-555156:withdraw', handoff_id: handoffExample.id },
      output: { ...ownHandoffExample, status: 'withdrawn', version: 1 },
    },
  ],
});

export const ownHandoffOperations = { reviseHandoff, withdrawUnseenHandoff };

/* What staff do with the RFQs that buyers sent. */

const HANDOFF = {
  handoff_id: id('hnd'),
  owner_id: ownerSpace.optional().describe('Owner of the handoff, if known'),
};
const QUOTED = [{ amount: 13_900, currency: 'GBP' }];
const VALID_UNTIL = '2026-12-04T17:00:00.000Z';

/** A line as staff offer it. */
const quotedLine = z.object({
  line_id: z.string(),
  product_id: id('prd'),
  sku: z.string(),
  title: z.string(),
  quantity: z.int(),
  unit_price: money,
  replaces: z.object({ sku: z.string(), title: z.string() }).optional(),
  reason: z.string().optional(),
});

/** Lines of a quotation that are no goods. */
const QUOTE_CHARGES_MAX = 20;

const WON_LEADS =
  'A won RFQ accepts and wins the leads of its handoff; the first of them counts as won.';

/** A move as it is asked for. */
const proposedMove = z.object({
  number: proposalNumber,
  to: z.enum(['quoted', ...RFQ_CORRECTIONS]),
  values: z.array(money).optional(),
  valid_until: time.optional(),
  is_correction: z.boolean(),
  returned: z
    .array(z.object({ line_id: z.string(), quantity: z.int() }))
    .optional()
    .describe('The goods of a proposed return'),
  reason: z.string().optional(),
});

const quotationNumber = z.int().min(1).describe('Number of the quotation, from 1');

const quotationRef = z.object({
  number: quotationNumber,
  hash: z.string().describe('SHA-256 of what the buyer sees, as it is stored'),
  values: z.array(money).describe('What lines and charges come to; one per currency'),
  valid_until: time,
});

const alone = z
  .literal(true)
  .optional()
  .describe('One person made the last move where two must, because SECOND_PERSON is none');

const rfqState = recordState.extend({
  state: z.enum(RFQ_STATES),
  quotation: quotationRef.optional().describe('The newest quotation'),
  alone,
  proposed: proposedMove
    .omit({ reason: true })
    .optional()
    .describe('The move that waits for the approval of another person'),
});

const rfqCommand = recordCommands({
  path: '/handoffs/{handoff_id}/rfq',
  roles: ['staff'],
  fields: HANDOFF,
  output: rfqState,
  example: {
    input: { handoff_id: handoffExample.id, owner_id: 'acme' },
    output: { id: handoffExample.id, owner_id: 'acme' },
  },
});

const TWO_PEOPLE =
  'Where two of staff are needed, the move is only proposed, and another person approves it with approveRfqMove.';

const moveRfq = rfqCommand({
  isSensitive: true,
  verb: 'move',
  summary: 'Move an RFQ: take it up, and record its outcome',
  guidance:
    `${rfqMovesText()}. quoteRfq quotes. The buyer confirms an RFQ by mail; to confirm it otherwise, staff record how ` +
    'they know the buyer as the reason. An RFQ is won with its newest quotation and for the values of that, by one ' +
    'person if the buyer agreed to exactly that quotation, otherwise by two; for another price, quote again. ' +
    `${TWO_PEOPLE} ${WON_LEADS}`,
  fields: {
    to: z.enum(RFQ_TARGETS).describe('The next state'),
    quotation: quotationNumber
      .optional()
      .describe('With won: refused if another quotation is the newest one'),
    reason: encrypted
      .line(500)
      .optional()
      .describe('Required with confirmed. Stored encrypted in the history; agents never see it'),
  },
  name: 'won',
  input: { to: 'won', quotation: 1 },
  output: { state: 'won' },
});

/** Line ids are numbers of the list. */
const lineId = z
  .string()
  .regex(/^\d{1,9}$/, { error: 'must be the line_id of a line, like 3' })
  .describe('The line_id of a line of the list');

const quoteLine = z
  .strictObject({
    line_id: lineId,
    quantity: quantity.optional().describe('Default: that of the list'),
    unit_price: enteredMoney
      .optional()
      .describe("In the currency of the list's line. Default: the catalog's at the quantity"),
    sku: sku.optional().describe('Another product in place of the one on the list'),
    leave_out: z.boolean().default(false).describe('true: the line is not offered'),
    reason: encrypted
      .line(500)
      .optional()
      .describe('Shown to the buyer. Required for a line that is replaced or left out'),
  })
  .refine((one) => !one.leave_out || (one.quantity ?? one.unit_price ?? one.sku) === undefined, {
    error: 'has leave_out beside a quantity, a price or a product',
  })
  .refine(
    ({ leave_out, sku: other, reason }) =>
      reason !== undefined || (!leave_out && other === undefined),
    { path: ['reason'], error: 'is required for a line that is replaced or left out' },
  );

const quoteRfq = rfqCommand({
  isSensitive: true,
  verb: 'quote',
  summary: 'Quote an RFQ: the buyer gets the quotation by mail, and answers it there',
  guidance:
    "Without lines, every line is quoted at the catalog's price for its quantity. Each line of the list is quoted, " +
    'replaced or left out. A total that differs by more than a quarter from the list needs accept_difference and a ' +
    'reason. A later quotation names in replaces the one that it voids, and with it the answer of the buyer. Above ' +
    `APPROVAL_ABOVE two of staff are needed. ${TWO_PEOPLE}`,
  fields: {
    lines: z
      .array(quoteLine)
      .max(LIMITS.HANDOFF_LINES_MAX)
      .refine((lines) => new Set(lines.map(({ line_id }) => line_id)).size === lines.length, {
        error: 'names a line twice',
      })
      .default([])
      .describe('Only the lines that differ from the default'),
    charges: z
      .array(
        z.strictObject({
          label: line(80).describe('Shown to the buyer, like Shipping'),
          ...enteredMoney.shape,
        }),
      )
      .max(QUOTE_CHARGES_MAX)
      .default([])
      .describe('Shipping and others, each a line of its own'),
    terms: encrypted.text(4_000).optional().describe('Of payment and delivery; shown to the buyer'),
    valid_until: time.describe('End of the quotation'),
    replaces: quotationNumber.optional().describe('The newest quotation, which this one voids'),
    accept_difference: z
      .boolean()
      .optional()
      .describe('Yes: a total may differ by more than a quarter from the list'),
    reason: encrypted
      .line(500)
      .optional()
      .describe(
        'Why it differs. Stored encrypted in the history; neither agents nor the buyer see it',
      ),
  },
  name: 'with a replaced line and shipping',
  input: {
    lines: [{ line_id: '1', sku: 'KIT-104', reason: 'The blue one is sold out until May' }],
    charges: [{ label: 'Shipping', amount: 1_200, currency: 'GBP' }],
    terms: 'Payment within 30 days. Delivery in one parcel.',
    valid_until: VALID_UNTIL,
  },
  output: {
    state: 'quoted',
    quotation: { number: 1, hash: 'e3b0c442', values: QUOTED, valid_until: VALID_UNTIL },
  },
});

const answerQuestion = rfqCommand({
  verb: 'answer',
  summary: 'Answer a question that the buyer asked about a quotation',
  guidance:
    'The buyer gets the answer by mail, and sees it on the page of the quotation. readRfq has the questions.',
  fields: {
    question: z.int().min(1).describe('Number of the question, from readRfq'),
    answer: encrypted.text(4_000).describe('Stored encrypted; agents never see it'),
  },
  name: 'of the first question',
  input: { question: 1, answer: 'The lids are included.' },
  output: { state: 'quoted' },
});

const correctRfq = rfqCommand({
  isSensitive: true,
  verb: 'correct',
  summary: 'Change or reverse the outcome of an RFQ',
  guidance:
    'in_progress reverses the outcome. The numbers of the day of the outcome change, and the leads of the handoff ' +
    'follow. A correction that raises what the RFQ was won for in any currency needs two of staff, and so does any ' +
    `correction above APPROVAL_ABOVE. ${TWO_PEOPLE}`,
  fields: {
    to: z.enum(RFQ_CORRECTIONS).describe('The right state'),
    values: moneyList.optional().describe('What it was won for; one per currency'),
    reason: encrypted.line(500).describe('Stored encrypted in the history; agents never see it'),
  },
  name: 'another value',
  input: { to: 'won', values: QUOTED, reason: 'Two boxes were returned' },
  output: { state: 'won' },
});

const approveRfqMove = rfqCommand({
  isSensitive: true,
  verb: 'approve',
  summary: 'Approve the proposed move of an RFQ as the second person',
  guidance: APPROVER_RULE,
  fields: { proposal },
  problems: ['approver_not_independent'],
  name: 'of a quotation',
  input: { proposal: 1 },
  output: { state: 'quoted' },
});

const refuseRfqMove = rfqCommand({
  verb: 'refuse',
  summary: 'Refuse or take back the proposed move of an RFQ',
  guidance: 'The RFQ keeps its state. The person who proposed the move can take it back.',
  fields: { proposal, reason: encrypted.line(500).describe('Stored encrypted in the history') },
  name: 'of a quotation',
  input: { proposal: 1, reason: 'Too low' },
  output: { state: 'in_progress' },
});

/* What staff do with the goods of a won RFQ. */

const goodsLine = z.object({
  line_id: z.string(),
  sku: z.string(),
  title: z.string(),
  quantity: z.int().describe('What was won'),
  ...(Object.fromEntries(
    GOODS_STATES.map((state) => [state, z.int().optional().describe('Absent for none')]),
  ) as Record<(typeof GOODS_STATES)[number], z.ZodOptional<z.ZodInt>>),
  source: z.string().optional().describe('Supplier or stock reference of the allocation'),
  warnings: z
    .array(z.enum(['stock_below_quantity']))
    .optional()
    .describe('More was allocated than the catalog had, which need not know all stock'),
});

const goodsState = z.enum(GOODS_STATES).describe('Where the goods that are least far are');

const shownGoods = z.object({
  state: goodsState,
  lines: z.array(goodsLine),
  shipments: z.array(
    z.object({
      number: z.int(),
      shipped_on: date,
      delivered_on: date.optional(),
      carrier: z.string().optional().describe('[erased] after an erasure'),
      reference: z.string().optional(),
      lines: z.array(z.object({ line_id: z.string(), quantity: z.int() })),
    }),
  ),
});

const goodsCommand = recordCommands({
  path: '/handoffs/{handoff_id}/rfq',
  roles: ['staff'],
  fields: HANDOFF,
  output: rfqState.extend({
    won_value: z.array(money).describe('What is left of it'),
    goods: shownGoods,
  }),
  example: {
    input: { handoff_id: handoffExample.id, owner_id: 'acme' },
    output: { id: handoffExample.id, owner_id: 'acme', state: 'won', won_value: QUOTED },
  },
});

/** Each line once. */
const linesOnce = <Line extends z.ZodType<{ line_id: string }>>(one: Line) =>
  z
    .array(one)
    .min(1)
    .max(LIMITS.HANDOFF_LINES_MAX)
    .refine((lines) => new Set(lines.map(({ line_id }) => line_id)).size === lines.length, {
      error: 'names a line twice',
    });

const someGoods = z.strictObject({
  line_id: lineId,
  quantity: quantity.optional().describe('Default: all that there is'),
});

const goodsReason = encrypted.line(500).optional();

const KEEP_CHARGES = {
  keep_charges: z
    .boolean()
    .optional()
    .describe('Shipping and other charges stay due when nothing else is left of the value'),
};

const goodsExample = (counts: object, shipments: object[] = []) => ({
  state: Object.keys(counts)[0],
  lines: [{ line_id: '1', sku: 'KIT-101', title: 'Mug', quantity: 48, ...counts }],
  shipments,
});
const PARCEL = {
  number: 1,
  shipped_on: '2026-12-02',
  carrier: 'Royal Mail',
  reference: 'RM 4711',
  lines: [{ line_id: '1', quantity: 48 }],
};

const allocateGoods = goodsCommand({
  verb: 'allocate',
  summary: 'Allocate goods to the lines of a won RFQ, from a supplier or from stock',
  guidance:
    `${goodsMovesText()}. Without lines, everything that is neither shipped nor cancelled is allocated. A later allocation of a ` +
    'line replaces what it has allocated and not shipped; quantity 0 releases it. A warning says that the catalog has ' +
    'less. It prevents nothing, because the catalog need not know all stock.',
  fields: {
    lines: linesOnce(
      z.strictObject({
        line_id: lineId,
        quantity: z
          .int()
          .min(0)
          .optional()
          .describe('Default: all that is neither shipped nor cancelled'),
        source: line(120).optional().describe('Supplier or stock reference; no personal data'),
      }),
    ).optional(),
  },
  input: { lines: [{ line_id: '1', source: 'Shelf B-12' }] },
  output: { goods: goodsExample({ allocated: 48, source: 'Shelf B-12' }) },
});

const shipGoods = goodsCommand({
  isSensitive: true,
  verb: 'ship',
  summary: 'Record a shipment of allocated goods; the buyer gets a letter',
  guidance:
    'Without lines, everything that is allocated is shipped. A shipment with the carrier, the reference and the lines of an ' +
    'earlier one is that one.',
  fields: {
    lines: linesOnce(someGoods).optional(),
    carrier: encrypted.line(120).optional().describe('Shown to the buyer; encrypted'),
    reference: encrypted
      .line(120)
      .optional()
      .describe('Of the parcel; shown to the buyer; encrypted'),
    shipped_on: date.optional().describe('Default: today, in UTC'),
  },
  input: { carrier: 'Royal Mail', reference: 'RM 4711', shipped_on: '2026-12-02' },
  output: { goods: goodsExample({ shipped: 48 }, [PARCEL]) },
});

const deliverGoods = goodsCommand({
  verb: 'deliver',
  summary: 'Record that shipments were delivered',
  guidance: 'What was delivered can only come back as a return.',
  fields: {
    shipment: z.int().min(1).optional().describe('Number of the shipment; default: all under way'),
    delivered_on: date.optional().describe('Default: today, in UTC'),
  },
  input: { shipment: 1, delivered_on: '2026-12-04' },
  output: { goods: goodsExample({ delivered: 48 }, [{ ...PARCEL, delivered_on: '2026-12-04' }]) },
});

const cancelGoods = goodsCommand({
  isSensitive: true,
  verb: 'cancel',
  summary: 'Cancel goods that are not shipped; the value falls, and the buyer gets a letter',
  guidance:
    'Without lines, everything that is not shipped is cancelled. The value of the goods is taken from what the RFQ was won for, ' +
    'as by a correction: the numbers of the day of the outcome change, and the leads follow. Charges go with the last goods.',
  fields: {
    lines: linesOnce(someGoods).optional(),
    ...KEEP_CHARGES,
    reason: goodsReason.describe('Shown to the buyer; encrypted'),
  },
  input: { lines: [{ line_id: '1', quantity: 12 }], reason: 'The glaze failed' },
  output: { goods: goodsExample({ unallocated: 36, cancelled: 12 }) },
});

const returnGoods = goodsCommand({
  isSensitive: true,
  verb: 'return',
  summary: 'Record that shipped goods came back; the value falls',
  guidance:
    'The value falls as with cancelGoods. Where APPROVAL_ABOVE is set, a return of any value is only proposed, and another person ' +
    'approves it with approveRfqMove.',
  fields: {
    lines: linesOnce(someGoods).describe('The lines that came back'),
    ...KEEP_CHARGES,
    reason: goodsReason.describe(
      'Stored encrypted in the history; neither agents nor the buyer see it',
    ),
  },
  input: { lines: [{ line_id: '1', quantity: 12 }], reason: 'Two boxes were broken' },
  output: { goods: goodsExample({ delivered: 36, returned: 12 }) },
});

const readRfq = deskQuery({
  roles: ['staff'],
  readsPersonalData: true,
  path: '/handoffs/{handoff_id}/rfq',
  summary: 'Read the RFQ that a buyer sent: list, totals and contact',
  guidance:
    'Staff only: neither the agent nor the promoter sees the contact. Prices are those in the total that the buyer ' +
    'was shown. A line shows in warnings and unit_price_when_sent how the catalog had changed when the buyer sent ' +
    'the RFQ. Any holder of the review link can send it, and the agent was given the link: while it is unconfirmed, ' +
    'the contact proves nothing. A confirmed mailbox proves that somebody reads it, not who that is.',
  fields: HANDOFF,
  output: z.object({
    handoff_id: id('hnd'),
    reference: z.string().describe('For people; no credential'),
    owner_id: z.string(),
    agent_id: z.string(),
    agent_name: z.string().optional(),
    title: z.string(),
    named_buyer: z
      .object({ company: z.string().optional(), country: z.string().optional() })
      .describe('Whom the agent made the list for'),
    submitted_at: time,
    contact: z.union([rfqContact, closedContact]),
    list_revision: z.int(),
    line_items: z.array(lineItem),
    indicative_totals: z.array(money),
    state: z.enum(RFQ_STATES),
    confirmed_by: z
      .enum(['mailbox', 'staff'])
      .optional()
      .describe('Absent while it is unconfirmed'),
    confirmation_ends_at: time.optional().describe('While it is unconfirmed'),
    reason: z.string().optional().describe('Reason of the last move'),
    quotation: quotationRef
      .extend({
        lines: z.array(quotedLine),
        left_out: z.array(z.object({ line_id: z.string(), reason: z.string().optional() })),
        charges: z.array(money.extend({ label: z.string() })),
        terms: z.string().optional(),
      })
      .optional()
      .describe('The newest quotation'),
    questions: z
      .array(
        z.object({
          number: z.int(),
          quotation: quotationNumber,
          asked_at: time,
          question: z.string(),
          answer: z.string().optional(),
        }),
      )
      .describe('What the buyer asked. One without an answer waits for answerQuestion'),
    won_value: z.array(money).optional(),
    goods: shownGoods.optional().describe('Once it is won'),
    won_with: z
      .object({ number: quotationNumber, agreed: z.boolean() })
      .optional()
      .describe('The quotation that it was won with, and whether the buyer had agreed to it'),
    alone,
    proposed: proposedMove
      .extend(proposedBy)
      .optional()
      .describe('The move that waits for the approval of another person'),
    leads: z
      .array(z.object({ lead_id: z.string(), agent_id: z.string(), state: z.string() }))
      .describe('Leads that name this handoff, the first one first'),
    claimed_by: z
      .object({ owner_id: z.string(), lead_id: z.string() })
      .optional()
      .describe('Another promoter whose lead holds the mailbox of the contact'),
    evidence: z
      .array(z.string())
      .describe('What is known of how it came about, in words. No proof, and no reason to refuse'),
    same_mailbox: z
      .array(z.object({ handoff_id: id('hnd'), owner_id: z.string(), confirmed_at: time }))
      .describe('Other lists that the same mailbox confirmed, newest first'),
    history: z
      .array(
        z.object({ type: z.string(), at: time, by: z.string(), by_name: z.string().optional() }),
      )
      .describe('The newest events of the handoff, oldest first'),
  }),
  example: {
    name: 'of a handoff',
    input: { handoff_id: handoffExample.id, owner_id: 'acme' },
    output: {
      handoff_id: handoffExample.id,
      reference: 'R-7H3E-2KQ4-M',
      owner_id: 'acme',
      agent_id: handoffExample.agent_id,
      title: 'Kitchen shelf, autumn',
      named_buyer: {},
      submitted_at: EXAMPLE_AT,
      contact: { name: 'Bea Buyer', email: 'bea@cornershop.example' },
      list_revision: 1,
      line_items: handoffExample.line_items,
      indicative_totals: handoffExample.indicative_totals,
      state: 'confirmed',
      confirmed_by: 'mailbox',
      questions: [],
      leads: [],
      evidence: ['confirmed from the same mailbox as the one the agent named'],
      same_mailbox: [],
      history: [{ type: 'RfqConfirmedByBuyer', at: EXAMPLE_AT, by: 'buyer' }],
    },
  },
});

/* What people at the desk do with handoffs, and the lists of handoffs and RFQs. */

/** A handoff as the desk sees it: the review link belongs to the buyer alone. */
export const deskHandoff = handoffRecord.omit({ review_url: true, line_items: true }).extend({
  lines: z.int(),
  made_by_buyer: z.literal(true).optional().describe('The buyer made the list on landing pages'),
});

const { review_url: _secret, line_items: lines, ...shown } = handoffExample;

const listHandoffs = deskList({
  path: '/handoffs',
  summary: "List an owner's handoffs, newest first, without their review links",
  row: deskHandoff,
  example: { ...shown, lines: lines.length },
});

const FINAL =
  'Final. The handoff stays in the history with its reason, which is shown to its buyer and encrypted with the ' +
  'personal data.';

const handoffCommand = recordCommands({
  path: '/handoffs/{handoff_id}',
  roles: ['owner', 'staff'],
  fields: {
    handoff_id: id('hnd'),
    owner_id: ownerSpace,
    reason: encrypted.line(500).describe('Stored in the history of the record'),
  },
  output: recordState,
  example: {
    input: { handoff_id: handoffExample.id, owner_id: 'acme', reason: 'Recalled' },
    output: { id: handoffExample.id, owner_id: 'acme' },
  },
});

const withdrawHandoff = handoffCommand({
  destructive: true,
  verb: 'withdraw',
  summary: 'Withdraw a handoff that the buyer has not answered',
  guidance: FINAL,
  fields: {},
  output: { state: 'withdrawn' },
});

const invalidateHandoff = handoffCommand({
  destructive: true,
  verb: 'invalidate',
  roles: ['staff'],
  summary: 'Invalidate a handoff: a product was withdrawn, or a rule forbids it',
  guidance: FINAL,
  fields: {},
  output: { state: 'invalidated' },
});

const rfq = z.object({
  handoff_id: id('hnd'),
  owner_id: z.string(),
  agent_id: z.string(),
  title: z.string().optional(),
  company: z.string().optional().describe('That the agent named'),
  submitted_at: time,
  indicative_totals: z.array(money),
  state: z.enum(RFQ_STATES),
  evidence: z.array(z.string()).describe('What is known of how it came about, in words'),
  quotation: quotationRef.optional().describe('The newest quotation'),
  open_questions: z.int().optional().describe('Questions of the buyer that wait for an answer'),
  won_value: z.array(money).optional(),
  goods: goodsState.optional(),
  needs_approval: needsApproval,
  ...planned,
});

const listRfqs = inboxList({
  path: '/rfqs',
  summary: 'List the RFQs that buyers sent, of all owners',
  guidance: 'readRfq shows the list and the contact of one.',
  what: 'RFQs',
  began: 'sent',
  row: rfq,
  fields: {
    state: z
      .enum(['open', ...RFQ_STATES])
      .optional()
      .describe('RFQs in this state only; open: all without an outcome'),
    needs_approval: needsApprovalOnly,
    has_question: z
      .boolean()
      .optional()
      .describe('Only those with a question that waits for an answer; false: only the others'),
    goods: z
      .enum(GOODS_STATES)
      .optional()
      .describe('Won RFQs whose goods that are least far are there'),
    currency: money.shape.currency.optional().describe('RFQs with a total in this currency only'),
    min_amount: money.shape.amount
      .optional()
      .describe('RFQs whose total in that currency is at least this, in minor units'),
  },
  example: {
    handoff_id: handoffExample.id,
    owner_id: 'acme',
    agent_id: handoffExample.agent_id,
    title: handoffExample.title,
    submitted_at: EXAMPLE_AT,
    indicative_totals: handoffExample.indicative_totals,
    state: 'confirmed',
    evidence: ['confirmed from the same mailbox as the one the agent named'],
  },
});

export const handoffsDeskOperations = {
  allocateGoods,
  answerQuestion,
  approveRfqMove,
  cancelGoods,
  correctRfq,
  deliverGoods,
  invalidateHandoff,
  listHandoffs,
  listRfqs,
  moveRfq,
  quoteRfq,
  readRfq,
  refuseRfqMove,
  returnGoods,
  shipGoods,
  withdrawHandoff,
};

/*
 * The operations of buyers, the holders of a review link or of the link of a request. The link is the credential. No interface
 * of agents or of the desk offers them.
 */

/** Texts by line id, as the buyer entered them; the operation refuses those that are not quantities. */
const quantities = z.map(z.string(), z.string()).default(new Map());
/** More would not fit into an address. */
const LIST_TOKENS_MAX = 4;
const listRevision = z.int().min(0);
const enteredText = z.string();
/** Of a buyer about a quotation, encrypted before it is stored. */
const sealedText = exempt('encrypted', z.string());
/** Whether the request has what browsers send. */
const client = z.enum(['browser', 'program']).default('browser');

/** The buyer's contact, checked only if the list can still be sent. */
export const buyerContact = z.strictObject({
  name: encrypted.line(200),
  email: mailbox,
  company: encrypted.line(200).optional(),
  phone: encrypted.line(40).optional(),
  /** Where the goods are to go. */
  country: homeCountry.optional(),
  message: encrypted.text(2_000).optional(),
});

export type BuyerContact = z.output<typeof buyerContact>;

export const declineReason = encrypted.line(500);
export const quotationQuestion = encrypted.text(2_000);

/** The list as its buyer sees it. What else the page shows is not part of the contract. */
const review = z.looseObject({
  handoffId: z.string(),
  ownerId: z.string(),
  open: z.boolean(),
  expired: z.boolean(),
});

/** A sent RFQ as the holder of its mailbox sees it, behind the link in the mail. */
const request = z.looseObject({ phase: z.string() });

/** A quotation as the holder of the mailbox sees it, behind the link of its letter. */
const quotation = z.looseObject({ phase: z.string() });
const quotationHash = compared;

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

export const buyerOperations = {
  /** Makes a list of the products that a visitor has put together in the address of landing pages. */
  createList: holderActs([...ACT_PROBLEMS, 'product_unavailable'])(
    {
      lines: z
        .array(z.strictObject({ product_id: productId, quantity }))
        .min(1)
        .max(LIMITS.LIST_LINES_MAX),
      /** Attribution tokens: the first is the source if it is valid, others of its owner are alternatives. */
      attribution: z.array(compared).max(LIST_TOKENS_MAX),
      /** Chosen by the page with the form, so that a repeated form makes one list. */
      once: z.string().regex(/^[0-9A-Za-z]{22}$/, { error: 'must be 22 letters and digits' }),
      /** The client's address; counted, and not stored. */
      address: compared,
      /** The language of the pages on which it was put together. */
      locale: z.enum(['en-GB', 'de-DE']).default('en-GB'),
    },
    z.object({ token: z.string() }),
    ['BuyerListCreated'],
  ),
  /** Shows the list, priced with the quantities that the buyer entered, and products that match words. Changes nothing. */
  reviewHandoff: holderView({ quantities, words: compared.default('') }, review),
  openHandoff: act({ client }, review, ['HandoffOpenedByBuyer']),
  /**
   * Saves new quantities, and puts a line on the list; 0 removes a line. Changed and added lines get their current prices.
   */
  reviseList: act(
    {
      list_revision: listRevision,
      quantities,
      /** The id of a line that the buyer removed. */
      restore: compared.optional(),
      /** The id of a product. */
      add: compared.optional(),
    },
    review,
    ['HandoffOpenedByBuyer', 'HandoffListRevisedByBuyer'],
  ),
  /** Closes a list that the service mailed to somebody who did not ask for it. */
  disownList: act({}, review, [
    'HandoffOpenedByBuyer',
    'HandoffDeclinedByBuyer',
    'RfqDropped',
    'MailboxBlocked',
  ]),
  declineHandoff: act({ reason: enteredText }, review, [
    'HandoffOpenedByBuyer',
    'HandoffDeclinedByBuyer',
    'RfqDropped',
  ]),
  /** Sends the list as a request for quotation. No other operation of any registry can. */
  submitRfq: act(
    {
      client,
      list_revision: listRevision,
      quantities,
      /** The totals that the buyer saw; default: those of the list. */
      shown: z.array(z.strictObject({ amount: z.int(), currency: compared })).optional(),
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
      address: compared,
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
  confirmRequest: act({ client, list_revision: listRevision }, request, [
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
  /** Shows a quotation to the holder of the mailbox that it was mailed to. Changes nothing. */
  readQuotation: holderView({}, quotation),
  /** Records the buyer's word for exactly the quotation that the page showed. It is not an order. */
  agreeToQuotation: act({ hash: quotationHash }, quotation, ['QuotationAgreed', 'MailQueued']),
  declineQuotation: act({ hash: quotationHash, reason: sealedText }, quotation, [
    'QuotationDeclined',
    'MailQueued',
  ]),
  /** `question`: the number that the page gave it, so that a form that is sent twice asks once. */
  askAboutQuotation: act({ question: z.int().min(0), text: sealedText }, quotation, [
    'QuotationQuestionAsked',
    'MailQueued',
  ]),
};
