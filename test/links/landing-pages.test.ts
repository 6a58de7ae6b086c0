/** The pages that short links lead to: what they offer, who promotes them, and how they look where they are shared. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LINK_DISCLOSURE } from '#contracts/boundaries.ts';
import { LIMITS } from '#contracts/limits.ts';
import { feedProduct, testApp, type TestApp } from '../support/world/app.ts';
import { BROWSER, createShortLink } from '../support/world/links.ts';
import { reviews } from '../support/world/reviews.ts';

const ORIGIN = 'https://t.example';
const PICTURES = 'https://img.example';
const WINDOW_MS = LIMITS.ATTRIBUTION_DAYS * 86_400_000;

let app: TestApp;
let key: string;

beforeAll(async () => {
  app = await testApp({ IMAGE_ORIGINS: `${PICTURES}, http://127.0.0.1:8080` });
  ({ key } = await app.agent('acme'));
  await app.publish([
    feedProduct('MUG-1', {
      title: 'Blue "mug" & <cup>',
      image_url: `${PICTURES}/mug.jpg?a=1&b=2`,
      lead_time_days: 4,
    }),
    feedProduct('MUG-2', { title: 'Red mug', image_url: 'https://other.example/mug.jpg' }),
    feedProduct('BOWL-1', { title: 'Bowl', category: 'Bowls' }),
  ]);
});
afterAll(() => app.close());

const get = (url: string) => app.send({ method: 'GET', url, headers: { 'user-agent': BROWSER } });

/** Follows a short link to its page. */
const follow = async (code: string, userAgent = BROWSER) => {
  const headers = { 'user-agent': userAgent };
  const answer = await app.send({ method: 'GET', url: `/l/${code}`, headers });
  const path = (answer.headers['location'] ?? '').slice(ORIGIN.length);
  return { path, page: await get(path) };
};

const tagsOf = (text: string): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(/<meta (?:name|property)="([^"]+)" content="([^"]*)">/g)].map(
      ([, name = '', content = '']) => [name, content],
    ),
  );

describe('A landing page', () => {
  it('A landing page shows the picture, the price tiers, the order rule, the stock and the lead time', async () => {
    const { page } = await follow((await createShortLink(app, key)).code);
    const picture = `<img class="picture" src="${PICTURES}/mug.jpg?a=1&amp;b=2" alt="" referrerpolicy="no-referrer">`;
    const shown = [picture, '£2.50', '£1.99', 'Smallest quantity', 'In steps of', 'In stock, 100'];
    for (const part of [...shown, 'Days to dispatch']) expect(page.text).toContain(part);
    const listed = (await get('/s?q=mug')).text;
    for (const part of [`<img src="${PICTURES}/mug.jpg`, '4+ £2.50 · 48+ £1.99', 'In stock'])
      expect(listed).toContain(part);
    expect(listed).toMatch(/at least\s+4, in steps of 2 · days to dispatch:\s+4/);
  });

  it('A landing page shows only pictures of the origins in IMAGE_ORIGINS', async () => {
    const { text, headers } = await get('/s?q=mug');
    expect(headers['content-security-policy']).toContain(
      `img-src 'self' ${PICTURES} http://127.0.0.1:8080; `,
    );
    expect(text.match(/<img /g)).toHaveLength(1);
    expect(text).not.toContain('other.example');
  });

  it('A landing page leads from each line of a review page, with the pictures of these origins', async () => {
    const { handoff } = reviews({ app: () => app, key: () => key });
    const line_items = [
      { sku: 'MUG-1', quantity: 4 },
      { sku: 'MUG-2', quantity: 4 },
    ];
    const { path } = await handoff({ line_items });
    const { text } = await get(path);
    expect(text.match(/<img [^>]*>/g)).toEqual([
      expect.stringContaining(`src="${PICTURES}/mug.jpg?a=1&amp;b=2"`),
    ]);
    const ways = [...text.matchAll(/<a href="(\/p\/prd_\w+)" target="_blank"/g)];
    expect(ways).toHaveLength(2);
    for (const [, way = ''] of ways) expect((await get(way)).status).toBe(200);
  });

  it('A landing page shows who promotes it and the disclosure only if its address names a link', async () => {
    const link = await createShortLink(app, key);
    const { path, page } = await follow(link.code);
    expect(page.text).toMatch(
      /Promoted by <strong>acme<\/strong>,\s+with the software agent Test agent\./,
    );
    expect(page.text).toContain(LINK_DISCLOSURE);
    const bare = path.split('?')[0] ?? '';
    const unnamed = ['', '?attribution=x', '?attribution=a.b.c', '?via=none', '?via=%00', '?via='];
    for (const query of unnamed) {
      const plain = await get(bare + query);
      expect([query, plain.status, plain.text.includes('Promoted by')]).toEqual([
        query,
        200,
        false,
      ]);
      expect(tagsOf(plain.text)['og:url']).toBe(ORIGIN + bare);
    }
    // The token names the link, whatever the visitor appends.
    const { key: other } = await app.agent('rival');
    const { code } = await createShortLink(app, other);
    for (const appended of [`&via=${code}`, `&attribution=x&via=${code}`])
      expect((await get(path + appended)).text).toContain('Promoted by <strong>acme</strong>');
  });

  it('A landing page has Open Graph and Twitter tags whose URL is the short link, also for previews', async () => {
    const link = await createShortLink(app, key);
    for (const program of [BROWSER, 'facebookexternalhit/1.1']) {
      const { page } = await follow(link.code, program);
      expect(tagsOf(page.text)).toMatchObject({
        'og:title': 'Blue &quot;mug&quot; &amp; &lt;cup&gt;',
        'og:description': 'About MUG-1',
        'og:url': link.short_url,
        'og:image': `${PICTURES}/mug.jpg?a=1&amp;b=2`,
        'twitter:card': 'summary_large_image',
        'twitter:title': 'Blue &quot;mug&quot; &amp; &lt;cup&gt;',
        'twitter:image': `${PICTURES}/mug.jpg?a=1&amp;b=2`,
      });
    }
    const category = { kind: 'category', ref: 'Bowls' };
    const bowls = await createShortLink(app, key, { target: category });
    const tags = tagsOf((await follow(bowls.code)).page.text);
    expect(tags).toMatchObject({ 'og:url': bowls.short_url, 'twitter:card': 'summary' });
    expect(tags).not.toHaveProperty('og:image');
  });

  it('A landing page does not name a disabled link as its URL', async () => {
    const link = await createShortLink(app, key);
    const { path } = await follow(link.code);
    const preview = (await follow(link.code, 'Slackbot')).path;
    const request = { owner_id: 'acme', reason: 'Season over' };
    expect((await app.desk('POST', `/links/${link.id}/disable`, request)).status).toBe(200);
    for (const address of [path, preview])
      expect(tagsOf((await get(address)).text)['og:url']).toBe(ORIGIN + path.split('?')[0]);
  });

  it('A landing page keeps the token in its own links until the window ends', async () => {
    const target = { kind: 'search', ref: 'mug' };
    const { path, page } = await follow((await createShortLink(app, key, { target })).code);
    const token = path.split('attribution=')[1] ?? '';
    const hrefs = [...page.text.matchAll(/<a href="(\/[pcs][/?][^"]*)"/g)].map(([, href]) => href);
    expect(hrefs.length).toBeGreaterThan(2);
    // The footer's link to all products is that of every page.
    for (const href of hrefs.filter((one) => one !== '/s'))
      expect(href).toMatch(new RegExp(`[?;]attribution=${token}$`));
    expect(page.text).toContain(`<input type="hidden" name="attribution" value="${token}">`);
    app.clock.advance(WINDOW_MS);
    const ended = await get(path);
    expect([ended.status, ended.text.includes('Promoted by')]).toEqual([200, false]);
    expect(ended.text).not.toContain(token);
  });

  it('A landing page of a test link says so', async () => {
    const { key: test } = await app.agent('maker', ['links:write'], 'test');
    const { page } = await follow((await createShortLink(app, test)).code);
    expect(page.text).toContain('This is a test link.');
    expect(page.text).toContain('Promoted by <strong>maker</strong>');
  });
});

describe('Without IMAGE_ORIGINS', () => {
  it('No page has a remote picture without IMAGE_ORIGINS', async () => {
    const plain = await testApp();
    await plain.publish([feedProduct('MUG-1', { image_url: `${PICTURES}/mug.jpg` })]);
    const listed = await plain.send({ method: 'GET', url: '/s?q=mug' });
    const path = /href="(\/p\/[^"]+)"/.exec(listed.text)?.[1] ?? '';
    for (const url of ['/s?q=mug', '/c/Gifts', path]) {
      const { text, headers } = await plain.send({ method: 'GET', url });
      expect([url, /<img|og:image|twitter:image/.test(text)]).toEqual([url, false]);
      expect(headers['content-security-policy']).toContain("img-src 'self';");
    }
    await plain.close();
  });
});
