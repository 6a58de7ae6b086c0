/** The import of products at the desk: what it merges, what it rejects, what it ends, and what a dry run says. */
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { feedProduct as schema, type ProductChange } from '#contracts/catalog/operations.ts';
import type { CatalogProduct } from '#src/ports/catalog.ts';
import { testApp, type TestApp } from '../support/world/app.ts';
import { atDesk } from '../support/world/desk-scenes.ts';

const apps: TestApp[] = [];
let app: TestApp;
beforeEach(async () => void apps.push((app = await testApp())));
afterAll(() => Promise.all(apps.map((one) => one.close())));

type Answer = {
  new: number;
  changed: number;
  unchanged: number;
  republished: number;
  rejected: { index: number; sku: string; field: string; detail: string }[];
  changes?: { sku: string; change: string; fields: object[] }[];
  ended?: number;
  of_source?: number;
  ended_skus?: string[];
  has_more?: boolean;
};
type Answered = { status: number; body: Answer & { code?: string; detail?: string } };

const importing = (products: object[], more: object = {}): Promise<Answered> =>
  atDesk(app, { path: '/products/import', body: { products, ...more } });

const head = async (): Promise<number> => (await app.service.deps.log.head()).position;
const stored = (sku: string): CatalogProduct | undefined =>
  app.service.deps.catalog.bySku([sku]).get(sku);

/** A product with a value in every member of the contract. */
const FULL = {
  product: {
    sku: 'E1',
    title: 'Enamel Mug',
    description: 'Steel, enamelled',
    brand: 'Tidewater',
    gtin: '5012345678900',
    mpn: 'EM-1',
    category: 'Kitchen',
    image_url: 'https://img.example/e1.jpg',
    origin_country: 'IN',
    ship_from: 'GB',
    lead_time_days: 4,
    currency: 'GBP',
    unit_price: 275,
    moq: 6,
    increment: 6,
    price_tiers: [
      { min_quantity: 6, unit_price: 275 },
      { min_quantity: 72, unit_price: 235 },
    ],
    certifications: ['FSC'],
    source_updated_at: '2026-03-08',
  },
  stock: { available_quantity: 860 },
} satisfies ProductChange;

const SHORT = {
  product: { sku: 'E1', title: 'Enamel Mug', currency: 'GBP', unit_price: 275 },
  stock: { level: 'in_stock' },
};

const brief = (sku: string, unit_price = 100) => ({
  product: { sku, title: `Product ${sku}`, currency: 'GBP', unit_price },
  stock: { level: 'in_stock' },
});

describe('A product of a feed with fewer columns', () => {
  it('A product of a feed with fewer columns keeps every member that the feed does not have', async () => {
    expect(Object.keys(FULL.product).sort()).toEqual(Object.keys(schema.shape).sort());
    expect((await importing([FULL])).body).toMatchObject({ new: 1 });
    const before = stored('E1');
    const [position, { body }] = [await head(), await importing([SHORT])];
    expect(body).toMatchObject({ new: 0, changed: 0, unchanged: 1, rejected: [] });
    expect(stored('E1')).toEqual(before);
    // Of the product: an idempotency key is claimed for each call.
    expect(before?.revision).toBe(stored('E1')?.revision);
    expect(await head()).toBeGreaterThan(position);
  });

  it('An import changes each member of a product alone, and null removes each that can be absent', async () => {
    await importing([FULL]);
    const {
      currency: _,
      sku,
      unit_price,
      price_tiers,
      moq,
      increment,
      title,
      ...others
    } = FULL.product;
    for (const field of Object.keys(others)) {
      const before = stored('E1') as unknown as Record<string, unknown>;
      const value = field === 'description' || field === 'category' ? 'Other' : null;
      const { body } = await importing([{ product: { sku, [field]: value } }]);
      expect([field, body.changed, body.rejected]).toEqual([field, 1, []]);
      const {
        revision: __,
        updated_at,
        stock,
        ...after
      } = stored('E1') as unknown as typeof before;
      const { [field]: removed, revision, updated_at: at, stock: was, ...kept } = before;
      expect(after).toEqual(value === null ? kept : { ...kept, [field]: value });
    }
    expect([unit_price, price_tiers, moq, increment, title].length).toBe(5);
  });

  it('A product that an import replaces loses what is not given', async () => {
    await importing([FULL], { source: 'main' });
    expect((await importing([SHORT], { replace: true })).body).toMatchObject({ changed: 1 });
    expect(stored('E1')).toMatchObject({
      description: '',
      category: 'Uncategorised',
      moq: 1,
      increment: 1,
      price_tiers: [{ min_quantity: 1, unit_price: 275 }],
      source: 'main',
    });
    for (const gone of ['brand', 'gtin', 'origin_country', 'lead_time_days', 'certifications'])
      expect(stored('E1')).not.toHaveProperty(gone);
  });

  it('A price without tiers changes the price of the minimum order, and is rejected where stored tiers do not fit it', async () => {
    await importing([FULL]);
    const priced = (unit_price: number, more: object = {}) =>
      importing([{ product: { sku: 'E1', unit_price, ...more } }]);
    expect((await priced(260)).body).toMatchObject({ changed: 1 });
    const tiers = [
      { min_quantity: 6, unit_price: 260 },
      { min_quantity: 72, unit_price: 235 },
    ];
    expect(stored('E1')?.price_tiers).toEqual(tiers);
    const { body } = await priced(200);
    expect(body.rejected).toEqual([
      {
        index: 0,
        sku: 'E1',
        field: 'price_tiers',
        detail:
          'as stored, do not fit: prices must not rise with quantity, and do at 72; give them with the price',
      },
    ]);
    expect((await priced(300, { currency: 'EUR' })).body.rejected).toMatchObject([
      { field: 'price_tiers', detail: 'are stored in GBP; give them in EUR' },
    ]);
    expect(
      (await importing([{ product: { sku: 'E1', currency: 'EUR' } }])).body.rejected,
    ).toMatchObject([{ field: 'currency', detail: 'is not GBP, and there is no price in it' }]);
    expect(stored('E1')).toMatchObject({ currency: 'GBP', price_tiers: tiers });
    expect((await priced(200, { price_tiers: null })).body).toMatchObject({ changed: 1 });
    expect(stored('E1')?.price_tiers).toEqual([{ min_quantity: 6, unit_price: 200 }]);
  });

  it('A product keeps a quantity that the feed has no column for, and finds its level', async () => {
    await importing([FULL]);
    const observed = async (stock: object) => {
      await importing([{ product: { sku: 'E1' }, stock }]);
      const { level, available_quantity } = stored('E1')?.stock ?? {};
      return [level, available_quantity];
    };
    expect(await observed({ level: 'in_stock' })).toEqual(['in_stock', 860]);
    expect(await observed({ available_quantity: 11 })).toEqual(['low', 11]);
    expect(await observed({ level: 'in_stock' })).toEqual(['low', 11]);
    expect(await observed({ level: 'out_of_stock' })).toEqual(['out_of_stock', 0]);
    expect(await observed({ level: 'in_stock' })).toEqual(['in_stock', null]);
  });
});

describe('A rule of the catalog', () => {
  const withPrices = (product: object) => ({ ...FULL, product: { ...FULL.product, ...product } });
  const BAD: [ProductChange, string, string][] = [
    [{ product: { sku: 'N1' } }, 'title', 'is missing, and no such product is stored'],
    [{ product: { sku: 'N1' } }, 'currency', 'is missing, and no such product is stored'],
    [{ product: { sku: 'N1' } }, 'stock', 'is missing, and no such product is stored'],
    [{ product: { sku: 'N1' } }, 'unit_price', 'is missing, and no such product is stored'],
    [withPrices({ moq: 5 }), 'moq', 'must be a multiple of the order increment: 5 of 6'],
    [
      withPrices({ unit_price: 274 }),
      'price_tiers',
      'differs from the price of the minimum order of 6',
    ],
    [
      withPrices({ price_tiers: [{ min_quantity: 7, unit_price: 275 }] }),
      'price_tiers',
      'begins at 7, so the minimum order of 6 has no price',
    ],
    [
      withPrices({
        price_tiers: [...FULL.product.price_tiers, { min_quantity: 72, unit_price: 1 }],
      }),
      'price_tiers',
      'quantities must rise: 72 is not above 72',
    ],
    [
      withPrices({
        price_tiers: [...FULL.product.price_tiers, { min_quantity: 99, unit_price: 236 }],
      }),
      'price_tiers',
      'prices must not rise with quantity, and do at 99',
    ],
    [
      withPrices({ unit_price: 0, price_tiers: null }),
      'unit_price',
      'is 0.00 GBP; if it is right, allow it (allow_free; on the command line --allow-free)',
    ],
    [
      withPrices({
        price_tiers: [...FULL.product.price_tiers, { min_quantity: 99, unit_price: 0 }],
      }),
      'price_tiers',
      'is 0.00 GBP; if it is right, allow it (allow_free; on the command line --allow-free)',
    ],
  ];

  it('A rule of the catalog that a product breaks rejects it with the reason, and all others are imported', async () => {
    for (const [number, [bad, field, detail]] of BAD.entries()) {
      const sku = `BAD-${number}`;
      const rows = [
        brief(`A${number}`),
        { ...bad, product: { ...bad.product, sku } },
        brief(`B${number}`),
      ];
      const { status, body } = await importing(rows);
      expect(status).toBe(200);
      expect(body).toMatchObject({ read: 3, new: 2, changed: 0, unchanged: 0 });
      expect(body.rejected).toContainEqual({ index: 1, sku, field, detail });
      expect([`A${number}`, `B${number}`, sku].map((one) => stored(one) !== undefined)).toEqual([
        true,
        true,
        false,
      ]);
    }
  });

  it('An import accepts a price of 0 if it is asked for, and keeps it where a feed gives no price', async () => {
    const { body } = await importing([brief('FREE', 0)], { allow_free: true });
    expect(body).toMatchObject({ new: 1, rejected: [] });
    const titled = await importing([{ product: { sku: 'FREE', title: 'Sample' } }]);
    expect(titled.body).toMatchObject({ changed: 1, rejected: [] });
  });
});

describe('A dry run', () => {
  it('A dry run of an import says what would change, end and be rejected, and writes nothing', async () => {
    await importing([FULL, brief('OLD')], { source: 'main' });
    const position = await head();
    const changed = { product: { sku: 'E1', brand: null, lead_time_days: 9 } };
    const { body } = await importing([changed, brief('NEW'), brief('ZERO', 0)], {
      source: 'main',
      dry_run: true,
      ends_absent: true,
    });
    expect(body).toMatchObject({ read: 3, new: 1, changed: 1, unchanged: 0 });
    expect(body.changes).toEqual([
      {
        sku: 'E1',
        change: 'changed',
        currency: 'GBP',
        fields: [
          { field: 'brand', before: 'Tidewater', after: null },
          { field: 'lead_time_days', before: 4, after: 9 },
        ],
      },
      { sku: 'NEW', change: 'new', currency: 'GBP', fields: [] },
    ]);
    expect(body.rejected).toMatchObject([{ index: 2, sku: 'ZERO' }]);
    expect(body).toMatchObject({ ended: 1, of_source: 2, ended_skus: ['OLD'], has_more: false });
    expect(await head()).toBe(position);
  });
});

describe('Products that a feed no longer has', () => {
  const skus = (count: number, prefix = 'P') =>
    Array.from({ length: count }, (_, n) => `${prefix}${String(n).padStart(3, '0')}`);
  const whole = (names: string[], more: object) =>
    importing(
      names.map((sku) => brief(sku)),
      more,
    );

  it('Products that a feed no longer has end only with those of their source, up to a fifth of it without a confirmation', async () => {
    const ten = skus(10);
    await whole(ten, { source: 'main' });
    await whole(skus(5, 'Q'), { source: 'other' });
    await whole(skus(5, 'R'), {});
    const ends = { source: 'main', ends_absent: true };
    const refused = await whole(ten.slice(3), ends);
    expect(refused).toMatchObject({ status: 409, body: { code: 'state_conflict' } });
    expect(refused.body.detail).toContain('3 of 10 products of main are absent from the feed');
    expect(app.service.deps.catalog.count()).toBe(20);
    expect((await whole(ten.slice(2), ends)).body).toMatchObject({
      unchanged: 8,
      ended: 2,
      of_source: 10,
      ended_skus: ten.slice(0, 2),
    });
    expect((await whole(ten.slice(5), { ...ends, confirmed: true })).body.ended).toBe(3);
    expect(app.service.deps.catalog.count()).toBe(15);
    expect((await whole(ten.slice(0, 1), { source: 'main' })).body).toMatchObject({
      changed: 1,
      republished: 1,
    });
  });

  it('Products that a feed no longer has need the name of a source, except to count', async () => {
    await whole(skus(2), {});
    const { status, body } = await whole(skus(1), { ends_absent: true });
    expect([status, body.code]).toEqual([422, 'validation_failed']);
    expect((await whole(skus(1), { ends_absent: true, dry_run: true })).body.ended).toBe(1);
  });

  it('Products that a feed no longer has do not end if their row was rejected or they are in another part', async () => {
    const ten = skus(10);
    await whole(ten, { source: 'main' });
    const rows = ten.slice(0, 8).map((sku) => brief(sku, sku === 'P003' ? 0 : 100));
    const { body } = await importing(rows, {
      source: 'main',
      ends_absent: true,
      present: ['P009'],
    });
    expect(body).toMatchObject({ ended: 1, ended_skus: ['P008'] });
    expect(body.rejected).toMatchObject([{ sku: 'P003' }]);
    expect(stored('P003')).toBeDefined();
  });

  it('Products that a feed no longer has are found in parts that after and until delimit, by code point', async () => {
    // U+1F375 is above U+FF01, and its first half is below it.
    const names = ['A', 'Z', 'a', '\uff01', '\u{1f375}'];
    await whole(names, { source: 'main' });
    const part = async (range: object) => {
      const request = { source: 'main', ends_absent: true, dry_run: true, ...range };
      return (await importing([], request)).body.ended_skus;
    };
    expect(await part({ until: 'Z' })).toEqual(['A', 'Z']);
    expect(await part({ after: 'Z', until: '\uff01' })).toEqual(['a', '\uff01']);
    expect(await part({ after: '\uff01' })).toEqual(['\u{1f375}']);
    expect(await part({ present: names })).toEqual([]);
  });

  it('Products that a feed no longer has end once if the call is repeated with its key', async () => {
    await whole(skus(10), { source: 'main' });
    const body = { products: [], source: 'main', ends_absent: true, confirmed: true };
    const asked = { path: '/products/import', body };
    const first = await atDesk(app, asked, 'end-1');
    expect(first.body).toMatchObject({ ended: 10 });
    await whole(skus(1), { source: 'main' });
    expect((await atDesk(app, asked, 'end-1')).text).toBe(first.text);
    expect(stored('P000')).toBeDefined();
  });
});

describe('A text of a product', () => {
  it("A product's text is stored without entities, tags, and what cannot be seen; identities that look the same are one", async () => {
    const product = {
      sku: ' E1\u00a0',
      title: '\u200bTea &amp;amp; Coffee &#8211; caf&eacute;<br>\u00a0',
      description: '<p>One</p><ul><li>For <b>cups</b> &lt;5 cm</li></ul><script>x()</script>',
      category: 'Kitchen &gt; Mugs',
      currency: 'GBP',
      unit_price: 100,
      ship_from: 'gb',
    };
    await importing([{ product, stock: { level: 'in_stock' } }]);
    expect(stored('E1')).toMatchObject({
      sku: 'E1',
      title: 'Tea & Coffee – café',
      category: 'Kitchen > Mugs',
      ship_from: 'GB',
    });
    expect(stored('E1')?.description).toBe('One\n\nFor cups <5 cm');
    for (const sku of ['E1', 'E1\u00a0', 'E1\u200b', '\ufeffE1', 'E\u00ad1', 'E1&nbsp;'])
      expect((await importing([{ product: { ...product, sku } }])).body).toMatchObject({
        unchanged: 1,
      });
    for (const blank of [
      '',
      ' ',
      '\u00a0',
      '\u3000',
      '\u2800',
      '\u200d',
      '\u00ad',
      '&nbsp;',
      '<b></b>',
    ])
      for (const field of ['sku', 'title', 'category', 'brand', 'mpn'])
        expect([
          blank,
          field,
          (await importing([{ product: { ...product, [field]: blank } }])).status,
        ]).toEqual([blank, field, field === 'sku' && blank === '<b></b>' ? 200 : 422]);
  });
});
