import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { feedProduct, freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { confirmRfq } from '../support/world/confirmation.ts';
import { splitLanding } from '../support/world/links.ts';
import { verifies } from '../support/source/verifies.ts';

const V1 = '/api/affiliate/v1';
const BROWSER = 'Mozilla/5.0 (X11; Linux x64) AppleWebKit/537.36 Chrome/140 Safari/537.36';
let app: TestApp;
let key: string;
beforeAll(async () => {
  app = await testApp();
  key = (await app.agent('acme')).key;
  await app.publish([feedProduct('MUG-1', { title: 'Blue <Mug>' }), feedProduct('MUG-2')]);
});
afterAll(() => app.close());

const post = (path: string, payload: object) =>
  app.send({
    method: 'POST',
    url: V1 + path,
    key,
    payload,
    headers: { 'idempotency-key': freshKey() },
  });
const form = (url: string, fields: Record<string, string>, headers = {}) =>
  app.send({
    method: 'POST',
    url,
    payload: new URLSearchParams(fields).toString(),
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      origin: 'https://t.example',
      ...headers,
    },
  });
const typesOf = async (): Promise<string[]> => {
  const answer = await app.desk('GET', '/events?owner_id=acme&limit=1000');
  return (answer.body as { data: { type: string }[] }).data.map(({ type }) => type);
};
const pathOf = (url: string): string => new URL(url).pathname;
const CONTACT = {
  name: 'Bea Buyer',
  email: 'bea@shop.example',
  company: 'Shop',
  phone: '',
  consent: 'yes',
};

describe('The main job', () => {
  it('The main job runs from a search over a link, a handoff and a lead to an RFQ, and appears in the performance of the owner', async () => {
    verifies('service.1', 'service.6.buyer', 'resources.performance');
    const results = await app.send({ method: 'GET', url: `${V1}/products?q=mug`, key });
    const [product] = (results.body as { data: { id: string }[] }).data;
    const link = (
      await post('/links', { target: { kind: 'product', ref: product?.id }, campaign: 'autumn' })
    ).body as { id: string; short_url: string; destination_url: string };
    const visit = await app.send({
      method: 'GET',
      url: pathOf(link.short_url),
      headers: { 'user-agent': BROWSER },
    });
    expect(visit.status).toBe(302);
    expect(splitLanding(visit).page).toBe(link.destination_url);
    const shown = await app.send({ method: 'GET', url: pathOf(link.destination_url) });
    expect(shown.status).toBe(200);

    const handoff = (
      await post('/handoffs', {
        title: 'Mugs for the shop',
        link_id: link.id,
        line_items: [
          { sku: 'MUG-1', quantity: 48 },
          { sku: 'MUG-2', quantity: 4 },
        ],
      })
    ).body as { id: string; review_url: string };
    const lead = (
      await post('/leads', {
        external_id: 'crm-1',
        source: { kind: 'handoff', ref: handoff.id },
        company: { name: 'Shop', country: 'GB' },
      })
    ).body as { id: string };
    await app.desk('POST', `/leads/${lead.id}/move`, { owner_id: 'acme', to: 'accepted' });

    const page = pathOf(handoff.review_url);
    const before = await typesOf();
    const seen = await app.send({ method: 'GET', url: page });
    expect(seen.status).toBe(200);
    expect(seen.text).toContain('Blue &lt;Mug&gt;');
    expect(await typesOf()).toEqual(before);

    const changed = await form(`${page}/quantities`, {
      list_revision: '1',
      'quantity.1': '96',
      'quantity.2': '0',
    });
    expect(changed.status).toBe(303);
    const stale = await form(`${page}/send`, { list_revision: '1', ...CONTACT });
    expect(stale.status).toBe(409);
    const bare = await form(`${page}/send`, {
      list_revision: '2',
      ...CONTACT,
      email: 'nonsense',
      consent: '',
    });
    expect(bare.status).toBe(422);
    const sent = await form(`${page}/send`, { list_revision: '2', ...CONTACT });
    expect(sent.status).toBe(303);
    await confirmRfq(app, handoff);
    const receipt = await app.send({ method: 'GET', url: page });
    expect(receipt.text).not.toContain('bea@shop.example');

    const rfq = await app.desk('GET', `/handoffs/${handoff.id}/rfq?owner_id=acme`);
    expect(rfq.body).toMatchObject({ contact: { email: 'bea@shop.example' }, list_revision: 2 });

    const numbers = await app.send({
      method: 'GET',
      url: `${V1}/performance?group_by=campaign&granularity=total`,
      key,
    });
    expect(numbers.body).toMatchObject({
      data: [
        {
          dimensions: { campaign: 'autumn' },
          metrics: {
            clicks_raw: 1,
            clicks_unique: 1,
            handoffs_created: 1,
            rfqs_submitted: 1,
            leads_submitted: 1,
            rfqs_taken_up: 0,
            rfq_value: [],
          },
        },
      ],
    });
    const leads = await app.send({ method: 'GET', url: `${V1}/leads`, key });
    expect(leads.body).toMatchObject({ data: [{ state: 'rfq_submitted' }] });
    expect((await app.desk('GET', '/events?owner_id=acme&limit=1000')).text).not.toContain(
      'bea@shop',
    );
  });

  it('The main job lets only the holder of the review link act for the buyer', async () => {
    verifies('states.handoff', 'service.6.commitments', 'service.5');
    const handoff = (
      await post('/handoffs', {
        title: 'Another list',
        line_items: [{ sku: 'MUG-1', quantity: 4 }],
      })
    ).body as { review_url: string };
    const page = pathOf(handoff.review_url);
    const fields = { list_revision: '1', ...CONTACT };
    const before = await typesOf();
    const agent = await form(`${page}/send`, fields, { authorization: `Bearer ${key}` });
    expect(agent).toMatchObject({ status: 403, body: { code: 'boundary_forbidden' } });
    const foreign = await form(`${page}/send`, fields, { origin: 'https://evil.example' });
    expect(foreign.status).toBe(403);
    const guessed = await form(`/h/${'0'.repeat(40)}/send`, fields);
    expect(guessed.status).toBe(404);
    const later = await typesOf();
    expect(later.filter((type) => type !== 'ActivityRecorded')).toEqual(
      before.filter((type) => type !== 'ActivityRecorded'),
    );
    app.clock.advance(31 * 86_400_000);
    expect((await form(`${page}/send`, fields)).status).toBe(409);
    app.clock.advance(-31 * 86_400_000);
    const declined = await form(`${page}/decline`, { list_revision: '1', reason: 'Too many' });
    expect(declined.status).toBe(303);
    expect((await form(`${page}/send`, fields)).status).toBe(409);
  });
});
