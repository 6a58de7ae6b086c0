import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FALSE_CLICKS } from '#src/links/false-clicks.ts';
import { HANG_MS } from '../support/hang.ts';
import { feedProduct, testApp, type TestApp } from '../support/world/app.ts';
import { BROWSER, createShortLink, splitLanding } from '../support/world/links.ts';

const DAY_MS = 86_400_000;

let app: TestApp;
let key: string;

beforeAll(async () => {
  app = await testApp({ COUNTRY_HEADER: 'X-Country' });
  ({ key } = await app.agent('acme'));
  await app.publish([feedProduct('MUG-1'), feedProduct('MUG-2')]);
});
afterAll(() => app.close());

const link = (body: object = {}) => createShortLink(app, key, body);
const visit = (
  path: string,
  headers: Record<string, string> = {},
  method: 'GET' | 'HEAD' | 'POST' = 'GET',
) => app.send({ method, url: path, headers: { 'user-agent': BROWSER, ...headers } });

const visits = async (): Promise<Record<string, unknown>[]> =>
  (await app.service.deps.log.readAll({ after: 0, limit: 10_000 }))
    .filter(({ type }) => type === 'VisitRecorded')
    .map(({ data }) => data as Record<string, unknown>);

describe('A short link', () => {
  it('A short link redirects after its visit is stored', async () => {
    const { code, destination_url } = await link();
    const before = (await visits()).length;
    const answer = await visit(`/l/${code}`, {
      'x-country': 'de',
      referer: 'https://blog.example/a?b',
    });
    expect(answer).toMatchObject({
      status: 302,
      headers: {
        'cache-control': 'no-store',
        'x-robots-tag': 'noindex, nofollow',
        'referrer-policy': 'strict-origin-when-cross-origin',
      },
    });
    expect(splitLanding(answer).page).toBe(destination_url);
    const recorded = await visits();
    expect(recorded).toHaveLength(before + 1);
    expect(recorded.at(-1)).toMatchObject({
      country: 'DE',
      device: 'desktop',
      referrer_host: 'blog.example',
      trigger: 'link',
    });
    expect(recorded.at(-1)).not.toHaveProperty('signals');
  });

  it('A short link ignores the case of its code, and distinguishes a scan from a click', async () => {
    await link({ slug: 'spring-mugs' });
    expect((await visit('/l/SPRING-Mugs?via=qr', { 'x-country': 'Germany' })).status).toBe(302);
    const recorded = (await visits()).at(-1);
    expect(recorded).toMatchObject({ trigger: 'qr' });
    expect(recorded).not.toHaveProperty('country');
  });

  it('A short link redirects regardless of what a mailer appended to its address', async () => {
    const { code, destination_url } = await link();
    for (const query of ['?via=qr&utm_term=50%off', '?r=%e9', '?via=qr).'])
      expect(splitLanding(await visit(`/l/${code}${query}`)).page).toBe(destination_url);
  });

  it('A short link marks visits of programs with a signal', async () => {
    const { code } = await link();
    const signals = async () => (await visits()).at(-1)?.['signals'];
    expect((await visit(`/l/${code}`, {}, 'HEAD')).status).toBe(302);
    expect(await signals()).toEqual(['head']);
    for (const dest of ['image', 'iframe', 'script', 'empty']) {
      expect((await visit(`/l/${code}`, { 'sec-fetch-dest': dest })).status).toBe(302);
      expect(await signals()).toEqual(['embedded']);
    }
    await visit(`/l/${code}`, { 'sec-fetch-dest': 'document' });
    expect(await signals()).toBeUndefined();
  });

  it('A short link counts no request of the lists of false clicks as a click, and redirects it', async () => {
    const { code } = await link();
    const { version, headers, purposes, programs } = FALSE_CLICKS;
    expect(version).toMatch(/^\d{4}-\d{2}-\d{2}$/);
    const IN_APP = 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) [FBAN/FBIOS;FBAV/440]';
    const seen = async (sent: Record<string, string>) => {
      expect((await visit(`/l/${code}`, sent)).status).toBe(302);
      return (await visits()).at(-1)?.['signals'];
    };
    for (const { name } of headers)
      for (const purpose of purposes.flatMap((one) => [one, `${one};x`, one.toUpperCase()]))
        expect(await seen({ [name]: purpose, 'user-agent': IN_APP }), name).toEqual(['prefetch']);
    expect(await seen({ 'x-purpose': 'other', 'user-agent': IN_APP })).toBeUndefined();
    for (const { name } of programs)
      for (const agent of [name, `Mozilla/4.0 (compatible; ${name}; 16)`, name.toUpperCase()])
        expect(await seen({ 'user-agent': agent }), agent).toEqual(['preview']);
    for (const { name, reported } of [...headers, ...programs])
      expect([name, URL.parse(reported)?.protocol]).toEqual([name, 'https:']);
  });

  it.each([
    'Mozilla/4.0 (compatible; ms-office; MSOffice 16)',
    'Mozilla/4.0 (compatible; MSIE 7.0; Windows NT 10.0; Microsoft Outlook 16.0.5257; ms-office; MSOffice 16)',
    'Microsoft Office/16.0 (Windows NT 10.0; Microsoft Outlook 16.0.8241; Pro)',
    'Microsoft Office Word/16.78 (Macintosh)',
    'Microsoft Office Existence Discovery',
  ])('A short link is not clicked by a program of Office: %s', async (agent) => {
    const { code } = await link();
    await visit(`/l/${code}`, { 'user-agent': agent });
    expect((await visits()).at(-1)).toHaveProperty('signals');
  });

  it('A short link that has expired redirects to its other target, or says that it has ended', async () => {
    const expires_at = new Date(app.clock.now() + DAY_MS).toISOString();
    const plain = await link({ expires_at });
    const other = await link({ expires_at, expired_target: { kind: 'search', ref: 'mugs' } });
    app.clock.advance(2 * DAY_MS);
    const before = (await visits()).length;
    const expired = await visit(`/l/${plain.code}`);
    expect(expired.status).toBe(410);
    expect(expired.text).toContain('<h1>This link has ended</h1>');
    expect(await visits()).toHaveLength(before);
    const led = await visit(`/l/${other.code}`);
    expect([led.status, splitLanding(led).page]).toEqual([302, 'https://t.example/s?q=mugs']);
    expect(await visits()).toHaveLength(before + 1);
  });

  it('A short link redirects to the current origin of the service, regardless of the origin when it was created', async () => {
    const { deps } = app.service;
    const { origin } = deps;
    const expires_at = new Date(app.clock.now() + DAY_MS).toISOString();
    const utm = { source: 'a & b', campaign: 'it’s' };
    const createdLinks: { path: string; to: string }[] = [];
    const from = async (address: string, body: object): Promise<void> => {
      deps.origin = () => address;
      const { code, destination_url } = await link(body);
      createdLinks.push({ path: `/l/${code}`, to: destination_url.slice(address.length) });
    };
    try {
      for (const address of [
        'http://127.0.0.1:3000',
        'https://old.example',
        'https://x.example/sub',
      ])
        for (const target of [
          { kind: 'product', ref: 'MUG-1' },
          { kind: 'category', ref: 'Gifts' },
          { kind: 'search', ref: '//evil.example/s?x' },
        ])
          await from(address, { target, utm, sub_ids: ['s1'] });
      deps.origin = () => 'http://old.example';
      const ended = await link({ expires_at, expired_target: { kind: 'search', ref: 'mugs' } });
      deps.origin = origin;
      for (const { path, to } of createdLinks)
        expect(splitLanding(await visit(path)).page).toBe(`https://t.example${to}`);
      app.clock.advance(2 * DAY_MS);
      expect(splitLanding(await visit(`/l/${ended.code}`)).page).toBe('https://t.example/s?q=mugs');
    } finally {
      deps.origin = origin;
    }
  });

  it('A short link whose product is withdrawn redirects to its other target, or to a page with alternatives', async () => {
    await app.publish([feedProduct('CUP-1', { title: 'Cup <1>' }), feedProduct('CUP-2')]);
    const product = { kind: 'product', ref: 'CUP-1' };
    const plain = await link({ target: product });
    const other = await link({ target: product, expired_target: { kind: 'search', ref: 'cups' } });
    expect(splitLanding(await visit(`/l/${other.code}`)).page).toBe(plain.destination_url);
    const request = { sku: 'CUP-1', reason: 'Sold out' };
    expect((await app.desk('POST', '/products/withdraw', request)).status).toBe(200);
    const before = (await visits()).length;
    const led = await visit(`/l/${other.code}`);
    expect([led.status, splitLanding(led).page]).toEqual([302, 'https://t.example/s?q=cups']);
    const on = await visit(`/l/${plain.code}`);
    expect([on.status, splitLanding(on).page]).toEqual([302, plain.destination_url]);
    expect(await visits()).toHaveLength(before + 2);
    const page = await visit(new URL(plain.destination_url).pathname);
    expect(page).toMatchObject({ status: 410, headers: { 'cache-control': 'no-store' } });
    expect(page.text).toContain('<h1>Cup &lt;1&gt;</h1>');
    const way = /<a href="(\/c\/[^"]+)">What is still offered/.exec(page.text)?.[1] ?? '';
    expect((await visit(way)).text).toContain('CUP-2');
    await app.publish([feedProduct('CUP-1')]);
    expect(splitLanding(await visit(`/l/${other.code}`)).page).toBe(plain.destination_url);
    expect((await visit(new URL(plain.destination_url).pathname)).status).toBe(200);
  });

  it('A short link that was disabled answers 410, and its QR code is still served', async () => {
    const { id, code } = await link();
    const request = { owner_id: 'acme', reason: 'Season over' };
    expect((await app.desk('POST', `/links/${id}/disable`, request)).status).toBe(200);
    expect((await visit(`/l/${code}`)).status).toBe(410);
    expect((await visit(`/l/${code}/qr.svg`)).status).toBe(200);
  });

  it('A short link that does not exist answers 404 and stores no visit', async () => {
    const before = (await visits()).length;
    for (const path of ['/l/nothing-here', '/l/x', `/l/${'a'.repeat(200)}`, '/l/a/b']) {
      const answer = await visit(path);
      expect([path, answer.status]).toEqual([path, 404]);
      expect(answer.headers['content-type']).toBe('text/html; charset=utf-8');
    }
    const posted = await visit('/l/nothing-here', {}, 'POST');
    expect([posted.status, posted.headers['allow']]).toEqual([405, 'GET, HEAD']);
    expect(await visits()).toHaveLength(before);
  });

  it('A short link does not redirect when the visit cannot be stored', async () => {
    const { code } = await link();
    const { log } = app.service.deps;
    const append = log.append;
    const { LogUnavailable } = await import('#src/ports/event-log.ts');
    log.append = () => Promise.reject(new LogUnavailable('fault', 'unknown', 'no disk'));
    try {
      const answer = await visit(`/l/${code}`);
      expect(answer).toMatchObject({ status: 503, headers: { 'retry-after': '5' } });
      expect(answer.headers['location']).toBeUndefined();
    } finally {
      log.append = append;
    }
    expect((await visit(`/l/${code}`)).status).toBe(302);
  });
});

describe('The QR code of a short link', () => {
  it("A short link's QR code has the same bytes every time, and can be cached", async () => {
    const { qr_svg_url, qr_png_url } = await link({ slug: 'winter-mugs' });
    for (const [url, type] of [
      [qr_svg_url, 'image/svg+xml; charset=utf-8'],
      [qr_png_url, 'image/png'],
    ] as const) {
      const path = new URL(url).pathname;
      const answers = [
        await app.service.server.inject(path),
        await app.service.server.inject(path),
      ];
      expect(answers[0]?.rawPayload.equals(answers[1]?.rawPayload ?? Buffer.alloc(0))).toBe(true);
      const headers: Record<string, unknown> = answers[0]?.headers ?? {};
      expect(headers).toMatchObject({
        'content-type': type,
        'cache-control': 'public, max-age=86400',
      });
      const cached = await visit(path, { 'if-none-match': `${String(headers['etag'])}, "x"` });
      expect(cached).toMatchObject({ status: 304, text: '' });
      expect((await visit(path, { 'if-none-match': '"other"' })).status).toBe(200);
    }
    expect((await visit('/l/no-such-link/qr.png')).status).toBe(404);
  });
});

describe('A link that one network address follows more often than the limit', () => {
  it('A link that one network address follows more often than the limit redirects each time, and its surplus visits are raw clicks', async () => {
    const small = await testApp({ ADDRESS_VISITS_PER_MINUTE: '1' });
    const { key: own } = await small.agent('acme');
    const { code } = await createShortLink(small, own, { target: { kind: 'search', ref: 'mugs' } });
    for (let n = 0; n < 5; n += 1) {
      const answer = await small.send({
        method: 'GET',
        url: `/l/${code}`,
        headers: { 'user-agent': BROWSER },
      });
      expect([answer.status, splitLanding(answer).token !== undefined]).toEqual([302, n === 0]);
    }
    const { visits: recorder, following, log } = small.service.deps;
    await recorder.flush();
    await following.passed((await log.head()).position, HANG_MS);
    const events = await log.readAll({ after: 0, limit: 1_000 });
    const ofVisits = events.filter(({ type }) => type.startsWith('Visit')).map(({ type }) => type);
    expect(ofVisits).toEqual(['VisitRecorded', 'VisitsSummed']);
    const { body } = await small.send({
      method: 'GET',
      url: '/api/affiliate/v1/performance',
      key: own,
    });
    expect(body).toMatchObject({
      totals: { clicks_raw: 5, clicks_valid: 1, clicks_unique: 1, clicks_surplus: 4 },
    });
    await small.close();
  });
});
