/** Which assistant acted: kept with the events of every interface of agents, and shown in audits and reports. */
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { LIMITS } from '#contracts/limits.ts';
import { clientIn, clientInAgent } from '#src/calls/input.ts';
import { OwnerFacts, valueOf } from '#src/performance/facts.ts';
import { rpc, message, HANDOFF } from '../support/clients/a2a.ts';
import { MCP, modernHeaders, modernMeta } from '../support/clients/mcp.ts';
import { feedProduct, freshKey, type TestApp, testApp } from '../support/world/app.ts';

describe('A client', () => {
  test.each([
    ['acme-agent/1.2 model/gpt-5.1', { name: 'acme-agent', version: '1.2', model: 'gpt-5.1' }],
    ['curl/8.5.0', { name: 'curl', version: '8.5.0' }],
    ['node', { name: 'node' }],
    ['claude-desktop/0.9 (darwin; arm64)', { name: 'claude-desktop', version: '0.9' }],
    ['', undefined],
    ['(nothing) here', undefined],
    ['someone@shop.example/1', undefined],
    [`${'x'.repeat(90)}/1`, { name: 'x'.repeat(64), version: '1' }],
  ])('A User-Agent %j is read as %j', (userAgent, client) => {
    expect(clientInAgent(userAgent)).toEqual(client);
  });

  test.each([
    [
      { name: 'Claude Desktop', version: '1.0' },
      { name: 'Claude Desktop', version: '1.0' },
    ],
    [
      { name: ' Agent\u202e\u0000 X ', version: 3, model: 'm' },
      { name: 'Agent X', model: 'm' },
    ],
    [
      { name: 'a'.repeat(500), version: 'v'.repeat(500) },
      { name: 'a'.repeat(64), version: 'v'.repeat(32) },
    ],
    [{ name: 'call +44 20 7183 8750' }, undefined],
    [{ name: '' }, undefined],
    [{ name: ['x'] }, undefined],
    ['text', undefined],
    [null, undefined],
  ])('A clientInfo %j is read as %j', (said, client) => {
    expect(clientIn(said)).toEqual(client);
  });

  test('The first names of an owner are shown in reports, and later ones are other, however they are read', () => {
    const most = LIMITS.PERFORMANCE_CLIENTS_MAX;
    const facts = new OwnerFacts();
    const dims = Array.from({ length: most + 5 }, (_, n) => ({ client: `client-${n}` }));
    facts.addSets({ group: 0, dims: dims.slice(0, 7) });
    facts.addSets({ group: 0, dims: [...dims, { client: 'client-1' }] });
    const shown = facts.dims.map((one) => valueOf(one, 'client'));
    expect(shown).toEqual([
      ...dims.slice(0, most).map(({ client }) => client),
      ...Array.from({ length: 5 }, () => 'other'),
      'client-1',
    ]);
  });
});

describe('An act of an agent', () => {
  let app: TestApp;
  let key: string;
  beforeAll(async () => {
    app = await testApp();
    await app.publish([feedProduct('MUG-1')]);
    ({ key } = await app.agent('acme'));
  });
  afterAll(() => app.close());

  const target = { kind: 'product', ref: 'MUG-1' };
  const link = () => ({ target, idempotency_key: freshKey() });
  const userAgent = { 'user-agent': 'undici/7.1' };
  const mcp = (body: object, headers: Record<string, string> = {}) =>
    app.send({
      method: 'POST',
      url: MCP,
      key,
      payload: JSON.stringify({ jsonrpc: '2.0', id: 1, ...body }),
      headers: { 'content-type': 'application/json', ...userAgent, ...headers },
    });

  const acts: Record<string, [() => Promise<unknown>, object]> = {
    'over REST by its User-Agent': [
      () =>
        app.send({
          method: 'POST',
          url: '/api/affiliate/v1/links',
          key,
          payload: { target },
          headers: { 'idempotency-key': freshKey(), 'user-agent': 'rest-agent/2 model/m-1' },
        }),
      { name: 'rest-agent', version: '2', model: 'm-1' },
    ],
    'over MCP by _meta': [
      () => {
        const clientInfo = { name: 'Claude', version: '4' };
        const _meta = modernMeta({
          'io.modelcontextprotocol/clientInfo': clientInfo,
          model: 'opus-9',
        });
        const params = { _meta, name: 'create_link', arguments: link() };
        return mcp({ method: 'tools/call', params }, modernHeaders('tools/call', params) as never);
      },
      { name: 'Claude', version: '4', model: 'opus-9' },
    ],
    'over MCP by User-Agent before initialize': [
      () => mcp({ method: 'tools/call', params: { name: 'create_link', arguments: link() } }),
      { name: 'undici', version: '7.1' },
    ],
    'over MCP by initialize': [
      async () => {
        const clientInfo = { name: 'Older Assistant', version: '1.0.1' };
        const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
        await mcp({ method: 'initialize', params });
        return mcp({ method: 'tools/call', params: { name: 'create_link', arguments: link() } });
      },
      { name: 'Older Assistant', version: '1.0.1' },
    ],
    'over A2A by its metadata': [
      () =>
        rpc(app, key, 'SendMessage', {
          message: message(HANDOFF),
          metadata: { clientInfo: { name: 'Orchestrator', version: '3' }, model: 'm-2' },
        }),
      { name: 'Orchestrator', version: '3', model: 'm-2' },
    ],
  };

  type Act = { client?: object; type: string; operation: string };
  const lastAct = async (): Promise<Act | undefined> => {
    const { body } = await app.desk('GET', '/audit/history?owner_id=acme&limit=20');
    const { data } = body as unknown as { data: Act[] };
    return data.find(({ type }) => type === 'LinkCreated' || type === 'HandoffCreated');
  };

  it.each(Object.entries(acts))('An act %s has its client in audits', async (_, [act, client]) => {
    await act();
    expect((await lastAct())?.client).toEqual(client);
  });

  it('A report counts by the name of the client, and finds it by its name', async () => {
    const url =
      '/api/affiliate/v1/performance?granularity=total&group_by=client&metrics=handoffs_created';
    const { body } = await app.send({ method: 'GET', url: `${url}&client=Orchestrator`, key });
    const { data } = body as unknown as { data: object[] };
    expect(data).toMatchObject([
      { dimensions: { client: 'Orchestrator' }, metrics: { handoffs_created: 1 } },
    ]);
  });

  it('A retry by another client answers the first record', async () => {
    const headers = { 'idempotency-key': freshKey() };
    const ids: unknown[] = [];
    for (const agent of ['first/1', 'second/2']) {
      const sent = { ...headers, 'user-agent': agent };
      const { body } = await app.send({
        method: 'POST',
        url: '/api/affiliate/v1/links',
        key,
        payload: { target },
        headers: sent,
      });
      ids.push(body['id']);
    }
    expect(ids[0]).toMatch(/^lnk_/);
    expect(ids[1]).toBe(ids[0]);
  });
});
