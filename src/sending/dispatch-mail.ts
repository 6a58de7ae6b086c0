/** Advances one queued message: sends it when it is due. */
import { deliveryAddress } from '#contracts/mailbox.ts';
import { isTestSpace } from '#contracts/spaces.ts';
import { type Deps, systemCall } from '#src/calls/handlers.ts';
import type { Limiter } from '#src/calls/limits.ts';
import type { DeliveryResult, MailDelivery, Mailer } from '#src/ports/delivery.ts';
import { OPEN_RECORDS } from '#src/ports/rows.ts';
import { openOne } from '#src/sealing/sealed-texts.ts';
import type { SystemCall } from '#src/shared/call.ts';
import { decideAndAppend, issue } from '#src/writing/decide-and-append.ts';
import { stateOf } from '#src/writing/streams.ts';
import {
  commandAfter,
  deliver,
  giveUp,
  MARGIN_MS,
  RECORD_WAIT_MS,
  recordOutcome,
  type Scheduling,
  SENDER_GONE,
  type Work,
} from './dispatcher.ts';
import { mail, type MailCommand, type MailState } from './mail.decider.ts';
import {
  MAIL_KINDS,
  type MailFacts,
  type MailKind,
  type SealedMail,
  countUnconfirmed,
  mailStream,
} from './mail.ts';
import { readHaltForEverybody } from './settings.ts';

export type MailTexts = Pick<MailDelivery, 'subject' | 'text' | 'html'>;

export type MailSendingDeps = Pick<
  Deps,
  'log' | 'ids' | 'streamQueue' | 'clock' | 'readModels' | 'following' | 'vault' | 'secrets'
> &
  Scheduling & {
    /** The limit of all messages to mailboxes that have confirmed nothing. */
    hourly: Pick<Limiter, 'take'>;
    /** Messages of test spaces never leave the machine. */
    mailers: { live: Mailer; test: Mailer };
    render<Kind extends MailKind>(kind: Kind, facts: MailFacts[Kind]): Promise<MailTexts>;
  };

type MailWork = { deps: MailSendingDeps; call: SystemCall; stream: string; state: MailState };

/**
 * Does what is due now. `next_at` is when to look again, in epoch milliseconds; it is absent when the message is at its
 * end. Throws when the log does.
 */
const dispatchMail = async (
  deps: MailSendingDeps,
  mailId: string,
  call: SystemCall,
): Promise<{ next_at?: number }> => {
  const stream = mailStream(call.ownerId, mailId);
  const state = await stateOf(deps, { stream, decider: mail });
  if (state?.status !== 'open') return {};
  const work = { deps, call, stream, state };
  const step = await nextStep(work);
  if ('wait' in step) return { next_at: step.wait };
  const isRecorded =
    'send' in step ? await attempt(work, step.send) : await record(work, step.command);
  // If another process was faster, the next look sees its events; the wait prevents a busy loop.
  return { next_at: deps.clock.now() + (isRecorded ? 0 : RECORD_WAIT_MS) };
};

type Step = { wait: number } | { command: MailCommand } | { send: MailKind };

const isKnown = (kind: string): kind is MailKind => kind in MAIL_KINDS;

const nextStep = async ({ deps, state }: MailWork): Promise<Step> => {
  const { until, retry_at: due = 0, not_after: end, kind } = state;
  const now = deps.clock.now();
  if (until !== undefined)
    return now < until ? { wait: until } : { command: commandFor(SENDER_GONE, { deps, state }) };
  if (now >= end) return { command: giveUp(state, 'expired') };
  if (now < due) return { wait: Math.min(due, end) };
  // A process of a later version queued it, and can send it. An end of the halt wakes the message.
  if (!isKnown(kind) || (await readHaltForEverybody(deps)) !== undefined) return { wait: end };
  return { send: kind };
};

/** What the result of the last attempt means. A message is repeated once at most after an unknown outcome. */
const commandFor = (result: DeliveryResult, { deps, state }: Pick<MailWork, 'deps' | 'state'>) =>
  commandAfter(result, {
    id: state.mail_id,
    attempts: state.attempts,
    attemptedAt: state.attempted_at,
    uncertain: state.uncertain,
    isRepeatable: state.is_repeatable && state.uncertain !== true,
    notAfter: state.not_after,
    now: deps.clock.now(),
  });

/**
 * Writes the attempt ahead, sends, and writes the result; only the process whose append succeeds sends. False when
 * nothing was written.
 */
const attempt = async (work: MailWork, kind: MailKind): Promise<boolean> => {
  const { deps, call, stream } = work;
  const { live, test } = deps.mailers;
  const mailer = isTestSpace(call.ownerId) ? test : live;
  const at = deps.clock.now();
  const until = at + mailer.limitMs + MARGIN_MS;
  const written = await decideAndAppend(
    deps,
    { ...call, at },
    { stream, decider: mail, command: () => issue({ type: 'Dispatch' as const, at, until }) },
  );
  if (!written.ok) return false;
  const sent = { ...work, state: written.state };
  const delivery = await prepare(sent, kind);
  const result =
    'outcome' in delivery
      ? delivery
      : await deliver(deps, mailer, { delivery, signal: call.signal });
  await record(sent, commandFor(result, sent));
  return true;
};

/**
 * Opens the message after the write-ahead event, or answers a result without effect: it is erased, sending was halted
 * meanwhile, the append took too long, or the log or the vault cannot be read.
 */
const prepare = async (
  { deps, call, state }: MailWork,
  kind: MailKind,
): Promise<MailDelivery | DeliveryResult> => {
  const { mail_id: id, sealed_for: sealedFor, attempts, attempted_at: at = 0, created_at } = state;
  try {
    const opened = await openOne(deps.vault, state.sealed_message);
    if (opened === null) return { outcome: 'refused', reason: 'erased' };
    if (opened === undefined) return { outcome: 'retry', reason: 'key_unavailable' };
    if ((await readHaltForEverybody(deps)) !== undefined)
      return { outcome: 'retry', reason: 'halted' };
    const { to, facts } = JSON.parse(opened) as SealedMail;
    const limited =
      MAIL_KINDS[kind].isLimited &&
      (await countUnconfirmed(deps, { ...call, at: deps.clock.now() }, { mailId: id, to }));
    if (limited) return limited;
    if (deps.clock.now() > at + MARGIN_MS / 2) return { outcome: 'retry', reason: 'late' };
    const texts = await deps.render(kind, facts);
    return { id, sealedFor, attempt: attempts, at: created_at, to: deliveryAddress(to), ...texts };
  } catch (error) {
    deps.onFault(error, { owner: call.ownerId, id });
    return { outcome: 'retry', reason: 'log_unavailable' };
  }
};

/** Writes what is known; false when nothing was written. */
const record = ({ deps, call, stream }: MailWork, command: MailCommand): Promise<boolean> =>
  recordOutcome(deps, call, { stream, decider: mail, command: () => issue(command) });

export const mailWork = (deps: MailSendingDeps): Work => ({
  readModel: 'open-mail',
  scope: OPEN_RECORDS,
  itemOf: ({ type, data }) =>
    type.startsWith('Mail') ? (data as { mail_id: string }).mail_id : undefined,
  changedBy: () => [],
  ownerEvents: /^Outreach(Halted|Resumed)$/,
  advance: (ownerId, id, signal) =>
    dispatchMail(deps, id, systemCall(deps, 'dispatchMail', { ownerId, signal })),
});
