/** What clients send that are strict about schemas, and what the service accepts and refuses beyond the schemas. */
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/client/validators/ajv';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { agentOperations, type OperationId } from '#contracts/registries/agents.ts';
import { toolName } from '#contracts/places.ts';
import { toolNamed } from '#src/interfaces/mcp/tools.ts';
import { feedProduct, freshKey, testApp, type TestApp } from '../../support/world/app.ts';
import { type McpAgent, mcpAgent, toldBy } from '../../support/clients/mcp.ts';

let app: TestApp;
let agent: McpAgent;
beforeAll(async () => {
  app = await testApp();
  await app.publish([feedProduct('MUG-1')]);
  agent = mcpAgent(app, (await app.agent('acme')).key);
});
afterAll(() => app.close());

const OPERATION_OF: Record<string, OperationId> = Object.fromEntries(
  (Object.keys(agentOperations) as OperationId[]).map((id) => [toolName({ id }), id]),
);

const validator = new AjvJsonSchemaValidator();
const fits = (name: string, input: object): boolean =>
  validator.getValidator(toolNamed(name)?.entry.inputSchema as never)(input).valid;

describe('A tool', () => {
  it('A tool accepts null as absent, even where a retry omits the field', async () => {
    const key = freshKey();
    const target = { kind: 'search', ref: 'mug' };
    const strict = {
      idempotency_key: key,
      target,
      slug: null,
      utm: { source: 'mail', term: null },
    };
    const first = await agent.done('create_link', strict);
    expect(first).not.toHaveProperty('slug');
    const again = { idempotency_key: key, target, utm: { source: 'mail' } };
    expect(await agent.done('create_link', again)).toEqual(first);
    const listed = { ...again, idempotency_key: freshKey(), sub_ids: [null] };
    expect(toldBy(await agent.call('create_link', listed))).toMatchObject({
      errors: [{ pointer: '/sub_ids/0' }],
    });
  });

  it('A tool accepts withdraw: false as absent, even where a retry omits it', async () => {
    const lead = {
      idempotency_key: freshKey(),
      external_id: freshKey(),
      company: { name: 'Shop', country: 'GB' },
    };
    const first = await agent.done('submit_lead', { ...lead, withdraw: false });
    expect(first).toMatchObject({ state: 'submitted' });
    expect(await agent.done('submit_lead', lead)).toEqual(first);
  });

  it('A tool accepts metadata, which no tool publishes', async () => {
    const link = { idempotency_key: freshKey(), target: { kind: 'search', ref: 'mug' } };
    const metadata = { season: 'spring', priority: 2 };
    expect(await agent.done('create_link', { ...link, metadata })).toMatchObject({ metadata });
  });

  it('A tool names every missing field at once', async () => {
    const pointersOf = async (name: string, input: object) => {
      const { errors = [] } = toldBy(await agent.call(name, input)) as {
        errors?: { pointer: string }[];
      };
      return errors.map(({ pointer }) => pointer);
    };
    expect(await pointersOf('create_handoff', {})).toEqual(['/title', '/line_items']);
    const lead = { idempotency_key: freshKey(), external_id: 'crm-missing' };
    const contact = { name: 'Ada', email: 'ada@shop.example' };
    expect(await pointersOf('submit_lead', { ...lead, contact })).toEqual(['/company', '/consent']);
    expect(await pointersOf('search_products', { price_min: 1, price_max: 2 })).toEqual([
      '/currency',
    ]);
  });

  it.each<[string, string, object]>([
    ['price_max without currency', 'search_products', { price_max: 1 }],
    ['a duplicate dimension', 'get_performance', { group_by: ['country', 'country'] }],
    [
      'a line with two ids',
      'create_handoff',
      {
        title: 'T',
        line_items: [{ sku: 'MUG-1', product_id: 'prd_0123456789abcdefghjkmnpq', quantity: 1 }],
      },
    ],
    ['a line without an id', 'create_handoff', { title: 'T', line_items: [{ quantity: 1 }] }],
    [
      'a leap second',
      'create_link',
      { target: { kind: 'search', ref: 'mug' }, expires_at: '2026-12-31T23:59:60Z' },
    ],
    ['a reason without withdrawal', 'submit_lead', { external_id: 'a', withdraw_reason: 'Gone' }],
    [
      'a slug of other characters',
      'create_link',
      { target: { kind: 'search', ref: 'mug' }, slug: 'A B' },
    ],
  ])(
    'A tool refuses %s, which the published schema does not exclude',
    async (_what, name, input) => {
      const { kind } = agentOperations[OPERATION_OF[name] ?? 'createLink'];
      const key = kind === 'command' && { idempotency_key: freshKey() };
      expect(fits(name, { ...input, ...key })).toBe(true);
      const result = await agent.call(name, { ...input, ...key });
      expect([result.isError, toldBy(result)['status']]).toEqual([
        true,
        kind === 'command' ? 422 : 400,
      ]);
    },
  );
});
