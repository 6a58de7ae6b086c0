/** Advances one queued message: sends it when it is due. */
import { deliveryAddress } from '#contracts/mailbox.ts';
import { isTestSpace } from '#contracts/spaces.ts';
import { type Deps, systemCall } from '#src/calls/handlers.ts';
import type { Limiter } from '#src/calls/limits.ts';
import type { DeliveryResult, MailDelivery, Mailer } from '#src/ports/delivery.ts';
import type { StoredEvent } from '#src/ports/event-log.ts';
import { OPEN_RECORDS } from '#src/ports/rows.ts';
import { openOne } from '#src/sealing/sealed-texts.ts';
import { foldOf } from '#src/writing/streams.ts';
import {
  advanceItem,
  attempt,
  giveUp,
  type Item,
  type NextStep,
  record,
  type Scheduling,
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

type MailItem = Item<MailState, MailCommand, MailSendingDeps>;

const isKnown = (kind: string): kind is MailKind => kind in MAIL_KINDS;

const isHalted = async (deps: MailSendingDeps, kind: MailKind): Promise<boolean> =>
  !MAIL_KINDS[kind].ignoresHalt && (await readHaltForEverybody(deps)) !== undefined;

const nextStep = async (item: MailItem): Promise<NextStep> => {
  const { deps, call, state } = item;
  const { retry_at: due = 0, not_after: end, kind } = state;
  const now = deps.clock.now();
  if (now >= end) return { act: () => record(item, giveUp(state, 'expired')) };
  if (now < due) return { wait: Math.min(due, end) };
  // A process of a later version queued it, and can send it. An end of the halt wakes the message.
  if (!isKnown(kind) || (await isHalted(deps, kind))) return { wait: end };
  const plan = {
    channel: isTestSpace(call.ownerId) ? deps.mailers.test : deps.mailers.live,
    dispatch: (times: { at: number; until: number }) => ({ type: 'Dispatch' as const, ...times }),
    prepare: (sent: MailState) => prepare({ ...item, state: sent }, kind),
    isRepeatable,
  };
  return { act: () => attempt(item, plan) };
};

/** How often, and for how long, a message waits for the event that it is due to, which a log on a server stores after it. */
const CAUSE_EVERY_MS = 1_000;
const CAUSE_SOON_MS = 10_000;
const CAUSE_MS = 600_000;

/** Waits for the event that the message is due to, and gives up if it never came; undefined once it is stored. */
const awaitCause = async (
  item: MailItem,
  { meta: { cause, at } }: StoredEvent,
): Promise<NextStep | undefined> => {
  const { deps, state } = item;
  if (cause === undefined || state.attempts > 0) return undefined;
  const events = await deps.log.readStream(cause.stream);
  if (events.some(({ id }) => id === cause.id)) return undefined;
  const now = deps.clock.now();
  if (now >= at + CAUSE_MS) return { act: () => record(item, giveUp(state, 'never_happened')) };
  return { wait: now < at + CAUSE_SOON_MS ? now + CAUSE_EVERY_MS : at + CAUSE_MS };
};

/** A message is repeated once at most after an unknown outcome. */
const isRepeatable = ({ is_repeatable, uncertain }: MailState): boolean =>
  is_repeatable && uncertain !== true;

/** Opens the message, or answers why it must not be sent: it is erased, sending was halted, or its mailbox is limited. */
const prepare = async (
  { deps, call, state }: MailItem,
  kind: MailKind,
): Promise<MailDelivery | DeliveryResult> => {
  const { mail_id: id, sealed_for: sealedFor, attempts, created_at } = state;
  const opened = await openOne(deps.vault, state.sealed_message);
  if (opened === null) return { outcome: 'refused', reason: 'erased' };
  if (typeof opened !== 'string') return { outcome: 'retry', reason: 'key_unavailable' };
  if (await isHalted(deps, kind)) return { outcome: 'retry', reason: 'halted' };
  const { to, facts } = JSON.parse(opened) as SealedMail;
  const limited =
    MAIL_KINDS[kind].isLimited &&
    (await countUnconfirmed(
      deps,
      { ...call, at: deps.clock.now() },
      { mailId: id, to, isApproved: false },
    ));
  if (limited) return limited;
  const texts = await deps.render(kind, facts);
  return { id, sealedFor, attempt: attempts, at: created_at, to: deliveryAddress(to), ...texts };
};

export const mailWork = (deps: MailSendingDeps): Work => ({
  readModel: 'open-mail',
  scope: OPEN_RECORDS,
  itemEvents: /^Mail/,
  itemOf: ({ data }) => (data as { mail_id?: string }).mail_id,
  ownerEvents: /^Outreach(Halted|Resumed)$/,
  async advance(ownerId, id, signal) {
    const call = systemCall(deps, 'dispatchMail', { ownerId, signal });
    const stream = mailStream(ownerId, id);
    const stored = await deps.log.readStream(stream);
    const [queued] = stored;
    const state = foldOf(mail, stored);
    if (!queued || state?.status !== 'open') return {};
    const item = { deps, call, id, notAfter: state.not_after, stream, decider: mail, state };
    return advanceItem(item, {
      isRepeatable: () => isRepeatable(state),
      nextStep: async () => (await awaitCause(item, queued)) ?? nextStep(item),
    });
  },
});
