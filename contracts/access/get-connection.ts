import { z } from 'zod';
import { defineOperation } from '#contracts/operation.ts';
import { connection } from './connection.records.ts';
import { connectionExample } from '#contracts/examples/records.ts';

export const getConnection = defineOperation({
  kind: 'query',
  scope: null,
  http: { method: 'GET', path: '/connection', status: 200 },
  summary: 'Show this key: granted and missing scopes, limits, boundaries, links',
  guidance:
    'Call it first. Each missing scope has a text on how to get it; boundaries list what no agent can do.',
  brief:
    'Call it first. It shows the tools of this key, what it lacks and how to get that, and the boundaries: what no ' +
    'agent can do.',
  next: 'searchProducts, or another operation that the granted scopes allow.',
  input: z.strictObject({}),
  output: connection,
  problems: ['parameter_invalid', 'consistency_token_invalid', 'consistency_timeout'],
  examples: [{ name: 'a key with two scopes', input: {}, output: connectionExample }],
});
