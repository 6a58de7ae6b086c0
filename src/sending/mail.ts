/** Queues a message in the same append as the event that causes it. */
import { LIMITS } from '#contracts/limits.ts';
import type { EventData } from '#contracts/registries/events.ts';
import { isTestSpace } from '#contracts/spaces.ts';
import { areEqual } from '#src/calls/authenticate.ts';
import type { Deps } from '#src/calls/handlers.ts';
import type { Limiter } from '#src/calls/limits.ts';
import type { DeliveryResult } from '#src/ports/delivery.ts';
import { type Append, NO_STREAM } from '#src/ports/event-log.ts';
import type { Secrets } from '#src/ports/system.ts';
import { type Call, unkeyed } from '#src/shared/call.ts';
import { mailboxOf } from '#src/shared/mailbox.ts';
import type { Refusal } from '#src/shared/outcome.ts';
import { present } from '#src/shared/json.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '#src/shared/time.ts';
import { attribute } from '#src/writing/attribution.ts';
import { decideAndAppend, issue } from '#src/writing/decide-and-append.ts';
import { stateOf, streamOf, findKeyedStream } from '#src/writing/streams.ts';
import { mail, mailedMailbox, waitMs } from './mail.decider.ts';

type Totals = EventData<'HandoffCreated'>['totals'];

/** Requests that wait for a person. `oldest_at` is in epoch milliseconds. */
export type Waiting = { requests: number; has_more: boolean; owners: number; oldest_at: number };

/** A list as a letter shows it, to a mailbox that has confirmed something. `more`: lines after those in `items`. */
export type ListedFacts = {
  title: string;
  promoter?: string;
  items: readonly { quantity: number; title: string; sku: string }[];
  more: number;
};

/** Quantities of goods, by title. */
type GoodsFacts = { title: string; quantity: number }[];

/** Of a letter to a buyer: the locale of the list. */
type ToBuyer = { locale: string };

/** What the text of a message of each kind is made of. */
export type MailFacts = {
  /** To staff. Has nothing about the buyer. */
  rfq_notice: {
    owner_id: string;
    handoff_id: string;
    lines: number;
    totals: Totals;
    /** What is known of how it came about, in words. */
    evidence: readonly string[];
  };
  /** To the mailbox that the sender of an RFQ entered. Contains no text that others wrote. `path` is that of the link. */
  rfq_confirmation: ToBuyer & { path: string; lines: number; totals: Totals; until: number };
  /** To the buyer. `list` only if the holder of the mailbox confirmed the RFQ: staff may have confirmed a stranger's. */
  rfq_receipt: ToBuyer & {
    path: string;
    handoff_id: string;
    lines: number;
    totals: Totals;
    list?: ListedFacts;
  };
  /** To the buyer. `voids`: the quotation that it replaces, and whether the buyer had agreed to that. */
  rfq_quotation: ToBuyer & {
    path: string;
    handoff_id: string;
    number: number;
    values: Totals;
    until: number;
    voids?: { number: number; agreed: boolean };
  };
  rfq_quotation_void: ToBuyer & { path: string; handoff_id: string; number: number };
  rfq_answer: ToBuyer & { path: string; handoff_id: string; answer: string };
  /** To the buyer. */
  rfq_shipped: ToBuyer & {
    path: string;
    handoff_id: string;
    number: number;
    shipped_on: string;
    carrier?: string;
    reference?: string;
    lines: GoodsFacts;
  };
  rfq_cancelled: ToBuyer & {
    path: string;
    handoff_id: string;
    lines: GoodsFacts;
    reason?: string;
    /** What is left of the value. */
    values: Totals;
  };
  /** To staff: what the buyer did with a quotation. Has nothing about the buyer. */
  rfq_reply: {
    owner_id: string;
    handoff_id: string;
    number: number;
    reply: 'agreed' | 'declined' | 'asked';
  };
  /** To the owner. Has nothing about the buyer. */
  rfq_confirmed: { handoff_id: string; lines: number; totals: Totals; list: ListedFacts };
  rfq_won: { handoff_id: string; values: Totals; list: ListedFacts };
  /** To staff: outreach and access that wait for approval. */
  approvals_digest: Waiting & { access: Waiting };
  /** To staff: an agent submitted as many known contacts as it may on one day. */
  contacts_stopped: { owner_id: string; agent_id: string; contacts: number };
  /** To an address that anybody can have typed. `path` is that of the link, which works until then, in epoch milliseconds. */
  privacy_link: { path: string; until: number };
  /** To the mailbox of a profile that is not confirmed. Contains no text that others wrote. */
  owner_mailbox: { path: string; until: number };
  /** To the mailbox of a public application. Contains no text that others wrote. */
  application: { path: string; until: number };
  /** To the mailbox of a person, who asked for it or not. `path` is that of the link. */
  sign_in: { path: string; until: number };
  person_invitation: {
    path: string;
    until: number;
    roles: readonly string[];
    owners: readonly string[];
  };
  /** To the owner of the agent. `key_link`: where the first key of a public application is issued. */
  access_decision: {
    agent_id: string;
    name: string;
    outcome: 'granted' | 'partial' | 'denied';
    scopes: readonly string[];
    reason: string;
    key_link?: { path: string; until: number };
  };
};

export type MailKind = keyof MailFacts;

/** What is sealed of a message. */
export type SealedMail<Kind extends MailKind = MailKind> = { to: string; facts: MailFacts[Kind] };

/**
 * How long the service tries to send a message, and whether it is sent a second time if the first attempt may have
 * delivered it. `isLimited`: anybody can have typed its address, so the limits of the mailbox apply. `ignoresHalt`: it is sent
 * while outreach is halted, so that people can sign in and end the halt.
 */
export const MAIL_KINDS: Readonly<
  Record<MailKind, { sendMs: number; isRepeatable: boolean; isLimited?: true; ignoresHalt?: true }>
> = {
  // Longer than a mailbox can have to wait for its next message.
  rfq_confirmation: { sendMs: 2 * DAY_MS, isRepeatable: true, isLimited: true },
  rfq_receipt: { sendMs: 3 * DAY_MS, isRepeatable: true },
  rfq_quotation: { sendMs: 3 * DAY_MS, isRepeatable: true },
  rfq_quotation_void: { sendMs: 3 * DAY_MS, isRepeatable: true },
  rfq_answer: { sendMs: 3 * DAY_MS, isRepeatable: true },
  rfq_reply: { sendMs: 3 * DAY_MS, isRepeatable: true },
  rfq_shipped: { sendMs: 3 * DAY_MS, isRepeatable: true },
  rfq_cancelled: { sendMs: 3 * DAY_MS, isRepeatable: true },
  // The owner also sees both with getPerformance.
  rfq_confirmed: { sendMs: 3 * DAY_MS, isRepeatable: false },
  rfq_won: { sendMs: 3 * DAY_MS, isRepeatable: false },
  rfq_notice: { sendMs: 3 * DAY_MS, isRepeatable: true },
  // The next digest replaces it.
  approvals_digest: { sendMs: DAY_MS, isRepeatable: false },
  contacts_stopped: { sendMs: DAY_MS, isRepeatable: true },
  // As long as the link works.
  privacy_link: { sendMs: HOUR_MS, isRepeatable: true, isLimited: true },
  owner_mailbox: { sendMs: 2 * DAY_MS, isRepeatable: true, isLimited: true },
  application: { sendMs: 2 * DAY_MS, isRepeatable: true, isLimited: true },
  // As long as the link works.
  sign_in: { sendMs: LIMITS.SIGN_IN_MINUTES * MINUTE_MS, isRepeatable: true, ignoresHalt: true },
  person_invitation: { sendMs: 2 * DAY_MS, isRepeatable: true, isLimited: true, ignoresHalt: true },
  // The agent also sees the decision with getConnection.
  access_decision: { sendMs: 3 * DAY_MS, isRepeatable: false },
};

export const mailStream = (ownerId: string, mailId: string): string =>
  streamOf(ownerId, 'mail', mailId);

/** `sealedFor` is the subject whose erasure makes the message unreadable; `record` is what it is about. */
export type Letter<Kind extends MailKind> = SealedMail<Kind> & {
  kind: Kind;
  sealedFor: string;
  record?: string | undefined;
  /** Makes the message unique: a second append of it conflicts. Random by default. */
  mailId?: string | undefined;
};

/**
 * Makes the append that queues a message in the space of the call's owner; its caller appends it. Empty if the subject is
 * erased.
 */
export const queueMail = async <Kind extends MailKind>(
  { ids, vault }: Pick<Deps, 'ids' | 'vault'>,
  call: Call,
  letter: Letter<Kind>,
): Promise<Append[]> => {
  const { kind, sealedFor, record, to, facts } = letter;
  const sealed = await vault.seal(sealedFor, JSON.stringify({ to, facts }));
  if (sealed === null) return [];
  const { sendMs, isRepeatable } = MAIL_KINDS[kind];
  const mail_id = letter.mailId ?? `mal_${ids.uuid().replaceAll('-', '')}`;
  const message = {
    mail_id,
    kind,
    ...present({ record }),
    sealed_for: sealedFor,
    sealed_message: sealed,
    is_repeatable: isRepeatable,
    not_after: call.at + sendMs,
  };
  const decision = mail.decide(undefined, { type: 'Queue', message });
  if (!decision.accepted) throw new Error(`a new message was rejected: ${decision.detail}`);
  const events = attribute(unkeyed(call), decision.events, ids);
  return [{ stream: mailStream(call.ownerId, mail_id), expected: NO_STREAM, events }];
};

/** The subject for which the mailbox of staff is sealed. */
const STAFF_SUBJECT = 'mbx_staff';

/** Makes the append of a message to staff; empty if they have no mailbox. */
export const mailToStaff = async <Kind extends MailKind>(
  deps: Pick<Deps, 'ids' | 'vault' | 'staffMail'>,
  call: Call,
  letter: Omit<Letter<Kind>, 'to' | 'sealedFor'>,
): Promise<Append[]> =>
  deps.staffMail === undefined
    ? []
    : queueMail<Kind>(deps, call, { ...letter, sealedFor: STAFF_SUBJECT, to: deps.staffMail });

/** Makes the append of the notice to staff that a buyer sent an RFQ. */
export const noticeOfRfq = (
  deps: Pick<Deps, 'ids' | 'vault' | 'staffMail'>,
  call: Call,
  rfq: Omit<MailFacts['rfq_notice'], 'owner_id'>,
): Promise<Append[]> =>
  mailToStaff(deps, call, {
    kind: 'rfq_notice',
    record: rfq.handoff_id,
    facts: { ...rfq, owner_id: call.ownerId },
  });

const SECRET_CHARS = 40;
const TOKEN = /^((?:[0-9a-f]{2}){1,40})\.[0-9a-f]{40}$/;

/** What a link is about: its token names `subject`, and another `version` voids it. */
type About = { subject: string; version?: string };

/**
 * Derives a mailed link's token: its subject in hex, because a person can have chosen it, and a secret of 160 bits. No
 * event contains a token: only the service can make it.
 */
export const linkToken = (
  secrets: Pick<Secrets, 'mac'>,
  { subject, version = '' }: About,
): string => {
  const secret = secrets.mac('mailed-link', `${subject}:${version}`).slice(0, SECRET_CHARS);
  return `${Buffer.from(subject).toString('hex')}.${secret}`;
};

/** Reads the subject of a token, which proves nothing yet; undefined if the token has another form. */
export const subjectOfLink = (token: string): string | undefined => {
  const subject = Buffer.from(TOKEN.exec(token)?.[1] ?? '', 'hex').toString();
  return /^[a-z0-9_]+$/.test(subject) ? subject : undefined;
};

export const isLinkAbout = (secrets: Pick<Secrets, 'mac'>, token: string, about: About): boolean =>
  areEqual(linkToken(secrets, about), token);

type MailboxDeps = Pick<Deps, 'log' | 'ids' | 'streamQueue' | 'secrets'>;

/** Limits mail to mailboxes that have not confirmed anything, so that a form cannot be used to flood somebody. */
const MAILBOX_LIMITS = {
  betweenMs: LIMITS.CONFIRMATION_WAIT_MINUTES * MINUTE_MS,
  perPeriod: LIMITS.CONFIRMATION_MAILS_PER_DAY,
  periodMs: DAY_MS,
};

/** The name contains the address only as a keyed hash. Test spaces have limits of their own. */
const mailboxStream = (deps: MailboxDeps, { ownerId }: Call, address: string): Promise<string> => {
  const space = isTestSpace(ownerId) ? 'test' : 'live';
  const value = `${space}:${mailboxOf(address)}`;
  return findKeyedStream(deps, 'claims-mailbox', { purpose: 'mailbox', value });
};

/**
 * Counts a message to a mailbox that has confirmed nothing, before it is sent; undefined if it may be sent. Otherwise the
 * result of the attempt: the mailbox is blocked, or the message must wait. `hourly` limits all such messages of this
 * process together. `isApproved`: a person let the service send it. Reads the stream of the mailbox.
 */
export const countUnconfirmed = async (
  deps: MailboxDeps & { hourly: Pick<Limiter, 'take'> },
  call: Call,
  { mailId, to, isApproved }: { mailId: string; to: string; isApproved: boolean },
): Promise<DeliveryResult | undefined> => {
  const stream = await mailboxStream(deps, call, to);
  const { at } = call;
  const written = await decideAndAppend(deps, unkeyed(call), {
    stream,
    decider: mailedMailbox,
    command: () =>
      issue({ type: 'MailMailbox' as const, at, mailId, isApproved, limits: MAILBOX_LIMITS }),
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
  const retryAfterMs = state ? waitMs(state, { at, isApproved, limits: MAILBOX_LIMITS }) : 0;
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
    stream: await mailboxStream(deps, call, address),
    decider: mailedMailbox,
    command: () => issue({ type: 'BlockMailbox' as const, at, until }),
  });
  return 'code' in written ? written : undefined;
};
