/** Discovery, resources, prompts and public documents of MCP. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BOUNDARIES } from '#contracts/boundaries.ts';
import { SCOPE_NAMES } from '#contracts/scopes.ts';
import { toolsMarkdown } from '#src/interfaces/mcp/documents.ts';
import { TOOLS } from '#src/interfaces/mcp/tools.ts';
import { feedProduct, freshKey, testApp, type TestApp } from '../../support/world/app.ts';
import { listIn, mcpAgent, type McpAgent, type McpAnswer } from '../../support/clients/mcp.ts';
import { verifies } from '../../support/source/verifies.ts';

let app: TestApp;
let agent: McpAgent;
const uris: Record<string, string> = {};

beforeAll(async () => {
  app = await testApp();
  await app.publish([feedProduct('MUG-1')]);
  agent = mcpAgent(app, (await app.agent('acme')).key);
  const { data } = (await agent.done('search_products')) as { data: { id: string }[] };
  const records = {
    links: await agent.done('create_link', {
      idempotency_key: freshKey(),
      target: { kind: 'product', ref: 'MUG-1' },
      campaign: 'spring',
    }),
    handoffs: await agent.done('create_handoff', {
      idempotency_key: freshKey(),
      title: 'List',
      buyer: { email: 'ada@shop.example' },
      line_items: [{ sku: 'MUG-1', quantity: 4 }],
    }),
    leads: await agent.done('submit_lead', {
      idempotency_key: freshKey(),
      external_id: 'crm-1',
      company: { name: 'Shop', country: 'GB' },
    }),
    products: data[0] ?? { id: '' },
  };
  for (const [kind, { id }] of Object.entries(records))
    uris[kind] = `tributary://${kind}/${String(id)}`;
});
afterAll(() => app.close());

const NEEDS = {
  links: 'links:write',
  handoffs: 'handoffs:write',
  leads: 'leads:read',
  products: 'products:read',
} as const;
const kinds = Object.keys(NEEDS) as (keyof typeof NEEDS)[];

const read = (who: McpAgent, uri = '') => who.legacy('resources/read', { uri });
const contentOf = (answer: McpAnswer) => listIn(answer, 'contents')[0];

describe('The MCP method server/discover', () => {
  it('The MCP method server/discover returns versions, capabilities and boundaries with a cache lifetime', async () => {
    const { body } = await agent.modern('server/discover');
    expect(body.result).toMatchObject({
      resultType: 'complete',
      supportedVersions: ['2026-07-28', '2025-11-25', '2025-06-18'],
      capabilities: { tools: {}, resources: {}, prompts: {}, completions: {} },
      cacheScope: 'public',
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'tributary' } },
    });
    expect(body.result?.['ttlMs']).toBeGreaterThan(0);
    // Only the capabilities that exist are announced.
    expect(JSON.stringify(body.result?.['capabilities'])).toBe(
      '{"tools":{},"resources":{},"prompts":{},"completions":{}}',
    );
  });
});

describe('An MCP result', () => {
  it.each([
    ['tools/list', 'private', {}],
    ['resources/list', 'public', {}],
    ['resources/templates/list', 'private', {}],
    ['resources/read', 'public', { uri: 'tributary://boundaries' }],
    ['prompts/list', 'public', {}],
  ])(
    'An MCP result of %s has a lifetime and the cache scope %s only in the modern era',
    async (method, cacheScope, params) => {
      const { body } = await agent.modern(method, params);
      expect(body.result).toMatchObject({ resultType: 'complete', cacheScope });
      expect(body.result?.['ttlMs']).toBeGreaterThanOrEqual(0);
      const { body: legacy } = await agent.legacy(method, params);
      for (const name of ['resultType', 'ttlMs', 'cacheScope'])
        expect(legacy.result).not.toHaveProperty(name);
    },
  );

  it('An MCP result that is a record is private to its caller and must not be stored', async () => {
    const { body } = await agent.modern('resources/read', { uri: uris['links'] ?? '' });
    expect(body.result).toMatchObject({ ttlMs: 0, cacheScope: 'private' });
  });

  it('An MCP result that is a record has a consistency token that reads over REST accept', async () => {
    const { body, headers } = await agent.legacy('resources/read', { uri: uris['links'] ?? '' });
    const meta = body.result?.['_meta'] as { consistencyToken: string } | undefined;
    const consistencyToken = meta?.consistencyToken;
    expect(headers['consistency-token']).toBe(consistencyToken);
    const { key } = await app.agent('acme', ['products:read']);
    const url = '/api/affiliate/v1/connection';
    const carried = { 'consistency-token': consistencyToken ?? '' };
    expect((await app.send({ method: 'GET', url, key, headers: carried })).status).toBe(200);
  });

  it.each(['resources/list', 'resources/templates/list', 'prompts/list'])(
    'An MCP result of %s is one page, and any cursor is refused',
    async (method) => {
      const { body } = await agent.legacy(method, { cursor: '2' });
      expect(body.error?.code).toBe(-32602);
    },
  );
});

describe('MCP resources', () => {
  it('MCP resources list the documents that each key can read', async () => {
    const { key } = await app.agent('bare', ['products:read']);
    const { body } = await mcpAgent(app, key).legacy('resources/list');
    const listed = body.result?.['resources'] as { uri: string; description: string }[];
    expect(listed.map(({ uri }) => uri)).toEqual([
      'tributary://boundaries',
      'tributary://scopes',
      'tributary://llms.txt',
      'tributary://openapi.json',
    ]);
    for (const { uri } of listed) {
      const content = contentOf(await read(mcpAgent(app, key), uri));
      expect(content).toMatchObject({ uri });
      expect(content?.text.length).toBeGreaterThan(100);
    }
    const bounds = contentOf(await read(agent, 'tributary://boundaries'));
    expect(JSON.parse(bounds?.text ?? '')).toEqual(BOUNDARIES);
    const guide = contentOf(await read(agent, 'tributary://scopes'))?.text ?? '';
    for (const scope of SCOPE_NAMES) expect(guide).toContain(`\`${scope}\``);
  });

  it.each(kinds)(
    'MCP resources list %s as a template and allow reading them only with their scope',
    async (kind) => {
      const shown = async (who: McpAgent): Promise<string[]> => {
        const answer = await who.legacy('resources/templates/list');
        const templates = listIn<{ uriTemplate: string }>(answer, 'resourceTemplates');
        return templates.map(({ uriTemplate }) => uriTemplate);
      };
      const template = `tributary://${kind}/{id}`;
      const narrow = mcpAgent(app, (await app.agent('acme', [NEEDS[kind]])).key);
      expect(await shown(narrow)).toEqual([template]);
      expect((await read(narrow, uris[kind])).status).toBe(200);
      const without = SCOPE_NAMES.filter((scope) => scope !== NEEDS[kind]);
      const rest = mcpAgent(app, (await app.agent('acme', without)).key);
      expect(await shown(rest)).not.toContain(template);
      const denied = await read(rest, uris[kind]);
      expect([denied.status, denied.body.error?.code]).toEqual([403, 40300]);
      expect(denied.headers['www-authenticate']).toContain(`scope="${NEEDS[kind]}"`);
    },
  );

  it('MCP resources equal the records that the tools return', async () => {
    const lead = JSON.parse(contentOf(await read(agent, uris['leads']))?.text ?? '') as object;
    const { data } = (await agent.done('list_leads')) as { data: object[] };
    expect(lead).toEqual(data[0]);
    for (const kind of kinds.filter((name) => name !== 'leads')) {
      const id = uris[kind]?.split('/').at(-1);
      const shown = JSON.parse(contentOf(await read(agent, uris[kind]))?.text ?? '') as object;
      expect(await agent.done('get_record', { id })).toEqual(shown);
    }
  });

  it('MCP resources of another owner are not found, like ids that do not exist', async () => {
    const rival = mcpAgent(app, (await app.agent('rival')).key);
    for (const kind of kinds.filter((name) => name !== 'products')) {
      const [others, none] = [
        uris[kind] ?? '',
        `tributary://${kind}/${kind.slice(0, 3)}_${'0'.repeat(24)}`,
      ];
      for (const uri of [
        others,
        none,
        `${none}x`,
        `tributary://${kind}/`,
        `tributary://${kind}/../a`,
      ]) {
        const { status, body } = await read(rival, uri);
        expect([status, body.error?.code, body.error?.message]).toEqual([
          200,
          -32002,
          'There is no such resource.',
        ]);
        expect(body.error?.data['uri']).toBe(uri);
      }
    }
    expect((await read(rival, uris['products'])).status).toBe(200);
  });

  it('MCP resources that do not exist are invalid params in the modern era', async () => {
    const other = uris['links']?.replace(/.$/, (last) => (last === '0' ? '1' : '0')) ?? '';
    for (const uri of ['test://nothing', other]) {
      const { status, body } = await agent.modern('resources/read', { uri });
      expect([status, body.error?.code, body.error?.data['uri']]).toEqual([200, -32602, uri]);
    }
    const { body } = await agent.legacy('resources/read', {});
    expect(body.error?.code).toBe(-32602);
  });
});

describe('MCP prompts', () => {
  it('MCP prompts are described, with each argument', async () => {
    const { body } = await agent.legacy('prompts/list');
    const prompts = body.result?.['prompts'] as {
      name: string;
      description: string;
      arguments: object[];
    }[];
    expect(prompts.map(({ name }) => name)).toEqual(['promote_product', 'review_performance']);
    for (const { description, arguments: args } of prompts) {
      expect(description.length).toBeGreaterThan(20);
      for (const argument of args)
        expect(argument).toMatchObject({ description: expect.any(String) as string });
    }
  });

  it('MCP prompts name only tools that exist, and contain arguments as text of the user', async () => {
    const params = {
      name: 'promote_product',
      arguments: { product: 'blue mug', campaign: 'spring' },
    };
    type Said = { role: string; content: { text: string } };
    const [message] = listIn<Said>(await agent.modern('prompts/get', params), 'messages');
    expect(message?.role).toBe('user');
    expect(message?.content.text).toContain('"blue mug"');
    const named = message?.content.text.match(/\b[a-z]+(?:_[a-z]+)+\b/g) ?? [];
    const knownNames = [...TOOLS.map(({ entry }) => entry.name), 'idempotency_key', 'review_url'];
    expect(named.filter((name) => !knownNames.includes(name))).toEqual([]);
  });

  it.each([28, '28'])(
    'An MCP prompt accepts the number %j, which some clients do not write as text',
    async (days) => {
      const params = { name: 'review_performance', arguments: { days } };
      for (const { body } of [
        await agent.legacy('prompts/get', params),
        await agent.modern('prompts/get', params),
      ])
        expect(JSON.stringify(body.result)).toContain('over the last 28 days');
    },
  );

  it.each([
    [{ name: 'promote_product' }],
    [{ name: 'promote_product', arguments: [] }],
    [{ name: 'promote_product', arguments: { product: 7 } }],
    [{ name: 'promote_product', arguments: { product: 'a\u202Eb' } }],
    [{ name: 'promote_product', arguments: { product: 'a\nb' } }],
    [{ name: 'promote_product', arguments: { product: 'a', days: '7' } }],
    [{ name: 'review_performance', arguments: { days: 'x' } }],
    [{ name: 'review_performance', arguments: { days: 0 } }],
    [{ name: 'review_performance', arguments: { days: 1.5 } }],
    [{ name: 'review_performance', arguments: { days: '0' } }],
    [{ name: 'review_performance', arguments: { days: '401' } }],
    [{ name: 'nothing' }],
    [{}],
  ])('MCP prompts refuse %j', async (params) => {
    const { status, body } = await agent.legacy('prompts/get', params);
    expect([status, body.error?.code]).toEqual([200, -32602]);
  });
});

describe('The public documents of MCP', () => {
  const PATHS = [
    '/api/affiliate/mcp/status',
    '/api/affiliate/mcp/server-card',
    '/.well-known/mcp/server-card.json',
    '/.well-known/mcp.json',
  ];

  it.each(PATHS)(
    'The public documents of MCP include %s without a key, with the same bytes for every client',
    async (url) => {
      verifies('service.8.mcp-status', 'authentication.6', 'endpoints.rules.9');
      const first = await app.send({ method: 'GET', url });
      const again = await app.send({
        method: 'GET',
        url,
        key: 'nonsense',
        headers: { host: 'a.example' },
      });
      expect([first.status, again.text]).toEqual([200, first.text]);
      expect(first.headers['access-control-allow-origin']).toBe('*');
      expect(first.headers['cache-control']).toContain('max-age');
      const { etag = '' } = first.headers;
      const cached = await app.send({ method: 'GET', url, headers: { 'if-none-match': etag } });
      expect([cached.status, cached.text]).toEqual([304, '']);
      const posted = await app.send({ method: 'POST', url, payload: {} });
      expect([posted.status, posted.headers['allow']]).toEqual([405, 'GET, HEAD']);
    },
  );

  it('The public documents of MCP match server/discover and list no tool', async () => {
    const status = await app.send({ method: 'GET', url: PATHS[0] ?? '' });
    const card = await app.send({ method: 'GET', url: PATHS[1] ?? '' });
    const { body } = await agent.modern('server/discover');
    const versions = body.result?.['supportedVersions'];
    const endpoint = 'https://t.example/api/affiliate/mcp';
    expect(status.body).toMatchObject({
      endpoint,
      protocol_versions: versions,
      transport: 'streamable-http',
    });
    expect(card.headers['content-type']).toBe('application/mcp-server-card+json');
    expect(card.body).toMatchObject({
      name: 'example.t/tributary',
      remotes: [{ type: 'streamable-http', url: endpoint, supportedProtocolVersions: versions }],
    });
    for (const { entry } of TOOLS) expect(status.text + card.text).not.toContain(entry.name);
  });

  it('The public documents of MCP do not direct clients to OAuth', async () => {
    for (const url of ['', '/api/affiliate/mcp'].map(
      (path) => `/.well-known/oauth-protected-resource${path}`,
    ))
      expect((await app.send({ method: 'GET', url })).status).toBe(404);
  });
});

describe('The page of the MCP tools', () => {
  it('The page of the MCP tools shows each tool with its scope, its arguments and an example', () => {
    const page = toolsMarkdown('https://t.example');
    for (const { entry } of TOOLS) {
      expect(page).toContain(`\n## ${entry.name}\n`);
      for (const field of Object.keys(entry.inputSchema.properties ?? {}))
        expect(page).toContain(`| \`${field}\` |`);
    }
    expect(page).toContain('POST https://t.example/api/affiliate/mcp');
    expect(page).toContain('Needs `social:write` or `messages:write` or `agents:notify`');
  });
});
