/** Completion of every argument of prompts and of every variable of resource templates. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OUTBOUND_SCOPES, SCOPE_NAMES, type Scope } from '#contracts/scopes.ts';
import { feedProduct, freshKey, testApp, type TestApp } from '../../support/world/app.ts';
import { listIn, mcpAgent, type McpAgent } from '../../support/clients/mcp.ts';
import { configure } from '../../support/world/outreach.ts';

let app: TestApp;
let agent: McpAgent;
let rival: McpAgent;
/** The values of each owner by what is completed. */
let own: Record<string, string[]>;
let others: Record<string, string[]>;

const promote = async (who: McpAgent, campaign: string): Promise<Record<string, string[]>> => {
  const made = async (tool: string, input: object): Promise<string[]> => [
    String((await who.done(tool, { idempotency_key: freshKey(), ...input }))['id']),
  ];
  return {
    link: await made('create_link', { target: { kind: 'product', ref: 'MUG-1' }, campaign }),
    handoff: await made('create_handoff', {
      title: 'List',
      buyer: { email: 'ada@shop.example' },
      line_items: [{ sku: 'MUG-1', quantity: 4 }],
    }),
    lead: await made('submit_lead', {
      external_id: `crm-${campaign}`,
      company: { name: `Shop ${campaign}`, country: 'GB' },
    }),
    outreach: await made('request_social_post', {
      network: 'x',
      account_ref: 'shop',
      text: 'Mugs are back.',
    }),
    campaign: [campaign],
  };
};

beforeAll(async () => {
  app = await testApp();
  await app.publish(['MUG-1', 'MUG-2', 'POT-1', 'MUG%', 'mug-3'].map((sku) => feedProduct(sku)));
  await Promise.all(['acme', 'rival'].map((owner) => configure(app, owner)));
  agent = mcpAgent(app, (await app.agent('acme')).key);
  rival = mcpAgent(app, (await app.agent('rival')).key);
  own = await promote(agent, 'spring');
  others = await promote(rival, 'autumn');
  const { data } = (await agent.done('search_products')) as { data: { id: string }[] };
  own['product'] = data.map(({ id }) => id).sort();
  own['product_ref'] = ['MUG%', 'MUG-1', 'MUG-2', 'POT-1', 'mug-3', ...own['product']];
});
afterAll(() => app.close());

type Place = { ref: object; name: string; values: string | undefined; scope: Scope | undefined };

/** What completes each argument of the prompts, and the scope that it needs; undefined for what cannot be listed. */
const OF_PROMPTS: Record<string, readonly [values: string, scope: Scope] | undefined> = {
  'promote_product product': ['product_ref', 'products:read'],
  'promote_product campaign': ['campaign', 'links:write'],
  'review_performance days': undefined,
};
const OF_TEMPLATES: Record<string, Scope> = {
  link: 'links:write',
  handoff: 'handoffs:write',
  lead: 'leads:read',
  outreach: 'social:write',
  product: 'products:read',
};

/** Every place that the lists of the server name. */
const placesOf = async (): Promise<Place[]> => {
  type Prompt = { name: string; arguments: { name: string }[] };
  const prompts = listIn<Prompt>(await agent.legacy('prompts/list'), 'prompts');
  type Template = { name: string; uriTemplate: string };
  const templates = listIn<Template>(
    await agent.legacy('resources/templates/list'),
    'resourceTemplates',
  );
  return [
    ...prompts.flatMap((prompt) =>
      prompt.arguments.map(({ name }) => {
        expect(OF_PROMPTS).toHaveProperty(`${prompt.name} ${name}`);
        const [values, scope] = OF_PROMPTS[`${prompt.name} ${name}`] ?? [];
        return { ref: { type: 'ref/prompt', name: prompt.name }, name, values, scope };
      }),
    ),
    ...templates.flatMap(({ name: kind, uriTemplate: uri }) =>
      [...uri.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => {
        expect(OF_TEMPLATES).toHaveProperty(kind);
        return {
          ref: { type: 'ref/resource', uri },
          name,
          values: kind,
          scope: OF_TEMPLATES[kind],
        };
      }),
    ),
  ];
};

type Completion = { values: string[]; hasMore: boolean };

const completed = async (who: McpAgent, { ref, name }: Place, value: string) => {
  const params = { ref, argument: { name, value } };
  const answers = [
    await who.legacy('completion/complete', params),
    await who.modern('completion/complete', params),
  ].map(({ body, text }) => {
    if (!body.result) throw new Error(text);
    return body.result['completion'] as Completion;
  });
  expect(answers[1]).toEqual(answers[0]);
  return answers[0] as Completion;
};

describe('MCP completion', () => {
  it('MCP completion answers the values of each argument that begin with what was typed, and none of another owner', async () => {
    const places = await placesOf();
    expect(places).toHaveLength(8);
    for (const place of places) {
      const all = place.values === undefined ? [] : (own[place.values] ?? []);
      expect(await completed(agent, place, '')).toEqual({ values: all, hasMore: false });
      for (const value of all)
        expect((await completed(agent, place, value.slice(0, -1))).values).toContain(value);
      for (const value of (place.values !== undefined && others[place.values]) || []) {
        expect(await completed(agent, place, value)).toEqual({ values: [], hasMore: false });
        expect((await completed(rival, place, value)).values).toEqual([value]);
      }
      for (const none of ['none', '%', '_', "'"])
        expect((await completed(agent, place, none)).values).toEqual([]);
    }
  });

  it('MCP completion needs the scope that reads what it lists', async () => {
    for (const place of await placesOf()) {
      const { scope } = place;
      if (scope === undefined) continue;
      const narrow = mcpAgent(app, (await app.agent('acme', [scope])).key);
      expect((await completed(narrow, place, '')).values.length).toBeGreaterThan(0);
      const isProposing = (OUTBOUND_SCOPES as readonly string[]).includes(scope);
      const needed: readonly string[] = isProposing ? OUTBOUND_SCOPES : [scope];
      const rest = SCOPE_NAMES.filter((name) => !needed.includes(name));
      const without = mcpAgent(app, (await app.agent('acme', rest)).key);
      const params = { ref: place.ref, argument: { name: place.name, value: '' } };
      const { status, body } = await without.legacy('completion/complete', params);
      expect([place.name, status, body.error?.code]).toEqual([place.name, 403, 40300]);
    }
  });

  it('MCP completion answers at most 100 values, and says that there are more', async () => {
    const many = await testApp();
    await many.publish(Array.from({ length: 101 }, (_, n) => feedProduct(`CUP-${n}`)));
    const who = mcpAgent(many, (await many.agent('acme')).key);
    for (const place of (await placesOf()).filter(({ scope }) => scope === 'products:read')) {
      const { values, hasMore } = await completed(who, place, '');
      expect([new Set(values).size, hasMore]).toEqual([100, true]);
    }
    await many.close();
  });

  const PROMPT = { type: 'ref/prompt', name: 'promote_product' };
  const ARGUMENT = { name: 'product', value: '' };
  it.each([
    {},
    { ref: PROMPT },
    { argument: ARGUMENT },
    { ref: 'promote_product', argument: ARGUMENT },
    { ref: { type: 'ref/other', name: 'promote_product' }, argument: ARGUMENT },
    { ref: { type: 'ref/prompt', name: 'nothing' }, argument: ARGUMENT },
    { ref: { type: 'ref/prompt' }, argument: ARGUMENT },
    {
      ref: { type: 'ref/resource', uri: 'tributary://nothing/{id}' },
      argument: { name: 'id', value: '' },
    },
    { ref: { type: 'ref/resource', uri: 'tributary://links/{id}' }, argument: ARGUMENT },
    { ref: PROMPT, argument: { name: 'toString', value: '' } },
    { ref: PROMPT, argument: { name: 'product', value: 7 } },
    { ref: PROMPT, argument: { name: 'product', value: 'x'.repeat(201) } },
  ])('MCP completion refuses %j as invalid params', async (params) => {
    const { status, body } = await agent.legacy('completion/complete', params);
    expect([status, body.error?.code]).toEqual([200, -32602]);
  });
});
