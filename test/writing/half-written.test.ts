/** A store that fails during a call: the answer is true, and a retry with the same key completes the call. */
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { EventType } from '#contracts/registries/events.ts';
import { LogUnavailable } from '#src/ports/event-log.ts';
import { includesType, interceptAppends } from '../support/appends.ts';
import { feedProduct, freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { atDesk } from '../support/world/desk-scenes.ts';

let app: TestApp;
let key: string;
beforeAll(async () => {
  app = await testApp();
  ({ key } = await app.agent('acme'));
});
afterAll(() => app.close());
afterEach(() => vi.restoreAllMocks());

/** Fails all appends of this event type as on a full disk, after the first `allowed` ones. */
const failAppendsOf = (full: EventType, allowed = 0): void => {
  const { log } = app.service.deps;
  let left = allowed;
  interceptAppends(log, async (appends, write) => {
    if (includesType(appends, full) && (left -= 1) < 0)
      throw new LogUnavailable('full', 'no', 'no space on the disk');
    return write(appends);
  });
};
const typesSince = async (after: number): Promise<string[]> =>
  (await app.service.deps.log.readAll({ after, limit: 100 })).map(({ type }) => type);
const head = async (): Promise<number> => (await app.service.deps.log.head()).position;

const UNKNOWN = {
  status: 503,
  body: {
    code: 'storage_unavailable',
    outcome: 'unknown',
    recovery: { action: 'retry_same_key', retryable: true },
  },
};
const REPLAYED = { headers: { 'idempotent-replayed': 'true' } };

const company = { name: 'Corner Shop', country: 'GB' };
const submit = (email: string, over: object = {}, idempotencyKey = freshKey()) =>
  app.send({
    method: 'POST',
    url: '/api/affiliate/v1/leads',
    key,
    payload: {
      external_id: 'crm-1',
      company,
      contact: { name: 'Ada Byron', email },
      consent: { basis: 'consent', obtained_at: '2026-11-19T09:00:00Z' },
      ...over,
    },
    headers: { 'idempotency-key': idempotencyKey },
  });

describe('A lead', () => {
  it('A stored lead that cannot be shown has an unknown outcome, and is shown on a retry with the same key', async () => {
    const [again, mine] = [freshKey(), { external_id: 'crm-2' }];
    const { vault } = app.service.deps;
    vi.spyOn(vault, 'unseal').mockRejectedValue(new LogUnavailable('fault', 'no', 'away'));
    const before = await head();
    expect(await submit('shown@buyer.example', mine, again)).toMatchObject(UNKNOWN);
    expect(await typesSince(before)).toContain('LeadSubmitted');
    vi.restoreAllMocks();
    expect(await submit('shown@buyer.example', mine, again)).toMatchObject({
      status: 201,
      ...REPLAYED,
    });
  });

  it('A lead that is not stored has the outcome none', async () => {
    const lead = { external_id: 'crm-3', contact: undefined, consent: undefined };
    failAppendsOf('RequestBound');
    const before = await head();
    expect(await submit('', lead)).toMatchObject({
      status: 507,
      body: { code: 'storage_full', outcome: 'none' },
    });
    expect(await typesSince(before)).not.toContain('LeadSubmitted');
  });
});

describe('A write of several streams that stops between its appends, as on a server,', () => {
  /** Writes one append after the other, and fails instead of the append after the first `count`. */
  const stopAfter = (count: number): { restore(): void } =>
    interceptAppends(app.service.deps.log, async (appends, write) => {
      for (const append of appends.slice(0, count)) await write([append]);
      throw new LogUnavailable('fault', 'unknown', 'the connection is lost');
    });

  /** Without audit records, which are appended later. */
  const writtenSince = async (after: number): Promise<string[]> =>
    (await typesSince(after)).filter((type) => type !== 'ActivityRecorded');

  it.each([0, 1, 2])(
    'A lead that stops after %i of its appends is completed by a retry',
    async (count) => {
      const [again, mine] = [freshKey(), { external_id: `crm-stop-${count}` }];
      const before = await head();
      const stopping = stopAfter(count);
      expect(await submit(`stop-${count}@buyer.example`, mine, again)).toMatchObject(UNKNOWN);
      stopping.restore();
      const written = ['LeadClaimed', 'RequestBound', 'LeadSubmitted'];
      expect(await writtenSince(before)).toEqual(written.slice(0, count));
      const first = await submit(`stop-${count}@buyer.example`, mine, again);
      expect(first).toMatchObject({ status: 201, body: { state: 'submitted' } });
      expect(await writtenSince(before)).toEqual(written);
      const retry = await submit(`stop-${count}@buyer.example`, mine, again);
      expect(retry).toMatchObject({ status: 201, text: first.text, ...REPLAYED });
      const other = await submit(`stop-${count}@buyer.example`, {
        external_id: `crm-other-${count}`,
      });
      expect(other).toMatchObject({ body: { state: 'duplicate' } });
    },
  );

  it.each([0, 1])(
    'A link with a slug that stops after %i of its appends is completed by a retry',
    async (count) => {
      const create = (idempotencyKey: string) =>
        app.send({
          method: 'POST',
          url: '/api/affiliate/v1/links',
          key,
          payload: { target: { kind: 'search', ref: 'mugs' }, slug: `stopped-${count}` },
          headers: { 'idempotency-key': idempotencyKey },
        });
      const again = freshKey();
      const before = await head();
      const stopping = stopAfter(count);
      expect(await create(again)).toMatchObject(UNKNOWN);
      stopping.restore();
      const written = ['CodeClaimed', 'LinkCreated'];
      expect(await writtenSince(before)).toEqual(written.slice(0, count));
      const first = await create(again);
      expect(first).toMatchObject({ status: 201 });
      expect(await writtenSince(before)).toEqual(written);
      expect(await create(again)).toMatchObject({ status: 201, text: first.text, ...REPLAYED });
      expect(await create(freshKey())).toMatchObject({ status: 409, body: { code: 'slug_taken' } });
    },
  );
});

describe('A call at the desk', () => {
  it('A desk call that stored only its idempotency key has an unknown outcome, and completes on a retry', async () => {
    const request = { owner_id: 'acme', name: 'A', purpose: 'P', scopes: ['leads:read'] };
    const [again, access] = [freshKey(), { path: '/agents', body: request }];
    failAppendsOf('AccessRequested');
    expect(await atDesk(app, access, again)).toMatchObject(UNKNOWN);
    vi.restoreAllMocks();
    expect(await atDesk(app, access, again)).toMatchObject({ status: 201 });
    expect(await atDesk(app, access, again)).toMatchObject({ status: 201, ...REPLAYED });
  });

  it('An import that was interrupted at the desk continues on a retry, and keeps changes made meanwhile', async () => {
    const priced = (unit_price: number, ...skus: string[]) => ({
      path: '/products/import',
      body: {
        products: skus.map((sku) =>
          feedProduct(sku, { price_tiers: [{ min_quantity: 4, unit_price }] }),
        ),
      },
    });
    const prices = () =>
      ['A', 'B', 'C', 'D'].map(
        (sku) => app.service.deps.catalog.bySku([sku]).get(sku)?.price_tiers[0]?.unit_price,
      );
    await atDesk(app, priced(50, 'D'));
    const [again, all] = [freshKey(), priced(100, 'A', 'B', 'C', 'D')];
    failAppendsOf('ProductPublished', 1);
    expect(await atDesk(app, all, again)).toMatchObject(UNKNOWN);
    expect(prices()).toEqual([100, undefined, undefined, 100]);
    vi.restoreAllMocks();
    await atDesk(app, priced(200, 'A', 'B'));
    const done = await atDesk(app, all, again);
    expect(done).toMatchObject({
      status: 200,
      body: { read: 4, new: 2, changed: 1, unchanged: 1 },
    });
    expect(prices()).toEqual([200, 200, 100, 100]);
    await atDesk(app, priced(300, 'C', 'D'));
    expect(await atDesk(app, all, again)).toMatchObject({ text: done.text, ...REPLAYED });
    expect(prices()).toEqual([200, 200, 300, 300]);
  });
});
