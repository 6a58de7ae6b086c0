import type { EventData, EventOf, HandoffEventType } from '#contracts/events/index.ts';
import { accept, type Decider, type Decision, later, reject } from './decider.ts';
import type { MostRevisions } from './handoff-list.ts';
import {
  changeOf,
  isSpent,
  revised,
  sameQuantities,
  sameTotals,
  withNews,
} from './handoff-list.ts';
import type { HandoffState } from './handoff-state.ts';
import { erased, why } from './handoff-texts.ts';

type Event = EventOf<HandoffEventType>;
type Lines = Pick<EventData<'HandoffCreated'>, 'lines' | 'totals'>;
type News = NonNullable<EventData<'RfqSubmittedByBuyer'>['news']>;

export type HandoffCommand =
  | { type: 'CreateHandoff'; handoff: EventData<'HandoffCreated'> }
  | { type: 'OpenHandoff'; at: number }
  | ({ type: 'ReviseList'; at: number; listRevision: number; most: MostRevisions } & Lines)
  | { type: 'DeclineHandoff'; at: number; sealedReason?: string }
  | ({
      type: 'SubmitRfq';
      at: number;
      listRevision: number;
      contact: string;
      consentText: string;
      /** What the buyer was shown that the list comes to. */
      shown: Lines['totals'];
      news: News;
    } & Lines)
  | { type: 'WithdrawHandoff'; at: number; sealedReason: string }
  | { type: 'InvalidateHandoff'; at: number; sealedReason: string }
  | { type: 'EraseSubject'; subject: string; reason: string };

export type HandoffRejection =
  | 'handoff_exists'
  | 'handoff_unknown'
  | 'handoff_closed'
  | 'handoff_expired'
  | 'list_changed'
  | 'too_many_revisions'
  | 'totals_changed';

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
        if (isSpent(state, command.most))
          return reject('too_many_revisions', 'the list was changed as often as it can be');
        return accept({
          type: 'HandoffListRevisedByBuyer',
          data: { ...named, ...changeOf(state.lines, lines), totals },
        });
      }
      case 'DeclineHandoff': {
        const { sealedReason } = command;
        return accept({
          type: 'HandoffDeclinedByBuyer',
          data: { ...named, ...(sealedReason && { sealed_reason: sealedReason }) },
        });
      }
      case 'SubmitRfq': {
        const { contact, consentText, at, lines, totals, news } = command;
        if (command.listRevision !== state.list_revision) return listChanged(state);
        if (!sameTotals(totals, command.shown))
          return reject('totals_changed', 'the list comes to another total than was shown');
        const asked = {
          ...named,
          contact,
          consent_text: consentText,
          consented_at: at,
          ...(news.length > 0 && { news }),
        };
        const { list_revision } = state;
        if (sameQuantities(lines, state.lines))
          return accept({
            type: 'RfqSubmittedByBuyer',
            data: { ...asked, list_revision, totals: state.totals },
          });
        // Quantities that were typed and not saved go along, past every bound: both, or neither.
        return accept(
          {
            type: 'HandoffListRevisedByBuyer',
            data: { ...named, ...changeOf(state.lines, lines), totals },
          },
          {
            type: 'RfqSubmittedByBuyer',
            data: { ...asked, list_revision: list_revision + 1, totals },
          },
        );
      }
      case 'WithdrawHandoff':
        return accept({
          type: 'HandoffWithdrawn',
          data: { handoff_id, sealed_reason: command.sealedReason },
        });
      case 'InvalidateHandoff':
        return accept({
          type: 'HandoffInvalidated',
          data: { handoff_id, sealed_reason: command.sealedReason },
        });
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
        ...revised(state, event.data),
        totals: event.data.totals,
      };
    case 'HandoffDeclinedByBuyer':
      return { status: 'declined', ...why(event.data) };
    case 'RfqSubmittedByBuyer':
      return {
        status: 'rfq_submitted',
        lines: withNews(state.lines, event.data.news ?? []),
        rfq: { contact: event.data.contact, submitted_at: event.at },
      };
    case 'HandoffWithdrawn':
      return { status: 'withdrawn', ...why(event.data) };
    case 'HandoffInvalidated':
      return { status: 'invalidated', ...why(event.data) };
    case 'SubjectErased':
      return erased(state);
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
