/** The pages of products as people shop: header, filters, order, categories, lost products, and languages. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { de } from '#src/shared/messages/de.ts';
import { en } from '#src/shared/messages/en.ts';
import { feedProduct, testApp, type TestApp } from '../support/world/app.ts';

let app: TestApp;

beforeAll(async () => {
  app = await testApp({ HOUSE_NAME: 'House', HOUSE_MAILBOX: 'sales@house.example' });
  await app.publish([
    feedProduct('MUG-1', {
      title: 'Blue mug',
      category: 'Kitchen > Mugs',
      brand: 'Ash & Clay',
      ship_from: 'GB',
      origin_country: 'PT',
      lead_time_days: 2,
    }),
    feedProduct('MUG-2', {
      title: 'Red mug',
      category: 'Kitchen > Mugs',
      brand: 'Birch',
      ship_from: 'DE',
      certifications: ['FSC'],
      price_tiers: [{ min_quantity: 4, unit_price: 150 }],
    }),
    feedProduct('BOWL-1', { title: 'Bowl', category: 'Kitchen > Bowls', brand: 'Birch' }),
  ]);
});
afterAll(() => app.close());

const get = (url: string, headers: Record<string, string> = {}) =>
  app.send({ method: 'GET', url, headers });
const titlesIn = (text: string): string[] =>
  [...text.matchAll(/<li[^>]*>\s*<a href="\/p\/[^"]+">([^<]+)</g)].map(([, title = '']) => title);
const unescaped = (href: string): string => href.replaceAll('&amp;', '&');

describe('A page of products', () => {
  it('Each filter of a listing is a link to fewer products, with a way back', async () => {
    const { text } = await get('/s?q=mug');
    const links = [...text.matchAll(/<li><a href="(\/s\?[^"]+)" rel="nofollow">([^<]+)</g)];
    const names = links.map(([, , name]) => name);
    expect(names).toEqual(
      expect.arrayContaining(['Ash &amp; Clay', 'Birch', 'United Kingdom', 'Germany']),
    );
    for (const [, href = '', name] of links) {
      const filtered = (await get(unescaped(href))).text;
      expect(titlesIn(filtered).length, name).toBeGreaterThan(0);
      expect(filtered, name).toContain(`Without the filter ${name}`);
    }
    expect(titlesIn((await get('/s?q=mug&brand=birch')).text)).toEqual(['Red mug']);
    expect(titlesIn((await get('/s?ship_from=gb')).text)).toEqual(['Blue mug']);
    expect(titlesIn((await get('/s?certification=FSC')).text)).toEqual(['Red mug']);
    expect(titlesIn((await get('/s?lead_time_max_days=3')).text)).toEqual(['Blue mug']);
  });

  it('A listing is ordered by price if its address says so, and keeps filters and words beside it', async () => {
    expect(titlesIn((await get('/s?sort=price')).text)[0]).toBe('Red mug');
    const { text } = await get('/c/Kitchen?brand=Birch&sort=price');
    expect(text).toContain('<strong aria-current="true">price</strong>');
    expect(unescaped(text)).toContain('/c/Kitchen?brand=Birch&sort=moq');
  });

  it.each([
    '/s?sort=%00',
    '/s?brand[]=x',
    '/s?lead_time_max_days=99999999',
    '/s?ship_from=%F0%9F%98%80',
    '/s?origin=ZZ',
    '/c/Kitchen?certification=' + 'x'.repeat(900),
    '/c?brand=%',
  ])('The malformed filter of %s is no error of the server', async (url) => {
    expect((await get(url)).status).toBeLessThan(500);
  });

  it('All categories are on one page, which the header leads to', async () => {
    const { text } = await get('/c');
    for (const name of ['Kitchen &gt; Mugs', 'Kitchen &gt; Bowls']) expect(text).toContain(name);
    for (const path of ['/', '/s', '/list', '/privacy', '/docs'])
      expect((await get(path)).text, path).toMatch(
        /<nav class="shop"[^>]*><a href="\/s[^"]*">Products<\/a>\s*<a href="\/c[^"]*">Categories<\/a> <a href="\/list[^"]*">My list</,
      );
  });

  it('A product shows countries by name', async () => {
    const { product_id } = [...app.service.deps.catalog.bySku(['MUG-1']).values()][0] ?? {};
    const { text } = await get(`/p/${product_id}`);
    expect(text).toContain('<dt>Ships from</dt><dd>United Kingdom</dd>');
    expect(text).toContain('<dt>Made in</dt><dd>Portugal</dd>');
  });

  it.each(['/p/prd_000000000000000000000000', '/p/nonsense', '/c/Nothing'])(
    'The lost page %s leads to a search and to the categories',
    async (url) => {
      const { status, text } = await get(url, { accept: 'text/html' });
      expect(status).toBe(404);
      expect(text).toContain('<form action="/s"');
      expect(text).toContain('<a href="/c">Categories</a>');
    },
  );

  it('A listing without a match leads to the categories', async () => {
    expect((await get('/s?q=zzzzzz')).text).toMatch(/Nothing matches\.[^<]*<a href="\/c"/);
  });

  it('Pages of visitors are German for a browser that asks for German first, and vary by that', async () => {
    for (const path of ['/s?q=mug', '/c/Kitchen', '/c', '/list', '/p/nonsense']) {
      const { text, headers } = await get(path, { 'accept-language': 'de-AT,de;q=0.9,en;q=0.5' });
      expect(text, path).toContain('<html lang="de-DE">');
      expect(text, path).toContain(de.categories);
      if (headers['cache-control']?.startsWith('public'))
        expect(headers['vary'], path).toContain('accept-language');
      for (const english of [en.search_products, en.nav_list, en.frame_purpose])
        expect(text, path).not.toContain(english);
    }
    const english = await get('/s', { 'accept-language': 'en,de;q=0.5' });
    expect(english.text).toContain(en.search_products);
  });
});

it('Programs find robots.txt, favicon.ico and security.txt', async () => {
  const robots = await get('/robots.txt');
  expect(robots.text).toMatch(/^User-agent: \*\n[^]*Disallow: \/h\/\n/);
  const icon = await get('/favicon.ico');
  expect([icon.status, icon.headers['content-type']]).toEqual([
    200,
    'image/svg+xml; charset=utf-8',
  ]);
  const { text, headers } = await get('/.well-known/security.txt');
  expect(headers['content-type']).toBe('text/plain; charset=utf-8');
  expect(text).toContain('Contact: mailto:sales@house.example\n');
  const expires = Date.parse(/Expires: (\S+)/.exec(text)?.[1] ?? '');
  expect(expires - app.clock.now()).toBeGreaterThan(90 * 86_400_000);
  expect(expires - app.clock.now()).toBeLessThan(365 * 86_400_000);
});
