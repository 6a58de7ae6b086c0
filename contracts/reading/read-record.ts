import { z } from 'zod';
import { defineToolOperation } from '#contracts/operation.ts';

/** One record, as an MCP resource. Its scope depends on the kind of record. */
export const readRecord = defineToolOperation({
  kind: 'query',
  scope: null,
  summary: 'Read one record by its id',
  guidance: 'The resource templates list the kinds of records.',
  input: z.strictObject({
    kind: z.enum(['link', 'handoff', 'lead', 'product']),
    id: z.string(),
  }),
  output: z.looseObject({ id: z.string() }),
  problems: [
    'scope_missing',
    'resource_not_found',
    'consistency_token_invalid',
    'consistency_timeout',
  ],
  examples: [],
});
