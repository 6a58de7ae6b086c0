/** Credentials that change while the body of a request arrives: the state after the body decides. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BASE, HANDOFF } from '../support/clients/a2a.ts';
import { feedProduct, freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { halfway } from '../support/clients/raw-http.ts';

let app: TestApp;
let url: string;

beforeAll(async () => {
  app = await testApp();
  url = await app.service.listen();
  await app.publish([feedProduct('MUG-1')]);
});
afterAll(() => app.close());

const AUDIT_RECORDS = new Set(['ActivityRecorded', 'CallsAudited']);
const LINK = { target: { kind: 'search', ref: 'mugs' } };
const rpc = (method: string, params: object) => ({ jsonrpc: '2.0', id: 1, method, params });
/** One write of an agent on each surface. */
const writes = (): [path: string, body: object][] => {
  const message = { messageId: freshKey(), role: 'ROLE_USER', parts: [{ data: HANDOFF }] };
  return [
    ['/api/affiliate/v1/links', LINK],
    [BASE, rpc('SendMessage', { message })],
    ['/api/affiliate/mcp', rpc('tools/call', { name: 'create_link', arguments: LINK })],
  ];
};

describe('A credential that changes while the body of a request arrives', () => {
  it('A credential that changes while the body of a request arrives writes nothing on any surface once it is revoked', async () => {
    const { log } = app.service.deps;
    const late = async (key: string, revoked: string, path: string, body: object) => {
      let after = 0;
      const text = await halfway(url, path, key, body, async () => {
        await app.desk('POST', `${revoked}/revoke`, { reason: 'Leaked' });
        after = (await log.head()).position;
      });
      expect(text, path).toMatch(/HTTP\/1\.1 401 [^]*"credential_revoked"/i);
      const written = await log.readAll({ after, limit: 10 });
      expect(written.filter(({ type }) => !AUDIT_RECORDS.has(type))).toEqual([]);
    };
    for (const [path, body] of writes()) {
      const { key, keyId } = await app.agent('slow');
      await late(key, `/keys/${keyId}`, path, body);
    }
    const person = { name: 'Slow', roles: ['staff'] };
    const { id, token } = (await app.desk('POST', '/desk-tokens', person)).body as {
      id: string;
      token: string;
    };
    const agent = { owner_id: 'slow', name: 'A', purpose: 'P', scopes: ['products:read'] };
    await late(token, `/desk-tokens/${id}`, '/api/desk/v1/agents', agent);
  });

  it('A credential that changes while the body of a request arrives has only its new scopes on every surface', async () => {
    const { key, agentId } = await app.agent('narrowed');
    const grant = (...scopes: string[]) =>
      app.desk('POST', '/access-grants', {
        owner_id: 'narrowed',
        agent_id: agentId,
        name: 'Narrowed',
        purpose: 'To be narrowed',
        scopes,
        reason: 'A test',
      });
    for (const [path, body] of writes()) {
      await grant('products:read', 'links:write', 'handoffs:write');
      const text = await halfway(url, path, key, body, () => grant('products:read'));
      expect(text, path).toContain('scope_missing');
    }
  });
});
