/** What proves to strangers what a request wrote. */
import { z } from 'zod';
import { cursor, limit, line, page } from '#contracts/fields.ts';
import { defineToolOperation } from '#contracts/operation.ts';
import { PAGE_PROBLEMS } from '#contracts/problems.ts';

/** The proof of an event that a request wrote. */
export const receipt = z.object({
  event_id: z.string(),
  type: z.string(),
  stream: z.string(),
  proof: z
    .string()
    .optional()
    .describe('A file of C2SP tlog-proof with the leaf as extra data; absent while it is pending'),
});

export const requestOfReceipts = line(100).describe('Request-Id of an answer');

export const retryAfter = z.int().nullable().describe('Null if no receipt is pending');

export const REQUEST_EXAMPLE = '0197f2a1-6c3e-7000-8000-000000000001';

export const RECEIPT_EXAMPLE = {
  event_id: '0197f2a1-6c3f-7000-8000-000000000001',
  type: 'LinkCreated',
  stream: 'acme-link_lnk_3c4d5e6f7g8h9j0k1m2n3p4q',
};

/** A longer file does not fit into a tool's result, and a part of it proves nothing. */
export const TOOL_PROOF_CHARS_MAX = 12_000;

export const getReceipt = defineToolOperation({
  kind: 'query',
  scope: null,
  summary: 'Prove to strangers what one of your requests wrote: a signed file for each event',
  guidance:
    'Save each proof as a file: /docs/proof says how to check it. Proofs are pending until a checkpoint covers their events: call ' +
    'again after retry_after_ms. People get those that are too_large.',
  brief: 'Pending proofs are ready after retry_after_ms: call again. /docs/proof has the format.',
  input: z.strictObject({
    request_id: requestOfReceipts.describe('Request-Id header, or _meta.requestId, of an answer'),
    limit,
    cursor: cursor.optional(),
  }),
  output: z.object({
    data: z.array(receipt.extend({ too_large: z.literal(true).optional() })),
    retry_after_ms: retryAfter,
    page,
  }),
  problems: ['parameter_invalid', 'resource_not_found', ...PAGE_PROBLEMS],
  examples: [
    {
      name: 'of a request',
      input: { request_id: REQUEST_EXAMPLE },
      output: {
        data: [RECEIPT_EXAMPLE],
        retry_after_ms: 1_500,
        page: { next_cursor: null, has_more: false },
      },
    },
  ],
});
