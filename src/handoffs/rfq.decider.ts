/** Moves of an RFQ by staff, its outcome, and corrections of the outcome. */
import type { EventOf, RfqEventType } from '#contracts/registries/events.ts';
import { RFQ_CORRECTIONS, RFQ_MOVES, type RfqOutcome } from '#contracts/moves.ts';
import { accept, type Decision, reject } from '#src/shared/decider.ts';
import { decideMove, decideProposal, isAbove, type Money } from '#src/shared/proposal.ts';
import { isRfqOutcome, type RfqMove, type RfqProgress, rfqStateAt } from './rfq-state.decider.ts';

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
