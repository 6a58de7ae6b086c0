/** Moves of an RFQ by staff, its outcome, and corrections of the outcome. */
import {
  RFQ_OUTCOMES,
  type RfqOutcome,
  type RfqStateName,
  RFQ_CORRECTIONS,
  RFQ_MOVES,
} from '#contracts/moves.ts';
import type {
  EventData,
  HandoffEventType,
  Happened,
  RfqEventType,
  EventOf,
} from '#contracts/registries/events.ts';
import { accept, type Decision, reject, asStored } from '#src/shared/decider.ts';
import {
  foldProposal,
  type Money,
  type Proposing,
  decideMove,
  decideProposal,
  isAbove,
} from '#src/shared/proposal.ts';

export type RfqMove = Pick<
  EventData<'RfqMoveProposed'>,
  'to' | 'values' | 'valid_until' | 'is_correction' | 'sealed_reason'
>;

/** The RFQ of a handoff after the buyer sent it, folded from its events. */
export type RfqProgress = Proposing<RfqMove> & {
  state: Exclude<RfqStateName, 'expired'>;
  /** While it is unconfirmed: the number of the sending, and when its confirmation ends, in epoch milliseconds. */
  confirmation?: { number: number; until: number } | undefined;
  /** Absent while it is unconfirmed. */
  confirmed_by?: 'mailbox' | 'staff';
  /** A code of the service; texts of people are sealed. */
  reason?: string | undefined;
  /** Empty after an erasure, like every sealed text. */
  sealed_reason?: string | undefined;
  quote?: { values: Money[]; valid_until: number };
  /** What it was won for. */
  values?: Money[] | undefined;
  /** When it got its outcome, in epoch milliseconds. */
  outcome_at?: number | undefined;
  /** The only lead of the handoff that counts as won. */
  counted_lead?: string | undefined;
};

/** The RFQ as it is sent. */
export const sentRfq = ({ confirmation }: EventData<'RfqSubmittedByBuyer'>): RfqProgress => ({
  state: 'unconfirmed',
  confirmation: { number: confirmation.number, until: confirmation.until },
});

export const isConfirmed = (event: {
  type: string;
}): event is Happened<'RfqConfirmedByBuyer' | 'RfqConfirmedByStaff'> =>
  event.type === 'RfqConfirmedByBuyer' || event.type === 'RfqConfirmedByStaff';

/** Whether it waits for its confirmation at `at`, in epoch milliseconds. */
export const isUnconfirmed = (rfq: RfqProgress | undefined, at: number): boolean =>
  rfq?.confirmation !== undefined && at < rfq.confirmation.until;

/** The state at `at`, in epoch milliseconds: expiry has no event, because it follows from the time. */
export const rfqStateAt = ({ state, quote }: RfqProgress, at: number): RfqStateName =>
  state === 'quoted' && quote !== undefined && at >= quote.valid_until ? 'expired' : state;

export const isRfqOutcome = (state: RfqStateName): state is RfqOutcome =>
  (RFQ_OUTCOMES as readonly string[]).includes(state);

/** Folds an event into the RFQ; undefined if it ends the RFQ unconfirmed. Every event ends the proposal before it. */
export const foldRfq = (
  rfq: RfqProgress,
  event: Happened<RfqEventType>,
): RfqProgress | undefined => {
  if (event.type === 'RfqConfirmationExpired' || event.type === 'RfqDropped') return undefined;
  const { proposed: _ended, ...before } = rfq;
  if (event.type === 'RfqMoveProposed') {
    const { handoff_id: _of, agent_id: _by, dims: _dims, link_id: _link, ...move } = event.data;
    return { ...before, ...foldProposal<RfqMove>(rfq, move) };
  }
  if (event.type === 'RfqMoveRefused') return before;
  const { reason, sealed_reason } = event.data;
  return asStored({ ...before, reason, sealed_reason, ...changesOf(event) });
};

type Move = Exclude<
  RfqEventType,
  'RfqMoveProposed' | 'RfqMoveRefused' | 'RfqConfirmationExpired' | 'RfqDropped'
>;

const changesOf = (event: Happened<Move>): Partial<RfqProgress> => {
  switch (event.type) {
    case 'RfqConfirmedByBuyer':
      return { state: 'confirmed', confirmation: undefined, confirmed_by: 'mailbox' };
    case 'RfqConfirmedByStaff':
      return { state: 'confirmed', confirmation: undefined, confirmed_by: 'staff' };
    case 'RfqTakenUp':
      return { state: 'in_progress' };
    case 'RfqQuoted': {
      const { values, valid_until } = event.data;
      return { state: 'quoted', quote: { values, valid_until } };
    }
    case 'RfqWon': {
      const { values, counted_lead } = event.data;
      return { state: 'won', values, counted_lead, outcome_at: event.at };
    }
    case 'RfqLost':
      return { state: 'lost', outcome_at: event.at };
    case 'RfqWithdrawn':
      return { state: 'withdrawn', outcome_at: event.at };
    case 'RfqOutcomeCorrected': {
      const { to, counted_lead, outcome_at } = event.data;
      return isRfqOutcome(to.state)
        ? { state: to.state, values: to.values, counted_lead, outcome_at }
        : { state: to.state, values: undefined, counted_lead, outcome_at: undefined };
    }
  }
};

/** Removes every text of a person. An RFQ that is open is withdrawn: there is no contact to answer it to. */
export const eraseRfq = (rfq: RfqProgress, at: number): RfqProgress => {
  const { proposed: _ended, ...kept } = rfq;
  const erased = kept.sealed_reason === undefined ? kept : { ...kept, sealed_reason: '' };
  return isRfqOutcome(rfq.state)
    ? erased
    : { ...erased, state: 'withdrawn', reason: 'erased', outcome_at: at };
};

/** Agents see only outcomes, so no other event of an RFQ makes a new version of the handoff. */
export const RFQ_EVENTS_SHOWN: Readonly<Record<RfqEventType, boolean>> = {
  RfqConfirmedByBuyer: true,
  RfqConfirmedByStaff: true,
  RfqConfirmationExpired: false,
  RfqDropped: false,
  RfqTakenUp: false,
  RfqQuoted: false,
  RfqMoveProposed: false,
  RfqMoveRefused: false,
  RfqWon: true,
  RfqLost: true,
  RfqWithdrawn: true,
  RfqOutcomeCorrected: true,
};

export const isOfRfq = (event: Happened<HandoffEventType>): event is Happened<RfqEventType> =>
  event.type in RFQ_EVENTS_SHOWN;

type Event = EventOf<RfqEventType>;

export type RfqCommand =
  | {
      type: 'MoveRfq';
      at: number;
      move: RfqMove;
      /** Limits per currency, above which another person must approve; undefined if none must. */
      approvalAbove: readonly Money[] | undefined;
      /** The lead that counts as won if this wins the RFQ. */
      countedLead: string | undefined;
    }
  | { type: 'ApproveRfqMove'; at: number; proposal: number; countedLead: string | undefined }
  | { type: 'RefuseRfqMove'; at: number; proposal: number; sealedReason: string };

export const isRfqCommand = (command: { type: string }): command is RfqCommand =>
  command.type === 'MoveRfq' ||
  command.type === 'ApproveRfqMove' ||
  command.type === 'RefuseRfqMove';

export type RfqRejection =
  | 'rfq_unsent'
  | 'rfq_move_not_allowed'
  | 'values_required'
  | 'quote_over'
  | 'proposal_unknown';

type RfqDecision = Decision<Event, RfqRejection>;
/** What every event of an RFQ contains, so that it can be attributed without its stream. */
type Reference = Omit<EventDataOfMove, 'reason' | 'sealed_reason'>;
type EventDataOfMove = Extract<Event, { type: 'RfqTakenUp' }>['data'];

/** Decides on an RFQ; undefined if the buyer has sent none. */
export const decideRfq = (
  rfq: RfqProgress | undefined,
  command: RfqCommand,
  reference: Reference,
): RfqDecision => {
  if (!rfq) return reject('rfq_unsent', 'the buyer has sent no RFQ of this handoff');
  if (command.type === 'MoveRfq') return decideRfqMove(rfq, command, reference);
  return decideProposal<RfqMove, Event, RfqRejection>(rfq, command.proposal, (move) =>
    command.type === 'RefuseRfqMove'
      ? accept({
          type: 'RfqMoveRefused',
          data: { ...reference, sealed_reason: command.sealedReason },
        })
      : (rejectMove(rfq, move, command.at) ??
        accept(eventOf(rfq, { ...command, move }, reference))),
  );
};

const decideRfqMove = (
  rfq: RfqProgress,
  command: Extract<RfqCommand, { type: 'MoveRfq' }>,
  reference: Reference,
): RfqDecision => {
  const move = withValues(rfq, command.move);
  return decideMove<RfqMove, Event, RfqRejection>(rfq, {
    isRepeated: isRepeated(rfq, move),
    rejection: rejectMove(rfq, move, command.at),
    needsApproval: needsApproval(rfq, move, command.approvalAbove),
    isSame: (proposed) => isSameMove(proposed, move),
    eventOf: () => eventOf(rfq, { ...command, move }, reference),
    proposalOf: () => ({ type: 'RfqMoveProposed', data: { ...reference, ...move } }),
  });
};

/** An RFQ is won for what was quoted, unless the move says otherwise. */
const withValues = (rfq: RfqProgress, move: RfqMove): RfqMove => {
  const values = rfq.values ?? rfq.quote?.values;
  return move.to === 'won' && !move.values && values ? { ...move, values } : move;
};

const isSameValues = (one: readonly Money[] = [], other: readonly Money[] = []): boolean =>
  one.length === other.length &&
  one.every(({ amount, currency }) =>
    other.some((each) => each.currency === currency && each.amount === amount),
  );

const isSameMove = (one: RfqMove, other: RfqMove): boolean =>
  one.to === other.to &&
  one.is_correction === other.is_correction &&
  one.valid_until === other.valid_until &&
  isSameValues(one.values, other.values);

/** Whether the RFQ is already as the move would leave it. */
const isRepeated = ({ state, quote, values }: RfqProgress, move: RfqMove): boolean => {
  if (state !== move.to) return false;
  if (state === 'quoted')
    return quote?.valid_until === move.valid_until && isSameValues(quote?.values, move.values);
  return state !== 'won' || isSameValues(values, move.values);
};

const rejectMove = (rfq: RfqProgress, move: RfqMove, at: number): RfqDecision | undefined => {
  const state = rfqStateAt(rfq, at);
  const hasOutcome = isRfqOutcome(state);
  const { to, is_correction: isCorrection = false } = move;
  if (hasOutcome !== isCorrection)
    return reject(
      'rfq_move_not_allowed',
      hasOutcome
        ? `the RFQ is ${state}; only a correction changes an outcome`
        : `the RFQ is ${state} and has no outcome to correct: move it`,
    );
  const allowed: readonly string[] = hasOutcome ? RFQ_CORRECTIONS : RFQ_MOVES[state];
  if (!allowed.includes(to))
    return reject('rfq_move_not_allowed', `an RFQ that is ${state} cannot become ${to}`);
  if ((to === 'quoted' || to === 'won') && !move.values)
    return reject('values_required', `an RFQ becomes ${to} with values only`);
  if (to === 'quoted' && (move.valid_until === undefined || move.valid_until <= at))
    return reject('quote_over', 'a quotation needs a valid_until in the future');
  return undefined;
};

const needsApproval = (
  rfq: RfqProgress,
  { to, values, is_correction }: RfqMove,
  limits: readonly Money[] | undefined,
): boolean => {
  // The mailbox of its buyer was never seen to work.
  if (to === 'won' && rfq.confirmed_by === 'staff') return true;
  if (!limits) return false;
  if (is_correction) return isAbove(values, limits) || isAbove(rfq.values, limits);
  return (to === 'quoted' || to === 'won') && isAbove(values, limits);
};

/** The event of a move that is allowed. */
const eventOf = (
  rfq: RfqProgress,
  { at, move, countedLead }: { at: number; move: RfqMove; countedLead: string | undefined },
  reference: Reference,
): Event => {
  const { to, values = [], valid_until = 0, is_correction, sealed_reason } = move;
  const data = { ...reference, sealed_reason };
  const counted_lead = rfq.counted_lead ?? (to === 'won' ? countedLead : undefined);
  if (to === 'quoted') return { type: 'RfqQuoted', data: { ...data, values, valid_until } };
  if (is_correction) {
    const from = { state: rfq.state as RfqOutcome, values: rfq.values };
    const after = { state: to, ...(to === 'won' && { values }) };
    const { outcome_at = at } = rfq;
    return {
      type: 'RfqOutcomeCorrected',
      data: { ...data, from, to: after, outcome_at, counted_lead },
    };
  }
  if (to === 'won') return { type: 'RfqWon', data: { ...data, values, counted_lead } };
  return { type: TYPES[to], data };
};

const TYPES = {
  in_progress: 'RfqTakenUp',
  lost: 'RfqLost',
  withdrawn: 'RfqWithdrawn',
} as const;
