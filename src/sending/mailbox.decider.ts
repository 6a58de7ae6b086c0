/** A mailbox that somebody typed into a form: how often it was mailed, and whether its holder refuses such mail. */
import type { EventOf, MailboxEventType } from '#contracts/registries/events.ts';
import { accept, type Decider, reject } from '#src/shared/decider.ts';

type MailboxEvent = EventOf<MailboxEventType>;

/** The least time between two messages, and how many are sent within a period; in milliseconds. */
export type MailboxLimits = { betweenMs: number; perPeriod: number; periodMs: number };

export type MailboxCommand =
  | { type: 'MailMailbox'; at: number; mailId: string; limits: MailboxLimits }
  | { type: 'BlockMailbox'; at: number; until: number };

export type MailboxRejection = 'mailbox_blocked' | 'mailed_often';

export type MailedState = {
  /** The newest messages, oldest first; times in epoch milliseconds. */
  mailed: readonly { mail_id: string; at: number }[];
  blocked_until?: number;
};

/** More than any limit, so that a limit can be raised. */
const KEPT = 20;

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
    const { mailId: mail_id, limits } = command;
    // A message that is tried again counts once.
    if (state.mailed.some((one) => one.mail_id === mail_id)) return accept();
    if ((state.blocked_until ?? 0) > at)
      return reject('mailbox_blocked', 'the holder of the mailbox asked for no such message');
    return waitMs(state, { at, limits }) > 0
      ? reject('mailed_often', 'the mailbox was mailed as often as it can be')
      : accept({ type: 'MailboxMailed', data: { mail_id } });
  },
};

/** How long the mailbox must not be mailed, in milliseconds; 0 if it may be. */
export const waitMs = (
  { mailed }: MailedState,
  { at, limits }: { at: number; limits: MailboxLimits },
): number => {
  const { betweenMs, perPeriod, periodMs } = limits;
  const last = mailed.at(-1)?.at ?? -Infinity;
  const first = mailed.at(-perPeriod)?.at ?? -Infinity;
  const isFull = mailed.length >= perPeriod;
  return Math.max(0, last + betweenMs - at, isFull ? first + periodMs - at : 0);
};
