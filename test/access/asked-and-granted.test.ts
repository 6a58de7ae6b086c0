/** What an agent asked for and what it was granted, wherever both are shown. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { freshKey, testApp, type TestApp } from '../support/world/app.ts';

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.close());

const ASKED = ['products:read', 'links:write', 'leads:read'];
const GRANTED = ['products:read', 'links:write'];

it('An agent that was granted a part of its request shows what it asked for and what it has, apart, in each record', async () => {
  const tokenOf = async (input: object): Promise<string> =>
    ((await app.desk('POST', '/desk-tokens', input)).body as { token: string }).token;
  const asker = await tokenOf({ name: 'Ada', roles: ['owner'], owner_id: 'acme' });
  const staff = await tokenOf({ name: 'Bob', roles: ['staff'] });
  const post = (key: string, path: string, payload: object) =>
    app.send({
      method: 'POST',
      url: `/api/desk/v1${path}`,
      key,
      payload,
      headers: { 'idempotency-key': freshKey() },
    });
  const ask = (payload: object) => post(asker, '/agents', payload);
  const requested = await ask({
    owner_id: 'acme',
    name: 'Letter',
    purpose: 'Letters',
    scopes: ASKED,
  });
  const { id } = requested.body as { id: string };
  const apart = (granted: string[]) => ({ requested_scopes: ASKED, granted_scopes: granted });
  expect(requested.body).toMatchObject(apart([]));
  const approved = await post(staff, `/agents/${id}/approve`, {
    scopes: GRANTED,
    reason: 'No leads yet',
  });
  expect(approved.body).toMatchObject(apart(GRANTED));
  const read = async (path: string) => (await app.desk('GET', path)).body as { data: object[] };
  expect(await read(`/agents/${id}`)).toMatchObject(apart(GRANTED));
  expect((await read('/agents?owner_id=acme')).data).toMatchObject([apart(GRANTED)]);
  expect((await read('/access-requests')).data).toMatchObject([
    { scopes: ASKED, granted_scopes: GRANTED, outcome: 'partial' },
  ]);
  const denied = await ask({
    owner_id: 'acme',
    agent_id: id,
    name: 'Letter',
    purpose: 'Letters',
    scopes: ['performance:read'],
  });
  expect(denied.body).toMatchObject({
    requested_scopes: ['performance:read'],
    granted_scopes: GRANTED,
  });
  const after = await post(staff, `/agents/${id}/deny`, { reason: 'No' });
  expect(after.body).toMatchObject({
    requested_scopes: ['performance:read'],
    granted_scopes: GRANTED,
  });
});
