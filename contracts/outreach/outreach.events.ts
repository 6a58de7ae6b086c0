import { z } from 'zod';
import { outboundKind, outboundVia } from '#contracts/event-fields.ts';

const channel = outboundVia.extend({
  receiver_idempotent: z.boolean().optional(),
  secret_version: z.number().optional(),
  /** Epoch milliseconds. Until then the previous secret also signs. */
  rotating_until: z.number().optional(),
});

/** Who approves an owner's outreach, and the channel of each kind. */
export const OutreachConfigured = z.object({
  mode: z.enum(['owner_controlled', 'admin_approved']),
  approvals_required: z.number(),
  channels: z.partialRecord(outboundKind, channel),
});

/** The kill switch: on an owner's stream for that owner, on the desk's stream for all. */
export const OutreachHalted = z.object({ reason: z.string() });
export const OutreachResumed = z.object({ reason: z.string() });

export const OutreachChannelDisabled = z.object({
  kind: outboundKind,
  reason: z.string(),
});

export const outreachEvents = {
  OutreachChannelDisabled,
  OutreachConfigured,
  OutreachHalted,
  OutreachResumed,
};
