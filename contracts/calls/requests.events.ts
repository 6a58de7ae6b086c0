import { z } from 'zod';
import { mailboxKeys, sealed } from '#contracts/event-fields.ts';

const owner = z.object({ owner_id: z.string().optional() });
const record = { owner_id: z.string(), record: z.string() };

/** In the stream desk-mailbox_{key of the mailbox}: what was done for the person of an address. */
export const PrivacyRequestRecorded = z.object({
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
export const PrivacyLinkRequested = z.object({
  sealed_for: z.string(),
  sealed_address: sealed,
  /** Epoch milliseconds. */
  expires_at: z.number(),
});

export const requestsEvents = { PrivacyLinkRequested, PrivacyRequestRecorded };
