/** Limits of mail to mailboxes that have not confirmed anything, so that a form cannot be used to flood somebody. */
import { LIMITS } from '#contracts/limits.ts';
import { isTestSpace } from '#contracts/spaces.ts';
import { addressKey } from '#src/shared/mailbox.ts';
import { mailedMailbox, waitMs } from './mailbox.decider.ts';
import type { DeliveryResult } from '#src/ports/delivery.ts';
import { decideAndAppend, issue } from '#src/writing/decide-and-append.ts';
import { stateOf } from '#src/writing/fold.ts';
import type { Limiter } from '#src/calls/limiter.ts';
import type { Deps } from '#src/calls/call.ts';
import { type Call, unkeyed } from '#src/shared/call.ts';
import type { Refusal } from '#src/shared/outcome.ts';
import { DAY_MS, MINUTE_MS } from '#src/shared/time.ts';

type MailboxDeps = Pick<Deps, 'log' | 'ids' | 'streamQueue' | 'secrets'>;

const MAILBOX_LIMITS = {
  betweenMs: LIMITS.CONFIRMATION_WAIT_MINUTES * MINUTE_MS,
  perPeriod: LIMITS.CONFIRMATION_MAILS_PER_DAY,
  periodMs: DAY_MS,
};

/** The name has the address as a keyed hash only. Test spaces have limits of their own. */
const mailboxStream = ({ secrets }: MailboxDeps, { ownerId }: Call, address: string): string => {
  const space = isTestSpace(ownerId) ? 'test' : 'live';
  return `claims-mailbox_${secrets.mac('mailbox', `${space}:${addressKey(address)}`)}`;
};

/**
 * Counts a message to a mailbox that has confirmed nothing, before it is sent; undefined if it may be sent. Otherwise the
 * result of the attempt: the mailbox is blocked, or the message must wait. `hourly` limits all such messages of this
 * process together. Reads the stream of the mailbox.
 */
export const countUnconfirmed = async (
  deps: MailboxDeps & { hourly: Pick<Limiter, 'take'> },
  call: Call,
  { mailId, to }: { mailId: string; to: string },
): Promise<DeliveryResult | undefined> => {
  const stream = mailboxStream(deps, call, to);
  const { at } = call;
  const written = await decideAndAppend(deps, unkeyed(call), {
    stream,
    decider: mailedMailbox,
    command: () => issue({ type: 'MailMailbox' as const, at, mailId, limits: MAILBOX_LIMITS }),
  });
  if (written.ok) {
    const verdict = deps.hourly.take('');
    return verdict.allowed
      ? undefined
      : { outcome: 'retry', reason: 'hourly_limit', retryAfterMs: verdict.retryAfterS * 1_000 };
  }
  if (!('rejected' in written)) return { outcome: 'retry', reason: 'log_unavailable' };
  if (written.rejected === 'mailbox_blocked') return { outcome: 'refused', reason: 'blocked' };
  const state = await stateOf(deps, { stream, decider: mailedMailbox });
  const retryAfterMs = state ? waitMs(state, { at, limits: MAILBOX_LIMITS }) : 0;
  return { outcome: 'retry', reason: 'mailbox_limit', retryAfterMs };
};

/** Blocks such messages to a mailbox, for its holder; the refusal of a store that cannot write it, or undefined. */
export const blockMailbox = async (
  deps: MailboxDeps,
  call: Call,
  address: string,
): Promise<Refusal | undefined> => {
  const { at } = call;
  const until = at + LIMITS.MAILBOX_BLOCK_DAYS * DAY_MS;
  const written = await decideAndAppend(deps, unkeyed(call), {
    stream: mailboxStream(deps, call, address),
    decider: mailedMailbox,
    command: () => issue({ type: 'BlockMailbox' as const, at, until }),
  });
  return 'code' in written ? written : undefined;
};
