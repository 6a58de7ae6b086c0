import { z } from 'zod';
import { handoffExample } from '#contracts/examples/records.ts';
import {
  externalId,
  homeCountry,
  id,
  idempotencyKey,
  impersonal,
  line,
  metadata,
  productId,
  quantity,
  text,
  time,
} from '#contracts/fields.ts';
import { LIMITS } from '#contracts/limits.ts';
import { defineOperation } from '#contracts/operation.ts';
import { WRITE_PROBLEMS } from '#contracts/problems.ts';
import { handoffRecord } from './handoff.records.ts';

export const createHandoff = defineOperation({
  kind: 'command',
  scope: 'handoffs:write',
  writes: ['HandoffCreated'],
  http: { method: 'POST', path: '/handoffs', status: 201 },
  summary: 'Prepare a list for a buyer to review; does not submit an RFQ',
  guidance:
    'Give review_url only to the buyer. Warnings do not prevent a handoff: the buyer sees them. ' +
    'A product that is not published is refused with the number of its line, so that you can send the list without it.',
  brief:
    'Give review_url only to the buyer. A product that is not published is refused with its line.',
  next: 'getPerformance counts the handoffs that buyers opened, declined or sent as an RFQ.',
  input: z.strictObject({
    idempotency_key: idempotencyKey,
    title: impersonal(line(120)).describe(
      'Title of the list, shown to the buyer; no personal data',
    ),
    note_to_buyer: text(2_000).optional().describe('Shown to the buyer above the list; encrypted'),
    locale: z
      .string()
      .regex(/^[a-z]{2,3}(-[A-Z][a-z]{3})?(-[A-Z]{2})?$/, {
        error: 'must be a BCP 47 tag like en-GB',
      })
      .default('en')
      .describe('Language of the page, as a BCP 47 tag'),
    link_id: id('lnk').optional().describe('The link that led to this handoff'),
    buyer: z
      .strictObject({
        company: line(200).optional().describe('Name of the company'),
        country: homeCountry.optional(),
        email: z.email().max(254).optional().describe('E-mail address; personal data, encrypted'),
      })
      .default({})
      .describe('The buyer, as far as known'),
    line_items: z
      .array(
        z
          .strictObject({
            product_id: productId.optional(),
            sku: line(64).optional().describe('Stock-keeping unit; instead of product_id'),
            quantity,
            note: line(500).optional().describe('Shown to the buyer beside the line; encrypted'),
          })
          .refine((item) => (item.product_id === undefined) !== (item.sku === undefined), {
            error: 'must have either product_id or sku',
          })
          .meta({ oneOf: [{ required: ['product_id'] }, { required: ['sku'] }] }),
      )
      .min(1)
      .max(LIMITS.HANDOFF_LINES_MAX)
      .describe('The proposed products; each line has either product_id or sku'),
    expires_at: time.optional().describe(`Default: ${LIMITS.HANDOFF_DAYS_DEFAULT} days from now`),
    external_id: externalId.optional(),
    metadata: metadata.optional(),
  }),
  output: handoffRecord,
  problems: [
    ...WRITE_PROBLEMS,
    'scope_missing',
    'product_unavailable',
    'resource_not_found',
    'resource_erased',
  ],
  examples: [
    {
      name: 'one line, by sku',
      input: {
        idempotency_key: 'order-555156',
        title: 'Kitchen shelf, autumn',
        buyer: { company: 'Corner Shop', country: 'GB' },
        line_items: [{ sku: 'KIT-101', quantity: 48 }],
      },
      output: handoffExample,
    },
  ],
});
