/** Events of requests for outreach and of an owner's settings for it. */
import { z } from 'zod';
import {
  channelKind,
  channelVia,
  outboundKind,
  outboundVia,
  sealed,
} from '#contracts/event-fields.ts';

const subject = {
  outbound_id: z.string(),
  agent_id: z.string(),
  /** The A2A task of the request, if it was proposed over A2A; a fold needs no other record to find it. */
  task_id: z.string().optional(),
};

const proposal = {
  ...subject,
  kind: outboundKind,
  target: z.record(z.string(), z.string()),
  content: z.object({
    subject: z.string().optional(),
    text: z.string(),
    link_ids: z.array(z.string()),
  }),
  schedule: z.object({ not_before: z.number().optional(), not_after: z.number() }),
  via: outboundVia,
  /** SHA-256 in hex of the bytes that will be sent. */
  content_sha256: z.string(),
  revision: z.number(),
  /** `automatic`: nobody has to approve it, because staff accepted this lead, whose basis is consent. */
  approval: z.object({
    mode: z.string(),
    required: z.number(),
    automatic: z.object({ lead_id: z.string() }).optional(),
  }),
  /** Of its links. */
  campaigns: z.array(z.string()).optional(),
  external_id: z.string().optional(),
};

const OutboundProposed = z.object({ ...proposal, context_id: z.string().optional() });

/** New content with a new hash; decisions on the old content no longer count. */
const OutboundRevised = z.object(proposal);

const decision = {
  ...subject,
  by: z.string(),
  /** Name of the person. */
  name: z.string(),
  /** As in the token of the person. */
  person_id: z.string(),
  role: z.string(),
  revision: z.number(),
  content_sha256: z.string(),
};

/** One person's approval of exactly these bytes. The request is approved after `approval.required` of them. */
const OutboundApproved = z.object({
  ...decision,
  note: z.string().optional(),
  /** Of a delivery: how the buyer asked for the list. Sealed for the handoff. */
  sealed_how_asked: sealed.optional(),
});
const OutboundRejected = z.object({ ...decision, reason: z.string() });
const OutboundChangesRequested = z.object({ ...decision, reason: z.string() });

const OutboundExpired = z.object(subject);
const OutboundCanceled = z.object({
  ...subject,
  by: z.string(),
  reason: z.string().optional(),
});

/** Appended before the adapter is called. Without a later result, the content may have been sent. */
const OutboundDispatched = z.object({
  ...subject,
  revision: z.number(),
  content_sha256: z.string(),
  attempt: z.number(),
  adapter: z.string(),
  /** Epoch milliseconds. Until then the attempt may still be running. */
  until: z.number(),
});

/** The attempt will be repeated: it had no effect, or the receiver handles a repetition only once. */
const OutboundDeferred = z.object({
  ...subject,
  attempt: z.number(),
  reason: z.string(),
  /** The attempt may have had its effect nevertheless. */
  uncertain: z.boolean().optional(),
  retry_at: z.number(),
});
const OutboundConfirmed = z.object({
  ...subject,
  attempt: z.number(),
  evidence: z.string(),
  /** The desk token of the person who observed it; absent if the adapter did. */
  by: z.string().optional(),
});
const OutboundFailed = z.object({
  ...subject,
  attempt: z.number(),
  reason: z.string(),
  by: z.string().optional(),
});
const OutboundOutcomeUnknown = z.object({
  ...subject,
  attempt: z.number(),
  reason: z.string(),
});

export const outboundEvents = {
  OutboundApproved,
  OutboundCanceled,
  OutboundChangesRequested,
  OutboundConfirmed,
  OutboundDeferred,
  OutboundDispatched,
  OutboundExpired,
  OutboundFailed,
  OutboundOutcomeUnknown,
  OutboundProposed,
  OutboundRejected,
  OutboundRevised,
};

const channel = channelVia.extend({
  receiver_idempotent: z.boolean().optional(),
  secret_version: z.number().optional(),
  /** Epoch milliseconds. Until then the previous secret also signs. */
  rotating_until: z.number().optional(),
});

/** Who approves an owner's outreach, and the channel of each kind. */
const OutreachConfigured = z.object({
  mode: z.enum(['owner_controlled', 'admin_approved']),
  approvals_required: z.number(),
  channels: z.partialRecord(channelKind, channel),
});

/** The kill switch: on an owner's stream for that owner, on the desk's stream for all. */
const OutreachHalted = z.object({ reason: z.string() });
const OutreachResumed = z.object({ reason: z.string() });

const OutreachChannelDisabled = z.object({
  kind: channelKind,
  reason: z.string(),
});

/** How many review links of the owner the service delivers a day without an approval; 0 for none. */
const AutomaticDeliverySet = z.object({ per_day: z.number() });

export const outreachEvents = {
  AutomaticDeliverySet,
  OutreachChannelDisabled,
  OutreachConfigured,
  OutreachHalted,
  OutreachResumed,
};
