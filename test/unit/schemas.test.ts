/** Published schemas refuse every input that is invalid regardless of the catalog and the log. */
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/client/validators/ajv';
import { expect, it } from 'vitest';
import { DEFAULT_RATES } from '#contracts/limits.ts';
import { TOOLS } from '#src/interfaces/mcp/tools.ts';
import { openApi } from '#src/interfaces/rest/openapi.ts';

type Document = {
  paths: Record<
    string,
    { post: { requestBody: { content: { 'application/json': { schema: object } } } } }
  >;
};
type Example = Record<string, unknown>;

const { paths } = JSON.parse(openApi('https://t.example', DEFAULT_RATES)) as Document;
const validator = new AjvJsonSchemaValidator();
const takes = (schema: object, value: unknown): boolean =>
  validator.getValidator(schema)(value).valid;

const tool = (name: string) => {
  const match = TOOLS.find(({ entry }) => entry.name === name);
  if (!match) throw new Error(`no tool is called ${name}`);
  return match;
};
const metadata = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`m${n}`, n]));
const line = { product_id: 'prd_0123456789abcdefghjkmnpq', sku: 'KIT-101', quantity: 1 };
const { sku: _sku, ...byId } = line;

it.each<[string, string, Example, Example]>([
  ['price_max without currency', 'search_products', {}, { currency: undefined }],
  [
    'price_min without currency',
    'search_products',
    { price_max: undefined, price_min: 1 },
    { price_max: undefined, price_min: 1, currency: undefined },
  ],
  [
    'a duplicate dimension',
    'get_performance',
    { group_by: ['country'] },
    { group_by: ['country', 'country'] },
  ],
  ['a line with two ids', 'create_handoff', { line_items: [byId] }, { line_items: [line] }],
  [
    'a line without an id',
    'create_handoff',
    { line_items: [byId] },
    { line_items: [{ quantity: 1 }] },
  ],
  ['21 metadata members', 'create_handoff', { metadata: metadata(20) }, { metadata: metadata(21) }],
  [
    'a leap second',
    'create_link',
    { expires_at: '2026-12-31T23:59:59.5+01:00' },
    { expires_at: '2026-12-31T23:59:60Z' },
  ],
  [
    'a lowercase t',
    'create_link',
    { expires_at: '2026-12-31T23:59:59Z' },
    { expires_at: '2026-12-31t23:59:59z' },
  ],
  [
    'a reason without withdrawal',
    'submit_lead',
    { withdraw: true, withdraw_reason: 'Gone' },
    { withdraw_reason: 'Gone' },
  ],
  ['a contact without consent', 'submit_lead', {}, { consent: undefined }],
])('The published schemas refuse %s', (_what, name, accepted, refused) => {
  const { entry, operation } = tool(name);
  const { inputSchema } = entry;
  const example = operation.examples[0]?.input ?? {};
  const inputOf = (more: Example): unknown => JSON.parse(JSON.stringify({ ...example, ...more }));
  const parsed = (more: Example) => operation.input.safeParse(inputOf(more)).success;
  expect(takes(inputSchema, inputOf(accepted))).toBe(true);
  expect(takes(inputSchema, inputOf(refused))).toBe(false);
  expect(parsed(accepted)).toBe(true);
  const path = `/api/affiliate/v1/${name === 'submit_lead' ? 'leads' : 'handoffs'}`;
  if (name !== 'submit_lead' && name !== 'create_handoff') return;
  const { schema } = paths[path]?.post.requestBody.content['application/json'] ?? {};
  if (!schema) throw new Error(`no body is sent to ${path}`);
  const body = (more: Example) => {
    const { idempotency_key: _key, ...fields } = inputOf(more) as Example;
    return takes(schema, fields);
  };
  expect([body(accepted), body(refused)]).toEqual([true, false]);
});
