/** The list of tools, and the form of their results. */
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/client/validators/ajv';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { BOUNDARIES, boundaryOf } from '#contracts/boundaries.ts';
import { agentOperations, type OperationId } from '#contracts/registries/agents.ts';
import { connectionExample } from '#contracts/examples/records.ts';
import { connection } from '#contracts/access/records.ts';
import {
  connectionForTools,
  type ToolEntry,
  toolNamed,
  toolSchema,
} from '#src/interfaces/mcp/tools.ts';
import { feedProduct, freshKey, testApp, type TestApp } from '../../support/world/app.ts';
import type { McpAgent, RpcResult } from '../../support/clients/mcp.ts';
import { listIn, mcpAgent, toldBy } from '../../support/clients/mcp.ts';
import { configure } from '../../support/world/outreach.ts';
import { verifies } from '../../support/source/verifies.ts';

/** Each kind of record needs one of them. */
const LISTING = [
  'links:write',
  'handoffs:write',
  'social:write',
  'messages:write',
  'agents:notify',
];

// From the specification, not from the registry: name, scopes, readOnlyHint, openWorldHint, destructiveHint.
const TOOLS: [string, string[], boolean, boolean, boolean][] = [
  ['get_connection', [], true, false, false],
  ['search_products', ['products:read'], true, false, false],
  ['create_link', ['links:write'], false, false, false],
  ['create_handoff', ['handoffs:write'], false, false, false],
  ['list_leads', ['leads:read'], true, false, false],
  ['submit_lead', ['leads:write'], false, false, true],
  ['get_performance', ['performance:read'], true, false, false],
  ['request_social_post', ['social:write'], false, true, false],
  ['request_message', ['messages:write'], false, true, false],
  ['request_agent_notification', ['agents:notify'], false, true, false],
  ['get_outbound_request', ['social:write', 'messages:write', 'agents:notify'], true, false, false],
  [
    'cancel_outbound_request',
    ['social:write', 'messages:write', 'agents:notify'],
    false,
    false,
    true,
  ],
  ['list_records', LISTING, true, false, false],
  ['list_changes', [...LISTING, 'leads:read'], true, false, false],
  ['get_record', [...LISTING, 'leads:read', 'products:read'], true, false, false],
  ['revise_handoff', ['handoffs:write'], false, false, false],
  ['withdraw_handoff', ['handoffs:write'], false, false, true],
  ['create_links', ['links:write'], false, false, false],
  ['update_link', ['links:write'], false, false, true],
  ['get_receipt', [], true, false, false],
];
/** A query answers their record, so that they do not repeat its schema. */
const REPEATED = [
  'request_social_post',
  'request_message',
  'request_agent_notification',
  'cancel_outbound_request',
  'revise_handoff',
  'withdraw_handoff',
  'update_link',
];
const RESULT_BYTES_MAX = 32_768;

let app: TestApp;
let agent: McpAgent;
let tools: Map<string, ToolEntry>;

beforeAll(async () => {
  app = await testApp();
  const description = 'Stoneware, glazed inside and out. '.repeat(30);
  const products = Array.from({ length: 120 }, (_, i) =>
    feedProduct(`MUG-${i}`, { title: `Mug ${i}`, category: 'Mugs', description }),
  );
  await app.publish([...products, feedProduct('EPIC', { description: '\u{1F375}'.repeat(2_400) })]);
  await configure(app, 'acme');
  agent = mcpAgent(app, (await app.agent('acme')).key);
  tools = new Map((await listOf(agent)).map((tool) => [tool.name, tool]));
});
afterAll(() => app.close());

const listOf = async ({ legacy }: McpAgent): Promise<ToolEntry[]> =>
  (await legacy('tools/list')).body.result?.['tools'] as ToolEntry[];

const validator = new AjvJsonSchemaValidator();
const isValid = (schema: unknown, value: unknown): boolean =>
  validator.getValidator(schema as never)(value).valid;

/** Commands answer the record that a query answers, and do not repeat its schema. */
const outputOf = (name: string): object | undefined =>
  tools.get(name)?.outputSchema ??
  toolSchema(toolNamed(name)?.operation.output ?? z.never(), 'published output');

/** Expects that both forms are equal, match the output schema and are within the size limit. */
const expectSound = (name: string, result: RpcResult): Record<string, unknown> => {
  const { structuredContent, content, isError } = result;
  expect([isError, structuredContent === undefined]).toEqual([undefined, false]);
  expect(JSON.parse(content[0]?.text ?? '')).toEqual(structuredContent);
  expect(isValid(outputOf(name), structuredContent)).toBe(true);
  expect(Buffer.byteLength(JSON.stringify(result))).toBeLessThanOrEqual(RESULT_BYTES_MAX);
  return structuredContent ?? {};
};

describe('The MCP method tools/list', () => {
  it('The MCP method tools/list lists the tools in order, with correct annotations', () => {
    verifies('service.4');
    expect([...tools.keys()]).toEqual(TOOLS.map(([name]) => name));
    for (const [name, , readOnlyHint, openWorldHint, destructiveHint] of TOOLS) {
      const tool = tools.get(name);
      const title = tool?.title;
      const hints = { readOnlyHint, openWorldHint, destructiveHint, idempotentHint: true };
      expect(tool?.annotations).toEqual({ title, ...hints });
      expect(title).toMatch(/^[A-Z][a-z ]+$/);
      expect(name).toMatch(/^[a-z_]{1,64}$/);
    }
  });

  it.each(TOOLS)(
    'The MCP method tools/list lists %s only for keys with a scope that allows it',
    async (name, scopes) => {
      verifies('service.4');
      const all = TOOLS.flatMap(([, needed]) => needed);
      for (const scope of new Set(all)) {
        const { key } = await app.agent('acme', [scope]);
        const shown = (await listOf(mcpAgent(app, key))).map((tool) => tool.name);
        expect(shown.includes(name)).toBe(scopes.length === 0 || scopes.includes(scope));
      }
    },
  );

  it('The MCP tools have self-contained schemas, closed inputs, open outputs and a description of each field', () => {
    verifies('service.4', 'endpoints.rules.7');
    const look = (node: Record<string, unknown>, see: (node: Record<string, unknown>) => void) => {
      see(node);
      for (const value of Object.values(node))
        if (typeof value === 'object' && value !== null) look(value as never, see);
    };
    for (const { inputSchema, outputSchema, name } of tools.values()) {
      expect([inputSchema.type, inputSchema.additionalProperties]).toEqual(['object', false]);
      expect(outputSchema === undefined, name).toBe(REPEATED.includes(name));
      const answered = outputSchema ?? { type: 'object' };
      expect([answered.type, answered.additionalProperties]).toEqual(['object', undefined]);
      for (const schema of [inputSchema, answered])
        look(schema, (node) => {
          for (const unwanted of ['$ref', '$defs', '$schema', '$id'])
            expect(node).not.toHaveProperty(unwanted);
          expect(Array.isArray(node['type']), name).toBe(false);
        });
      look(answered, (node) => {
        expect(node['additionalProperties']).not.toBe(false);
        expect([name, typeof node['description']]).not.toEqual([name, 'string']);
      });
      look({ inputSchema }, ({ properties = {} }) => {
        const fields = Object.entries(properties as Record<string, { description?: string }>);
        const bare = fields.filter(([, { description }]) => !description);
        expect(bare.map(([field]) => `${name} ${field}`)).toEqual([]);
      });
    }
  });

  it('The MCP tools have schemas that accept the examples of the contract', () => {
    for (const [index, operation] of Object.values(agentOperations).entries()) {
      const tool = [...tools.values()][index];
      const name = tool?.name ?? '';
      for (const { input, output } of operation.examples) {
        expect(isValid(tool?.inputSchema, input), operation.id).toBe(true);
        expect(isValid(tool?.inputSchema, { ...input, stranger: 1 }), operation.id).toBe(false);
        const shown =
          name === 'get_connection'
            ? connectionForTools(connection.parse(connectionExample))
            : output;
        expect(isValid(outputOf(name), shown), operation.id).toBe(true);
        expect(isValid(outputOf(name), { ...(shown as object), added: 1 })).toBe(true);
      }
    }
  });

  it('The MCP method tools/list names tools by their MCP names and does not mention HTTP', () => {
    const text = JSON.stringify([...tools.values()]);
    for (const id of Object.keys(agentOperations) as OperationId[]) expect(text).not.toContain(id);
    expect(text).not.toMatch(/Idempotency-Key|Accept text|query string|in a query/);
  });

  it('The MCP method tools/list lists no tool for a forbidden act', () => {
    verifies('service.5');
    expect([...tools.keys()].filter((name) => boundaryOf(name) !== undefined)).toEqual([]);
    expect(BOUNDARIES).toHaveLength(5);
  });

  it('The MCP method tools/list has one page and refuses any cursor', async () => {
    const { status, body } = await agent.legacy('tools/list', { cursor: 'abc' });
    expect([status, body.error?.code]).toEqual([200, -32602]);
  });
});

describe('The MCP method tools/call', () => {
  it('The MCP method tools/call returns the record as structured content and as the same JSON in text, for each tool', async () => {
    const link = { idempotency_key: freshKey(), target: { kind: 'product', ref: 'MUG-1' } };
    expectSound('get_connection', await agent.call('get_connection'));
    expectSound(
      'search_products',
      await agent.call('search_products', { q: 'mug', limit: 2, facets: ['category'] }),
    );
    expectSound('create_link', await agent.call('create_link', link));
    const list = {
      idempotency_key: freshKey(),
      title: 'List',
      line_items: [{ sku: 'MUG-1', quantity: 4 }],
    };
    expectSound('create_handoff', await agent.call('create_handoff', list));
    const lead = {
      idempotency_key: freshKey(),
      external_id: 'crm-1',
      company: { name: 'Shop', country: 'GB' },
      contact: { name: 'Ada', email: 'ada@shop.example' },
      consent: { basis: 'consent', obtained_at: '2026-11-01T00:00:00Z' },
    };
    expectSound('submit_lead', await agent.call('submit_lead', lead));
    expectSound('list_leads', await agent.call('list_leads'));
    expectSound('get_performance', await agent.call('get_performance', { group_by: ['campaign'] }));
    const text = 'Mugs are back.';
    const post = { idempotency_key: freshKey(), network: 'mastodon', account_ref: 'shop', text };
    const { id } = expectSound(
      'request_social_post',
      await agent.call('request_social_post', post),
    );
    const message = {
      idempotency_key: freshKey(),
      channel: 'email',
      recipient_ref: 'list:a',
      text,
    };
    expectSound('request_message', await agent.call('request_message', message));
    const agent_card_url = 'https://partner.example/.well-known/agent-card.json';
    const notify = { idempotency_key: freshKey(), agent_card_url, text };
    expectSound(
      'request_agent_notification',
      await agent.call('request_agent_notification', notify),
    );
    expectSound(
      'get_outbound_request',
      await agent.call('get_outbound_request', { outbound_id: id }),
    );
    const cancel = { idempotency_key: freshKey(), outbound_id: id };
    const canceled = await agent.call('cancel_outbound_request', cancel);
    expect(expectSound('cancel_outbound_request', canceled)).toMatchObject({ status: 'canceled' });
  });

  it.each<[string, string, object]>([
    ['validation_failed', 'create_link', { idempotency_key: 'a', target: { kind: 'x' } }],
    [
      'validation_failed',
      'create_link',
      { idempotency_key: 'a', target: { kind: 'search', ref: 'a' }, owner_id: 'rival' },
    ],
    ['parameter_invalid', 'search_products', { limit: 0 }],
    ['cursor_invalid', 'list_leads', { cursor: 'a.b' }],
    ['idempotency_key_required', 'create_link', { target: { kind: 'search', ref: 'a' } }],
    ['idempotency_key_invalid', 'create_link', { idempotency_key: 'ä', target: {} }],
    [
      'link_target_invalid',
      'create_link',
      { idempotency_key: 'b', target: { kind: 'product', ref: 'NONE' } },
    ],
    [
      'product_unavailable',
      'create_handoff',
      { idempotency_key: 'c', title: 'L', line_items: [{ sku: 'NONE', quantity: 1 }] },
    ],
    [
      'consent_missing',
      'submit_lead',
      {
        idempotency_key: 'd',
        external_id: 'e',
        company: { name: 'A', country: 'GB' },
        contact: { name: 'A', email: 'a@b.example' },
      },
    ],
    ['resource_not_found', 'get_outbound_request', { outbound_id: 'out_000000000000000000000000' }],
  ])(
    'The MCP method tools/call returns %s to the model only as text',
    async (code, name, input) => {
      const result = await agent.call(name, input);
      expect(result).not.toHaveProperty('structuredContent');
      expect(toldBy(result)).toMatchObject({ code, recovery: { retryable: false } });
    },
  );

  it('The MCP method tools/call names tools and their fields in its errors', async () => {
    const { key } = await app.agent('acme', ['products:read']);
    const { body } = await mcpAgent(app, key).legacy('tools/call', { name: 'create_link' });
    expect(body.error?.data['detail']).toBe('create_link needs links:write.');
    const missing = toldBy(await agent.call('create_link', {}));
    expect(missing['recovery']).toMatchObject({
      hint: expect.stringContaining('idempotency_key') as string,
    });
  });

  it.each<[string, object, number, number]>([
    ['an unknown tool', { name: 'fly' }, 200, -32602],
    ['no name', {}, 200, -32602],
    ['a name that is a number', { name: 1 }, 200, -32602],
    ['arguments that are a list', { name: 'get_connection', arguments: [] }, 200, -32602],
  ])(
    'The MCP method tools/call refuses %s as invalid params',
    async (_what, params, status, code) => {
      const legacy = await agent.legacy('tools/call', params);
      const modern = await agent.modern('tools/call', params as Record<string, unknown>);
      for (const { status: answered, body } of [legacy, modern])
        expect([answered, body.error?.code]).toEqual([status, code]);
    },
  );

  it.each(['submit_rfq', 'place_order', 'acceptQuotation', 'reserve-stock', 'pay'])(
    'The MCP method tools/call answers the forbidden act %s with what to do instead',
    async (name) => {
      const problem = toldBy(await agent.call(name));
      expect(problem).toMatchObject({
        code: 'boundary_forbidden',
        recovery: { action: 'hand_to_buyer' },
      });
    },
  );
});

describe('An MCP result', () => {
  it('An MCP result has fewer rows when a page is too large, and its cursor continues after the last of them', async () => {
    const first = await agent.call('search_products', { category: 'Mugs' });
    const { data, page } = expectSound('search_products', first) as unknown as Products;
    expect(data.length).toBeGreaterThan(3);
    expect(data.length).toBeLessThan(25);
    const limit = data.length;
    expect(first._meta['truncated']).toMatchObject({
      cuts: [{ pointer: '/data', kept: limit, of: 25 }],
    });
    expect(first.content[1]?.text).toBe(
      `Truncated to keep the result small: /data shows ${limit} of 25 rows, ${25 - limit} are left. Go on with next_cursor.`,
    );
    const seen = data.map(({ sku }) => sku);
    let cursor = page.next_cursor;
    while (cursor !== null) {
      const next = await agent.call('search_products', { category: 'Mugs', limit, cursor });
      const more = expectSound('search_products', next) as unknown as Products;
      seen.push(...more.data.map(({ sku }) => sku));
      cursor = more.page.next_cursor;
    }
    expect(new Set(seen).size).toBe(120);
    expect(seen).toHaveLength(120);
  });

  it.each<[string, string, Record<string, unknown>]>([
    ['search_products', 'products', { sort: 'updated', limit: 100 }],
    ['list_leads', 'leads', { source: 'agent', limit: 50 }],
    ['get_performance', 'performance', { from: '2026-01-01', to: '2026-11-30' }],
  ])(
    'An MCP result and its next cursors together contain every row of %s',
    async (name, path, input) => {
      const { key } = await app.agent('walked');
      const metadata = { note: 'Met at the fair, wants to see the whole range. '.repeat(10) };
      for (let i = 0; i < 50; i++) {
        const headers = { 'idempotency-key': freshKey() };
        const payload = { external_id: `${name}-${i}`, company: { name: 'Shop', country: 'GB' } };
        const request = { key, headers, payload: { ...payload, metadata } };
        await app.send({ method: 'POST', url: '/api/affiliate/v1/leads', ...request });
      }
      const walker = mcpAgent(app, key);
      const seen: object[] = [];
      const cut: boolean[] = [];
      let cursor: string | null | undefined;
      while (cursor !== null) {
        const result = await walker.call(name, {
          ...input,
          ...(cursor !== undefined && { cursor }),
        });
        const { data, page } = expectSound(name, result) as unknown as Listed;
        seen.push(...data);
        cut.push('truncated' in result._meta);
        cursor = page.next_cursor;
        expect(page.has_more).toBe(cursor !== null);
      }
      expect(cut.filter(Boolean).length).toBeGreaterThan(1);
      const whole: object[] = [];
      const query = new URLSearchParams(Object.entries(input) as [string, string][]);
      let url: string | undefined = `/api/affiliate/v1/${path}?${query.toString()}`;
      while (url !== undefined) {
        const { data, page } = (await app.send({ method: 'GET', url, key })).body as Listed;
        whole.push(...data);
        if (page.next_cursor !== null) query.set('cursor', page.next_cursor);
        url =
          page.next_cursor === null ? undefined : `/api/affiliate/v1/${path}?${query.toString()}`;
      }
      expect(seen).toEqual(whole);
    },
  );

  it('An MCP result contains a valid part of a handoff with 1,000 lines and names the resource with all of them', async () => {
    const line_items = Array.from({ length: 1_000 }, (_, i) => ({
      sku: `MUG-${i % 120}`,
      quantity: 4 + i,
      note: `Line ${i}, with a note that is as long as notes are`,
    }));
    const input = { idempotency_key: freshKey(), title: 'Long', line_items };
    const result = await agent.call('create_handoff', input);
    const record = expectSound('create_handoff', result) as { id: string; line_items: unknown[] };
    const rowCount = record.line_items.length;
    expect(rowCount).toBeGreaterThan(10);
    expect(result.content[1]?.text).toContain(
      `/line_items shows ${rowCount} of 1000 rows, ${1_000 - rowCount} are left`,
    );
    const uri = `tributary://handoffs/${record.id}`;
    const [whole] = listIn(await agent.legacy('resources/read', { uri }), 'contents');
    expect((JSON.parse(whole?.text ?? '') as typeof record).line_items).toHaveLength(1_000);
  });

  it('An MCP result has shortened texts when one record is too large', async () => {
    const lines = Array.from({ length: 20 }, (_, i) => [`note_${i}`, '\u{1F375}'.repeat(250)]);
    const input = {
      idempotency_key: freshKey(),
      target: { kind: 'search', ref: 'mug' },
      metadata: Object.fromEntries(lines) as object,
    };
    const result = await agent.call('create_link', input);
    const record = expectSound('create_link', result) as { metadata: Record<string, string> };
    expect(record.metadata['note_0']).toContain('\u{1F375}');
    expect(result.content[1]?.text).toMatch(/metadata\/note_\d+ shows \d+ of 500 characters/);
  });

  type Listed<Row = object> = {
    data: Row[];
    page: { next_cursor: string | null; has_more: boolean };
  };
  type Products = Listed<{ sku: string }>;
});
