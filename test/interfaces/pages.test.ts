import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PROBLEM_CODES } from '#contracts/problems.ts';
import { feedProduct, testApp, type TestApp } from '../support/world/app.ts';

let app: TestApp;

const TABLE = [
  { min_quantity: 4, unit_price: 1_250 },
  { min_quantity: 40, unit_price: 999 },
];

beforeAll(async () => {
  app = await testApp();
  await app.publish([
    feedProduct('<b>1</b>', {
      title: 'Table & "lamp" <x-y>alert(1)</x-y>',
      category: 'Home > Lamps/Light',
      price_tiers: TABLE,
    }),
    ...Array.from({ length: 30 }, (_, i) => feedProduct(`CUP-${i}`, { category: 'Home' })),
  ]);
});
afterAll(() => app.close());

const get = (url: string, headers: Record<string, string> = {}) =>
  app.send({ method: 'GET', url, headers });
const search = async (url: string) => {
  const { text } = await get(url);
  return [...text.matchAll(/<a href="(\/p\/[^"]+)"/g)].map(([, href]) => href ?? '');
};

describe('Every page', () => {
  const POLICY =
    "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; " +
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

  it('Every page is a complete document without inline scripts or styles', async () => {
    const pages = ['/', '/s', '/s?q=cup', '/c/Home', '/problems', '/problems/scope_missing'];
    for (const path of [...pages, '/p/none', `/h/${'0'.repeat(40)}`, '/l/none']) {
      const { text, headers } = await get(path);
      expect(headers).toMatchObject({
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': POLICY,
        'x-content-type-options': 'nosniff',
      });
      expect(text).toMatch(/^<!doctype html>\n<html lang="en(?:-GB)?">/);
      expect(text).toMatch(/<title>[^<]+ · Tributary<\/title>/);
      expect(text.match(/<h1[ >]/g)).toHaveLength(1);
      expect(text).toContain('<a class="skip" href="#main">');
      expect(text).not.toMatch(/<script(?! src="\/assets\/)|<style| style=| on\w+=|\[object/);
      expect(text).not.toMatch(/undefined|NaN/);
    }
  });

  it.each([
    [404, '/none'],
    [414, `/h/${'0'.repeat(40)}?${'a'.repeat(5_000)}`],
    [414, `/l/none?${'a'.repeat(5_000)}`],
    [414, `/h/${'0'.repeat(600)}`],
    [400, '/c/%zz'],
  ])(
    'A page answers %i to a browser with a page, and to a program with a problem',
    async (status, path) => {
      const page = await get(path, { accept: 'text/html,*/*' });
      expect(page.status).toBe(status);
      expect(page.headers).toMatchObject({
        'cache-control': 'no-store',
        'content-security-policy': POLICY,
        'content-type': 'text/html; charset=utf-8',
      });
      expect(page.text).toMatch(/<h1>[^<]+<\/h1>/);
      for (const [url, accept] of [
        [path, '*/*'],
        [`/api/${path}`, 'text/html'],
      ] as const)
        expect((await get(url, { accept })).headers['content-type']).toBe(
          'application/problem+json',
        );
    },
  );

  it('Every page links only to pages that exist', async () => {
    const seen = new Set<string>();
    for (const path of ['/', '/s', '/problems']) {
      const { text } = await get(path);
      for (const [, href] of text.matchAll(/(?:href|src)="(\/[^"]*)"/g))
        seen.add((href ?? '').replaceAll('&amp;', '&'));
    }
    for (const href of seen) expect([href, (await get(href)).status]).toEqual([href, 200]);
  });
});

describe('The page of a product', () => {
  it("A product's page shows the offer with escaped text and indicative prices", async () => {
    const [path = ''] = await search('/s?q=lamp');
    const { status, text } = await get(`${path}?utm_source=mail`);
    expect(status).toBe(200);
    expect(text).toContain('<h1>Table &amp; &quot;lamp&quot; &lt;x-y&gt;alert(1)&lt;/x-y&gt;</h1>');
    for (const phrase of ['£12.50', '£9.99', 'In stock, 100', 'Prices are indicative'])
      expect(text).toContain(phrase);
    expect(text).toContain('<a href="/c/Home">Home</a>');
    const category = /href="(\/c\/Home%20[^"]+)"/.exec(text)?.[1] ?? '';
    expect((await get(category)).text).toContain('<h1>Lamps/Light</h1>');
  });

  it("A product's page answers 404 for products and categories that are not published", async () => {
    for (const path of [
      '/p/prd_000000000000000000000000',
      '/p/none',
      '/c/%00',
      '/c/Nothing',
      '/c/%F0%9F%92%A9',
    ])
      expect([path, (await get(path)).status]).toEqual([path, 404]);
  });
});

describe('A list of products', () => {
  it('A list of products shows every match once, in pages', async () => {
    const first = await search('/s?q=CUP');
    const second = await search('/s?q=CUP&page=2');
    expect([first.length, second.length]).toEqual([24, 6]);
    expect(new Set([...first, ...second]).size).toBe(30);
    // Its subcategory has one more.
    expect(await search('/c/Home?page=999999')).toHaveLength(7);
    expect((await get('/c/hOME%3Elamps%2Flight')).status).toBe(301);
    expect((await get('/c/Home?page=2')).text).toContain('Page 2 of 2');
  });

  it('A list of products accepts any search text', async () => {
    const words = [
      '',
      '   ',
      '"',
      '*',
      'NEAR(',
      "'; drop",
      '\u0000',
      '%ED%A0%80',
      'x'.repeat(900),
      '<i>',
    ];
    for (const word of words) {
      const q = word.startsWith('%') ? word : encodeURIComponent(word);
      for (const path of [`/s?q=${q}`, `/s?q=${q}&q=2&page=-1`])
        expect([path, (await get(path)).status]).toEqual([path, 200]);
    }
    expect((await get('/s?q=%3Ci%3E')).text).toContain('Products for “&lt;i&gt;”');
  });
});

describe('The pages of problems', () => {
  it('The pages of problems exist for every code, as HTML and as Markdown', async () => {
    const list = (await get('/problems')).text;
    for (const code of PROBLEM_CODES) {
      expect(list).toContain(`href="/problems/${code}"`);
      expect((await get(`/problems/${code}`)).text).toContain(`<code>${code}</code>`);
      const twin = await get(`/problems/${code}.md`);
      expect(twin.headers['content-type']).toBe('text/markdown; charset=utf-8');
      expect(twin.text).toContain(`"type": "https://t.example/problems/${code}"`);
    }
    const markdown = await get('/problems/scope_missing', { accept: 'text/markdown' });
    expect(markdown.text.startsWith('# The key lacks the scope\n')).toBe(true);
    for (const path of ['/problems/none', '/problems/toString', '/problems/.md'])
      expect((await get(path)).status).toBe(404);
  });
});

describe('The style sheet', () => {
  it('The style sheet has an immutable address with its hash', async () => {
    const [, href = ''] = /rel="stylesheet" href="([^"]+)"/.exec((await get('/')).text) ?? [];
    const sheet = await get(href);
    expect(sheet.headers).toMatchObject({
      'content-type': 'text/css; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
    });
    const [path = ''] = href.split('?');
    const bare = await get(path, { 'if-none-match': String(sheet.headers['etag']) });
    expect(bare).toMatchObject({ status: 304, headers: { 'cache-control': 'no-cache' } });
    for (const layer of ['base', 'parts', 'pages'])
      expect(sheet.text).toContain(`@layer ${layer} {`);
    expect(sheet.text).not.toMatch(/https?:|@import/);
  });
});
