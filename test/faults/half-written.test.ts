/** A store that fails in the midst of a call: what is answered is so, and the same key tells the rest. */
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { EventType } from '#contracts/events/index.ts';
import { LogUnavailable } from '#src/ports/event-log.ts';
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

/** The disk is full for events of this type; `room` of them find a place. */
const noRoomFor = (full: EventType, room = 0): void => {
  const { log } = app.service.deps;
  const append = log.append.bind(log);
  let left = room;
  vi.spyOn(log, 'append').mockImplementation(async (stream, expected, events) => {
    if (events[0]?.type === full && (left -= 1) < 0)
      throw new LogUnavailable('full', 'no', 'no room on the disk');
    return append(stream, expected, events);
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

describe('a lead', () => {
  it('that is written and cannot be shown is of unknown outcome, and shown with the same key', async () => {
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

  it('is told that nothing was written where nothing was', async () => {
    const lead = { external_id: 'crm-3', contact: undefined, consent: undefined };
    noRoomFor('RequestBound');
    const before = await head();
    expect(await submit('', lead)).toMatchObject({
      status: 507,
      body: { code: 'storage_full', outcome: 'none' },
    });
    expect(await typesSince(before)).not.toContain('LeadSubmitted');
  });
});

describe('at the desk', () => {
  it('a key that is tied, and nothing more, is of unknown outcome, and goes on', async () => {
    const asked = { owner_id: 'acme', name: 'A', purpose: 'P', scopes: ['leads:read'] };
    const [again, access] = [freshKey(), { path: '/agents', body: asked }];
    noRoomFor('AccessRequested');
    expect(await atDesk(app, access, again)).toMatchObject(UNKNOWN);
    vi.restoreAllMocks();
    expect(await atDesk(app, access, again)).toMatchObject({ status: 201 });
    expect(await atDesk(app, access, again)).toMatchObject({ status: 201, ...REPLAYED });
  });

  it('an import that was cut off goes on, and leaves what others changed meanwhile', async () => {
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
    noRoomFor('ProductPublished', 1);
    expect(await atDesk(app, all, again)).toMatchObject(UNKNOWN);
    expect(prices()).toEqual([100, undefined, undefined, 100]);
    vi.restoreAllMocks();
    await atDesk(app, priced(200, 'A', 'B'));
    const done = await atDesk(app, all, again);
    expect(done).toMatchObject({ status: 200, body: { read: 4, appended: 3, unchanged: 1 } });
    expect(prices()).toEqual([200, 200, 100, 100]);
    await atDesk(app, priced(300, 'C', 'D'));
    expect(await atDesk(app, all, again)).toMatchObject({ text: done.text, ...REPLAYED });
    expect(prices()).toEqual([200, 200, 300, 300]);
  });
});
