/** Limits of a review link: changes of a list, the events that they append, and requests a minute. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { LIMITS } from '#contracts/limits.ts';
import { feedProduct, testApp, type TestApp } from '../support/world/app.ts';
import { CONTACT, reviews } from '../support/world/reviews.ts';

let app: TestApp;
let key: string;

beforeAll(async () => {
  app = await testApp();
  ({ key } = await app.agent('acme'));
  await app.publish([feedProduct('MUG-1'), feedProduct('MUG-2')]);
});
afterAll(() => app.close());

const { handoff, get, post, events } = reviews({ app: () => app, key: () => key });

const LINES = LIMITS.HANDOFF_LINES_MAX;
const many = () =>
  handoff({ line_items: Array.from({ length: LINES }, () => ({ sku: 'MUG-1', quantity: 48 })) });
const all = (quantity: number): Record<string, string> =>
  Object.fromEntries(
    Array.from({ length: LINES }, (_, i) => [`quantity.${i + 1}`, String(quantity)]),
  );
const lastOf = async (id: string) => {
  const stored = await app.service.deps.log.readStream(`acme-handoff_${id.slice(4)}`);
  return stored.at(-1)?.data;
};

describe('A list that its buyer changes', () => {
  it('A list that its buyer changes appends only the difference, and reads its stream once for each request', async () => {
    const { id, path } = await many();
    await post(`${path}/open`, {});
    const { log } = app.service.deps;
    const reads = vi.spyOn(log, 'readStream');
    const typed = { list_revision: '1', 'quantity.7': '50', 'quantity.9': '0' };
    expect((await post(`${path}/quantities`, typed)).status).toBe(303);
    expect(reads).toHaveBeenCalledTimes(1);
    reads.mockRestore();
    const lastData = await lastOf(id);
    expect(lastData).toMatchObject({ changed: [{ line_id: '7', quantity: 50 }], removed: ['9'] });
    expect(lastData).not.toHaveProperty('lines');
    expect((await get(path)).text).toMatch(/id="quantity\.7"[^>]+value="50"/);
  });

  it('A list that its buyer changes accepts no more changes at its limit, shows what was typed, and can still be sent', async () => {
    const { id, path } = await many();
    const times = LIMITS.HANDOFF_REVISED_LINES_MAX / LINES;
    for (let i = 1; i <= times; i++) {
      const typed = { list_revision: String(i), ...all(48 + 2 * i) };
      expect((await post(`${path}/quantities`, typed)).status).toBe(303);
    }
    const typed = { list_revision: String(times + 1), ...CONTACT, ...all(4) };
    for (const act of ['quantities', 'enter']) {
      const { status, text } = await post(`${path}/${act}`, typed);
      expect([act, status]).toEqual([act, 409]);
      expect(text).toContain('<h2>No more changes can be saved</h2>');
      expect(text).toMatch(/id="quantity\.1"[^>]+value="4"/);
      expect(text).toContain('name="totals" autocomplete="off" value="GBP:1000000"');
      expect(text).toContain('value="bea@shop.example"');
    }
    const sent = await post(`${path}/send`, { ...typed, totals: 'GBP:1000000' });
    expect(sent.status).toBe(303);
    const types = await events(id);
    expect(types.slice(-2)).toEqual(['HandoffListRevisedByBuyer', 'RfqSubmittedByBuyer']);
    expect((await get(path)).text).toContain('£10,000.00');
  });
});

describe('A review link with too many requests', () => {
  it('A review link with too many requests is refused with Retry-After, shows what was typed, and does not affect other links', async () => {
    const [{ id, path }, other] = [await handoff(), await handoff()];
    const tooMuch = async () => {
      for (let opened = 0; ; opened++) {
        const { status, headers } = await post(`${path}/open`, {});
        if (status !== 204 || opened > 9 * LIMITS.BUYER_ACTS_PER_MINUTE)
          return { opened, status, headers };
      }
    };
    const { opened, status: refused, headers: refusalHeaders } = await tooMuch();
    expect(opened).toBeGreaterThanOrEqual(LIMITS.BUYER_ACTS_PER_MINUTE);
    expect(refused).toBe(429);
    expect(Number(refusalHeaders['retry-after'])).toBeGreaterThan(0);
    const typed = { list_revision: '1', ...CONTACT, 'quantity.1': '48', 'quantity.2': '5' };
    for (const act of ['quantities', 'search', 'send', 'decline', 'enter']) {
      await tooMuch();
      const { status, text, headers } = await post(`${path}/${act}`, typed);
      expect([act, status]).toEqual([act, 429]);
      expect(Number(headers['retry-after'])).toBeGreaterThan(0);
      expect(text).toContain('<h2>Please wait a moment</h2>');
      expect(text).toMatch(/id="quantity\.1"[^>]+value="48"/);
      expect(text).toContain('value="bea@shop.example"');
      expect(text).toMatch(/id="consent"[^>]* checked/);
    }
    expect(await events(id)).toEqual(['HandoffCreated', 'HandoffOpenedByBuyer']);
    expect((await post(`${other.path}/quantities`, typed)).status).toBe(200);
  });
});
