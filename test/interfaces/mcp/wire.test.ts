/** The envelope of MCP: which requests are accepted, in which era, and how the others are refused. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { boundaryOf } from '#contracts/boundaries.ts';
import { testApp, type TestApp } from '../../support/world/app.ts';
import type { Headers, McpAgent } from '../../support/clients/mcp.ts';
import { callsOf, MCP, mcpAgent, modernMeta } from '../../support/clients/mcp.ts';
import { verifies } from '../../support/source/verifies.ts';

let app: TestApp;
let agent: McpAgent;
let agentId: string;

beforeAll(async () => {
  app = await testApp();
  const created = await app.agent('acme');
  agentId = created.agentId;
  agent = mcpAgent(app, created.key);
});
afterAll(() => app.close());

const VERSION = 'io.modelcontextprotocol/protocolVersion';
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';
const VERSIONS = ['2026-07-28', '2025-11-25', '2025-06-18'];
const codeOf = ({ body, status }: { body: { error?: { code: number } }; status: number }) => [
  status,
  body.error?.code,
];

describe('The MCP method initialize', () => {
  it('The MCP method initialize accepts the empty params and the headers of the specification', async () => {
    verifies('endpoints.3', 'endpoints.rules.2', 'endpoints.rules.3', 'endpoints.rules.7');
    const { status, body } = await agent.raw(
      '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}',
    );
    expect(status).toBe(200);
    expect(body).toMatchObject({
      jsonrpc: '2.0',
      id: 1,
      result: {
        protocolVersion: '2025-11-25',
        capabilities: { tools: {}, resources: {}, prompts: {}, completions: {} },
        serverInfo: { name: 'tributary' },
      },
    });
    expect(body.result?.['instructions']).toMatch(/No tool accepts quotations/);
  });

  it.each([
    ['2025-11-25', '2025-11-25'],
    ['2025-06-18', '2025-06-18'],
    ['2025-03-26', '2025-03-26'],
    ['2024-11-05', '2024-11-05'],
    ['2024-10-07', '2025-11-25'],
    ['2026-07-28', '2025-11-25'],
    [7, '2025-11-25'],
  ])(
    'The MCP method initialize answers the requested version %s with %s',
    async (requested, answered) => {
      verifies('versioning.4');
      const { body } = await agent.legacy('initialize', { protocolVersion: requested });
      expect(body.result?.['protocolVersion']).toBe(answered);
    },
  );

  it.each(['2025-06-18', '2025-03-26', '2024-11-05'])(
    'The MCP version %s is served as the legacy era, with and without its header',
    async (version) => {
      for (const headers of [{}, { 'mcp-protocol-version': version }]) {
        const listed = await agent.legacy('tools/list', {}, headers);
        expect([listed.status, listed.body.result]).toEqual([
          200,
          expect.objectContaining({ tools: expect.any(Array) }),
        ]);
        expect(listed.body.result).not.toHaveProperty('resultType');
        const called = await agent.legacy('tools/call', { name: 'get_connection' }, headers);
        expect(called.body.result?.isError).toBeUndefined();
      }
    },
  );

  it('The MCP method initialize ignores the version of a header and creates no session', async () => {
    const headers = {
      'mcp-protocol-version': '2024-11-05',
      'mcp-session-id': 'x',
      'last-event-id': '3',
    };
    const answer = await agent.legacy('initialize', {}, headers);
    expect(answer.status).toBe(200);
    expect(answer.headers).not.toHaveProperty('mcp-session-id');
  });
});

describe('An MCP request', () => {
  it('An MCP request without a modern header or _meta is legacy, regardless of its Accept header', async () => {
    for (const accept of [
      undefined,
      '*/*',
      'application/json',
      'application/json, text/event-stream',
      'text/html',
    ]) {
      const { status, body, headers } = await agent.legacy('ping', {}, { accept });
      expect([status, body, headers['content-type']]).toEqual([
        200,
        { jsonrpc: '2.0', id: 1, result: {} },
        'application/json; charset=utf-8',
      ]);
    }
  });

  it('An MCP request that accepts only an event stream gets its answer as one event', async () => {
    const { headers, text, status } = await agent.legacy(
      'ping',
      {},
      { accept: 'text/event-stream' },
    );
    expect([status, headers['content-type']]).toEqual([200, 'text/event-stream']);
    // Proxies must not hold the event back.
    expect(headers['x-accel-buffering']).toBe('no');
    expect(text).toBe('event: message\ndata: {"jsonrpc":"2.0","id":1,"result":{}}\n\n');
  });

  it('An MCP request with a modern header or a version in _meta is modern', async () => {
    const { body } = await agent.modern('tools/list');
    expect(body.id).toBe('a-1');
    expect(body.result).toMatchObject({ resultType: 'complete', cacheScope: 'private' });
    expect(
      codeOf(await agent.legacy('tools/list', {}, { 'mcp-protocol-version': '2026-07-28' })),
    ).toEqual([400, -32602]);
    expect(codeOf(await agent.legacy('tools/list', { _meta: modernMeta() }))).toEqual([
      400, -32020,
    ]);
  });

  it.each([
    ['an empty batch', []],
    [
      'a batch of 21',
      Array.from({ length: 21 }, (_, id) => ({ jsonrpc: '2.0', id, method: 'ping' })),
    ],
    ['a text', '"ping"'],
    ['null', 'null'],
    ['a message with the id null', { jsonrpc: '2.0', id: null, method: 'ping' }],
    ['a message with a fraction as id', { jsonrpc: '2.0', id: 1.5, method: 'ping' }],
    ['a request without an id', { jsonrpc: '2.0', method: 'tools/call', params: {} }],
    ['a modern request without an id', { jsonrpc: '2.0', method: 'server/discover' }],
    ['a message with an object as id', { jsonrpc: '2.0', id: {}, method: 'ping' }],
    ['a message of another JSON-RPC version', { jsonrpc: '1.0', id: 1, method: 'ping' }],
    ['a message without jsonrpc', { id: 1, method: 'ping' }],
    ['a message with a list as params', { jsonrpc: '2.0', id: 1, method: 'ping', params: [] }],
    ['a message without method', { jsonrpc: '2.0', id: 1 }],
    ['a response', { jsonrpc: '2.0', id: 1, result: {} }],
    ['a message with a duplicate name', '{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}'],
  ])('An MCP request that is %s is refused as malformed', async (_what, payload) => {
    verifies('endpoints.rules.2');
    const answer = await agent.raw(payload);
    expect(codeOf(answer)).toEqual([400, -32600]);
    expect(answer.body.error?.data['code']).toBe('malformed_request');
    expect(answer.body.id).not.toBeNull();
  });

  it.each(['2026-07-28', '2025-11-25', '2025-06-18', '2024-11-05'])(
    'An MCP request that is a batch is refused in %s',
    async (version) => {
      const batch = [{ jsonrpc: '2.0', id: 1, method: 'ping' }];
      const answer = await agent.raw(batch, { 'mcp-protocol-version': version });
      expect(codeOf(answer)).toEqual([400, -32600]);
    },
  );

  it.each([undefined, '2025-03-26'])(
    'An MCP request that is a batch is answered message by message with the version %s',
    async (version) => {
      const own = await app.agent('acme');
      const batch = [
        { jsonrpc: '2.0', id: 'a', method: 'ping' },
        { jsonrpc: '2.0', method: 'notifications/initialized' },
        { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'get_connection' } },
        { jsonrpc: '2.0', id: 3, method: 'none' },
        { jsonrpc: '2.0', id: 4 },
        7,
      ];
      const headers = { 'mcp-protocol-version': version };
      const answer = await mcpAgent(app, own.key).raw(batch, headers);
      expect(answer.status).toBe(200);
      expect(answer.body).toMatchObject([
        { id: 'a', result: {} },
        { id: 2, result: { structuredContent: { agent: { id: own.agentId } } } },
        { id: 3, error: { code: -32601 } },
        { id: 4, error: { code: -32600 } },
        { error: { code: -32600 } },
      ]);
      expect((await callsOf(app, own.agentId)).toSorted()).toEqual([
        'mcp getConnection allowed',
        'mcp mcp:notifications/initialized allowed',
        'mcp mcp:ping allowed',
        'mcp mcp:request refused malformed_request',
        'mcp mcp:request refused malformed_request',
        'mcp mcp:unknown refused route_not_found',
      ]);
      const silent = await agent.raw([batch[1]], headers);
      expect([silent.status, silent.text]).toEqual([202, '']);
    },
  );

  it('An MCP request that is not JSON is an error of JSON-RPC without an id; before 2025-11-25, with the id null', async () => {
    for (const payload of ['{', '', '{"jsonrpc":"2.0"']) {
      const oldest = await agent.raw(payload, { 'mcp-protocol-version': '2025-06-18' });
      expect([codeOf(oldest), oldest.body.id]).toEqual([[400, -32700], null]);
      for (const version of [undefined, '2025-11-25', '2026-07-28']) {
        const answer = await agent.raw(payload, { 'mcp-protocol-version': version });
        expect(codeOf(answer)).toEqual([400, -32700]);
        expect(answer.body).not.toHaveProperty('id');
      }
    }
  });

  it('An MCP request of another media type or above the size limit is an error of JSON-RPC', async () => {
    expect(codeOf(await agent.raw('<a/>', { 'content-type': 'text/xml' }))).toEqual([415, 41500]);
    const large = { jsonrpc: '2.0', id: 1, method: 'ping', params: { a: 'x'.repeat(300_000) } };
    expect(codeOf(await agent.raw(large))).toEqual([413, 41300]);
  });

  it('An MCP request without an id is a notification, which is accepted and not executed', async () => {
    const bodies = [
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { jsonrpc: '2.0', method: 'notifications/of_a_later_version' },
    ];
    for (const body of bodies) {
      const { status, text } = await agent.raw(body);
      expect([status, text]).toEqual([202, '']);
    }
    const { status, text } = await agent.raw(bodies[0], { 'mcp-protocol-version': '2026-07-28' });
    expect([status, text]).toEqual([202, '']);
  });
});

describe('The modern era of MCP', () => {
  it.each([
    'initialize',
    'ping',
    'logging/setLevel',
    'resources/subscribe',
    'subscriptions/listen',
    'x/y',
  ])('The modern era of MCP does not have the method %s', async (method) => {
    const { body, status } = await agent.modern(method);
    expect([status, body.error?.code, body.id]).toEqual([404, -32601, 'a-1']);
    const bare = await agent.legacy(method, {}, { 'mcp-protocol-version': '2026-07-28' });
    expect(codeOf(bare)).toEqual([404, -32601]);
  });

  it('The modern era of MCP requires version and capabilities in _meta, but not the client info', async () => {
    const info = { 'io.modelcontextprotocol/clientInfo': undefined };
    expect((await agent.modern('tools/list', { _meta: modernMeta(info) })).status).toBe(200);
    for (const name of [VERSION, CAPABILITIES]) {
      const answer = await agent.modern('tools/list', { _meta: modernMeta({ [name]: undefined }) });
      expect(codeOf(answer)).toEqual([400, -32602]);
      expect(JSON.stringify(answer.body.error?.data['errors'])).toContain(name.replace('/', '~1'));
    }
    const list = await agent.modern('tools/list', { _meta: modernMeta({ [CAPABILITIES]: [] }) });
    expect(codeOf(list)).toEqual([400, -32602]);
  });

  const call = { name: 'get_connection', arguments: {} };
  const base64 = (text: string) => `=?base64?${Buffer.from(text).toString('base64')}?=`;
  it.each<[string, Headers]>([
    ['no version', { 'mcp-protocol-version': undefined }],
    ['another version', { 'mcp-protocol-version': '2025-11-25' }],
    ['no method', { 'mcp-method': undefined }],
    ['another method', { 'mcp-method': 'tools/list' }],
    ['a method in capitals', { 'mcp-method': 'TOOLS/CALL' }],
    ['no name', { 'mcp-name': undefined }],
    ['another name', { 'mcp-name': 'create_link' }],
    ['another name, encoded', { 'mcp-name': base64('create_link') }],
  ])('The modern era of MCP refuses headers with %s', async (_what, headers) => {
    const answer = await agent.modern('tools/call', call, headers);
    expect(codeOf(answer)).toEqual([400, -32020]);
    expect(answer.body.error?.data['code']).toBe('header_mismatch');
    expect(answer.body.id).toBe('a-1');
  });

  it.each<[string, Headers]>([
    ['spaces around a value', { 'mcp-name': '  get_connection \t', 'mcp-method': ' tools/call' }],
    ['an encoded name', { 'mcp-name': base64('get_connection') }],
    ['names in capitals', { 'mcp-method': undefined, 'MCP-METHOD': 'tools/call' }],
  ])('The modern era of MCP accepts headers with %s', async (_what, headers) => {
    expect((await agent.modern('tools/call', call, headers)).status).toBe(200);
  });

  it('The modern era of MCP requires the names of prompts and resources in a header as well', async () => {
    const reading = { uri: 'tributary://boundaries' };
    expect(
      codeOf(await agent.modern('resources/read', reading, { 'mcp-name': undefined })),
    ).toEqual([400, -32020]);
    expect((await agent.modern('resources/read', reading)).status).toBe(200);
    const prompt = { name: 'review_performance' };
    expect(codeOf(await agent.modern('prompts/get', prompt, { 'mcp-name': 'x' }))).toEqual([
      400, -32020,
    ]);
    expect((await agent.modern('prompts/get', prompt)).status).toBe(200);
  });
});

describe('An unknown version of MCP', () => {
  it('An unknown version of MCP is refused with the list of supported versions', async () => {
    const unknownVersion = { [VERSION]: '2099-01-01' };
    const headers = { 'mcp-protocol-version': '2099-01-01' };
    const modern = await agent.modern('tools/list', { _meta: modernMeta(unknownVersion) }, headers);
    const legacy = await agent.legacy('tools/list', {}, { 'mcp-protocol-version': '2024-10-07' });
    expect([codeOf(modern), codeOf(legacy)]).toEqual([
      [400, -32022],
      [400, -32022],
    ]);
    expect(modern.body.error?.data).toMatchObject({ supported: VERSIONS, requested: '2099-01-01' });
    expect(legacy.body.error?.data).toMatchObject({ supported: VERSIONS, requested: '2024-10-07' });
  });

  it('An unknown version of MCP only in the body is a header mismatch, and a legacy version in _meta is refused with the modern one', async () => {
    const mismatch = await agent.modern('tools/list', { _meta: modernMeta({ [VERSION]: 'v9' }) });
    expect(codeOf(mismatch)).toEqual([400, -32020]);
    const old = await agent.legacy('tools/list', {
      _meta: modernMeta({ [VERSION]: '2025-11-25' }),
    });
    expect(codeOf(old)).toEqual([400, -32022]);
    expect(old.body.error?.data['supported']).toEqual(['2026-07-28']);
  });
});

describe('The legacy era of MCP', () => {
  it('The legacy era of MCP answers an unknown method with an error and status 200', async () => {
    for (const method of ['server/discover', 'resources/subscribe', 'tasks/list', 'x']) {
      const { status, body } = await agent.legacy(
        method,
        {},
        { 'mcp-protocol-version': '2025-06-18' },
      );
      expect([status, body.error?.code, body.id]).toEqual([200, -32601, 1]);
    }
  });
});

describe('An MCP method named like a forbidden act', () => {
  it.each(['orders/place', 'rfq/submit', 'quotations/accept', 'stock/reserve', 'payments/send'])(
    'The MCP method %s, named like a forbidden act, is refused with who can perform it, and is audited',
    async (method) => {
      verifies('service.5');
      const { body } = await agent.legacy(method);
      expect(body.error).toMatchObject({ code: -32601, data: { code: 'boundary_forbidden' } });
      expect(await callsOf(app, agentId)).toContain(
        `mcp boundary:${boundaryOf(method)} denied boundary_forbidden`,
      );
    },
  );
});

describe('The MCP endpoint', () => {
  it.each(['GET', 'DELETE', 'PUT', 'PATCH'] as const)(
    'The MCP endpoint answers %s with 405 and Allow before it requires a key',
    async (method) => {
      const { status, headers } = await app.send({
        method,
        url: MCP,
        headers: { accept: 'text/event-stream' },
      });
      expect([status, headers['allow']]).toEqual([405, 'POST']);
    },
  );

  it('The MCP endpoint answers a preflight without a key, and allows only its own origin', async () => {
    const preflight = (origin: string) =>
      app.send({
        method: 'OPTIONS',
        url: MCP,
        headers: { origin, 'access-control-request-method': 'POST' },
      });
    const own = await preflight('https://t.example');
    expect(own.status).toBe(204);
    expect(own.headers['access-control-allow-origin']).toBe('https://t.example');
    for (const name of [
      'Authorization',
      'Content-Type',
      'Accept',
      'MCP-Protocol-Version',
      'Mcp-Method',
      'Mcp-Name',
      'Mcp-Session-Id',
      'Last-Event-ID',
    ])
      expect(own.headers['access-control-allow-headers']).toContain(name);
    for (const name of ['WWW-Authenticate', 'Retry-After', 'MCP-Protocol-Version'])
      expect(own.headers['access-control-expose-headers']).toContain(name);
    const other = await preflight('https://evil.example');
    expect(other.status).toBe(204);
    expect(other.headers).not.toHaveProperty('access-control-allow-origin');
  });

  it.each<[string, Headers]>([
    ['another site', { origin: 'https://evil.example' }],
    ['an origin that begins with its name', { origin: 'https://t.example.evil.example' }],
    ['a file', { origin: 'null' }],
    ['the local machine while it is served elsewhere', { origin: 'http://localhost:3000' }],
    ['another host name', { host: 'evil.example' }],
  ])(
    'The MCP endpoint refuses a request from %s before it checks the key',
    async (_what, headers) => {
      const { status, body } = await mcpAgent(app, undefined).legacy('ping', {}, headers);
      expect([status, body.error?.code]).toEqual([403, 40300]);
      expect(body.error?.data['code']).toBe('origin_not_allowed');
    },
  );

  it.each<[string, Headers]>([
    ['its own pages, on any port', { origin: 'https://t.example:8443' }],
    ['its own host', { host: 't.example' }],
    ['a host that is an address', { host: '192.0.2.7:3000' }],
    ['a name of the local network', { host: 'tributary:3000' }],
  ])('The MCP endpoint accepts a request from %s', async (_what, headers) => {
    expect((await agent.legacy('ping', {}, headers)).status).toBe(200);
  });

  it('The MCP endpoint accepts origins of the local machine when it is served there', async () => {
    const local = await testApp({ PUBLIC_URL: '' });
    const { key } = await local.agent('acme');
    const { legacy } = mcpAgent(local, key);
    for (const origin of ['http://localhost:5173', 'http://127.0.0.1', 'http://[::1]:80'])
      expect((await legacy('ping', {}, { origin })).status).toBe(200);
    expect((await legacy('ping', {}, { origin: 'https://evil.example' })).status).toBe(403);
    await local.close();
  });

  it('The MCP endpoint requires a key, and challenges with Bearer', async () => {
    verifies('errors.5');
    const none = await mcpAgent(app, undefined).legacy('ping');
    expect([codeOf(none), none.body.id]).toEqual([[401, 40100], undefined]);
    expect(none.headers['www-authenticate']).toBe('Bearer realm="affiliate"');
    const bad = await mcpAgent(app, 'nonsense').modern('tools/list');
    expect(codeOf(bad)).toEqual([401, 40100]);
    expect(bad.headers['www-authenticate']).toBe('Bearer realm="affiliate", error="invalid_token"');
    expect(bad.text).not.toContain('resource_metadata');
  });

  it('The MCP endpoint refuses a key in the URL with an error of JSON-RPC', async () => {
    const { key } = await app.agent('acme');
    const answer = await app.send({ method: 'POST', url: `${MCP}?api_key=${key}`, payload: {} });
    expect(answer.status).toBe(400);
    expect(answer.body).toMatchObject({
      error: { code: 40000, data: { code: 'credential_in_url' } },
    });
    expect(answer.text).not.toContain(key);
  });
});
