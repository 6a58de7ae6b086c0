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

/** The states in which a lead waits for staff. */
export const OPEN_LEAD_STATES = Object.keys(LEAD_MOVES) as (keyof typeof LEAD_MOVES)[];

/**
 * The states to which staff can move an RFQ, for each state in which it is open. Without staff, its buyer confirms it, and
 * it ends when it is not confirmed in time. A quoted RFQ is expired from `valid_until` on.
 */
export const RFQ_MOVES = {
  unconfirmed: ['confirmed'],
  confirmed: ['in_progress', 'quoted', 'lost', 'withdrawn'],
  in_progress: ['quoted', 'lost', 'withdrawn'],
  quoted: ['in_progress', 'won', 'lost', 'withdrawn'],
  expired: ['in_progress', 'lost', 'withdrawn'],
} as const;

/** The states that end an RFQ. A correction changes or reverses them. */
export const RFQ_OUTCOMES = ['won', 'lost', 'withdrawn'] as const;

/** The states to which a correction can set an RFQ that has an outcome. */
export const RFQ_CORRECTIONS = ['in_progress', ...RFQ_OUTCOMES] as const;

export const RFQ_TARGETS = ['confirmed', 'in_progress', 'quoted', ...RFQ_OUTCOMES] as const;

export const OPEN_RFQ_STATES = Object.keys(RFQ_MOVES) as (keyof typeof RFQ_MOVES)[];

export const RFQ_STATES = [...OPEN_RFQ_STATES, ...RFQ_OUTCOMES] as const;

export type RfqStateName = (typeof RFQ_STATES)[number];
export type RfqOutcome = (typeof RFQ_OUTCOMES)[number];
export type RfqTarget = (typeof RFQ_TARGETS)[number];
