/** The signed token that a redirect adds to its landing address, verified as the documentation says. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ATTRIBUTION_PARAMETER, attributionClaims } from '#contracts/links/attribution-token.ts';
import { readAttributionToken } from '#contracts/examples/read-attribution-token.ts';
import { LIMITS } from '#contracts/limits.ts';
import { feedProduct, testApp, type TestApp } from '../support/world/app.ts';
import {
  BROWSER,
  createShortLink,
  type CreatedLink,
  splitLanding,
} from '../support/world/links.ts';

const WINDOW_S = LIMITS.ATTRIBUTION_DAYS * 86_400;
type Keys = (JsonWebKey & { kid: string })[];

let app: TestApp;
let key: string;
let agentId: string;
let productId: string;
let keys: Keys;

beforeAll(async () => {
  app = await testApp();
  ({ key, agentId } = await app.agent('acme'));
  await app.publish([feedProduct('MUG-1', { category: 'Mugs & cups' })]);
  const found = await app.send({ method: 'GET', url: '/api/affiliate/v1/products?q=mug', key });
  productId = (found.body as { data: { id: string }[] }).data[0]?.id ?? '';
  const set = await app.send({ method: 'GET', url: '/.well-known/jwks.json' });
  ({ keys } = set.body);
});
afterAll(() => app.close());

const visit = (
  path: string,
  headers: Record<string, string> = {},
  method: 'GET' | 'HEAD' = 'GET',
) => app.send({ method, url: path, headers: { 'user-agent': BROWSER, ...headers } });

const addressOf = async ({ code }: CreatedLink, query = ''): Promise<string> =>
  (await visit(`/l/${code}${query}`)).headers['location'] ?? '';

const read = (address: string, now = app.clock.now()) =>
  readAttributionToken(address, { keys, now });

const lastVisit = async () =>
  (await app.service.deps.log.readAll({ after: 0, limit: 10_000, types: ['VisitRecorded'] })).at(
    -1,
  );

describe('The attribution token of a landing address', () => {
  it("A landing address's attribution token states only the link, its target and its visit", async () => {
    const targets = [
      { target: { kind: 'product', ref: 'MUG-1' }, ref: productId },
      { target: { kind: 'category', ref: 'Mugs & cups' }, ref: 'Mugs & cups' },
      { target: { kind: 'search', ref: 'blau/grün?&q=2' }, ref: 'blau/grün?&q=2' },
    ];
    for (const { target, ref } of targets) {
      const dims = { campaign: 'autumn', channel: 'email', sub_ids: ['s1'] };
      const link = await createShortLink(app, key, { target, ...dims });
      const address = await addressOf(link);
      const iat = Math.floor(app.clock.now() / 1_000);
      const claims = {
        owner_id: 'acme',
        agent_id: agentId,
        link_id: link.id,
        target: { kind: target.kind, ref },
        visit_id: (await lastVisit())?.id,
        iat,
        exp: iat + WINDOW_S,
      };
      expect(await read(address)).toEqual(claims);
      expect(Object.keys(claims)).toEqual(Object.keys(attributionClaims.shape));
      const page = await visit(address.slice('https://t.example'.length));
      expect(page).toMatchObject({
        status: 200,
        headers: { 'cache-control': 'private, max-age=60', 'x-robots-tag': 'noindex' },
      });
      expect(page.headers['set-cookie']).toBeUndefined();
    }
  });

  it("A landing address's attribution token is valid until the end of its window, and only with the key that signs nothing else", async () => {
    const address = await addressOf(await createShortLink(app, key));
    const { exp } = await read(address);
    expect(await read(address, exp * 1_000 - 1)).toMatchObject({ owner_id: 'acme' });
    await expect(read(address, exp * 1_000)).rejects.toThrow('has ended');
    const [documents, attribution] = keys;
    expect(documents?.kid).not.toBe(attribution?.kid);
    const now = app.clock.now();
    const only = (known: Keys) => readAttributionToken(address, { keys: known, now });
    await expect(only(documents ? [documents] : [])).rejects.toThrow('not signed by the service');
    const renamed = { ...documents, kid: attribution?.kid ?? '' };
    await expect(only([renamed])).rejects.toThrow('of another token');
    expect(await only(attribution ? [attribution] : [])).toMatchObject({ owner_id: 'acme' });
  });

  it("A landing address's attribution token is not valid after any change", async () => {
    const address = await addressOf(await createShortLink(app, key));
    const { page, token = '' } = splitLanding({ headers: { location: address } });
    const [header = '', payload = '', signature = ''] = token.split('.');
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as object;
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const other = encode({ ...claims, owner_id: 'rival' });
    const forged = [
      `${header}.${other}.${signature}`,
      `${header}.${payload}.${Buffer.alloc(64).toString('base64url')}`,
      `${encode({ alg: 'none', typ: 'attribution' })}.${other}.`,
      `${header}.${payload}`,
      'x',
      '',
    ];
    for (const one of forged)
      await expect(read(`${page}?${ATTRIBUTION_PARAMETER}=${one}`)).rejects.toThrow();
  });

  it("A landing address's attribution token is absent for visits that are not valid clicks", async () => {
    const { code, destination_url } = await createShortLink(app, key);
    const invalid: [Record<string, string>, 'GET' | 'HEAD'][] = [
      [{}, 'HEAD'],
      [{ 'sec-purpose': 'prefetch;prerender' }, 'GET'],
      [{ 'user-agent': 'Slackbot-LinkExpanding 1.0' }, 'GET'],
      [{ 'user-agent': 'curl/8.0' }, 'GET'],
      [{ 'sec-fetch-dest': 'iframe' }, 'GET'],
    ];
    for (const [headers, method] of invalid) {
      const answer = await visit(`/l/${code}`, headers, method);
      const { page, token } = splitLanding(answer);
      expect([headers, answer.status, token]).toEqual([headers, 302, undefined]);
      expect(page).toBe(`${destination_url}?via=${code}`);
    }
  });

  it("A landing address's attribution token is absent where the address would exceed the limit of its length", async () => {
    const utm = { source: 'ü'.repeat(255), medium: 'ü'.repeat(255), term: 'ü'.repeat(90) };
    const target = { kind: 'search', ref: 'mug' };
    const long = await createShortLink(app, key, { target, utm });
    expect(long.destination_url.length).toBeLessThan(LIMITS.URL_BYTES_MAX);
    expect(await addressOf(long)).toBe(`${long.destination_url}&via=${long.code}`);
    const short = await createShortLink(app, key, { target, utm: { source: 'ü' } });
    expect((await addressOf(short)).length).toBeGreaterThan(short.destination_url.length);
  });
});

describe('A parameter of a visitor', () => {
  it("A visitor's parameter on the short link is not passed on, so it overrides neither utm, the words nor the token", async () => {
    const target = { kind: 'search', ref: 'mug' };
    const link = await createShortLink(app, key, { target, utm: { source: 'letter' } });
    const own = `${ATTRIBUTION_PARAMETER}=own`;
    const address = await addressOf(link, `?utm_source=x&utm_term=y&q=z&${own}`);
    expect(address.startsWith(`${link.destination_url}&${ATTRIBUTION_PARAMETER}=ey`)).toBe(true);
    expect(await read(address)).toMatchObject({ link_id: link.id });
  });

  it("A visitor's parameter on the short link does not change a scan to a click", async () => {
    const { code } = await createShortLink(app, key);
    await visit(`/l/${code}?via=qr&via=mail`);
    expect((await lastVisit())?.data).toMatchObject({ trigger: 'qr' });
    await visit(`/l/${code}?via=mail&via=qr`);
    expect((await lastVisit())?.data).toMatchObject({ trigger: 'link' });
  });

  it("A visitor's parameter that is appended to the landing address overrides neither the words nor the token", async () => {
    const link = await createShortLink(app, key, { target: { kind: 'search', ref: 'mug' } });
    const address = await addressOf(link);
    const other = await addressOf(await createShortLink(app, key));
    const appended = `${address}&q=other&${ATTRIBUTION_PARAMETER}=${splitLanding({ headers: { location: other } }).token}`;
    expect(await read(appended)).toMatchObject({ link_id: link.id });
    const page = await visit(appended.slice('https://t.example'.length));
    expect(page.text).toContain('Products for “mug”');
  });
});
