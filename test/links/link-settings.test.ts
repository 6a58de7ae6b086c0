/** What the profile of an owner decides for all of the owner's links: the attribution window and the fallback target. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AttributionClaims } from '#contracts/links/attribution-token.ts';
import { LIMITS } from '#contracts/limits.ts';
import { endLogServers, logServer } from '../support/eventstoredb/log-server.ts';
import { HANG_MS } from '../support/hang.ts';
import { feedProduct, freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { BROWSER, createShortLink, splitLanding } from '../support/world/links.ts';

const PROFILE = { name: 'Acme', postal_address: 'London', mailbox: 'office@acme.example' };
const DAY_MS = 86_400_000;
const FALLBACK = { kind: 'search', ref: 'mugs & cups' };
const FALLBACK_PAGE = 'https://t.example/s?q=mugs%20%26%20cups';

let app: TestApp;
let key: string;
let expires_at: string;

beforeEach(async () => {
  app = await testApp();
  ({ key } = await app.agent('acme'));
  await app.publish([feedProduct('MUG-1'), feedProduct('CUP-1')]);
  expires_at = new Date(app.clock.now() + DAY_MS).toISOString();
});
afterEach(() => app.close());

const path = '/owners/acme/profile';
const set = (settings: object, to = app) => to.desk('POST', path, { ...PROFILE, ...settings });
const remove = () => app.desk('POST', `${path}/remove`, { reason: 'Left' });
const disable = (id: string) =>
  app.desk('POST', `/links/${id}/disable`, { owner_id: 'acme', reason: 'Season over' });
const follow = (code: string, at = app) =>
  at.send({ method: 'GET', url: `/l/${code}`, headers: { 'user-agent': BROWSER } });
const clicks = async () =>
  (await app.service.deps.log.readAll({ after: 0, limit: 10_000, types: ['VisitRecorded'] }))
    .length;
const claimsOf = ({ token = '' }: { token: string | undefined }): AttributionClaims =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
const landing = async (code: string, at = app) => splitLanding(await follow(code, at));
const windowOf = async (code: string, at = app): Promise<number> => {
  const { iat, exp } = claimsOf(await landing(code, at));
  return (exp - iat) / 86_400;
};

describe('The attribution window of an owner', () => {
  it("An owner's attribution window is that of tokens signed from now on, in the test space as well", async () => {
    const { code } = await createShortLink(app, key);
    const before = await windowOf(code);
    await set({ attribution_days: 7 });
    const during = await windowOf(code);
    const { key: testKey } = await app.agent('acme', undefined, 'test');
    const ofTest = await windowOf((await createShortLink(app, testKey)).code);
    const { key: rivalKey } = await app.agent('rival');
    const ofRival = await windowOf((await createShortLink(app, rivalKey)).code);
    await set({});
    const reset = await windowOf(code);
    await set({ attribution_days: LIMITS.ATTRIBUTION_DAYS_MAX });
    await remove();
    const windows = [before, during, ofTest, ofRival, reset, await windowOf(code)];
    const { ATTRIBUTION_DAYS: days } = LIMITS;
    expect(windows).toEqual([days, 7, 7, days, days, days]);
  });
});

describe('The fallback target of an owner', () => {
  it("An owner's fallback target replaces the target of an expired link without another one, with a visit and a token", async () => {
    const plain = await createShortLink(app, key, { expires_at });
    const expired_target = { kind: 'search', ref: 'sale' };
    const own = await createShortLink(app, key, { expires_at, expired_target });
    await set({ fallback: FALLBACK });
    expect((await landing(plain.code)).page).toBe(plain.destination_url);
    app.clock.advance(2 * DAY_MS);
    const before = await clicks();
    const landed = await landing(plain.code);
    expect(landed.page).toBe(FALLBACK_PAGE);
    expect(claimsOf(landed)).toMatchObject({ link_id: plain.id, target: FALLBACK });
    expect((await landing(own.code)).page).toBe('https://t.example/s?q=sale');
    expect(await clicks()).toBe(before + 2);
    await remove();
    expect((await follow(plain.code)).status).toBe(410);
    expect(await clicks()).toBe(before + 2);
  });

  it("An owner's fallback target replaces a withdrawn product of a link without another target", async () => {
    const { code, destination_url } = await createShortLink(app, key);
    await app.desk('POST', '/products/withdraw', { sku: 'MUG-1', reason: 'Sold out' });
    expect((await landing(code)).page).toBe(destination_url);
    await set({ fallback: { kind: 'product', ref: 'CUP-1' } });
    const { fallback } = (await app.desk('GET', path)).body as { fallback: { ref: string } };
    expect(fallback).toEqual({ kind: 'product', ref: expect.stringMatching(/^prd_/) });
    expect((await landing(code)).page).toBe(`https://t.example/p/${fallback.ref}`);
  });

  it("An owner's fallback target replaces the target of each disabled link, without a visit or a promoter", async () => {
    const expired_target = { kind: 'search', ref: 'sale' };
    const { id, code } = await createShortLink(app, key, { expires_at, expired_target });
    await disable(id);
    const before = await clicks();
    expect((await follow(code)).status).toBe(410);
    await set({ fallback: { kind: 'category', ref: 'Gifts' } });
    const page = { page: 'https://t.example/c/Gifts', token: undefined };
    expect(await landing(code)).toEqual(page);
    app.clock.advance(2 * DAY_MS);
    expect(await landing(code)).toEqual(page);
    expect(await clicks()).toBe(before);
  });

  it("An owner's fallback target and window are refused if they are invalid, and shown with the profile", async () => {
    const invalid: [object, string][] = [
      [{ attribution_days: 0 }, '/attribution_days'],
      [{ attribution_days: LIMITS.ATTRIBUTION_DAYS_MAX + 1 }, '/attribution_days'],
      [{ attribution_days: 1.5 }, '/attribution_days'],
      [{ fallback: 'https://evil.example' }, '/fallback'],
      [{ fallback: { kind: 'url', ref: 'https://evil.example' } }, '/fallback/kind'],
      [{ fallback: { kind: 'product', ref: 'NONE-1' } }, '/fallback/ref'],
      [{ fallback: { kind: 'category', ref: 'None' } }, '/fallback/ref'],
    ];
    for (const [settings, pointer] of invalid) {
      const { status, body } = await set(settings);
      expect([settings, status, body]).toEqual([
        settings,
        422,
        expect.objectContaining({ errors: [expect.objectContaining({ pointer })] }),
      ]);
    }
    await set({});
    const { body } = await app.desk('GET', path);
    expect(body).toMatchObject({ attribution_days: LIMITS.ATTRIBUTION_DAYS });
    expect(body).not.toHaveProperty('fallback');
    await set({ attribution_days: 1, fallback: FALLBACK });
    expect((await app.desk('GET', path)).body).toMatchObject({
      attribution_days: 1,
      fallback: FALLBACK,
    });
  });

  it("An owner's fallback target is set once by a retry, even after its product is withdrawn", async () => {
    const request = {
      method: 'POST' as const,
      url: `/api/desk/v1${path}`,
      key: app.deskToken,
      headers: { 'idempotency-key': freshKey() },
      payload: { ...PROFILE, fallback: { kind: 'product', ref: 'CUP-1' } },
    };
    const first = await app.send(request);
    await app.desk('POST', '/products/withdraw', { sku: 'CUP-1', reason: 'Sold out' });
    const again = await app.send(request);
    expect([again.status, again.body]).toEqual([200, first.body]);
    expect(await app.service.deps.log.readStream('acme-owner_profile')).toHaveLength(1);
  });

  it("An owner's fallback target and window apply to redirects of another process once it has read the change", async () => {
    const { url } = await logServer();
    const ROOT_KEY = Buffer.alloc(32, 9).toString('base64');
    const open = () => testApp({ EVENT_LOG_URL: url, ROOT_KEY });
    const [one, other] = await Promise.all([open(), open()]);
    try {
      const agent = await one.agent('acme');
      const target = { target: FALLBACK };
      const active = await createShortLink(one, agent.key, target);
      const disabled = await createShortLink(one, agent.key, target);
      await one.desk('POST', `/links/${disabled.id}/disable`, { owner_id: 'acme', reason: 'Over' });
      await set({ attribution_days: 2, fallback: FALLBACK }, one);
      const { log, following } = other.service.deps;
      await following.passed((await log.head()).position, HANG_MS);
      expect((await landing(disabled.code, other)).page).toBe(FALLBACK_PAGE);
      expect(await windowOf(active.code, other)).toBe(2);
    } finally {
      await Promise.all([one.close(), other.close()]);
      await endLogServers();
    }
  });
});
