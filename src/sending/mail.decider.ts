import type { EventData, EventOf, Happened, MailEventType } from '#contracts/registries/events.ts';
import {
  accept,
  type Decider,
  type Decision,
  firstVersion,
  nextVersion,
  reject,
  type RecordVersion,
} from '#src/shared/decider.ts';
import type { AttemptState, OutcomeCommand } from './attempt.decider.ts';

type Event = EventOf<MailEventType>;
type Message = EventData<'MailQueued'>;

export type MailCommand =
  | { type: 'Queue'; message: Message }
  | { type: 'Dispatch'; at: number; until: number }
  | OutcomeCommand;

export type MailRejection =
  | 'mail_unknown'
  | 'mail_queued'
  | 'mail_ended'
  | 'not_due'
  | 'not_dispatched';

/** A message, and what is known about its delivery. */
export type MailState = Message &
  AttemptState &
  RecordVersion & { status: 'open' | 'sent' | 'failed' | 'outcome_unknown' };

/** Folds an event into the state. Throws on a transition that is impossible. */
export const foldMail = (
  state: MailState | undefined,
  event: Happened<MailEventType>,
): MailState => {
  if (event.type === 'MailQueued')
    return { ...event.data, status: 'open', attempts: 0, ...firstVersion(event.at) };
  if (!state) throw new Error(`${event.type} on a message that was never queued`);
  return { ...state, ...changesOf(event), ...nextVersion(state, event.at) };
};

/** Sends one message. At most one attempt is under way. */
export const mail: Decider<MailState, MailCommand, Event, MailRejection> = {
  evolve: foldMail,
  decide(state, command) {
    if (command.type === 'Queue')
      return state
        ? reject('mail_queued', 'the message is queued already')
        : accept({ type: 'MailQueued', data: command.message });
    if (!state) return reject('mail_unknown', 'no such message');
    if (state.status !== 'open') return reject('mail_ended', 'the message is at its end');
    return command.type === 'Dispatch' ? dispatch(state, command) : settle(state, command);
  },
};

const changesOf = (
  event: Exclude<Happened<MailEventType>, { type: 'MailQueued' }>,
): Partial<MailState> => {
  const ended = { until: undefined, retry_at: undefined };
  switch (event.type) {
    case 'MailDispatched': {
      const { attempt: attempts, until } = event.data;
      return { attempts, until, attempted_at: event.at, retry_at: undefined };
    }
    case 'MailDeferred': {
      const { retry_at, uncertain } = event.data;
      return { until: undefined, retry_at, ...(uncertain && { uncertain }) };
    }
    case 'MailSent':
      return { ...ended, status: 'sent' };
    case 'MailFailed':
      return { ...ended, status: 'failed' };
    case 'MailOutcomeUnknown':
      return { ...ended, status: 'outcome_unknown' };
  }
};

type Of<Type> = Extract<MailCommand, { type: Type }>;
type Verdict = Decision<Event, MailRejection>;

const dispatch = (
  { mail_id, attempts, until: isUnderWay, retry_at: due = 0 }: MailState,
  { at, until }: Of<'Dispatch'>,
): Verdict =>
  isUnderWay !== undefined || at < due
    ? reject('not_due', 'an attempt is under way, or the next one is not due')
    : accept({ type: 'MailDispatched', data: { mail_id, attempt: attempts + 1, until } });

/** A message that is not under way can only fail: it cannot be sent any more. */
const settle = ({ mail_id, attempts, until }: MailState, command: OutcomeCommand): Verdict => {
  const { type, attempt } = command;
  const isEarlyEnd = type === 'Fail' || type === 'LoseTrack';
  if (attempt !== attempts || (until === undefined && !isEarlyEnd))
    return reject('not_dispatched', `attempt ${attempt} is not under way`);
  switch (command.type) {
    case 'Defer': {
      const { reason, retryAt: retry_at, uncertain } = command;
      const data = { mail_id, attempt, reason, retry_at, ...(uncertain && { uncertain }) };
      return accept({ type: 'MailDeferred', data });
    }
    case 'Confirm':
      return accept({ type: 'MailSent', data: { mail_id, attempt, evidence: command.evidence } });
    case 'Fail':
      return accept({ type: 'MailFailed', data: { mail_id, attempt, reason: command.reason } });
    case 'LoseTrack':
      return accept({
        type: 'MailOutcomeUnknown',
        data: { mail_id, attempt, reason: command.reason },
      });
  }
};
