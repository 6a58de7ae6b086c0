/** Events of an owner's profile. */
import { z } from 'zod';
import { linkTarget, mailboxKeys, sealed } from '#contracts/event-fields.ts';

/** Replaces the previous profile. Its texts are sealed for the subject `sealed_for`, a new one each time. */
const OwnerProfileSet = z.object({
  sealed_for: z.string(),
  /** Name, postal address and mailbox, as sealed JSON. */
  sealed_profile: sealed,
  /** The mailbox is that of the profile before, so a confirmation stays valid. */
  keeps_mailbox: z.boolean().optional(),
  /** Of its mailbox. */
  mailbox_keys: mailboxKeys,
  /** Of tokens signed from now on; the default if absent. */
  attribution_days: z.number().optional(),
  /** After how many days stock is stale; the default if absent. */
  stale_stock_days: z.number().optional(),
  /** Where the owner's links lead that would lead nowhere; `ref` of a product is its id. */
  fallback: linkTarget.optional(),
  /** Whether the answers of agents are recorded. Once they were, the subject for which their questions are sealed stays. */
  answers: z.object({ sealed_for: z.string(), are_recorded: z.boolean() }).optional(),
});

/** With a reason, staff know that the mailbox is the owner's. Without one, its holder confirmed it with the mailed link. */
const OwnerMailboxConfirmed = z.object({ sealed_reason: sealed.optional() });

const OwnerProfileRemoved = z.object({ reason: z.string() });

export const ownerEvents = { OwnerMailboxConfirmed, OwnerProfileRemoved, OwnerProfileSet };
