/** A buyer sends exactly what the page showed, and every reader of the RFQ sees what changed since. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { feedProduct, testApp, type TestApp } from '../support/world/app.ts';
import { CONTACT, reviews } from '../support/world/reviews.ts';

let app: TestApp;
let key: string;
let products = 0;

beforeAll(async () => {
  app = await testApp();
  ({ key } = await app.agent('acme'));
});
afterAll(() => app.close());

const { handoff, get, post, events, confirm } = reviews({ app: () => app, key: () => key });

/** A new product for each test, because the tests change their products. */
const product = (price: number, currency = 'GBP', sku = `SKU-${(products += 1)}`) => {
  const price_tiers = [
    { min_quantity: 1, unit_price: price + 200 },
    { min_quantity: 48, unit_price: price },
  ];
  const stock = { available_quantity: 1_000 };
  return { sku, feed: feedProduct(sku, { currency, price_tiers, moq: 1, increment: 1 }, stock) };
};
const publish = async (price: number, currency?: string, sku?: string): Promise<string> => {
  const created = product(price, currency, sku);
  await app.publish([created.feed]);
  return created.sku;
};
const withdraw = async (sku: string): Promise<void> => {
  const answer = await app.desk('POST', '/products/withdraw', { sku, reason: 'Supplier stopped' });
  expect(answer.status).toBe(200);
};
const listOf = (...lines: [sku: string, quantity: number][]) =>
  handoff({ line_items: lines.map(([sku, quantity]) => ({ sku, quantity })) });
const totalsIn = (text: string) => /name="totals"[^>]+value="([^"]*)"/.exec(text)?.[1] ?? '';
const rfqOf = (id: string) => app.desk('GET', `/handoffs/${id}/rfq?owner_id=acme`);

describe('A list whose total differs from the total that the page showed', () => {
  it('A list with a different total from the one shown is not sent, and the page shows the new total and what was typed', async () => {
    const sku = await publish(800);
    const { id, path } = await listOf([sku, 48], [sku, 60]);
    const seen = totalsIn((await get(path)).text);
    expect(seen).toBe('GBP:86400');
    await publish(950, 'GBP', sku);
    const typed = { list_revision: '1', ...CONTACT, 'quantity.1': '54', 'quantity.2': '60' };
    // Totals of a script that computes a wrong price, and totals that are not valid.
    for (const totals of ['GBP:99300', seen, 'GBP:108300 EUR:1', 'a lot', '']) {
      const { status, text } = await post(`${path}/send`, { ...typed, totals });
      expect([totals, status]).toEqual([totals, 409]);
      expect(text).toMatch(/<h2>Please look at the total<\/h2>/);
      expect(text).toMatch(/so nothing was sent yet/);
      expect(text).toMatch(/2\s+lines<\/span>, <span class="totals">[^£]+£1,083\.00/);
      expect(text).toMatch(/id="quantity\.1"[^>]+data-was="48"[^>]+value="54"/);
      expect(text).toContain('value="bea@shop.example"');
      expect(text).toMatch(/id="consent"[^>]* checked/);
      expect(totalsIn(text)).toBe('GBP:108300');
    }
    expect(await events(id)).toEqual(['HandoffCreated', 'HandoffOpenedByBuyer']);
    const sent = await post(`${path}/send`, { ...typed, totals: 'GBP:108300' });
    expect(sent.status).toBe(303);
    expect((await get(path)).text).toContain('£1,083.00');
  });

  it('A list with a different total from the one shown is shown again to a buyer without scripts, who can then send it', async () => {
    const { id, path } = await listOf([await publish(800), 48], [await publish(300, 'EUR'), 48]);
    const { text } = await get(path);
    const typed = { list_revision: '1', ...CONTACT, 'quantity.1': '0', 'quantity.2': '50' };
    const again = await post(`${path}/send`, { ...typed, totals: totalsIn(text) });
    expect(again.status).toBe(409);
    expect(totalsIn(again.text)).toBe('EUR:15000');
    expect(again.text).toMatch(/id="quantity\.1"[^>]+value="0"/);
    const { status } = await post(`${path}/send`, { ...typed, totals: totalsIn(again.text) });
    expect(status).toBe(303);
    expect(await events(id)).toContain('RfqSubmittedByBuyer');
  });

  it('A list with a different total from the one shown shows the new total also when another field has a fault', async () => {
    const { path } = await listOf([await publish(800), 48]);
    const typed = { list_revision: '1', ...CONTACT, email: 'nope', 'quantity.1': '50' };
    const { status, text } = await post(`${path}/send`, { ...typed, totals: 'GBP:38400' });
    expect([status, totalsIn(text)]).toEqual([422, 'GBP:40000']);
  });

  it('A list with a different total from the one shown shows a changed currency and keeps the totals of currencies separate', async () => {
    const sku = await publish(500, 'EUR');
    const { path } = await listOf([sku, 48], [await publish(800), 48]);
    await publish(500, 'GBP', sku);
    const { text } = await get(path);
    expect(text).toContain('The price is now £5.00; it was €5.00 when this line was priced.');
    expect(text).toMatch(/<dt>To look at<\/dt><dd><a [^>]*>1 line<\/a>/);
    expect(text).toContain('data-price="EUR 1:500"\n data-tiers="GBP 1:700 48:500"');
    expect(totalsIn(text)).toBe('EUR:24000 GBP:38400');
    const typed = { list_revision: '1', ...CONTACT, 'quantity.1': '50', 'quantity.2': '48' };
    const again = await post(`${path}/send`, { ...typed, totals: totalsIn(text) });
    expect([again.status, totalsIn(again.text)]).toEqual([409, 'GBP:63400']);
  });
});

describe('A product that was withdrawn from the catalog', () => {
  it('A product that was withdrawn from the catalog is shown with the reason, and its quantity can decrease but not increase', async () => {
    const sku = await publish(800);
    const { id, path } = await listOf([sku, 4], [await publish(800), 4]);
    await withdraw(sku);
    expect((await get(path)).text).toContain('No longer offered: “Supplier stopped”.');
    const typed = { list_revision: '1', 'quantity.1': '5', 'quantity.2': '4' };
    for (const act of ['quantities', 'send']) {
      const { status, text } = await post(`${path}/${act}`, { ...typed, ...CONTACT });
      expect(status).toBe(422);
      expect(text).toContain(
        'the quantity must be at most 4, because the product is no longer offered.',
      );
    }
    expect(await events(id)).not.toContain('HandoffListRevisedByBuyer');
    const less = { ...typed, 'quantity.1': '3' };
    expect((await post(`${path}/quantities`, less)).status).toBe(303);
  });

  it('A product that was withdrawn from the catalog is named in the RFQ and on the receipt, like a changed price', async () => {
    const [withdrawn, dearer, same] = [await publish(800), await publish(800), await publish(800)];
    const { id, path } = await listOf([withdrawn, 48], [dearer, 48], [same, 48]);
    await withdraw(withdrawn);
    await publish(950, 'GBP', dearer);
    expect((await post(`${path}/send`, { list_revision: '1', ...CONTACT })).status).toBe(303);
    await confirm({ id });
    // Later changes are not part of the request.
    await withdraw(same);
    const { text } = await get(path);
    expect(text).toContain('<li>The product is no longer offered.</li>');
    expect(text).toContain('<li>The price was £9.50 when you sent this.</li>');
    expect(text.match(/<ul class="remarks"[^]*?<li>/g)).toHaveLength(2);
    const price = { amount: 950, currency: 'GBP' };
    const { line_items, indicative_totals } = (await rfqOf(id)).body;
    expect(line_items).toMatchObject([
      { warnings: ['withdrawn'], indicative_unit_price: { amount: 800 } },
      { warnings: [], indicative_unit_price: { amount: 800 }, unit_price_when_sent: price },
      { warnings: [] },
    ]);
    expect(line_items[0]).not.toHaveProperty('unit_price_when_sent');
    expect(line_items[2]).not.toHaveProperty('unit_price_when_sent');
    expect(indicative_totals).toEqual([{ amount: 115_200, currency: 'GBP' }]);
  });
});

describe('A closed list', () => {
  it('A closed list refuses other quantities with the reason that the request was sent before', async () => {
    const { id, path } = await listOf([await publish(800), 4], [await publish(800), 4]);
    const typed = { list_revision: '1', ...CONTACT, 'quantity.1': '4', 'quantity.2': '0' };
    const first = { ...typed, totals: 'GBP:4000' };
    for (let i = 0; i < 2; i++) expect((await post(`${path}/send`, first)).status).toBe(303);
    await confirm({ id });
    const others = [
      { ...typed, 'quantity.1': '400' },
      { ...typed, 'quantity.2': '4' },
      { ...typed, 'quantity.2': 'many' },
    ];
    for (const other of others) {
      const { status, text } = await post(`${path}/send`, other);
      expect(status).toBe(409);
      expect(text).toContain('<h1>Your request was sent</h1>');
      expect(text).toContain('<strong>Your last step was not taken.</strong>');
      expect(text).toContain('The request was sent before, with the quantities below.');
    }
    const none = await post(`${path}/send`, { list_revision: '1', ...CONTACT });
    expect(none.status).toBe(303);
    expect((await get(path)).text).not.toContain('Your last step');
    expect((await events(id)).filter((type) => type === 'RfqSubmittedByBuyer')).toHaveLength(1);
  });

  it('A closed list does not say that the promoter withdrew it if its subject was erased', async () => {
    const { id, path } = await listOf([await publish(800), 4]);
    const request = { owner_id: 'acme', reason: 'Art. 17' };
    expect((await app.desk('POST', `/subjects/${id}/erase`, request)).status).toBe(200);
    const { text } = await get(path);
    expect(text).toContain('<h1>This list was closed</h1>');
    expect(text).toContain('Personal data in it was erased');
    expect(text).not.toMatch(/took it back|The reason given/);
  });

  it('A closed list of a test key promises no answer', async () => {
    const test = await app.agent('acme', undefined, 'test');
    const line_items = [{ sku: await publish(800), quantity: 4 }];
    const { id, path } = await handoff({ line_items }, test.key);
    expect((await post(`${path}/send`, { list_revision: '1', ...CONTACT })).status).toBe(303);
    await confirm({ id, ownerId: 'testacme' });
    const { text } = await get(path);
    expect(text).toContain('It was a test: nobody was asked, and nobody will answer.');
    expect(text).not.toContain('Staff will answer');
  });
});
