import type { EventData } from '#contracts/registries/events.ts';
import { DAY_MS, HOUR_MS } from '#src/shared/time.ts';

type Totals = EventData<'HandoffCreated'>['totals'];

/** Requests that wait for a person. `oldest_at` is in epoch milliseconds. */
export type Waiting = { requests: number; has_more: boolean; owners: number; oldest_at: number };

/** What the text of a message of each kind is made of. */
export type MailFacts = {
  /** To staff. Has nothing about the buyer. */
  rfq_notice: {
    owner_id: string;
    handoff_id: string;
    lines: number;
    totals: Totals;
  };
  /** To the mailbox that the sender of an RFQ entered. Contains no text that others wrote. `path` is that of the link. */
  rfq_confirmation: { path: string; lines: number; totals: Totals; until: number };
  /** To the buyer, once the mailbox is confirmed. */
  rfq_receipt: { path: string; handoff_id: string; lines: number; totals: Totals };
  /** To the owner. Has nothing about the buyer. */
  rfq_confirmed: { handoff_id: string; lines: number; totals: Totals };
  rfq_won: { handoff_id: string; values: Totals };
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
 * delivered it. `isLimited`: anybody can have typed its address, so the limits of the mailbox apply.
 */
export const MAIL_KINDS: Readonly<
  Record<MailKind, { sendMs: number; isRepeatable: boolean; isLimited?: true }>
> = {
  // Longer than a mailbox can have to wait for its next message.
  rfq_confirmation: { sendMs: 2 * DAY_MS, isRepeatable: true, isLimited: true },
  rfq_receipt: { sendMs: 3 * DAY_MS, isRepeatable: true },
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
  // The agent also sees the decision with getConnection.
  access_decision: { sendMs: 3 * DAY_MS, isRepeatable: false },
};
