import { z } from 'zod';

// The stored format: these names and shapes are in every log. Never rename; only add optional fields.

const named = {
  outbound_id: z.string(),
  agent_id: z.string(),
  /** The A2A task that the request is, when it came over A2A: pinned, so that a fold finds it. */
  task_id: z.string().optional(),
};

/** Where approved content goes: pinned into what is approved, so that no later setting moves it. */
export const outboundVia = z.object({
  adapter: z.enum(['file', 'webhook', 'a2a']),
  url: z.string().optional(),
});

const proposal = {
  ...named,
  kind: z.enum(['social_post', 'message', 'agent_notification']),
  target: z.record(z.string(), z.string()),
  content: z.object({
    subject: z.string().optional(),
    text: z.string(),
    link_ids: z.array(z.string()),
  }),
  schedule: z.object({ not_before: z.number().optional(), not_after: z.number() }),
  via: outboundVia,
  /** Hex SHA-256 over the bytes that will leave. */
  content_sha256: z.string(),
  revision: z.number(),
  approval: z.object({ mode: z.string(), required: z.number() }),
  external_id: z.string().optional(),
};

export const OutboundProposed = z.object({ ...proposal, context_id: z.string().optional() });
/** New content under a new hash: the decisions on the old one no longer count. */
export const OutboundRevised = z.object(proposal);

const decision = {
  ...named,
  by: z.string(),
  /** What people call who decided: two tokens of one name, in any case or spacing, are one person. */
  name: z.string().optional(),
  role: z.string(),
  revision: z.number(),
  content_sha256: z.string(),
};

/** One person's yes to exactly these bytes. As many as are required make the request approved. */
export const OutboundApproved = z.object({ ...decision, note: z.string().optional() });
export const OutboundRejected = z.object({ ...decision, reason: z.string() });
export const OutboundChangesRequested = z.object({ ...decision, reason: z.string() });

export const OutboundExpired = z.object(named);
export const OutboundCanceled = z.object({
  ...named,
  by: z.string(),
  reason: z.string().optional(),
});

/** Written before the adapter is called: whoever finds it without a result knows that it may have left. */
export const OutboundDispatched = z.object({
  ...named,
  revision: z.number(),
  content_sha256: z.string(),
  attempt: z.number(),
  adapter: z.string(),
  /** Until then its sender may still be at it. */
  until: z.number(),
});
/** The attempt is to be repeated: it had no effect, or the receiver takes the same one only once. */
export const OutboundDeferred = z.object({
  ...named,
  attempt: z.number(),
  reason: z.string(),
  /** It may have had its effect all the same. */
  uncertain: z.boolean().optional(),
  retry_at: z.number(),
});
export const OutboundConfirmed = z.object({
  ...named,
  attempt: z.number(),
  evidence: z.string(),
  /** Who saw it, when it was not the adapter. */
  by: z.string().optional(),
});
export const OutboundFailed = z.object({
  ...named,
  attempt: z.number(),
  reason: z.string(),
  by: z.string().optional(),
});
export const OutboundOutcomeUnknown = z.object({
  ...named,
  attempt: z.number(),
  reason: z.string(),
});

const channel = outboundVia.extend({
  receiver_idempotent: z.boolean().optional(),
  secret_version: z.number().optional(),
  /** The secret before this one signs, too, until then. */
  rotating_until: z.number().optional(),
});

/** Who approves an owner's outreach, and where each kind of it goes. */
export const OutreachConfigured = z.object({
  mode: z.enum(['owner_controlled', 'admin_approved']),
  approvals_required: z.number(),
  channels: z.partialRecord(z.enum(['social_post', 'message', 'agent_notification']), channel),
});
/** The kill switch: of one owner on its own stream, of everybody on the desk's. */
export const OutreachHalted = z.object({ reason: z.string() });
export const OutreachResumed = z.object({ reason: z.string() });
export const OutreachChannelDisabled = z.object({
  kind: z.enum(['social_post', 'message', 'agent_notification']),
  reason: z.string(),
});
