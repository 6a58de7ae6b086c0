import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { feedProduct, freshKey, testApp, type TestApp } from '../support/world/app.ts';

const V1 = '/api/affiliate/v1';
let app: TestApp;
let ownerToken: string;

beforeAll(async () => {
  app = await testApp();
  const { key } = await app.agent('acme');
  await app.publish([feedProduct('MUG-1')]);
  const post = (path: string, payload: object) =>
    app.send({
      method: 'POST',
      url: V1 + path,
      key,
      payload,
      headers: { 'idempotency-key': freshKey() },
    });
  for (const ref of ['one', 'two', 'three'])
    await post('/links', { target: { kind: 'search', ref } });
  await post('/handoffs', {
    title: 'List',
    buyer: { email: 'buyer@shop.example' },
    line_items: [{ sku: 'MUG-1', quantity: 4 }],
  });
  const issued = await app.desk('POST', '/desk-tokens', {
    name: 'Acme',
    roles: ['owner'],
    owner_id: 'acme',
  });
  ownerToken = (issued.body as { token: string }).token;
});
afterAll(() => app.close());

const ask = (path: string) =>
  app.send({ method: 'GET', url: `/api/desk/v1${path}`, key: ownerToken });
type Row = { id: string };
type Page = { data: Record<string, unknown>[]; next_before: number | null };

describe('A desk token of one owner', () => {
  it('A desk token of one owner lists its links in pages, newest first', async () => {
    const first = (await ask('/links?owner_id=acme&limit=2')).body as Page;
    const second = (await ask(`/links?owner_id=acme&limit=2&before=${first.next_before}`))
      .body as Page;
    const refs = [...first.data, ...second.data].map(
      ({ target }) => (target as { ref: string }).ref,
    );
    expect(refs).toEqual(['three', 'two', 'one']);
    expect(second.next_before).toBeNull();
  });

  it('A desk token of one owner lists its agents and keys, each in complete pages', async () => {
    const { agentId } = await app.agent('busy');
    for (const name of ['Second', 'Third']) {
      const request = { owner_id: 'busy', name, purpose: 'P', scopes: ['leads:read'] };
      await app.desk('POST', '/agents', request);
      const key = { environment: 'test', expires_in_days: 1 };
      const { id } = (await app.desk('POST', `/agents/${agentId}/keys`, key)).body as Row;
      await app.desk('POST', `/keys/${id}/revoke`, { reason: 'Tests' });
    }
    const names: unknown[] = [];
    for (const list of ['agents', 'keys']) {
      const path = `/${list}?owner_id=busy&limit=2`;
      const first = (await app.desk('GET', path)).body as Page;
      const last = (await app.desk('GET', `${path}&before=${first.next_before}`)).body as Page;
      expect([first.data, last.data], list).toMatchObject([{ length: 2 }, { length: 1 }]);
      expect(last, list).toMatchObject({ next_before: null, as_of: { at: expect.any(String) } });
      names.push(...[...first.data, ...last.data].map(({ name, status }) => name ?? status));
    }
    expect(names).toEqual(['Third', 'Second', 'Test agent', 'revoked', 'revoked', 'active']);
  });

  it('A desk token of one owner lists handoffs without review links and data of the buyer', async () => {
    const answer = await ask('/handoffs?owner_id=acme');
    expect(answer.body).toMatchObject({
      data: [{ title: 'List', lines: 1, status: 'awaiting_buyer' }],
    });
    expect(answer.text).not.toContain('/h/');
    expect(answer.text).not.toContain('buyer@shop');
  });

  it('A desk token of one owner reads its history, also as of a position', async () => {
    const all = (await ask('/history?owner_id=acme&limit=100')).body as Page;
    const positions = all.data.map(({ position }) => Number(position));
    expect(positions).toEqual(positions.toSorted((a, b) => b - a));
    const [, second] = all.data;
    const then = (
      await ask(`/history?owner_id=acme&as_of=${String(second?.['position'])}&limit=100`)
    ).body as Page;
    expect(then.data).toEqual(all.data.slice(1));
    const short = (await ask('/history?owner_id=acme&limit=1')).body as Page;
    expect(short).toMatchObject({ data: [all.data[0]], next_before: positions[0] });
  });

  it('A desk token of one owner reads nothing of other owners', async () => {
    await app.agent('rival');
    for (const path of ['/links', '/handoffs', '/history', '/agents', '/keys', '/events'])
      expect(await ask(`${path}?owner_id=rival`), path).toMatchObject({
        status: 404,
        body: { code: 'resource_not_found' },
      });
    expect((await ask('/events')).status).toBe(404);
    expect(await ask('/projections')).toMatchObject({
      status: 403,
      body: { code: 'role_missing' },
    });
  });
});
