import type { EventData, EventOf, HandoffEventType } from '#contracts/events/index.ts';
import type { Decider, Decision } from './decider.ts';
import { accept, later, reject } from './decider.ts';

type Event = EventOf<HandoffEventType>;
type Lines = Pick<EventData<'HandoffListRevisedByBuyer'>, 'lines' | 'totals'>;

export type HandoffCommand =
  | { type: 'CreateHandoff'; handoff: EventData<'HandoffCreated'> }
  | { type: 'OpenHandoff'; at: number }
  | ({ type: 'ReviseList'; at: number; listRevision: number } & Lines)
  | { type: 'DeclineHandoff'; at: number; reason?: string }
  | ({
      type: 'SubmitRfq';
      at: number;
      listRevision: number;
      contact: string;
      consentText: string;
    } & Lines)
  | { type: 'WithdrawHandoff'; at: number; reason: string }
  | { type: 'InvalidateHandoff'; at: number; reason: string }
  | { type: 'EraseSubject'; subject: string; reason: string };

export type HandoffRejection =
  | 'handoff_exists'
  | 'handoff_unknown'
  | 'handoff_closed'
  | 'handoff_expired'
  | 'list_changed';

export type HandoffStatus =
  | 'awaiting_buyer'
  | 'in_review'
  | 'rfq_submitted'
  | 'declined'
  | 'withdrawn'
  | 'invalidated';

export type HandoffState = Omit<EventData<'HandoffCreated'>, 'buyer'> & {
  buyer: EventData<'HandoffCreated'>['buyer'];
  status: HandoffStatus;
  status_reason?: string;
  /** Rises with each change of the list; what the buyer sends must be what the buyer saw. */
  list_revision: number;
  rfq?: { contact: string; submitted_at: number };
  erased: boolean;
  created_at: number;
  updated_at: number;
  version: number;
};

/** Expiry is not an event: a handoff whose time has come is closed, whoever asks. */
export const isOpen = (state: HandoffState, at: number): boolean =>
  (state.status === 'awaiting_buyer' || state.status === 'in_review') && at < state.expires_at;

export const handoff: Decider<HandoffState, HandoffCommand, Event, HandoffRejection> = {
  evolve(state, event) {
    if (event.type === 'HandoffCreated') {
      return {
        ...event.data,
        status: 'awaiting_buyer',
        list_revision: 1,
        erased: false,
        created_at: event.at,
        updated_at: event.at,
        version: 0,
      };
    }
    if (!state) throw new Error(`${event.type} on a handoff that was never created`);
    return {
      ...state,
      ...changed(state, event),
      updated_at: later(state.updated_at, event.at),
      version: state.version + 1,
    };
  },

  decide(state, command) {
    if (command.type === 'CreateHandoff') {
      return state
        ? reject('handoff_exists', `handoff ${state.handoff_id} exists`)
        : accept({ type: 'HandoffCreated', data: command.handoff });
    }
    if (!state) return reject('handoff_unknown', 'no such handoff');
    const { handoff_id, agent_id, dims, link_id } = state;
    const named = { handoff_id, agent_id, dims, ...(link_id && { link_id }) };
    if (command.type === 'EraseSubject') {
      const { subject, reason } = command;
      return state.erased ? accept() : accept({ type: 'SubjectErased', data: { subject, reason } });
    }
    if (!isOpen(state, command.at)) return closed(state, command.type);
    switch (command.type) {
      case 'OpenHandoff':
        return state.status === 'in_review'
          ? accept()
          : accept({ type: 'HandoffOpenedByBuyer', data: named });
      case 'ReviseList': {
        const { lines, totals } = command;
        // Asked twice, it holds already, whichever list was seen.
        if (sameQuantities(lines, state.lines)) return accept();
        if (command.listRevision !== state.list_revision) return listChanged(state);
        return accept({ type: 'HandoffListRevisedByBuyer', data: { ...named, lines, totals } });
      }
      case 'DeclineHandoff': {
        const { reason } = command;
        return accept({
          type: 'HandoffDeclinedByBuyer',
          data: { ...named, ...(reason && { reason }) },
        });
      }
      case 'SubmitRfq': {
        const { contact, consentText, at, lines, totals } = command;
        if (command.listRevision !== state.list_revision) return listChanged(state);
        const asked = { ...named, contact, consent_text: consentText, consented_at: at };
        const { list_revision } = state;
        if (sameQuantities(lines, state.lines))
          return accept({
            type: 'RfqSubmittedByBuyer',
            data: { ...asked, list_revision, totals: state.totals },
          });
        // Quantities that were typed and not saved go along: both, or neither.
        return accept(
          { type: 'HandoffListRevisedByBuyer', data: { ...named, lines, totals } },
          {
            type: 'RfqSubmittedByBuyer',
            data: { ...asked, list_revision: list_revision + 1, totals },
          },
        );
      }
      case 'WithdrawHandoff':
        return accept({ type: 'HandoffWithdrawn', data: { handoff_id, reason: command.reason } });
      case 'InvalidateHandoff':
        return accept({ type: 'HandoffInvalidated', data: { handoff_id, reason: command.reason } });
    }
  },
};

/** What an event changes of a handoff that exists. */
const changed = (state: HandoffState, event: Event & { at: number }): Partial<HandoffState> => {
  switch (event.type) {
    case 'HandoffCreated':
      throw new Error('a handoff was created twice');
    case 'HandoffOpenedByBuyer':
      return { status: 'in_review' };
    case 'HandoffListRevisedByBuyer':
      return {
        status: 'in_review',
        lines: event.data.lines,
        totals: event.data.totals,
        list_revision: state.list_revision + 1,
      };
    case 'HandoffDeclinedByBuyer':
      return { status: 'declined', ...(event.data.reason && { status_reason: event.data.reason }) };
    case 'RfqSubmittedByBuyer':
      return {
        status: 'rfq_submitted',
        rfq: { contact: event.data.contact, submitted_at: event.at },
      };
    case 'HandoffWithdrawn':
      return { status: 'withdrawn', status_reason: event.data.reason };
    case 'HandoffInvalidated':
      return { status: 'invalidated', status_reason: event.data.reason };
    case 'SubjectErased': {
      const { email: _erased, ...buyer } = state.buyer;
      const waiting = state.status === 'awaiting_buyer' || state.status === 'in_review';
      return {
        buyer,
        erased: true,
        // Nobody is left to review it.
        ...(waiting && { status: 'withdrawn', status_reason: 'erased' }),
        ...(state.rfq && { rfq: { contact: '', submitted_at: state.rfq.submitted_at } }),
      };
    }
  }
};

const closed = (state: HandoffState, command: string): Decision<Event, HandoffRejection> => {
  // Asking again for what has been done is not an error: the buyer pressed the button twice.
  if (command === 'SubmitRfq' && state.status === 'rfq_submitted') return accept();
  if (command === 'DeclineHandoff' && state.status === 'declined') return accept();
  if (command === 'WithdrawHandoff' && state.status === 'withdrawn') return accept();
  if (command === 'InvalidateHandoff' && state.status === 'invalidated') return accept();
  const open = state.status === 'awaiting_buyer' || state.status === 'in_review';
  return open
    ? reject('handoff_expired', 'the handoff has expired')
    : reject('handoff_closed', `the handoff is ${state.status}`);
};

const listChanged = (state: HandoffState) =>
  reject('list_changed', `the list is now at revision ${state.list_revision}`);

const sameQuantities = (a: Lines['lines'], b: Lines['lines']): boolean =>
  a.length === b.length &&
  a.every((line, i) => line.line_id === b[i]?.line_id && line.quantity === b[i]?.quantity);
