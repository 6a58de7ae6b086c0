import type { EventData } from '#contracts/events/index.ts';
import { DAY_MS } from '../shared/time.ts';

/** What the text of a message of each kind is made of. */
export type MailFacts = {
  /** To staff. Has nothing about the buyer. */
  rfq_notice: {
    owner_id: string;
    handoff_id: string;
    lines: number;
    totals: EventData<'HandoffCreated'>['totals'];
  };
  /** To staff: outreach that waits for approval. `oldest_at` is in epoch milliseconds. */
  approvals_digest: { requests: number; has_more: boolean; owners: number; oldest_at: number };
  /** To staff: an agent submitted as many known contacts as it may on one day. */
  contacts_stopped: { owner_id: string; agent_id: string; contacts: number };
  /** To the owner of the agent. */
  access_decision: {
    agent_id: string;
    name: string;
    outcome: 'granted' | 'partial' | 'denied';
    scopes: readonly string[];
    reason: string;
  };
};

export type MailKind = keyof MailFacts;

/** What is sealed of a message. */
export type SealedMail<Kind extends MailKind = MailKind> = { to: string; facts: MailFacts[Kind] };

/**
 * How long the service tries to send a message, and whether it is sent a second time if the first attempt may have
 * delivered it.
 */
export const MAIL_KINDS: Readonly<Record<MailKind, { sendMs: number; isRepeatable: boolean }>> = {
  rfq_notice: { sendMs: 3 * DAY_MS, isRepeatable: true },
  // The next digest replaces it.
  approvals_digest: { sendMs: DAY_MS, isRepeatable: false },
  contacts_stopped: { sendMs: DAY_MS, isRepeatable: true },
  // The agent sees the decision with getConnection, too.
  access_decision: { sendMs: 3 * DAY_MS, isRepeatable: false },
};
