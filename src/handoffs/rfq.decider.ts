/** Moves of an RFQ by staff and by its buyer, questions, its outcome, and corrections of the outcome. */
import {
  type Mover,
  RFQ_OUTCOMES,
  type RfqOutcome,
  type RfqStateName,
  RFQ_CORRECTIONS,
  rfqMovers,
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
  type ApprovalRules,
  foldProposal,
  type Money,
  type Proposing,
  decideMove,
  decideProposal,
  isAbove,
} from '#src/shared/proposal.ts';
import { present } from '#src/shared/json.ts';
import { hashOfQuotation, type Offer, offerIn } from './quotation.decider.ts';

export type RfqMove = Pick<
  EventData<'RfqMoveProposed'>,
  | 'to'
  | 'values'
  | 'offer'
  | 'quotation'
  | 'is_correction'
  | 'returned'
  | 'keep_charges'
  | 'sealed_reason'
>;

/** The RFQ of a handoff after the buyer sent it, folded from its events. */
export type RfqProgress = Proposing<RfqMove> & {
  state: Exclude<RfqStateName, 'expired'>;
  /** While it is unconfirmed: the number of the sending, and when its confirmation ends, in epoch milliseconds. */
  confirmation?: { number: number; until: number } | undefined;
  /** Absent while it is unconfirmed. */
  confirmed_by?: 'mailbox' | 'staff';
  /** What is known of how it came about, for staff. `mailbox`: the keyed hash of its contact's; times in epoch milliseconds. */
  seen: NonNullable<EventData<'RfqSubmittedByBuyer'>['seen']> & {
    mailbox: string;
    sent_at: number;
    confirmed_at?: number;
  };
  /** A code of the service; texts of people are sealed. */
  reason?: string | undefined;
  /** Empty after an erasure, like every sealed text. */
  sealed_reason?: string | undefined;
  /** The newest quotation. */
  quote?: { number: number; hash: string; values: Money[]; valid_until: number };
  /** How many questions the buyer asked, and the numbers of those that wait for an answer. */
  questions?: number;
  open_questions?: readonly number[] | undefined;
  /** What it was won for. */
  values?: Money[] | undefined;
  /** The quotation that it was won with, and whether the buyer had agreed to it. */
  won_with?: { number: number; hash: string; agreed: boolean } | undefined;
  /** One person made the last move where two must. */
  alone?: true | undefined;
  /** When it got its outcome, in epoch milliseconds. */
  outcome_at?: number | undefined;
  /** The only lead of the handoff that counts as won. */
  counted_lead?: string | undefined;
};

/** The RFQ as it is sent at `at`, in epoch milliseconds. */
export const sentRfq = (
  { confirmation, seen, mailbox_keys }: EventData<'RfqSubmittedByBuyer'>,
  at: number,
): RfqProgress => ({
  state: 'unconfirmed',
  confirmation: { number: confirmation.number, until: confirmation.until },
  seen: { ...seen, mailbox: mailbox_keys.mailbox, sent_at: at },
});

/** The RFQ as its mailbox confirms it. What a browser confirmed was not made by a program alone. */
export const rfqConfirmedAt = (
  rfq: RfqProgress,
  { at, byProgram }: { at: number; byProgram: boolean },
): RfqProgress => {
  const { by_program, ...seen } = rfq.seen;
  const isProgram = by_program && byProgram;
  return {
    ...rfq,
    state: 'confirmed',
    confirmation: undefined,
    confirmed_by: 'mailbox',
    seen: { ...seen, confirmed_at: at, ...(isProgram && { by_program }) },
  };
};

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

/** Agents see outcomes, and neither an unconfirmed RFQ, nor the steps to an outcome, nor what is quoted. */
export const rfqForAgents = (rfq: RfqProgress | undefined, at: number) => {
  if (!rfq || rfq.confirmation) return undefined;
  const state = rfqStateAt(rfq, at);
  const isShown = state === 'expired' || isRfqOutcome(state);
  return { state: isShown ? state : ('open' as const), ...present({ won_value: rfq.values }) };
};

type Question = Extract<RfqEventType, `QuotationQuestion${string}`>;

const isQuestion = (event: Happened<RfqEventType>): event is Happened<Question> =>
  event.type === 'QuotationQuestionAsked' || event.type === 'QuotationQuestionAnswered';

/** A question moves nothing: what is proposed stays so. */
const foldQuestion = (rfq: RfqProgress, event: Happened<Question>): RfqProgress => {
  const { question } = event.data;
  const open = (rfq.open_questions ?? []).filter((one) => one !== question);
  return event.type === 'QuotationQuestionAsked'
    ? { ...rfq, questions: question, open_questions: [...open, question] }
    : asStored({ ...rfq, open_questions: open.length > 0 ? open : undefined });
};

/** Folds an event into the RFQ; undefined if it ends the RFQ unconfirmed. Every move ends the proposal before it. */
export const foldRfq = (
  rfq: RfqProgress,
  event: Happened<RfqEventType>,
): RfqProgress | undefined => {
  if (event.type === 'RfqConfirmationExpired' || event.type === 'RfqDropped') return undefined;
  if (isQuestion(event)) return foldQuestion(rfq, event);
  const { proposed: _ended, ...before } = rfq;
  if (event.type === 'RfqMoveProposed') {
    const { handoff_id: _of, agent_id: _by, dims: _dims, link_id: _link, ...move } = event.data;
    return { ...before, ...foldProposal<RfqMove>(rfq, move) };
  }
  if (event.type === 'RfqMoveRefused') return before;
  const { reason, sealed_reason, alone } = event.data as Partial<EventData<'RfqWon'>>;
  const moved = asStored({ ...before, reason, sealed_reason, alone, ...changesOf(event) });
  if (event.type !== 'RfqConfirmedByBuyer') return moved;
  return asStored(
    rfqConfirmedAt(moved, { at: event.at, byProgram: event.data.by_program === true }),
  );
};

type Move = Exclude<
  RfqEventType,
  'RfqMoveProposed' | 'RfqMoveRefused' | 'RfqConfirmationExpired' | 'RfqDropped' | Question
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
      const { number, hash, values, valid_until } = event.data;
      return { state: 'quoted', quote: { number, hash, values, valid_until } };
    }
    case 'QuotationAgreed':
      return { state: 'agreed' };
    case 'QuotationDeclined':
      return { state: 'declined' };
    case 'RfqWon': {
      const { values, counted_lead, quotation, agreed = false } = event.data;
      const won_with = { ...quotation, agreed };
      return { state: 'won', values, won_with, counted_lead, outcome_at: event.at };
    }
    case 'RfqLost':
      return { state: 'lost', outcome_at: event.at };
    case 'RfqWithdrawn':
      return { state: 'withdrawn', outcome_at: event.at };
    case 'RfqOutcomeCorrected': {
      const { to, counted_lead, outcome_at } = event.data;
      return isRfqOutcome(to.state)
        ? { state: to.state, values: to.values, counted_lead, outcome_at }
        : {
            state: to.state,
            values: undefined,
            won_with: undefined,
            counted_lead,
            outcome_at: undefined,
          };
    }
  }
};

/** Removes every text of a person. An RFQ that is open is withdrawn: there is no contact to answer it to. */
export const eraseRfq = (rfq: RfqProgress, at: number): RfqProgress => {
  const { proposed: _ended, open_questions: _closed, ...kept } = rfq;
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
  QuotationAgreed: false,
  QuotationDeclined: false,
  QuotationQuestionAsked: false,
  QuotationQuestionAnswered: false,
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

/** Of the link by mail that shows the next quotation. The decider is pure, so the command has it. */
type Quoting = { tokenHash: string };

export type RfqCommand =
  | {
      type: 'MoveRfq';
      at: number;
      move: RfqMove;
      /** The quotation that the person who wins it named. */
      named: number | undefined;
      approval: ApprovalRules;
      /** The lead that counts as won if this wins the RFQ. */
      countedLead: string | undefined;
    }
  | ({
      type: 'QuoteRfq';
      at: number;
      offer: Offer;
      sealedReason: string | undefined;
      /** The number of the quotation that this one voids. */
      replaces: number | undefined;
      approval: ApprovalRules;
    } & Quoting)
  | ({
      type: 'ApproveRfqMove';
      at: number;
      proposal: number;
      countedLead: string | undefined;
    } & Quoting)
  | { type: 'RefuseRfqMove'; at: number; proposal: number; sealedReason: string }
  | {
      type: 'AnswerQuotation';
      at: number;
      /** The quotation whose link was opened, and the one that its page showed. */
      number: number;
      hash: string;
      answer: 'agreed' | 'declined';
      sealedReason: string | undefined;
    }
  | { type: 'AskQuestion'; at: number; number: number; question: number; sealedQuestion: string }
  | { type: 'AnswerQuestion'; at: number; question: number; sealedAnswer: string };

const COMMANDS: Record<RfqCommand['type'], true> = {
  MoveRfq: true,
  QuoteRfq: true,
  ApproveRfqMove: true,
  RefuseRfqMove: true,
  AnswerQuotation: true,
  AskQuestion: true,
  AnswerQuestion: true,
};

export const isRfqCommand = (command: { type: string }): command is RfqCommand =>
  command.type in COMMANDS;

export type RfqRejection =
  | 'rfq_unsent'
  | 'rfq_move_not_allowed'
  | 'values_required'
  | 'quote_over'
  | 'quotation_not_named'
  | 'quotation_replaced'
  | 'question_answered'
  | 'too_many_questions'
  | 'proposal_unknown';

type RfqDecision = Decision<Event, RfqRejection>;
/** What every event of an RFQ contains, so that it can be attributed without its stream. */
type Reference = Omit<EventDataOfMove, 'reason' | 'sealed_reason'>;
type EventDataOfMove = Extract<Event, { type: 'RfqTakenUp' }>['data'];
type Of<Type> = Extract<RfqCommand, { type: Type }>;

/** Decides on an RFQ; undefined if the buyer has sent none. */
export const decideRfq = (
  rfq: RfqProgress | undefined,
  command: RfqCommand,
  reference: Reference,
): RfqDecision => {
  if (!rfq) return reject('rfq_unsent', 'the buyer has sent no RFQ of this handoff');
  switch (command.type) {
    case 'MoveRfq':
      return decideRfqMove(rfq, command, reference);
    case 'QuoteRfq':
      return decideQuote(rfq, command, reference);
    case 'AnswerQuotation':
      return decideAnswer(rfq, command, reference);
    case 'AskQuestion':
      return decideQuestion(rfq, command, reference);
    case 'AnswerQuestion':
      return decideReply(rfq, command, reference);
    case 'RefuseRfqMove':
      return decideProposal<RfqMove, Event, RfqRejection>(rfq, command.proposal, () =>
        accept({
          type: 'RfqMoveRefused',
          data: { ...reference, sealed_reason: command.sealedReason },
        }),
      );
    case 'ApproveRfqMove':
      return decideProposal<RfqMove, Event, RfqRejection>(
        rfq,
        command.proposal,
        (move) =>
          rejectMove(rfq, move, command.at) ??
          accept(eventOf(rfq, { ...command, move }, reference)),
      );
  }
};

const decideRfqMove = (
  rfq: RfqProgress,
  command: Of<'MoveRfq'>,
  reference: Reference,
): RfqDecision => {
  const move = withQuotation(rfq, command.move);
  const { approval, named } = command;
  return decideMove<RfqMove, Event, RfqRejection>(rfq, {
    isRepeated: isRepeated(rfq, move),
    rejection: rejectMove(rfq, move, command.at) ?? rejectNamed(rfq, named),
    needsApproval: needsApproval(rfq, move, approval),
    approval,
    isSame: (proposed) => isSameMove(proposed, move),
    eventOf: (alone) => eventOf(rfq, { ...command, move, alone }, reference),
    proposalOf: () => ({ type: 'RfqMoveProposed', data: { ...reference, ...move } }),
  });
};

/** An RFQ is won with its newest quotation, for what that comes to. */
const withQuotation = ({ quote }: RfqProgress, move: RfqMove): RfqMove =>
  move.to === 'won' && !move.is_correction && quote
    ? { ...move, values: quote.values, quotation: { number: quote.number, hash: quote.hash } }
    : move;

const rejectNamed = ({ quote }: RfqProgress, named: number | undefined): RfqDecision | undefined =>
  named === undefined || named === quote?.number
    ? undefined
    : reject(
        'quotation_replaced',
        `the newest quotation is number ${quote?.number ?? 0}, and not ${named}`,
      );

/** A quotation also takes the RFQ up, if it was only confirmed. */
const decideQuote = (
  rfq: RfqProgress,
  command: Of<'QuoteRfq'>,
  reference: Reference,
): RfqDecision => {
  const { offer, sealedReason: sealed_reason, replaces, at, approval } = command;
  const move: RfqMove = { to: 'quoted', values: offer.values, offer, sealed_reason };
  const decided = decideMove<RfqMove, Event, RfqRejection>(rfq, {
    isRepeated: false,
    rejection: rejectMove(rfq, move, at) ?? rejectReplacing(rfq, { at, replaces }),
    needsApproval: needsApproval(rfq, move, approval),
    approval,
    isSame: () => false,
    eventOf: (alone) =>
      eventOf(rfq, { ...command, move, alone, countedLead: undefined }, reference),
    proposalOf: () => ({ type: 'RfqMoveProposed', data: { ...reference, ...move } }),
  });
  if (!decided.accepted || rfq.state !== 'confirmed') return decided;
  return accept({ type: 'RfqTakenUp', data: reference }, ...decided.events);
};

/** The states in which the newest quotation may still be answered, or is agreed to. */
const QUOTED: readonly RfqStateName[] = ['quoted', 'agreed', 'declined'];

/** A quotation that may still be answered is voided only by name: two people do not void each other's unawares. */
const rejectReplacing = (
  rfq: RfqProgress,
  { at, replaces }: { at: number; replaces: number | undefined },
): RfqDecision | undefined => {
  const { quote } = rfq;
  const state = rfqStateAt(rfq, at);
  if (replaces === undefined ? !QUOTED.includes(state) : replaces === quote?.number)
    return undefined;
  return reject(
    'quotation_not_named',
    quote
      ? `the newest quotation is number ${quote.number}, and the RFQ is ${state}: name it in replaces to void it with a new one`
      : 'the RFQ has no quotation to replace: leave out replaces',
  );
};

/** The buyer's answer to the quotation that their page showed. */
const decideAnswer = (
  rfq: RfqProgress,
  { at, number, hash, answer, sealedReason }: Of<'AnswerQuotation'>,
  reference: Reference,
): RfqDecision => {
  const { quote } = rfq;
  const state = rfqStateAt(rfq, at);
  if (quote?.number !== number || quote.hash !== hash)
    return reject('quotation_replaced', `the newest quotation is number ${quote?.number ?? 0}`);
  if (state === answer) return accept();
  if (
    state === 'expired' ||
    (answer === 'agreed' && QUOTED.includes(state) && at >= quote.valid_until)
  )
    return reject('quote_over', 'the quotation has expired');
  if (!canMove(state, answer, ['buyer']))
    return reject('rfq_move_not_allowed', `an RFQ that is ${state} cannot become ${answer}`);
  const data = { ...reference, number, hash };
  return answer === 'agreed'
    ? accept({ type: 'QuotationAgreed', data })
    : accept({ type: 'QuotationDeclined', data: { ...data, sealed_reason: sealedReason } });
};

/** So many questions wait for an answer at most, and so many can be asked in all. */
const OPEN_QUESTIONS_MAX = 5;
const QUESTIONS_MAX = 50;

const decideQuestion = (
  rfq: RfqProgress,
  { at, number, question, sealedQuestion: sealed_question }: Of<'AskQuestion'>,
  reference: Reference,
): RfqDecision => {
  const { quote, questions = 0, open_questions = [] } = rfq;
  const state = rfqStateAt(rfq, at);
  if (quote?.number !== number)
    return reject('quotation_replaced', `the newest quotation is number ${quote?.number ?? 0}`);
  if (isRfqOutcome(state)) return reject('rfq_move_not_allowed', `the RFQ is ${state}`);
  // A repeated question has its effect already.
  if (question <= questions) return accept();
  if (open_questions.length >= OPEN_QUESTIONS_MAX || questions >= QUESTIONS_MAX)
    return reject(
      'too_many_questions',
      open_questions.length >= OPEN_QUESTIONS_MAX
        ? `${open_questions.length} questions wait for an answer`
        : `${questions} questions were asked, and no more can be`,
    );
  const data = { ...reference, number, question: questions + 1, sealed_question };
  return accept({ type: 'QuotationQuestionAsked', data });
};

const decideReply = (
  { questions = 0, open_questions = [] }: RfqProgress,
  { question, sealedAnswer: sealed_answer }: Of<'AnswerQuestion'>,
  reference: Reference,
): RfqDecision => {
  if (open_questions.includes(question))
    return accept({
      type: 'QuotationQuestionAnswered',
      data: { ...reference, question, sealed_answer },
    });
  return reject(
    'question_answered',
    question <= questions
      ? `question ${question} is answered, or ended with an erasure`
      : `the buyer has asked ${questions === 0 ? 'no question' : `${questions} questions`}: there is no question ${question}`,
  );
};

const isSameValues = (one: readonly Money[] = [], other: readonly Money[] = []): boolean =>
  one.length === other.length &&
  one.every(({ amount, currency }) =>
    other.some((each) => each.currency === currency && each.amount === amount),
  );

const isSameMove = (one: RfqMove, other: RfqMove): boolean =>
  one.to === other.to &&
  one.is_correction === other.is_correction &&
  one.quotation?.hash === other.quotation?.hash &&
  isSameValues(one.values, other.values);

/** Whether the RFQ is already as the move would leave it. */
const isRepeated = ({ state, values }: RfqProgress, move: RfqMove): boolean =>
  state === move.to && (state !== 'won' || isSameValues(values, move.values));

const canMove = (from: RfqStateName, to: RfqStateName, movers: readonly Mover[]): boolean =>
  !isRfqOutcome(from) && rfqMovers(from, to).some((mover) => movers.includes(mover));

const STAFF: readonly Mover[] = ['staff', 'two of staff'];

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
  const isAllowed = hasOutcome
    ? (RFQ_CORRECTIONS as readonly string[]).includes(to)
    : canMove(state, to, STAFF);
  if (!isAllowed)
    return reject('rfq_move_not_allowed', `an RFQ that is ${state} cannot become ${to}`);
  if (to === 'won' && !move.values)
    return reject('values_required', 'an RFQ is corrected to won with values only');
  if (move.offer && move.offer.valid_until <= at)
    return reject('quote_over', 'a quotation needs a valid_until in the future');
  return undefined;
};

/** Whether a correction raises what the RFQ was won for, in any currency. */
const isUpwards = ({ values = [] }: RfqProgress, move: RfqMove): boolean =>
  move.to === 'won' && isAbove(move.values, values);

const needsApproval = (
  rfq: RfqProgress,
  move: RfqMove,
  { above: limits }: ApprovalRules,
): boolean => {
  const { to, values, is_correction } = move;
  if (is_correction)
    return (
      isUpwards(rfq, move) ||
      (limits !== undefined && (isAbove(values, limits) || isAbove(rfq.values, limits)))
    );
  if (to === 'won') return !canMove(rfq.state, to, ['staff']);
  return to === 'quoted' && limits !== undefined && isAbove(values, limits);
};

type Allowed = {
  at: number;
  move: RfqMove;
  countedLead: string | undefined;
  tokenHash?: string;
  alone?: true | undefined;
};

/** The event of a move that is allowed. */
const eventOf = (rfq: RfqProgress, allowed: Allowed, reference: Reference): Event => {
  const { at, move, countedLead, alone } = allowed;
  const { to, values = [], is_correction, sealed_reason } = move;
  const data = { ...reference, sealed_reason };
  const counted_lead = rfq.counted_lead ?? (to === 'won' ? countedLead : undefined);
  if (is_correction) {
    const from = { state: rfq.state as RfqOutcome, values: rfq.values };
    const after = { state: to as RfqOutcome, ...(to === 'won' && { values }) };
    const { outcome_at = at } = rfq;
    return {
      type: 'RfqOutcomeCorrected',
      data: { ...data, from, to: after, outcome_at, counted_lead, alone },
    };
  }
  if (to === 'quoted') return quoted(rfq, { ...data, alone }, allowed);
  if (to === 'won') {
    const { quotation } = move;
    if (!quotation) throw new Error('an RFQ without a quotation cannot be won');
    const agreed = rfq.state === 'agreed' ? (true as const) : undefined;
    // `pinLines` has the lines of the quotation.
    const won = { ...data, values, lines: [], quotation, agreed, counted_lead, alone };
    return { type: 'RfqWon', data: won };
  }
  return { type: TYPES[to], data };
};

const quoted = (
  { quote }: RfqProgress,
  data: EventDataOfMove & { alone?: true | undefined },
  { move: { offer }, tokenHash = '' }: Allowed,
): Event => {
  if (!offer) throw new Error('a quotation without an offer');
  const number = (quote?.number ?? 0) + 1;
  const hash = hashOfQuotation(data.handoff_id, { ...offer, number });
  return {
    type: 'RfqQuoted',
    data: { ...data, ...offerIn(offer), number, hash, token_hash: tokenHash },
  };
};

const TYPES = {
  in_progress: 'RfqTakenUp',
  lost: 'RfqLost',
  withdrawn: 'RfqWithdrawn',
} as const;
