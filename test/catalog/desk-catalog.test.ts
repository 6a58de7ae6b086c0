/** The catalog on the pages of the desk: found, shown whole, and withdrawn. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { productIdOfSku } from '#src/catalog/import-products.ts';
import { feedProduct, testApp, type TestApp } from '../support/world/app.ts';
import { type Browsing, invite, settled, signedInAs } from '../support/world/browsing.ts';

let app: TestApp;
let staff: Browsing;

const SKU = 'MUG/1 <x>';
const GTIN = '4006381333931';

beforeAll(async () => {
  app = await testApp();
  app.service.dispatcher.start();
  const many = Array.from({ length: 60 }, (_, number) => feedProduct(`BULK-${number}`));
  await app.publish([
    ...many,
    feedProduct(SKU, {
      title: 'Stoneware <mug>',
      gtin: GTIN,
      brand: 'Kiln',
      origin_country: 'PT',
      image_url: 'https://cdn.example/mug.jpg',
      certifications: ['Food safe'],
    }),
  ]);
  staff = await signedInAs(app, await invite(app, ['staff']));
  await settled(app);
});
afterAll(() => app.close());

const MUG = `/desk/catalog/${productIdOfSku(SKU)}`;

describe('The catalog of the desk', () => {
  it('Words, a SKU and a GTIN find a product, and what nothing has is a sentence with a way on', async () => {
    for (const text of ['stoneware', 'MUG/1', GTIN]) {
      const found = await staff.get(`/desk/catalog?text=${encodeURIComponent(text)}`);
      expect(found.text, text).toContain(`href="${MUG}"`);
      expect(found.text).toContain('Stoneware &lt;mug&gt;');
      expect(found.text).toContain('£2.50');
    }
    const none = await staff.get('/desk/catalog?text=%3Czzzz%3E');
    expect(none.text).toContain('No product for sale has <q>&lt;zzzz&gt;</q>');
    expect(none.text).toContain('href="/desk/catalog"');
  });

  it('All products are listed in pages, and a page that does not exist is empty or the first', async () => {
    const first = await staff.get('/desk/catalog');
    expect(first.text).toContain('61 for sale');
    expect(first.text.match(/data-item/g)).toHaveLength(50);
    expect(first.text).toContain('rel="next" href="/desk/catalog?page=2"');
    expect((await staff.get('/desk/catalog?page=2')).text.match(/data-item/g)).toHaveLength(11);
    for (const page of ['0', '-1', 'x', '999', '1e9', ''])
      expect((await staff.get(`/desk/catalog?page=${page}`)).status, page).toBeLessThan(500);
    expect((await staff.get(`/desk/catalog?text=${'x'.repeat(900)}`)).status).toBe(200);
  });

  it('A product is shown whole, with its tiers, its stock and how old that is', async () => {
    const { text } = await staff.get(MUG);
    for (const shown of [
      'MUG/1 &lt;x&gt;',
      'Kiln',
      GTIN,
      'Portugal',
      'Food safe',
      'https://cdn.example/mug.jpg',
      '48 pieces',
      '£1.99',
      'in steps of 2',
      'in stock',
      '0 min',
      MUG.replace('/desk/catalog', '/p'),
    ])
      expect(text).toContain(shown);
    expect((await staff.get('/desk/catalog/nothing')).status).toBe(404);
  });

  it('A product is found by the search in the header, which leads to its page', async () => {
    const { text } = await staff.press('/desk', '/desk/search', { text: 'MUG/1' });
    expect(text).toContain(`href="${MUG}"`);
  });

  it('Staff withdraw a product with a reason, and then its SKU still finds it', async () => {
    const refused = await staff.press(MUG, `${MUG}/withdraw`, { reason: '' });
    expect(refused.status).toBe(422);
    expect(refused.text).toContain('href="#withdraw-reason"');
    const { to } = await staff.press(MUG, `${MUG}/withdraw`, {
      sku: SKU,
      reason: 'Kiln <broke>',
    });
    await settled(app);
    const { text } = await staff.get(to ?? '');
    for (const shown of ['The product is withdrawn.', 'Kiln &lt;broke&gt;', 'badge bad'])
      expect(text).toContain(shown);
    expect(text).not.toContain(`${MUG}/withdraw"`);
    const found = await staff.get('/desk/catalog?text=MUG%2F1%20%3Cx%3E');
    expect(found.text).toContain(`href="${MUG}"`);
  });

  it('The catalog is for staff: people with other roles are refused', async () => {
    for (const role of ['auditor', 'operator', 'privacy']) {
      const other = await signedInAs(app, await invite(app, [role]));
      for (const page of ['/desk/catalog', MUG, '/desk/catalog/import'])
        expect((await other.get(page)).status, `${page} as ${role}`).toBe(403);
    }
  });
});
