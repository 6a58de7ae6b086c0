/** A queued message and its attempts, and the mailbox that it goes to. */
import type {
  EventData,
  EventOf,
  Happened,
  MailEventType,
  MailboxEventType,
} from '#contracts/registries/events.ts';
import {
  accept,
  type Decider,
  firstVersion,
  nextVersion,
  reject,
  type RecordVersion,
} from '#src/shared/decider.ts';
import {
  type AttemptRejection,
  type AttemptState,
  decideOutcome,
  foldAttempt,
  type OutcomeCommand,
  rejectAttempt,
} from './attempt.decider.ts';

type Event = EventOf<MailEventType>;
type Message = EventData<'MailQueued'>;

export type MailCommand =
  | { type: 'Queue'; message: Message }
  | { type: 'Dispatch'; at: number; until: number }
  | OutcomeCommand;

type MailRejection = 'mail_unknown' | 'mail_queued' | 'mail_ended' | AttemptRejection;

/** A message, and what is known about its delivery. */
export type MailState = Message &
  AttemptState &
  RecordVersion & { status: 'open' | 'sent' | 'failed' | 'outcome_unknown' };

const ENDS: Partial<Record<MailEventType, MailState['status']>> = {
  MailSent: 'sent',
  MailFailed: 'failed',
  MailOutcomeUnknown: 'outcome_unknown',
};

/** Folds an event into the state. Throws on a transition that is impossible. */
export const foldMail = (
  state: MailState | undefined,
  event: Happened<MailEventType>,
): MailState => {
  if (event.type === 'MailQueued')
    return { ...event.data, status: 'open', attempts: 0, ...firstVersion(event.at) };
  if (!state) throw new Error(`${event.type} on a message that was never queued`);
  const status = ENDS[event.type] ?? 'open';
  return { ...state, ...foldAttempt(event), status, ...nextVersion(state, event.at) };
};

const OUTCOMES = {
  Defer: 'MailDeferred',
  Confirm: 'MailSent',
  Fail: 'MailFailed',
  LoseTrack: 'MailOutcomeUnknown',
} as const;

/** Sends one message. */
export const mail: Decider<MailState, MailCommand, Event, MailRejection> = {
  evolve: foldMail,
  decide(state, command) {
    if (command.type === 'Queue')
      return state
        ? reject('mail_queued', 'the message is queued already')
        : accept({ type: 'MailQueued', data: command.message });
    if (!state) return reject('mail_unknown', 'no such message');
    if (state.status !== 'open') return reject('mail_ended', 'the message is at its end');
    const { mail_id, attempts } = state;
    if (command.type !== 'Dispatch')
      return decideOutcome(state, command, { kind: 'mail', types: OUTCOMES, about: { mail_id } });
    const { until } = command;
    const data = { mail_id, attempt: attempts + 1, until };
    return rejectAttempt(state, command) ?? accept({ type: 'MailDispatched', data });
  },
};

type MailboxEvent = EventOf<MailboxEventType>;

/** The least time between two messages, and how many are sent within a period; in milliseconds. */
type MailboxLimits = { betweenMs: number; perPeriod: number; periodMs: number };

type MailboxCommand =
  | {
      type: 'MailMailbox';
      at: number;
      mailId: string;
      isApproved: boolean;
      limits: MailboxLimits;
    }
  | { type: 'BlockMailbox'; at: number; until: number };

type MailboxRejection = 'mailbox_blocked' | 'mailed_often';

export type MailedState = {
  /** The newest messages, oldest first; times in epoch milliseconds. */
  mailed: readonly { mail_id: string; approved?: true | undefined; at: number }[];
  blocked_until?: number;
};

/** More than any limit, so that a limit can be raised. */
const KEPT = 20;

/** A mailbox that somebody typed into a form: how often it was mailed, and whether its holder refuses such mail. */
export const mailedMailbox: Decider<MailedState, MailboxCommand, MailboxEvent, MailboxRejection> = {
  evolve(state = { mailed: [] }, event) {
    if (event.type === 'MailboxBlocked') return { ...state, blocked_until: event.data.until };
    const mailed = [...state.mailed, { ...event.data, at: event.at }];
    return { ...state, mailed: mailed.slice(-KEPT) };
  },

  decide(state = { mailed: [] }, command) {
    const { at } = command;
    if (command.type === 'BlockMailbox') {
      const { until } = command;
      return (state.blocked_until ?? 0) >= until
        ? accept()
        : accept({ type: 'MailboxBlocked', data: { until } });
    }
    const { mailId: mail_id, isApproved, limits } = command;
    // A message that is tried again counts once.
    if (state.mailed.some((one) => one.mail_id === mail_id)) return accept();
    if ((state.blocked_until ?? 0) > at)
      return reject('mailbox_blocked', 'the holder of the mailbox asked for no such message');
    return waitMs(state, { at, isApproved, limits }) > 0
      ? reject('mailed_often', 'the mailbox was mailed as often as it can be')
      : accept({ type: 'MailboxMailed', data: { mail_id, ...(isApproved && { approved: true }) } });
  },
};

/** How long the mailbox must not be mailed, in milliseconds; 0 if it may be. */
export const waitMs = (
  { mailed }: MailedState,
  { at, isApproved, limits }: { at: number; isApproved: boolean; limits: MailboxLimits },
): number => {
  const { betweenMs, perPeriod, periodMs } = limits;
  const last = mailed.findLast(({ approved }) => isApproved || !approved)?.at ?? -Infinity;
  const first = mailed.at(-perPeriod)?.at ?? -Infinity;
  const isFull = mailed.length >= perPeriod;
  return Math.max(0, last + betweenMs - at, isFull ? first + periodMs - at : 0);
};
