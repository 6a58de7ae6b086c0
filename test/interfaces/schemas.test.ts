/** The OpenAPI schemas refuse every input that is invalid regardless of the catalog and the log; those of tools are wider. */
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/client/validators/ajv';
import { expect, it } from 'vitest';
import { DEFAULT_RATES } from '#contracts/limits.ts';
import { TOOLS } from '#src/interfaces/mcp/tools.ts';
import { openApi } from '#src/interfaces/rest/openapi.ts';

type Document = {
  components: object;
  paths: Record<
    string,
    {
      get: { parameters: { name: string; schema: object }[] };
      post: { requestBody: { content: { 'application/json': { schema: object } } } };
    }
  >;
};
type Example = Record<string, unknown>;

const document = JSON.parse(openApi('https://t.example', DEFAULT_RATES)) as Document;
const { paths, components } = document;
const validator = new AjvJsonSchemaValidator();
const takes = (schema: object, value: unknown): boolean => {
  const whole: object = { ...schema, components };
  return validator.getValidator(whole)(value).valid;
};

const PATHS: Record<string, string> = {
  create_link: 'links',
  create_handoff: 'handoffs',
  submit_lead: 'leads',
};

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
  const example = operation.examples[0]?.input ?? {};
  const inputOf = (more: Example) => JSON.parse(JSON.stringify({ ...example, ...more })) as Example;
  expect(operation.input.safeParse(inputOf(accepted)).success).toBe(true);
  const { metadata: _unpublished, ...forTool } = inputOf(accepted);
  expect(takes(entry.inputSchema, forTool)).toBe(true);
  const path = `/api/affiliate/v1/${PATHS[name]}`;
  const { schema } = paths[path]?.post.requestBody.content['application/json'] ?? {};
  if (!schema) throw new Error(`no body is sent to ${path}`);
  const body = (more: Example) => {
    const { idempotency_key: _key, ...fields } = inputOf(more);
    return takes(schema, fields);
  };
  expect([body(accepted), body(refused)]).toEqual([true, false]);
});

it('The published schema refuses a duplicate dimension', () => {
  const groups = document.paths['/api/affiliate/v1/performance']?.get.parameters.find(
    ({ name }) => name === 'group_by',
  );
  expect(takes(groups?.schema ?? {}, ['country', 'channel'])).toBe(true);
  expect(takes(groups?.schema ?? {}, ['country', 'country'])).toBe(false);
});
