import type {
  EventData,
  EventOf,
  HandoffEventType,
  Happened,
  RfqEventType,
} from '#contracts/events/index.ts';
import {
  accept,
  type Decider,
  type Decision,
  firstVersion,
  nextVersion,
  reject,
} from './decider.ts';
import {
  applyChange,
  differenceOf,
  isRevisionLimitReached,
  isSameQuantities,
  isSameTotals,
  type RevisionLimits,
  withNews,
} from './handoff-list.ts';
import type { HandoffState, HandoffStatus } from './handoff-state.ts';
import { endReason, eraseHandoff } from './handoff-texts.ts';
import { decideRfq, isRfqCommand, type RfqCommand, type RfqRejection } from './outcomes/rfq.ts';
import { CONFIRMED_RFQ, foldRfq, isOfRfq, RFQ_EVENTS_SHOWN } from './outcomes/rfq-state.ts';

type Event = EventOf<HandoffEventType>;
type PricedList = Pick<EventData<'HandoffCreated'>, 'lines' | 'totals'>;
type News = NonNullable<EventData<'RfqSubmittedByBuyer'>['news']>;

export type HandoffCommand =
  | { type: 'CreateHandoff'; handoff: EventData<'HandoffCreated'> }
  | { type: 'CreateBuyerList'; list: EventData<'BuyerListCreated'> }
  | { type: 'OpenHandoff'; at: number }
  | ({ type: 'ReviseList'; at: number; listRevision: number; limits: RevisionLimits } & PricedList)
  | { type: 'DeclineHandoff'; at: number; sealedReason?: string }
  | ({
      type: 'SubmitRfq';
      at: number;
      listRevision: number;
      contact: string;
      mailboxKeys?: EventData<'RfqSubmittedByBuyer'>['mailbox_keys'];
      consentText: string;
      /** The totals that the buyer's page showed. */
      shown: PricedList['totals'];
      news: News;
    } & PricedList)
  | { type: 'WithdrawHandoff'; at: number; sealedReason: string }
  | { type: 'InvalidateHandoff'; at: number; sealedReason: string }
  | RfqCommand
  | { type: 'EraseSubject'; subject: string; reason: string };

export type HandoffRejection =
  | 'handoff_exists'
  | 'handoff_unknown'
  | 'handoff_closed'
  | 'handoff_expired'
  | 'list_changed'
  | 'too_many_revisions'
  | 'totals_changed'
  | RfqRejection;

const isUndecided = ({ status }: HandoffState): boolean =>
  status === 'awaiting_buyer' || status === 'in_review';

/** Whether the buyer can act at `at`, in epoch milliseconds. Expiry has no event: it follows from the time. */
export const isOpen = (state: HandoffState, at: number): boolean =>
  isUndecided(state) && at < state.expires_at;

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
    if (command.type === 'EraseSubject') {
      const { type: _erase, ...data } = command;
      return state.erased ? accept() : accept({ type: 'SubjectErased', data });
    }
    if (isRfqCommand(command)) return decideRfq(state.rfq, command, referenceTo(state));
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
        return accept({ type: 'HandoffDeclinedByBuyer', data });
      }
      case 'SubmitRfq':
        return submitRfq(state, command);
      case 'WithdrawHandoff':
      case 'InvalidateHandoff': {
        const type = command.type === 'WithdrawHandoff' ? 'HandoffWithdrawn' : 'HandoffInvalidated';
        const data = { handoff_id: state.handoff_id, sealed_reason: command.sealedReason };
        return accept({ type, data });
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
const submitRfq = (state: HandoffState, command: Of<'SubmitRfq'>): HandoffDecision => {
  const { contact, consentText, at, lines, totals, news, shown, listRevision } = command;
  if (listRevision !== state.list_revision) return rejectOldList(state);
  if (!isSameTotals(totals, shown))
    return reject('totals_changed', 'the totals of the list differ from those that were shown');
  const isSaved = isSameQuantities(lines, state.lines);
  const submitted: Event = {
    type: 'RfqSubmittedByBuyer',
    data: {
      ...referenceTo(state),
      contact,
      ...(command.mailboxKeys && { mailbox_keys: command.mailboxKeys }),
      consent_text: consentText,
      consented_at: at,
      ...(news.length > 0 && { news }),
      list_revision: isSaved ? listRevision : listRevision + 1,
      totals: isSaved ? state.totals : totals,
    },
  };
  return isSaved ? accept(submitted) : accept(listRevised(state, command), submitted);
};

const evolveRfq = (state: HandoffState, event: Happened<RfqEventType>): HandoffState => {
  if (!state.rfq) throw new Error(`${event.type} on a handoff without an RFQ`);
  const { contact, submitted_at } = state.rfq;
  const rfq = { ...foldRfq(state.rfq, event), contact, submitted_at };
  return { ...state, rfq, ...(RFQ_EVENTS_SHOWN[event.type] && nextVersion(state, event.at)) };
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
      return {
        status: 'rfq_submitted',
        lines: withNews(state.lines, event.data.news ?? []),
        rfq: { ...CONFIRMED_RFQ, contact: event.data.contact, submitted_at: event.at },
      };
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
