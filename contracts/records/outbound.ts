import { z } from 'zod';
import { id, time } from '../fields.ts';

export const OUTBOUND_KINDS = ['social_post', 'message', 'agent_notification'] as const;

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

export const outbound = z
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
        agent_card_url: z.string().optional(),
      })
      .describe('By reference, never an address'),
    content: z.object({
      subject: z.string().optional(),
      text: z.string(),
      link_ids: z.array(id('lnk')),
    }),
    content_sha256: z
      .string()
      .describe('Hex, over the exact bytes that will leave: what an approval is bound to'),
    revision: z.int().describe('1 for the first; each revision voids the decisions before it'),
    schedule: z.object({
      not_before: time.optional(),
      not_after: time.describe('Not approved and sent by then, it expires'),
    }),
    external_id: z.string().optional(),
    approval: z.object({
      mode: z.enum(APPROVAL_MODES),
      required: z.int(),
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
      adapter: z.enum(['file', 'webhook', 'a2a']),
      attempts: z.int(),
      attempted_at: time.optional(),
      next_attempt_at: time.optional(),
      outcome: z
        .enum(['none', 'unknown', 'rejected', 'observed'])
        .describe('observed: the receiver said so. unknown is never called success'),
      evidence: z.string().optional(),
    }),
    task_id: z.string().optional().describe('The A2A task that it is, when it came over A2A'),
    version: z.int(),
    created_at: time,
    updated_at: time,
  })
  .meta({ id: 'OutboundRequest' });

export type Outbound = z.infer<typeof outbound>;
