import type {
  EventData,
  EventOf,
  HandoffEventType,
  Happened,
  RfqEventType,
} from '#contracts/registries/events.ts';
import {
  accept,
  type Decider,
  type Decision,
  firstVersion,
  nextVersion,
  reject,
} from '#src/shared/decider.ts';
import {
  applyChange,
  differenceOf,
  isRevisionLimitReached,
  isSameQuantities,
  isSameTotals,
  type RevisionLimits,
} from './handoff-list.decider.ts';
import type { HandoffState, HandoffStatus } from './handoff-state.decider.ts';
import { endReason, eraseHandoff } from './handoff-texts.decider.ts';
import {
  type ConfirmationCommand,
  type ConfirmationRejection,
  decideConfirmation,
  dropRfq,
  isConfirmationCommand,
} from './confirmation.decider.ts';
import { decideRfq, isRfqCommand, type RfqCommand, type RfqRejection } from './rfq.decider.ts';
import { isOfRfq } from './rfq-state.decider.ts';
import { evolveRfq, rfqSubmitted, type SubmitRfq, submittedRfq } from './submission.decider.ts';

type Event = EventOf<HandoffEventType>;
type PricedList = Pick<EventData<'HandoffCreated'>, 'lines' | 'totals'>;

export type HandoffCommand =
  | { type: 'CreateHandoff'; handoff: EventData<'HandoffCreated'> }
  | { type: 'CreateBuyerList'; list: EventData<'BuyerListCreated'> }
  | { type: 'OpenHandoff'; at: number }
  | ({ type: 'ReviseList'; at: number; listRevision: number; limits: RevisionLimits } & PricedList)
  | { type: 'DeclineHandoff'; at: number; sealedReason?: string }
  | SubmitRfq
  | { type: 'WithdrawHandoff'; at: number; sealedReason: string }
  | { type: 'InvalidateHandoff'; at: number; sealedReason: string }
  | RfqCommand
  | ConfirmationCommand
  | { type: 'EraseSubject'; subject: string; reason: string; onlyContact?: string };

export type HandoffRejection =
  | 'handoff_exists'
  | 'handoff_unknown'
  | 'handoff_closed'
  | 'handoff_expired'
  | 'list_changed'
  | 'too_many_revisions'
  | 'totals_changed'
  | ConfirmationRejection
  | RfqRejection;

const isUndecided = ({ status }: HandoffState): boolean =>
  status === 'awaiting_buyer' || status === 'in_review';

/**
 * Whether the buyer can act at `at`, in epoch milliseconds. Expiry has no event: it follows from the time. A list whose RFQ
 * waits for its confirmation stays open for it.
 */
export const isOpen = (state: HandoffState, at: number): boolean =>
  isUndecided(state) && at < Math.max(state.expires_at, state.rfq?.confirmation?.until ?? 0);

export const handoff: Decider<HandoffState, HandoffCommand, Event, HandoffRejection> = {
  evolve(state, event) {
    if (event.type === 'HandoffCreated') {
      return {
        ...event.data,
        status: 'awaiting_buyer',
        list_revision: 1,
        erased: false,
        ...firstVersion(event.at),
      };
    }
    if (event.type === 'BuyerListCreated') return buyerList(event);
    if (!state) throw new Error(`${event.type} on a handoff that was never created`);
    if (isOfRfq(event)) return evolveRfq(state, event);
    return { ...state, ...changesOf(state, event), ...nextVersion(state, event.at) };
  },

  decide(state, command) {
    if (command.type === 'CreateHandoff') {
      return state
        ? reject('handoff_exists', `handoff ${state.handoff_id} exists`)
        : accept({ type: 'HandoffCreated', data: command.handoff });
    }
    if (command.type === 'CreateBuyerList') {
      return state
        ? reject('handoff_exists', `handoff ${state.handoff_id} exists`)
        : accept({ type: 'BuyerListCreated', data: command.list });
    }
    if (!state) return reject('handoff_unknown', 'no such handoff');
    if (command.type === 'EraseSubject') return erase(state, command);
    if (isRfqCommand(command)) return decideRfq(state.rfq, command, referenceTo(state));
    if (isConfirmationCommand(command))
      return decideConfirmation(state, command, referenceTo(state));
    if (!isOpen(state, command.at)) return decideClosed(state, command.type);
    switch (command.type) {
      case 'OpenHandoff':
        return state.status === 'in_review'
          ? accept()
          : accept({ type: 'HandoffOpenedByBuyer', data: referenceTo(state) });
      case 'ReviseList':
        return revise(state, command);
      case 'DeclineHandoff': {
        const data = { ...referenceTo(state), sealed_reason: command.sealedReason };
        return close(state, { type: 'HandoffDeclinedByBuyer', data });
      }
      case 'SubmitRfq':
        return submitRfq(state, command);
      case 'WithdrawHandoff':
      case 'InvalidateHandoff': {
        const type = command.type === 'WithdrawHandoff' ? 'HandoffWithdrawn' : 'HandoffInvalidated';
        const data = { handoff_id: state.handoff_id, sealed_reason: command.sealedReason };
        return close(state, { type, data });
      }
    }
  },
};

/** A list that its buyer made: the buyer has seen it, so it is in review from the start. */
const buyerList = ({ at, data }: Happened<'BuyerListCreated'>): HandoffState => {
  const { visit_id: _visit, alternatives: _others, ...list } = data;
  return {
    ...list,
    title: 'A list that a buyer made',
    buyer: {},
    made_by_buyer: true,
    status: 'in_review',
    list_revision: 1,
    erased: false,
    ...firstVersion(at),
  };
};

type Of<Type> = Extract<HandoffCommand, { type: Type }>;
type HandoffDecision = Decision<Event, HandoffRejection>;

/** What every event of the buyer contains, so that it can be attributed without its stream. */
const referenceTo = ({ handoff_id, agent_id, dims, link_id }: HandoffState) => ({
  handoff_id,
  agent_id,
  dims,
  link_id,
});

/** With `onlyContact`, ends the RFQ with that contact if it waits for its confirmation; an RFQ that was replaced is gone. */
const erase = (state: HandoffState, command: Of<'EraseSubject'>): HandoffDecision => {
  const { subject, reason, onlyContact } = command;
  const { confirmation, contact_subject } = state.rfq ?? {};
  if (state.erased || (onlyContact !== undefined && onlyContact !== contact_subject))
    return accept();
  if (onlyContact !== undefined && confirmation)
    return accept(...dropRfq(state, referenceTo(state), 'erased'));
  const data = { subject, reason, ...(contact_subject && { contact_subject }) };
  return accept({ type: 'SubjectErased', data });
};

/** A list that is closed ends an RFQ that waits for its confirmation. */
const close = (state: HandoffState, end: Event): HandoffDecision =>
  accept(end, ...dropRfq(state, referenceTo(state), 'closed'));

const listRevised = (state: HandoffState, { lines, totals }: PricedList): Event => ({
  type: 'HandoffListRevisedByBuyer',
  data: { ...referenceTo(state), ...differenceOf(state.lines, lines), totals },
});

const revise = (state: HandoffState, command: Of<'ReviseList'>): HandoffDecision => {
  // A repeated request has its effect already, whichever revision the buyer saw.
  if (isSameQuantities(command.lines, state.lines)) return accept();
  if (command.listRevision !== state.list_revision) return rejectOldList(state);
  return isRevisionLimitReached(state, command.limits)
    ? reject('too_many_revisions', 'the list was changed as often as it can be')
    : accept(listRevised(state, command));
};

/** Entered quantities that were not saved are stored with the RFQ, in one append and beyond the revision limits. */
const submitRfq = (state: HandoffState, command: SubmitRfq): HandoffDecision => {
  const { lines, totals, shown } = command;
  const isSaved = isSameQuantities(lines, state.lines);
  // A repeated request has its effect already, whichever revision the buyer saw.
  if (isSaved && state.rfq?.contact === command.contact) return accept();
  if (command.listRevision !== state.list_revision) return rejectOldList(state);
  if (!isSameTotals(totals, shown))
    return reject('totals_changed', 'the totals of the list differ from those that were shown');
  const reference = referenceTo(state);
  return accept(
    ...(isSaved ? [] : [listRevised(state, command)]),
    ...dropRfq(state, reference, 'replaced'),
    rfqSubmitted(state, command, { ...reference, isSaved }),
  );
};

/** The members that an event sets. */
const changesOf = (
  state: HandoffState,
  event: Happened<Exclude<HandoffEventType, RfqEventType>>,
): Partial<HandoffState> => {
  switch (event.type) {
    case 'HandoffCreated':
    case 'BuyerListCreated':
      throw new Error('a handoff was created twice');
    case 'HandoffOpenedByBuyer':
      return { status: 'in_review' };
    case 'HandoffListRevisedByBuyer':
      return { status: 'in_review', ...applyChange(state, event.data), totals: event.data.totals };
    case 'HandoffDeclinedByBuyer':
      return { status: 'declined', ...endReason(event.data) };
    case 'RfqSubmittedByBuyer':
      return submittedRfq(state, event);
    case 'HandoffWithdrawn':
      return { status: 'withdrawn', ...endReason(event.data) };
    case 'HandoffInvalidated':
      return { status: 'invalidated', ...endReason(event.data) };
    case 'SubjectErased':
      return eraseHandoff(state, event.at);
  }
};

/** The status that each command leads to; repeating it then is no error, for example after a double click. */
const STATUS_AFTER: Partial<Record<HandoffCommand['type'], HandoffStatus>> = {
  SubmitRfq: 'rfq_submitted',
  DeclineHandoff: 'declined',
  WithdrawHandoff: 'withdrawn',
  InvalidateHandoff: 'invalidated',
};

const decideClosed = (state: HandoffState, command: HandoffCommand['type']): HandoffDecision => {
  if (STATUS_AFTER[command] === state.status) return accept();
  return isUndecided(state)
    ? reject('handoff_expired', 'the handoff has expired')
    : reject('handoff_closed', `the handoff is ${state.status}`);
};

const rejectOldList = (state: HandoffState): HandoffDecision =>
  reject('list_changed', `the list is now at revision ${state.list_revision}`);
