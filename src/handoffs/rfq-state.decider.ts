/** The RFQ of a handoff after the buyer sent it, as its events fold it. */
import type {
  EventData,
  HandoffEventType,
  Happened,
  RfqEventType,
} from '#contracts/registries/events.ts';
import { RFQ_OUTCOMES, type RfqOutcome, type RfqStateName } from '#contracts/moves.ts';
import { foldProposal, type Money, type Proposing } from '#src/shared/proposal.ts';

export type RfqMove = Pick<
  EventData<'RfqMoveProposed'>,
  'to' | 'values' | 'valid_until' | 'is_correction' | 'sealed_reason'
>;

export type RfqProgress = Proposing<RfqMove> & {
  state: Exclude<RfqStateName, 'expired'>;
  /** While it is unconfirmed: the number of the sending, and when its confirmation ends, in epoch milliseconds. */
  confirmation?: { number: number; until: number } | undefined;
  /** Absent in an RFQ that needed no confirmation. */
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

/** The RFQ as it is sent. Older events have no confirmation, and need none. */
export const sentRfq = ({ confirmation }: EventData<'RfqSubmittedByBuyer'>): RfqProgress =>
  confirmation
    ? {
        state: 'unconfirmed',
        confirmation: { number: confirmation.number, until: confirmation.until },
      }
    : { state: 'confirmed' };

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
  return { ...before, reason, sealed_reason, ...changesOf(event) };
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

/** Agents see outcomes only, so no other event of an RFQ makes a new version of the handoff. */
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
