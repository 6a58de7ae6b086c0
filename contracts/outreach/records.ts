/** A request for outreach as operations answer it. */
import { z } from 'zod';
import { id, time, versioned } from '#contracts/fields.ts';

/** Kinds that go to a channel which is configured for their owner. */
export const CHANNEL_KINDS = ['social_post', 'message', 'agent_notification'] as const;

export type ChannelKind = (typeof CHANNEL_KINDS)[number];

/** A delivery mails the review link of a handoff; createHandoff proposes it. */
export const OUTBOUND_KINDS = [...CHANNEL_KINDS, 'handoff_delivery'] as const;

export type OutboundKind = (typeof OUTBOUND_KINDS)[number];

export const NETWORKS = [
  'bluesky',
  'facebook',
  'instagram',
  'linkedin',
  'mastodon',
  'pinterest',
  'threads',
  'tiktok',
  'x',
  'youtube',
  'other',
] as const;

export const MESSAGE_CHANNELS = ['email', 'sms', 'chat', 'other'] as const;

export const OUTBOUND_STATUSES = [
  'pending_approval',
  'changes_requested',
  'approved',
  'dispatched',
  'confirmed',
  'failed',
  'outcome_unknown',
  'rejected',
  'expired',
  'canceled',
] as const;

export const APPROVAL_MODES = ['owner_controlled', 'admin_approved'] as const;

export const outboundRecord = z
  .object({
    id: id('out'),
    owner_id: z.string(),
    agent_id: z.string(),
    kind: z.enum(OUTBOUND_KINDS),
    target: z
      .object({
        network: z.enum(NETWORKS).optional(),
        account_ref: z.string().optional(),
        channel: z.enum(MESSAGE_CHANNELS).optional(),
        recipient_ref: z.string().optional(),
        lead_id: id('led')
          .optional()
          .describe('The lead that recipient_ref names, if it names one'),
        agent_card_url: z.string().optional(),
        handoff_id: id('hnd').optional().describe('The handoff whose review link is delivered'),
        list_sha256: z
          .string()
          .optional()
          .describe('SHA-256 of the list that is delivered; another list needs another approval'),
      })
      .describe('References, never addresses'),
    content: z.object({
      subject: z.string().optional(),
      text: z.string(),
      link_ids: z.array(id('lnk')),
    }),
    content_sha256: z
      .string()
      .describe(
        'SHA-256 in hex of the exact bytes that will be sent; an approval is valid for this hash only',
      ),
    revision: z.int().describe('Starts at 1; a new revision voids all earlier decisions'),
    schedule: z.object({
      not_before: time.optional(),
      not_after: time.describe('Expires at this time if it is not approved and sent'),
    }),
    external_id: z.string().optional(),
    approval: z.object({
      mode: z.enum(APPROVAL_MODES),
      required: z.int().describe('0: it was approved by a rule that the owner set'),
      automatic: z
        .object({ lead_id: id('led') })
        .optional()
        .describe('The accepted lead with the basis consent that allows it without a person'),
      decisions: z.array(
        z.object({
          by: z.string(),
          name: z.string().optional(),
          role: z.string(),
          at: time,
          decision: z.enum(['approve', 'reject', 'request_changes']),
          note: z.string().optional(),
          revision: z.int(),
          content_sha256: z.string(),
        }),
      ),
    }),
    status: z.enum(OUTBOUND_STATUSES),
    status_reason: z.string().optional(),
    delivery: z.object({
      adapter: z.enum(['file', 'webhook', 'a2a', 'mail']),
      attempts: z.int(),
      attempted_at: time.optional(),
      next_attempt_at: time.optional(),
      outcome: z
        .enum(['none', 'unknown', 'rejected', 'observed'])
        .describe('observed: the receiver confirmed it. unknown does not mean success'),
      evidence: z.string().optional(),
    }),
    task_id: z.string().optional().describe('Id of the A2A task, if it was proposed over A2A'),
    ...versioned,
  })
  .meta({ id: 'OutboundRequest' });

export type Outbound = z.infer<typeof outboundRecord>;
