/** Events of calls: what was visited and read, and which calls were refused. */
import { z } from 'zod';
import {
  attributionDims,
  auditEntry,
  mailboxKeys,
  recordedAnswer,
  sealed,
  windowDays,
} from '#contracts/event-fields.ts';

/**
 * A request for a short link: observations, not a verdict. The fold decides whether the visit counts, so that a
 * better classifier can judge it again. `visitor` is a keyed hash that changes every day; no address and no
 * user agent is stored.
 */
const VisitRecorded = z.object({
  link_id: z.string(),
  agent_id: z.string(),
  dims: attributionDims,
  visitor: z.string(),
  signals: z
    .array(z.enum(['head', 'prefetch', 'embedded', 'bot', 'preview', 'no_user_agent']))
    .optional(),
  country: z.string().optional(),
  device: z.enum(['desktop', 'mobile', 'other']),
  referrer_host: z.string().optional(),
  trigger: z.enum(['link', 'qr']),
  window_days: windowDays,
});

/**
 * Visits beyond ADDRESS_VISITS_PER_MINUTE of a network address to one link, which have no VisitRecorded: their number
 * since the last such event of this link and process, in one UTC day. They are raw clicks and not valid ones.
 */
const VisitsSummed = z.object({
  link_id: z.string(),
  agent_id: z.string(),
  dims: attributionDims,
  visits: z.int().min(1),
});

/** Audit record of an agent's calls, batched over at most one second. */
const ActivityRecorded = z.object({
  agent_id: z.string(),
  entries: z.array(
    z.object({
      ...auditEntry,
      key_id: z.string(),
      /** Of a read of performance or leads, for an owner who wants it. */
      answer: recordedAnswer.optional(),
    }),
  ),
});

/**
 * Audit record of refusals to the desk and to buyers, and of the desk's reads of personal data. Equal calls are
 * one entry with a count. Which person or token of the desk called is the actor of the event.
 */
const CallsAudited = z.object({
  actor: z.enum(['desk', 'buyer']),
  /** The handoff whose review link was used. */
  handoff_id: z.string().optional(),
  entries: z.array(z.object(auditEntry)),
});

export const activityEvents = { ActivityRecorded, CallsAudited, VisitRecorded, VisitsSummed };

const owner = z.object({ owner_id: z.string().optional() });
const record = { owner_id: z.string(), record: z.string() };

/** In the stream desk-mailbox_{key of the mailbox}: what was done for the person of an address. */
const PrivacyRequestRecorded = z.object({
  mailbox_keys: mailboxKeys,
  /** find, export, withdraw, lift or erase. */
  action: z.string(),
  /** How staff know that the person asked for it. Absent if the person did it. */
  proof: z.string().optional(),
  /** The records that are erased; with `contact_subject`, only that contact of a handoff, with its unconfirmed RFQ. */
  records: z.array(z.object({ ...record, contact_subject: z.string().optional() })).optional(),
  /** From then on an owner may not contact the person; without `owner_id` no owner may. */
  suppress: owner.optional(),
  /** Ends that, for one owner or for all. */
  lift: owner.optional(),
});

/** In the stream of a link, whose name has a hash of its token: the address that it was mailed to. */
const PrivacyLinkRequested = z.object({
  sealed_for: z.string(),
  sealed_address: sealed,
  /** Epoch milliseconds. */
  expires_at: z.number(),
});

export const requestsEvents = { PrivacyLinkRequested, PrivacyRequestRecorded };
