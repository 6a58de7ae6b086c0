/** The operation that creates an attributed link. */
import { z } from 'zod';
import { linkExample } from '#contracts/examples/records.ts';
import {
  campaign,
  externalId,
  idempotencyKey,
  impersonal,
  line,
  metadata,
  time,
} from '#contracts/fields.ts';
import { defineOperation } from '#contracts/operation.ts';
import { WRITE_PROBLEMS } from '#contracts/problems.ts';
import { channel, linkRecord, target, utm } from './records.ts';

const RESERVED_SLUGS = ['admin', 'api', 'desk', 'docs', 'health', 'help', 'login', 'signin', 'www'];

export const createLink = defineOperation({
  kind: 'command',
  scope: 'links:write',
  writes: ['LinkCreated', 'CodeClaimed'],
  http: { method: 'POST', path: '/links', status: 201 },
  summary: 'Create a link attributed to the promoter',
  guidance:
    'Show the disclosure beside the link. After a time-out, retry with the same idempotency key: the first ' +
    'answer is replayed, and there is still only one link.',
  brief: 'Show the disclosure beside the link.',
  next: 'getPerformance counts its clicks; requestSocialPost proposes a post with it.',
  input: z.strictObject({
    idempotency_key: idempotencyKey,
    target,
    slug: z
      .string()
      .regex(/^[a-z0-9](?:[a-z0-9-]{1,62})[a-z0-9]$/, {
        error: 'must be 3 to 64 characters of a-z, 0-9 and -, with no dash at either end',
      })
      .refine((slug) => !RESERVED_SLUGS.includes(slug), { error: 'is reserved' })
      .refine((slug) => !/^[0-9a-z]{12}$/.test(slug), {
        error: 'must not look like a generated code: 12 letters and digits without a dash',
      })
      .optional()
      .describe(
        'Unique on this service; the first link that uses it keeps it. 3 to 64 of a-z, 0-9 and -',
      ),
    external_id: externalId.optional(),
    campaign: impersonal(campaign).optional(),
    channel: channel.optional(),
    sub_ids: z
      .array(impersonal(line(64)))
      .max(3)
      .optional()
      .describe('Up to three tags of your own; reports can be grouped by each'),
    utm: utm.optional().describe('Added to the destination as utm_… parameters'),
    expires_at: time.optional().describe('Default: never'),
    expired_target: target
      .optional()
      .describe('Target of the link after it has expired or its product was withdrawn'),
    metadata: metadata.optional(),
  }),
  output: linkRecord,
  problems: [...WRITE_PROBLEMS, 'scope_missing', 'slug_taken', 'link_target_invalid'],
  examples: [
    {
      name: 'a product, for a campaign',
      input: {
        idempotency_key: 'spring-sale:KIT-101:link',
        target: { kind: 'product', ref: 'KIT-101' },
        slug: 'spring-mugs',
        campaign: 'spring-sale',
        channel: 'email',
        utm: { source: 'newsletter' },
      },
      output: linkExample,
    },
  ],
});
