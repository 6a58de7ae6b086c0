import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { feedProduct, freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { configure, person, post, proposed } from '../support/world/outreach.ts';

let app: TestApp;
let live: string;
let test: string;
let rival: string;

beforeAll(async () => {
  app = await testApp();
  await app.publish([feedProduct('MUG-1')]);
  // More owners than one request reads, all newer than the owners of these tests.
  for (let i = 0; i < 40; i += 1) {
    const request = {
      owner_id: `other${i}`,
      name: 'Agent',
      purpose: 'Tests',
      scopes: ['leads:read'],
    };
    await app.desk('POST', '/agents', request);
    if (i === 2) {
      live = (await app.agent('acme')).key;
      test = (await app.agent('acme', undefined, 'test')).key;
      rival = (await app.agent('rival')).key;
    }
  }
});
afterAll(() => app.close());

const contactOf = (email: string) => ({
  contact: { name: 'Ada Byron', email },
  consent: { basis: 'consent', obtained_at: '2026-11-19T09:00:00Z' },
});
const lead = async (key: string, email: string) => {
  const { body } = await app.send({
    method: 'POST',
    url: '/api/affiliate/v1/leads',
    key,
    payload: {
      external_id: freshKey(),
      company: { name: 'Shop', country: 'GB' },
      ...contactOf(email),
    },
    headers: { 'idempotency-key': freshKey() },
  });
  return body as { id: string; state: string };
};
const erase = (id: string, more = {}) =>
  app.desk('POST', `/subjects/${id}/erase`, { reason: 'Asked', ...more });

describe('Staff who have only an id', () => {
  it('Staff who have only an id erase a lead of any owner, live or test', async () => {
    for (const [key, space] of [
      [live, 'acme'],
      [test, 'testacme'],
      [rival, 'rival'],
    ] as const) {
      const { id } = await lead(key, `${space}@buyer.example`);
      expect((await erase(id)).body).toEqual({
        subject: id,
        key: 'destroyed',
        erased_from: [`${space}-lead_${id.slice(4)}`],
      });
    }
    expect((await erase(`led_${'0'.repeat(24)}`)).status).toBe(404);
    expect((await erase(`hnd_${'0'.repeat(24)}`)).status).toBe(404);
    const { id } = await lead(live, 'elsewhere@buyer.example');
    expect((await erase(id, { owner_id: 'rival' })).status).toBe(404);
  });

  it('Staff who have only an id read a closed outreach request and its status', async () => {
    const staff = await person(app, ['staff']);
    await configure(app, 'acme', { mode: 'admin_approved' });
    for (const [key, space] of [
      [live, 'acme'],
      [test, 'testacme'],
    ] as const) {
      const { id, content_sha256 } = await proposed(app, key, 'requestSocialPost', post());
      const decide = (verb: string, more = {}, token = staff) =>
        app.send({
          method: 'POST',
          url: `/api/desk/v1/approvals/${id}/${verb}`,
          key: token,
          payload: { content_sha256, ...more },
          headers: { 'idempotency-key': freshKey() },
        });
      const show = (token: string) =>
        app.send({ method: 'GET', url: `/api/desk/v1/approvals/${id}`, key: token });
      await decide('refuse', { reason: 'No' });
      expect((await show(staff)).body).toMatchObject({
        request: { owner_id: space, status: 'rejected' },
      });
      expect(await decide('approve')).toMatchObject({
        status: 409,
        body: { detail: 'The request is rejected.' },
      });
      expect((await show(await person(app, ['owner'], 'acme'))).status).toBe(200);
      const stranger = await person(app, ['owner'], 'rival');
      expect((await show(stranger)).status).toBe(404);
      expect((await decide('approve', {}, stranger)).status).toBe(404);
    }
  });
});

describe('A desk token of one owner', () => {
  it("A desk token of one owner causes reads only of this owner's streams", async () => {
    const token = await person(app, ['owner'], 'acme');
    const reads = vi.spyOn(app.service.deps.log, 'readStream');
    const url = `/api/desk/v1/approvals/out_${'0'.repeat(24)}`;
    expect((await app.send({ method: 'GET', url, key: token })).status).toBe(404);
    const owners = reads.mock.calls.map(([stream]) => stream.split('-')[0]);
    reads.mockRestore();
    expect(owners).toEqual(['acme', 'testacme']);
  });
});

describe('An erasure of a lead', () => {
  it('An erasure of a lead releases the contact by the log, although the read model contains no row', async () => {
    const { id } = await lead(live, 'freed@buyer.example');
    const { readModels } = app.service.deps;
    const get = readModels.get.bind(readModels);
    const blind = vi
      .spyOn(readModels, 'get')
      .mockImplementation((name, ...where) =>
        name === 'leads' ? Promise.resolve(undefined) : get(name, ...where),
      );
    expect((await erase(id, { owner_id: 'acme' })).status).toBe(200);
    blind.mockRestore();
    expect(await lead(rival, 'freed@buyer.example')).toMatchObject({ state: 'submitted' });
  });
});
