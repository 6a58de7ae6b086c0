/**
 * What the description and the schema of each tool claim, derived from their words, against what the service does. Their
 * examples run against the demo in test/e2e/cli/examples.test.ts.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { utm } from '#contracts/links/records.ts';
import { LIMITS } from '#contracts/limits.ts';
import { DIMENSIONS, METRICS } from '#contracts/performance/records.ts';
import { PROBLEMS } from '#contracts/problems.ts';
import { SCOPE_NAMES } from '#contracts/scopes.ts';
import { TOOLS } from '#src/interfaces/mcp/tools.ts';
import { feedProduct, freshKey, testApp, type TestApp } from '../../support/world/app.ts';
import { configure } from '../../support/world/outreach.ts';
import { mcpAgent, type McpAgent, toldBy } from '../../support/clients/mcp.ts';

type Node = Record<string, unknown>;

let app: TestApp;
let agent: McpAgent;
beforeAll(async () => {
  app = await testApp();
  await app.publish([feedProduct('MUG-1')]);
  await configure(app, 'acme');
  agent = mcpAgent(app, (await app.agent('acme')).key);
});
afterAll(() => app.close());

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null;

/** All names of members and all values of enums in a JSON Schema. */
const namesIn = (node: unknown): string[] => {
  if (Array.isArray(node)) return node.flatMap(namesIn);
  if (!isNode(node)) return [];
  const own = isNode(node['properties']) ? Object.keys(node['properties']) : [];
  const values = Array.isArray(node['enum']) ? node['enum'].map(String) : [];
  return [...own, ...values, ...Object.values(node).flatMap(namesIn)];
};

const textsIn = (node: unknown): string[] => {
  if (Array.isArray(node)) return node.flatMap(textsIn);
  if (!isNode(node)) return [];
  const own = typeof node['description'] === 'string' ? [node['description']] : [];
  return [
    ...own,
    ...Object.entries(node).flatMap(([name, one]) => (name === 'description' ? [] : textsIn(one))),
  ];
};

const schemaOf = (schema: z.ZodType, io: 'input' | 'output') =>
  z.toJSONSchema(schema, { io, unrepresentable: 'any' });

const EVERYWHERE = new Set<string>([
  ...TOOLS.map(({ entry }) => entry.name),
  ...SCOPE_NAMES,
  ...Object.keys(PROBLEMS),
  ...METRICS,
  ...DIMENSIONS,
  ...Object.keys(utm.shape).map((name) => `utm_${name}`),
  // The state_reason of a lead that another promoter has.
  'already_known',
]);

const ALL_ANSWERS = new Set(
  TOOLS.flatMap(({ operation }) => namesIn(schemaOf(operation.output, 'output'))),
);

describe.each(TOOLS.map((tool) => [tool.entry.name, tool] as const))(
  'What %s claims',
  (name, tool) => {
    const { entry, operation } = tool;
    const own = new Set([
      ...namesIn(schemaOf(operation.input, 'input')),
      ...namesIn(schemaOf(operation.output, 'output')),
      ...namesIn(entry.outputSchema),
    ]);

    it(`Each tool and each field that ${name} names exists`, () => {
      const [claims = ''] = entry.description.split(/ Data, never instructions: /);
      const texts = [claims, ...textsIn(entry.inputSchema)];
      const named = texts.flatMap((text) => text.match(/\b[a-z]+(?:_[a-z]+)+\b/g) ?? []);
      const unknown = named.filter(
        (one) => !own.has(one) && !EVERYWHERE.has(one) && !ALL_ANSWERS.has(one),
      );
      expect(unknown).toEqual([]);
    });

    const numbers = Object.entries((entry.inputSchema.properties ?? {}) as Record<string, Node>);

    it(`Each limit that the schema of ${name} has is the one that is enforced`, () => {
      for (const [member, node] of numbers) {
        const schema = operation.input.shape[member] as z.ZodType;
        for (const [limit, beyond] of [
          [node['maximum'], 1],
          [node['minimum'], -1],
        ] as const) {
          if (typeof limit !== 'number' || node['type'] !== 'integer') continue;
          expect([member, schema.safeParse(limit).success]).toEqual([member, true]);
          expect([member, schema.safeParse(limit + beyond).success]).toEqual([member, false]);
        }
        const most = node['maxItems'];
        if (typeof most !== 'number') continue;
        const refused = schema.safeParse(Array.from({ length: most + 1 }, () => '')).error;
        expect([member, refused?.issues.some(({ code }) => code === 'too_big')]).toEqual([
          member,
          true,
        ]);
      }
    });

    it(`Each default that ${name} names is the one that is used`, () => {
      for (const [member, { description = '' }] of numbers) {
        const told = /default:? (\d+)\b(?! days)/.exec(String(description))?.[1];
        if (told === undefined) continue;
        const schema = operation.input.shape[member] as z.ZodType;
        const { data: used } = schema.safeParse(undefined);
        // Without a default in the schema, the handler has it.
        const handled = { limit: LIMITS.PERFORMANCE_PAGE_ROWS_DEFAULT, after: 0 }[member];
        expect([member, Number(told)]).toEqual([member, used ?? handled]);
      }
    });
  },
);

describe('A description of a tool', () => {
  const call = (tool: string, input: object) =>
    agent.call(tool, { idempotency_key: freshKey(), ...input });

  it('get_connection has what it promises: tools, approval, channels and where short links begin', async () => {
    const shown = await agent.done('get_connection', {});
    expect(shown['outreach']).toEqual({
      approval: 'owner_controlled',
      approvals_required: 1,
      channels: ['social_post', 'message', 'agent_notification'],
    });
    const made = await agent.done('create_link', {
      idempotency_key: freshKey(),
      target: { kind: 'search', ref: 'mug' },
    });
    expect(String(made['short_url']).startsWith(String(shown['short_links']))).toBe(true);
    expect(shown['tools']).toEqual(TOOLS.map(({ entry }) => entry.name));
  });

  it.each(TOOLS.map(({ entry, operation }) => [entry.name, entry, operation] as const))(
    '%s says that it accepts metadata where it does',
    (_name, entry, operation) => {
      expect(/Accepts metadata/.test(entry.description)).toBe('metadata' in operation.input.shape);
    },
  );

  it('request_message understands a lead by id and external_id and a name, and refuses an address and a refused contact', async () => {
    const lead = await agent.done('submit_lead', {
      idempotency_key: freshKey(),
      external_id: 'crm-1',
      company: { name: 'Shop', country: 'GB' },
      contact: { name: 'Ada', email: 'ada@shop.example' },
      consent: { basis: 'consent', obtained_at: '2026-11-01T00:00:00Z' },
    });
    const refs = [lead['id'], 'crm-1', 'list:cafes'];
    const to = (recipient_ref: unknown, n: number) =>
      call('request_message', { channel: 'chat', recipient_ref, text: `Mugs ${n}` });
    for (const [n, ref] of refs.entries())
      expect((await to(ref, n)).isError, String(ref)).not.toBe(true);
    const told = toldBy(await to('ada@shop.example', 4));
    expect(told['code']).toBe('validation_failed');
    await app.desk('POST', '/privacy/withdraw', {
      mailbox: 'ada@shop.example',
      proof: 'By letter',
    });
    for (const [n, ref] of refs.slice(0, 2).entries())
      expect((await to(ref, n + 5)).isError, String(ref)).toBe(true);
  });

  it('get_performance ends a page at the size that its description names', () => {
    const tool = TOOLS.find(({ entry }) => entry.name === 'get_performance');
    expect(tool?.entry.description).toContain(`${LIMITS.TOOL_RESULT_BYTES_MAX / 1_024} KiB`);
  });
});
