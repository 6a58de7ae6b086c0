/** The states of leads and RFQs, and who may move them. The deciders and the documents are made from these tables. */

export const LEAD_STATES = [
  'submitted',
  'accepted',
  'rejected',
  'duplicate',
  'contacted',
  'qualified',
  'unqualified',
  'rfq_submitted',
  'won',
  'lost',
  'withdrawn',
  'lapsed',
] as const;

type LeadStateName = (typeof LEAD_STATES)[number];

/**
 * The states to which staff can move a lead, for each state that is not final. A lead whose buyer sent the RFQ takes the
 * outcome of the RFQ.
 */
export const LEAD_MOVES = {
  submitted: ['accepted', 'rejected', 'duplicate'],
  accepted: ['contacted'],
  contacted: ['qualified', 'unqualified'],
  qualified: ['won', 'lost', 'unqualified'],
  rfq_submitted: [],
} as const satisfies Partial<Record<LeadStateName, readonly LeadStateName[]>>;

/**
 * The states in which a lead waits for staff. A won RFQ accepts and wins every lead of its handoff that was in one of them
 * when the buyer sent it; the first such lead counts as won.
 */
export const OPEN_LEAD_STATES = Object.keys(LEAD_MOVES) as (keyof typeof LEAD_MOVES)[];

/** The states of an RFQ that has no outcome. */
export const OPEN_RFQ_STATES = [
  'unconfirmed',
  'confirmed',
  'in_progress',
  'quoted',
  'agreed',
  'declined',
  'expired',
] as const;

/** The states that end an RFQ. A correction changes or reverses them. */
export const RFQ_OUTCOMES = ['won', 'lost', 'withdrawn'] as const;

export const RFQ_STATES = [...OPEN_RFQ_STATES, ...RFQ_OUTCOMES] as const;

type OpenRfqState = (typeof OPEN_RFQ_STATES)[number];
export type RfqStateName = (typeof RFQ_STATES)[number];
export type RfqOutcome = (typeof RFQ_OUTCOMES)[number];

/** Who makes a move of an RFQ: one person of staff, two of them, or the buyer behind a link that was mailed. */
export type Mover = 'staff' | 'two of staff' | 'buyer';

/**
 * The states that an RFQ can reach from each state in which it is open, and who can move it there. Without them, it ends when
 * it is not confirmed in time, and a quoted RFQ is expired from `valid_until` on. `quoted` again is a new quotation, which
 * voids the one before it.
 */
export const RFQ_MOVES = {
  unconfirmed: { confirmed: ['staff', 'buyer'] },
  confirmed: {
    in_progress: ['staff'],
    quoted: ['staff'],
    lost: ['staff'],
    withdrawn: ['staff', 'buyer'],
  },
  in_progress: { quoted: ['staff'], lost: ['staff'], withdrawn: ['staff', 'buyer'] },
  quoted: {
    in_progress: ['staff'],
    quoted: ['staff'],
    agreed: ['buyer'],
    declined: ['buyer'],
    won: ['two of staff'],
    lost: ['staff'],
    withdrawn: ['staff', 'buyer'],
  },
  agreed: {
    in_progress: ['staff'],
    quoted: ['staff'],
    declined: ['buyer'],
    won: ['staff'],
    lost: ['staff'],
    withdrawn: ['staff', 'buyer'],
  },
  declined: {
    in_progress: ['staff'],
    quoted: ['staff'],
    agreed: ['buyer'],
    lost: ['staff'],
    withdrawn: ['staff', 'buyer'],
  },
  expired: {
    in_progress: ['staff'],
    quoted: ['staff'],
    lost: ['staff'],
    withdrawn: ['staff', 'buyer'],
  },
} as const satisfies Readonly<
  Record<OpenRfqState, Readonly<Partial<Record<RfqStateName, readonly Mover[]>>>>
>;

/** The states to which a correction can set an RFQ that has an outcome. */
export const RFQ_CORRECTIONS = ['in_progress', ...RFQ_OUTCOMES] as const;

/** The states to which moveRfq moves an RFQ. quoteRfq and the buyer make the others. */
export const RFQ_TARGETS = ['confirmed', 'in_progress', ...RFQ_OUTCOMES] as const;

/** Who can move an RFQ from one state to the other; empty if it cannot move so. */
export const rfqMovers = (from: OpenRfqState, to: RfqStateName): readonly Mover[] =>
  (RFQ_MOVES[from] as Partial<Record<RfqStateName, readonly Mover[]>>)[to] ?? [];

const LIST = new Intl.ListFormat('en', { style: 'long', type: 'disjunction' });

/** A table of moves as text, with who makes each; states without moves are left out. */
const movesText = (
  table: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>,
): string =>
  Object.entries(table)
    .flatMap(([from, moves]) => {
      const reached = Object.entries(moves).map(([to, movers]) => `${to} (${movers.join(', ')})`);
      return reached.length > 0 ? [`${from} to ${LIST.format(reached)}`] : [];
    })
    .join('; ');

/** The table of an RFQ's moves as text, with who makes each. */
export const rfqMovesText = (): string => movesText(RFQ_MOVES);

/** Where the goods of a won RFQ can be, the least far first. The quantity of a line can be in several of them. */
export const GOODS_STATES = [
  'unallocated',
  'allocated',
  'shipped',
  'delivered',
  'returned',
  'cancelled',
] as const;

export type GoodsState = (typeof GOODS_STATES)[number];

/** The setting APPROVAL_ABOVE adds a second person, whatever the value. */
const RETURNING = ['staff', 'two of staff where APPROVAL_ABOVE is set'] as const;

/** Where goods can go from each state, and who records it. A state without a move is final. */
export const GOODS_MOVES = {
  unallocated: { allocated: ['staff'], cancelled: ['staff'] },
  allocated: { unallocated: ['staff'], shipped: ['staff'], cancelled: ['staff'] },
  shipped: { delivered: ['staff'], returned: RETURNING },
  delivered: { returned: RETURNING },
  returned: {},
  cancelled: {},
} as const satisfies Readonly<
  Record<
    GoodsState,
    Readonly<Partial<Record<GoodsState, readonly (Mover | (typeof RETURNING)[number])[]>>>
  >
>;

/** The table of goods as text, with who records each move. */
export const goodsMovesText = (): string => movesText(GOODS_MOVES);
