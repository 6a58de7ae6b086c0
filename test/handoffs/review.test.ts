import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { en } from '#src/shared/messages/en.ts';
import { BOUNDARIES } from '#contracts/boundaries.ts';
import { feedProduct, testApp, type TestApp } from '../support/world/app.ts';
import { ACTS, CONTACT, reviews } from '../support/world/reviews.ts';

let app: TestApp;
let key: string;

beforeAll(async () => {
  app = await testApp();
  ({ key } = await app.agent('acme'));
  await app.publish([
    feedProduct('MUG-1', { title: 'Blue <Mug>' }),
    feedProduct('MUG-2', {}, { available_quantity: 3 }),
    feedProduct('OLD-1'),
    feedProduct('OLD-2'),
  ]);
});
afterAll(() => app.close());

const { handoff, get, post, events } = reviews({ app: () => app, key: () => key });

describe('The review page', () => {
  it('The review page names the preparer and the costs, and says that nothing is ordered', async () => {
    const { path } = await handoff({
      note_to_buyer: 'Line 1\n<script>',
      buyer: { company: 'Corner Shop' },
    });
    const { status, text, headers } = await get(path);
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-robots-tag': 'noindex, nofollow',
    });
    for (const phrase of [
      '<html lang="en-GB">',
      'A list for Corner Shop to review',
      '>Autumn &amp; co</h1>',
      'Prepared by <strong>Test agent</strong>, a software agent acting for the',
      '<strong>acme</strong>, who may be rewarded',
      'Nothing is ordered until staff and you agree.',
      'Line 1\n&lt;script&gt;',
      'Blue &lt;Mug&gt;',
      'for &lt;b&gt;Ann&lt;/b&gt;',
      'The quantity is not a multiple of the order increment (2).',
      'The stock last reported is below the quantity on the list (3).',
      '£22.50',
      en.consent,
      ...BOUNDARIES.map(({ statement }) => statement),
    ])
      expect(text).toContain(phrase);
    expect(text).toContain('20 December 2026 at 10:00 UTC');
  });

  it("The review page formats amounts and dates in the handoff's locale", async () => {
    const { path } = await handoff({ locale: 'de-DE' });
    const { text } = await get(path);
    expect(text).toContain('<html lang="de-DE">\n');
    expect(text).toContain('22,50\u00a0£');
    expect(text).toContain('20. Dezember 2026 um 10:00 UTC');
  });

  it('The review page appends no event when it is read, with any method', async () => {
    const { id, path } = await handoff();
    for (const method of ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'] as const)
      await app.send({ method, url: path });
    for (const act of ACTS) await get(`${path}/${act}`);
    expect(await events(id)).toEqual(['HandoffCreated']);
  });

  it('The review page shows what has changed since the list was prepared', async () => {
    const lines = [
      { sku: 'OLD-1', quantity: 4 },
      { sku: 'OLD-2', quantity: 4 },
    ];
    const { path } = await handoff({ line_items: lines });
    await app.publish([
      feedProduct('OLD-1', { price_tiers: [{ min_quantity: 4, unit_price: 300 }] }),
    ]);
    const withdrawal = { sku: 'OLD-2', reason: 'Sold out' };
    expect((await app.desk('POST', '/products/withdraw', withdrawal)).status).toBe(200);
    const { text } = await get(path);
    // One number for what to look at, which leads there.
    expect(text).toContain('<dt>To look at</dt><dd><a href="#quantity.1">2 lines</a></dd>');
    expect(text).toContain('That is £12.00 in place of £10.00.');
    expect(text).toContain('At today’s prices: £22.00.');
    expect(text).toContain('The price is now £3.00; it was £2.50 when this line was priced.');
    expect(text).toContain(
      'No longer offered: “Sold out”. Set the quantity to 0 to take it off the list.',
    );
  });

  it('The review page shows its title with the selectors that an emoji needs, and without others', async () => {
    const { path } = await handoff({ title: 'Mugs\ufe0f and\u180b bowls ❤\ufe0f' });
    const { text } = await get(path);
    expect(text).toMatch(/<h1 [^>]*>Mugs and bowls ❤\ufe0f<\/h1>/);
    expect(text).toContain('<title>Mugs and bowls ❤\ufe0f ·');
  });

  it('The review page marks a test list', async () => {
    const test = await app.agent('acme', undefined, 'test');
    const { path } = await handoff({}, test.key);
    const { text } = await get(path);
    expect(text).toContain('This is a test list.');
    expect(text).toContain('promoter <strong>acme</strong>');
  });

  it('The review page is usable and small with a thousand lines', async () => {
    const line_items = Array.from({ length: 1_000 }, (_, i) => ({ sku: 'MUG-2', quantity: i + 1 }));
    const { id, path } = await handoff({ line_items });
    await get(path);
    const { text } = await get(path);
    expect(text.length).toBeLessThan(1_500_000);
    const changed = Object.fromEntries(
      line_items.map((_, i) => [`quantity.${i + 1}`, '100000000']),
    );
    expect((await post(`${path}/quantities`, { list_revision: '1', ...changed })).status).toBe(303);
    expect(await events(id)).toContain('HandoffListRevisedByBuyer');
  });
});

describe('A review link', () => {
  it('A review link refuses every credential', async () => {
    const { id, path } = await handoff();
    const headers = { authorization: `Bearer ${key}` };
    for (const answer of [
      await get(path, headers),
      await get(`/h/${'0'.repeat(40)}`, headers),
      await post(`${path}/send`, { list_revision: '1', ...CONTACT }, headers),
      await get('/h/a/b/c', { authorization: 'Basic eDp5' }),
    ]) {
      expect(answer).toMatchObject({
        status: 403,
        body: { code: 'boundary_forbidden', status: 403 },
      });
      expect(answer.headers['content-type']).toBe('application/problem+json');
      expect(answer.headers['cache-control']).toBe('no-store');
    }
    expect(await events(id)).toEqual(['HandoffCreated']);
  });

  it('A review link refuses a form from another site', async () => {
    const { id, path } = await handoff();
    const fields = { list_revision: '1', ...CONTACT };
    const foreign: Record<string, string>[] = [
      { 'sec-fetch-site': 'cross-site', origin: 'https://t.example' },
      { 'sec-fetch-site': 'same-site' },
      { origin: 'https://t.example.evil.example' },
      { origin: 'http://t.example' },
    ];
    for (const headers of foreign)
      for (const act of ACTS)
        expect((await post(`${path}/${act}`, fields, headers)).status).toBe(403);
    expect(await events(id)).toEqual(['HandoffCreated']);
    const own: Record<string, string>[] = [
      { 'sec-fetch-site': 'same-origin', origin: 'null' },
      { 'sec-fetch-site': 'none' },
      { origin: 'https://t.example' },
      { origin: 'null' },
      {},
    ];
    for (const headers of own) expect((await post(`${path}/open`, {}, headers)).status).toBe(204);
  });

  it('A review link that does not exist answers 404', async () => {
    for (const token of [
      '0'.repeat(40),
      'x',
      '%00',
      'A'.repeat(40),
      '%F0%9F%92%A9',
      'z'.repeat(300),
    ])
      for (const path of [`/h/${token}`, `/h/${token}/nothing`]) {
        const answer = await get(path);
        // What cannot be in a token is taken for something behind the address.
        const isClean = /^[0-9A-Za-z]+$/.test(token);
        expect([path, answer.status]).toEqual([path, isClean ? 404 : 301]);
        if (isClean) expect(answer.headers['content-type']).toBe('text/html; charset=utf-8');
      }
    for (const act of ACTS)
      expect((await post(`/h/${'0'.repeat(40)}/${act}`, CONTACT)).status).toBe(404);
  });

  it('A review link answers a body that is not one of its forms with an error page, and changes nothing', async () => {
    const { id, path } = await handoff();
    const send = (payload: string, type: string) =>
      app.send({ method: 'POST', url: `${path}/send`, payload, headers: { 'content-type': type } });
    const FORM = 'application/x-www-form-urlencoded';
    expect((await send('{"name":"x"}', 'application/json')).status).toBe(415);
    expect((await send('<x/>', 'text/xml')).status).toBe(415);
    expect((await send(`name=${'x'.repeat(262_145)}`, FORM)).status).toBe(413);
    const odd = [
      '',
      '&&&',
      '%',
      'name=%ff%fe&email=%',
      '__proto__=1&constructor=2',
      'list_revision=1&list_revision=2',
      'quantity.=1',
      'consent=yes&name=%00',
    ];
    for (const body of odd) {
      const { status } = await send(body, FORM);
      expect([body, [409, 422].includes(status)]).toEqual([body, true]);
    }
    for (const body of odd)
      expect([
        body,
        (
          await app.send({
            method: 'POST',
            url: `${path}/quantities`,
            payload: body,
            headers: { 'content-type': FORM },
          })
        ).status,
      ]).not.toEqual([body, 500]);
    expect(await events(id)).toEqual(['HandoffCreated', 'HandoffOpenedByBuyer']);
  });
});

describe('An internal error', () => {
  it('An internal error is an HTML page for a browser and a problem for a program, without the text of the error', async () => {
    const { path } = await handoff();
    const { log } = app.service.deps;
    const readStream = log.readStream;
    log.readStream = () => Promise.reject(new Error('secret words'));
    try {
      const answer = await get(path, { accept: 'text/html' });
      expect(answer.status).toBe(500);
      expect(answer.text).toContain('<h1>Something here is wrong</h1>');
      expect(answer.text).not.toContain('secret');
      expect((await get(path, { accept: 'application/json' })).body).toMatchObject({
        code: 'internal_error',
      });
    } finally {
      log.readStream = readStream;
    }
  });
});
