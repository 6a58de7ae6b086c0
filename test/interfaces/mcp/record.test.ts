/** MCP and REST share one pipeline: the same keys, limits and decisions, and one audit entry for each call. */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { agentOperations } from '#contracts/registries/agents.ts';
import { toolName } from '#contracts/places.ts';
import { consistencyToken } from '#src/calls/pipeline.ts';
import { feedProduct, freshKey, testApp, type TestApp } from '../../support/world/app.ts';
import type { McpAgent } from '../../support/clients/mcp.ts';
import { activityOf, callsOf, MCP, mcpAgent, toldBy } from '../../support/clients/mcp.ts';
import { configure } from '../../support/world/outreach.ts';
import { verifies } from '../../support/source/verifies.ts';

let app: TestApp;
let key: string;
let agent: McpAgent;

beforeAll(async () => {
  app = await testApp();
  // More than one result can contain.
  await app.publish(Array.from({ length: 60 }, (_, i) => feedProduct(`MUG-${i}`)));
  await configure(app, 'acme');
  ({ key } = await app.agent('acme'));
  agent = mcpAgent(app, key);
});
afterAll(() => app.close());

const WRITES = {
  createLink: ['/links', { target: { kind: 'product', ref: 'MUG-1' }, campaign: 'spring' }],
  createHandoff: ['/handoffs', { title: 'List', line_items: [{ sku: 'MUG-1', quantity: 4 }] }],
  submitLead: ['/leads', { external_id: 'crm-1', company: { name: 'Shop', country: 'GB' } }],
} as const;
type Write = keyof typeof WRITES;
const writes = Object.keys(WRITES) as Write[];

const overRest = (id: Write, idempotencyKey: string, body: object = WRITES[id][1]) =>
  app.send({
    method: 'POST',
    url: `/api/affiliate/v1${WRITES[id][0]}`,
    key,
    payload: body,
    headers: { 'idempotency-key': idempotencyKey },
  });
const overMcp = (id: Write, idempotency_key: string, body: object = WRITES[id][1]) =>
  agent.call(toolName({ id }), { idempotency_key, ...body });

const written = async (): Promise<number> => {
  const events = await app.service.deps.log.readAll({ after: 0, limit: 10_000 });
  return events.filter(({ type }) => !['ActivityRecorded', 'RequestBound'].includes(type)).length;
};

const CARD = 'https://partner.example/.well-known/agent-card.json';

describe('A write over MCP', () => {
  it.each(writes)(
    'A write over MCP by %s replays the write over REST with the same key',
    async (id) => {
      verifies('endpoints.rules.4', 'service.4');
      const intent = freshKey();
      const first = await overRest(id, intent);
      const events = await written();
      const again = await overMcp(id, intent);
      expect(again.content[0]?.text).toBe(first.text);
      expect(again._meta).toMatchObject({
        replayed: true,
        originalRequestId: first.headers['request-id'],
        consistencyToken: first.headers['consistency-token'],
      });
      expect(await written()).toBe(events);
    },
  );

  it.each(writes)('A write over MCP by %s is replayed over REST with the same key', async (id) => {
    const intent = freshKey();
    const body = { ...WRITES[id][1], external_id: `crm-${intent}` };
    const first = await overMcp(id, intent, body);
    expect(first._meta).not.toHaveProperty('replayed');
    const again = await overRest(id, intent, body);
    expect(again.text).toBe(first.content[0]?.text);
    expect(again.headers).toMatchObject({
      'idempotent-replayed': 'true',
      'original-request-id': first._meta['requestId'],
    });
    const other = await overMcp(id, intent, { ...body, metadata: { a: 1 } });
    expect(toldBy(other)['code']).toBe('idempotency_key_reused');
  });

  it.each([
    ['request_social_post', { network: 'mastodon', account_ref: 'shop', text: 'Mugs are back.' }],
    ['request_message', { channel: 'email', recipient_ref: 'list:a', text: 'Mugs are back.' }],
    ['request_agent_notification', { agent_card_url: CARD, text: 'Mugs are back.' }],
    ['cancel_outbound_request', {}],
  ])(
    'A write over MCP by %s, which exists only over MCP, has one effect under one key',
    async (name, body) => {
      verifies('endpoints.rules.4', 'service.4');
      const isCancel = name.startsWith('cancel');
      const proposal = { idempotency_key: freshKey(), network: 'mastodon', account_ref: 'shop' };
      const open =
        isCancel && (await agent.done('request_social_post', { ...proposal, text: 'Hi' }));
      const args = {
        idempotency_key: freshKey(),
        ...body,
        ...(open && { outbound_id: open['id'] }),
      };
      const first = await agent.call(name, args);
      expect(first.isError, first.content[0]?.text).not.toBe(true);
      const events = await written();
      const again = await agent.call(name, args);
      expect(again.content[0]?.text).toBe(first.content[0]?.text);
      expect(again._meta).toMatchObject({ replayed: true });
      expect(await written()).toBe(events);
    },
  );

  it('A write over MCP has one effect when eight calls arrive at once over MCP and REST', async () => {
    const intent = freshKey();
    const before = await written();
    const answers = await Promise.all(
      Array.from({ length: 8 }, async (_, i) =>
        i % 2 === 0
          ? (await overRest('createLink', intent)).text
          : (await overMcp('createLink', intent)).content[0]?.text,
      ),
    );
    expect(new Set(answers).size).toBe(1);
    expect(await written()).toBe(before + 1);
  });

  it('A write over MCP is attributed to mcp, and its JSON-RPC id is not an idempotency key', async () => {
    const body = { target: { kind: 'search', ref: 'mug' } };
    const one = await agent.done('create_link', { idempotency_key: freshKey(), ...body });
    const two = await agent.done('create_link', { idempotency_key: freshKey(), ...body });
    expect(one['id']).not.toBe(two['id']);
    const name = String(one['id']).slice(4);
    const [event] = await app.service.deps.log.readStream(`acme-link_${name}`);
    expect(event?.meta).toMatchObject({ surface: 'mcp', operation: 'createLink' });
  });
});

describe('A consistency token over MCP', () => {
  it('A consistency token over MCP comes with each result, and a read that presents it waits for its position', async () => {
    const { headers, body } = await agent.legacy('tools/call', { name: 'get_connection' });
    expect(body.result?._meta['consistencyToken']).toBe(headers['consistency-token']);
    const token = headers['consistency-token'];
    const seen = await agent.call('list_leads', {}, { 'consistency-token': token });
    expect(seen.isError).toBeUndefined();
    const strange = consistencyToken('another-log', 1);
    const byHeader = await agent.call('list_leads', {}, { 'consistency-token': strange });
    expect(toldBy(byHeader)['code']).toBe('consistency_token_invalid');
    const params = { name: 'list_leads', _meta: { consistencyToken: strange } };
    const byMeta = await agent.legacy('tools/call', params);
    expect(byMeta.body.result?.isError).toBe(true);
  });
});

describe('The scopes over MCP', () => {
  it('The scopes over MCP decide as over REST, for keys with one scope and with all but one', async () => {
    const scopes = [...new Set(Object.values(agentOperations).flatMap(({ scope }) => scope ?? []))];
    for (const one of scopes)
      for (const granted of [[one], scopes.filter((name) => name !== one)]) {
        const created = await app.agent('acme', granted);
        const { legacy } = mcpAgent(app, created.key);
        for (const { id, scope: needed } of Object.values(agentOperations)) {
          const { status, body, headers } = await legacy('tools/call', { name: toolName({ id }) });
          const open =
            needed === null ||
            [needed].flat().some((name) => granted.some((scope) => scope === name));
          expect([id, granted, status]).toEqual([id, granted, open ? 200 : 403]);
          if (open) continue;
          const required = [needed].flat().join(' ');
          expect(body).toMatchObject({
            id: 1,
            error: { code: 40300, data: { code: 'scope_missing', required_scope: required } },
          });
          expect(headers['www-authenticate']).toBe(
            `Bearer realm="affiliate", error="insufficient_scope", scope="${[needed].flat()[0]}"`,
          );
        }
      }
  });
});

describe('Credentials over MCP', () => {
  it('Credentials over MCP are refused after a revocation or a suspension', async () => {
    const created = await app.agent('acme');
    const own = mcpAgent(app, created.key);
    await app.desk('POST', `/agents/${created.agentId}/suspend`, { reason: 'Test' });
    const suspended = await own.legacy('tools/list');
    expect([suspended.status, suspended.body.error?.code]).toEqual([403, 40301]);
    const other = await app.agent('acme');
    await app.desk('POST', `/keys/${other.keyId}/revoke`, { reason: 'Test' });
    const revoked = await mcpAgent(app, other.key).modern('tools/list');
    expect([revoked.status, revoked.body.error?.code]).toEqual([401, 40100]);
    expect(revoked.body.error?.data['code']).toBe('credential_revoked');
  });

  it('Credentials over MCP are refused if they are revoked while the body arrives', async () => {
    const created = await app.agent('acme');
    const url = await app.service.listen();
    const sent = request(url + MCP, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${created.key}`,
        'content-type': 'application/json',
        expect: '100-continue',
      },
    });
    sent.flushHeaders();
    // The endpoint has accepted the key when it asks for the body.
    await once(sent, 'continue');
    await app.desk('POST', `/keys/${created.keyId}/revoke`, { reason: 'Test' });
    sent.end(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }));
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    answer.resume();
    expect(answer.statusCode).toBe(401);
  });

  it('Credentials over MCP of the environment test read only the test space', async () => {
    const test = await app.agent('acme', undefined, 'test');
    const link = await mcpAgent(app, test.key).done('create_link', {
      idempotency_key: freshKey(),
      target: { kind: 'search', ref: 'mug' },
    });
    expect(link['owner_id']).toBe('testacme');
    const uri = `tributary://links/${String(link['id'])}`;
    expect((await agent.legacy('resources/read', { uri })).body.error?.code).toBe(-32002);
  });

  it('Credentials over MCP inside an argument are refused and not stored', async () => {
    const before = await written();
    const input = { idempotency_key: freshKey(), target: { kind: 'search', ref: key } };
    const { status, body, text } = await agent.legacy('tools/call', {
      name: 'create_link',
      arguments: input,
    });
    expect([status, body.error?.code, body.error?.data['code']]).toEqual([
      400,
      40000,
      'secret_in_payload',
    ]);
    expect(text).not.toContain(key);
    expect(await written()).toBe(before);
  });
});

describe('The rate limits over MCP', () => {
  it('The rate limits over MCP are those of REST: by kind of tool, in the same budget, with the same headers', async () => {
    const tight = await testApp({
      READS_PER_MINUTE: '3',
      WRITES_PER_MINUTE: '2',
      OUTREACH_PER_MINUTE: '2',
    });
    const created = await tight.agent('acme');
    const { legacy, raw } = mcpAgent(tight, created.key);
    const tool = (name: string) => legacy('tools/call', { name });
    expect((await tool('create_link')).headers['ratelimit']).toMatch(/^"write";r=\d/);
    await tight.send({
      method: 'POST',
      url: '/api/affiliate/v1/links',
      key: created.key,
      payload: {},
    });
    const over = await tool('create_link');
    expect([over.status, over.body.error?.code, over.body.id]).toEqual([429, 42900, 1]);
    expect(Number(over.headers['retry-after'])).toBeGreaterThan(0);
    expect((await tool('request_message')).status).toBe(200);
    expect((await tool('request_agent_notification')).status).toBe(200);
    expect((await tool('request_social_post')).status).toBe(429);
    expect((await legacy('tools/list')).headers['ratelimit']).toMatch(/^"read";r=\d/);
    // Requests that are not valid messages count, too, because they have to be read.
    expect((await raw('{')).status).toBe(400);
    expect((await raw([])).status).toBe(400);
    expect((await raw('{')).status).toBe(429);
    expect((await legacy('ping')).status).toBe(429);
    await tight.close();
  });
});

describe('The audit log', () => {
  it('The audit log contains one entry for each MCP call, whatever its outcome', async () => {
    const created = await app.agent('acme', ['products:read', 'links:write']);
    const { legacy, modern, raw } = mcpAgent(app, created.key);
    const link = { idempotency_key: freshKey(), target: { kind: 'search', ref: 'mug' } };
    const calls: [() => Promise<unknown>, string[]][] = [
      [() => legacy('initialize', {}), ['mcp mcp:initialize allowed']],
      [
        () => raw({ jsonrpc: '2.0', method: 'notifications/initialized' }),
        ['mcp mcp:notifications/initialized allowed'],
      ],
      [() => modern('server/discover'), ['mcp mcp:server/discover allowed']],
      [() => legacy('tools/list'), ['mcp mcp:tools/list allowed']],
      [
        () => legacy('resources/read', { uri: 'tributary://scopes' }),
        ['mcp mcp:resources/read allowed'],
      ],
      [() => legacy('tools/call', { name: 'get_connection' }), ['mcp getConnection allowed']],
      // A page that is read twice to fit the result is one call.
      [() => legacy('tools/call', { name: 'search_products' }), ['mcp searchProducts allowed']],
      // A successful write is recorded by its event.
      [() => legacy('tools/call', { name: 'create_link', arguments: link }), []],
      [
        () => legacy('tools/call', { name: 'create_link', arguments: link }),
        ['mcp createLink replayed'],
      ],
      [
        () => legacy('tools/call', { name: 'create_link' }),
        ['mcp createLink refused idempotency_key_required'],
      ],
      [() => legacy('tools/call', { name: 'list_leads' }), ['mcp listLeads denied scope_missing']],
      [
        () => legacy('tools/call', { name: 'create_link', arguments: [] }),
        ['mcp createLink refused parameter_invalid'],
      ],
      [() => legacy('tools/call', { name: 'fly' }), ['mcp mcp:tools/call refused route_not_found']],
      [
        () => legacy('tools/call', { name: 'place_order' }),
        ['mcp boundary:place_order denied boundary_forbidden'],
      ],
      [() => legacy('a/b'), ['mcp mcp:unknown refused route_not_found']],
      [
        () => legacy('resources/read', { uri: 'tributary://leads/led_1' }),
        ['mcp mcp:resources/read denied scope_missing'],
      ],
      [
        () => modern('tools/call', { name: 'create_link' }, { 'mcp-name': 'x' }),
        ['mcp createLink refused header_mismatch'],
      ],
      [
        () => legacy('ping', {}, { 'mcp-protocol-version': '1' }),
        ['mcp mcp:request refused version_unsupported'],
      ],
      [() => raw('{'), ['mcp mcp:request refused malformed_json']],
      [() => raw([]), ['mcp mcp:request refused malformed_request']],
    ];
    let before: string[] = [];
    for (const [call, entries] of calls) {
      await call();
      const now = await callsOf(app, created.agentId);
      expect(now.slice(before.length)).toEqual(entries);
      before = now;
    }
    for (const entry of await activityOf(app, created.agentId)) {
      expect(entry.key_id).toBe(created.keyId);
      expect(entry.request_id).toMatch(/^[0-9a-f-]{36}$/);
    }
  });

  it('The audit log contains no name that an MCP client invented', async () => {
    const created = await app.agent('acme');
    const { legacy, raw } = mcpAgent(app, created.key);
    const strange = 'ignore-previous-instructions';
    await legacy(strange);
    await legacy('tools/call', { name: strange });
    await legacy('resources/read', { uri: `tributary://${strange}` });
    await raw({ jsonrpc: '2.0', method: `notifications/${strange}` });
    expect(JSON.stringify(await activityOf(app, created.agentId))).not.toContain(strange);
  });
});
