import { z } from 'zod';
import { defineOperation } from '../operation.ts';
import { connection } from '../records/connection.ts';
import { connectionExample } from '../examples/records.ts';

export const getConnection = defineOperation({
  id: 'getConnection',
  kind: 'query',
  scope: null,
  http: { method: 'GET', path: '/connection', status: 200 },
  summary: 'Who this key is: scopes granted and missing, limits, boundaries, links',
  guidance:
    'Call it first. What is missing says how to get it; boundaries say what no agent can ever do here.',
  next: 'searchProducts, or whatever the granted scopes open.',
  input: z.strictObject({}),
  output: connection,
  problems: ['parameter_invalid', 'consistency_token_invalid', 'consistency_timeout'],
  examples: [{ name: 'a key with two scopes', input: {}, output: connectionExample }],
});
