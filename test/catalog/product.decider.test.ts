/** The events of a product, what a change makes of one that is stored, and what differs then. */
import { describe, expect, it } from 'vitest';
import type { ProductChange } from '#contracts/catalog/operations.ts';
import type { EventData } from '#contracts/registries/events.ts';
import {
  differencesOf,
  type MergeRules,
  mergeProduct,
  NO_CATEGORY,
  product,
} from '#src/catalog/product.decider.ts';
import { specify } from '../support/world/decider-spec.ts';

type Published = EventData<'ProductPublished'>;

const MUG: Published['product'] = {
  product_id: 'prd_1',
  sku: 'MUG-1',
  title: 'Mug',
  description: 'A mug',
  category: 'Gifts',
  currency: 'GBP',
  moq: 4,
  increment: 2,
  price_tiers: [{ min_quantity: 4, unit_price: 250 }],
};
const STOCK: Published['stock'] = { level: 'in_stock', available_quantity: 9 };
const published = { type: 'ProductPublished' as const, data: { product: MUG, stock: STOCK } };
const withdrawn = {
  type: 'ProductWithdrawn' as const,
  data: { product_id: 'prd_1', reason: 'Gone' },
};
const publish = (over: Partial<Published['product']> = {}, stock = STOCK) => ({
  type: 'PublishProduct' as const,
  product: { ...MUG, ...over },
  stock,
});
const withdraw = { type: 'WithdrawProduct' as const, reason: 'Gone' };
const spec = specify(product);

type Stored = Partial<Published['product']> | undefined;
type Change = Partial<ProductChange['product']>;
type Tiers = Published['product']['price_tiers'];

/** The state of a mug with these members, or none. */
const stateOf = (stored: Stored, stock = STOCK) =>
  stored &&
  spec.given({ type: 'ProductPublished', data: { product: { ...MUG, ...stored }, stock } }).state;

/** Merges a change with a stored mug that has these members. */
const merge = (
  stored: Stored,
  change: Change,
  stock?: ProductChange['stock'],
  rules: Partial<MergeRules> = {},
) =>
  mergeProduct(
    stateOf(stored),
    { product: { sku: 'MUG-1', ...change }, stock },
    { product_id: 'prd_1', replace: false, allowFree: false, ...rules },
  );

/** Tiers by their minimum quantities and prices. */
const tiers = (...pairs: [min_quantity: number, unit_price: number][]): Tiers =>
  pairs.map(([min_quantity, unit_price]) => ({ min_quantity, unit_price }));

const NEW = { title: 'Mug', currency: 'GBP', unit_price: 250 };
const TWO_TIERS = { price_tiers: tiers([4, 250], [8, 200]) };
const refused = (...faults: [field: string, detail: string][]) => ({
  ok: false,
  faults: faults.map(([field, detail]) => ({ field, detail })),
});
const merged = (over: Partial<Published['product']> = {}, stock = STOCK) => ({
  ok: true,
  product: { ...MUG, ...over },
  stock,
});
const NOT_STORED = 'is missing, and no such product is stored';
const FREE = 'is 0.00 GBP; if it is right, allow it (allow_free; on the command line --allow-free)';

describe('A product', () => {
  it('A product is published once, and revised if its content differs', () => {
    spec.given().when(publish()).then(published);
    spec.given(published).when(publish()).then();
    const data = { product: { ...MUG, title: 'Cup' }, stock: STOCK };
    spec
      .given(published)
      .when(publish({ title: 'Cup' }))
      .then({ type: 'ProductRevised', data });
  });

  it('A product is equal regardless of the order of its members and of undefined members', () => {
    const reversed = Object.fromEntries(Object.entries(MUG).reverse()) as Published['product'];
    spec
      .given(published)
      .when(publish({ ...reversed, brand: undefined }))
      .then();
    const turned = { type: 'PublishProduct' as const, product: reversed, stock: STOCK };
    spec.given(published).when(turned).then();
  });

  it('A product records an observation if only its stock changed', () => {
    const stock = { level: 'low' as const, available_quantity: 1 };
    const observed = {
      type: 'ProductStockObserved' as const,
      data: { product_id: 'prd_1', stock },
    };
    const after = spec.given(published).when(publish({}, stock)).then(observed);
    expect(after).toEqual({ product: MUG, stock, status: 'published' });
    spec
      .given(published, observed)
      .when(publish())
      .then({
        type: 'ProductStockObserved',
        data: { product_id: 'prd_1', stock: STOCK },
      });
  });

  it('A product is withdrawn once, only if it exists, and published again by the next feed', () => {
    spec.given(published).when(withdraw).then(withdrawn);
    spec.given(published, withdrawn).when(withdraw).then();
    spec
      .given()
      .when(withdraw)
      .rejected('product_unknown', /^the catalog has no such sku$/);
    spec.given(published, withdrawn).when(publish()).then(published);
  });

  it('A product rejects an impossible event', () => {
    expect(() => product.evolve(undefined, { ...withdrawn, at: 1 })).toThrow(
      /^ProductWithdrawn on a product that was never published$/,
    );
  });
});

describe('The content of a merged product', () => {
  it('A new product needs a title, a currency, a price and stock, and has defaults for the rest', () => {
    expect(merge(undefined, NEW, STOCK)).toStrictEqual({
      ok: true,
      product: {
        product_id: 'prd_1',
        sku: 'MUG-1',
        title: 'Mug',
        description: '',
        category: NO_CATEGORY,
        currency: 'GBP',
        moq: 1,
        increment: 1,
        price_tiers: tiers([1, 250]),
      },
      stock: STOCK,
    });
    expect(merge(undefined, {})).toStrictEqual(
      refused(
        ['title', NOT_STORED],
        ['currency', NOT_STORED],
        ['stock', NOT_STORED],
        ['unit_price', NOT_STORED],
      ),
    );
    expect(merge(undefined, NEW)).toStrictEqual(refused(['stock', NOT_STORED]));
    expect(merge(undefined, { currency: 'GBP', unit_price: 250 }, STOCK)).toStrictEqual(
      refused(['title', NOT_STORED]),
    );
    expect(merge(undefined, { title: 'Mug', unit_price: 250 }, STOCK)).toStrictEqual(
      refused(['currency', NOT_STORED]),
    );
  });

  it('A product without a category is Uncategorised', () => {
    expect(NO_CATEGORY).toBe('Uncategorised');
  });

  it('A change of a product leaves what it does not say, and removes what is null or undefined', () => {
    expect(merge({}, {})).toStrictEqual(merged());
    expect(merge({ brand: 'Potter', mpn: 'M1' }, { title: 'Cup' })).toStrictEqual(
      merged({ title: 'Cup', brand: 'Potter', mpn: 'M1' }),
    );
    expect(
      merge({ brand: 'Potter', mpn: 'M1', gtin: '12345678' }, { brand: null, mpn: undefined }),
    ).toStrictEqual(merged({ gtin: '12345678' }));
  });

  it('A change that replaces a product removes what it does not say, and needs what a new product needs', () => {
    const replace = { replace: true };
    expect(merge({ brand: 'Potter' }, { ...NEW, title: 'Cup' }, STOCK, replace)).toStrictEqual(
      merged({
        title: 'Cup',
        description: '',
        category: NO_CATEGORY,
        moq: 1,
        increment: 1,
        price_tiers: tiers([1, 250]),
      }),
    );
    expect(merge({}, {}, undefined, replace)).toStrictEqual(
      refused(
        ['title', NOT_STORED],
        ['currency', NOT_STORED],
        ['stock', NOT_STORED],
        ['unit_price', NOT_STORED],
      ),
    );
  });

  it('A product has the source of the feed that changes it, or else of the feed that it had', () => {
    expect(merge({ source: 'old' }, {}, undefined, { source: 'new' })).toStrictEqual(
      merged({ source: 'new' }),
    );
    expect(merge({ source: 'old' }, {})).toStrictEqual(merged({ source: 'old' }));
    expect(merge({ source: 'old' }, NEW, STOCK, { replace: true })).toHaveProperty(
      'product.source',
      'old',
    );
    expect(merge(undefined, NEW, STOCK, { source: 'new' })).toHaveProperty('product.source', 'new');
  });

  it('The minimum order of a product is a multiple of its order increment', () => {
    expect(merge({}, { moq: 6 })).toStrictEqual(merged({ moq: 6 }));
    expect(merge({}, { moq: 5 })).toStrictEqual(
      refused(['moq', 'must be a multiple of the order increment: 5 of 2']),
    );
    expect(merge({}, { moq: 4, increment: 8 })).toStrictEqual(
      refused(['moq', 'must be a multiple of the order increment: 4 of 8']),
    );
    expect(merge({}, { moq: 3, title: undefined })).toStrictEqual(
      refused(
        ['title', NOT_STORED],
        ['moq', 'must be a multiple of the order increment: 3 of 2'],
        [
          'price_tiers',
          'as stored, do not fit: begins at 4, so the minimum order of 3 has no price; give them with the price',
        ],
      ),
    );
  });
});

describe('The price of a merged product', () => {
  it('A price without tiers changes the stored tier of the minimum order alone', () => {
    const repriced = (stored: Tiers, moq: number, unit_price: number) =>
      merge({ price_tiers: stored, increment: 1 }, { moq, unit_price });
    const leaves = (moq: number, ...pairs: [number, number][]) =>
      merged({ moq, increment: 1, price_tiers: tiers(...pairs) });
    const three = tiers([4, 250], [8, 200], [12, 150]);
    expect(repriced(three, 7, 240)).toStrictEqual(leaves(7, [4, 240], [8, 200], [12, 150]));
    expect(repriced(three, 8, 190)).toStrictEqual(leaves(8, [4, 250], [8, 190], [12, 150]));
    expect(repriced(three, 12, 90)).toStrictEqual(leaves(12, [4, 250], [8, 200], [12, 90]));
    expect(repriced(three, 3, 300)).toStrictEqual(
      leaves(3, [3, 300], [4, 250], [8, 200], [12, 150]),
    );
  });

  it('A price without tiers takes the place of a single tier above the minimum order', () => {
    expect(merge({}, { moq: 2, unit_price: 300 })).toStrictEqual(
      merged({ moq: 2, price_tiers: tiers([2, 300]) }),
    );
    expect(merge({}, { moq: 4, unit_price: 300 })).toStrictEqual(
      merged({ price_tiers: tiers([4, 300]) }),
    );
    expect(merge({}, { moq: 6, unit_price: 300 })).toStrictEqual(
      merged({ moq: 6, price_tiers: tiers([4, 300]) }),
    );
  });

  it('Tiers that a change removes leave its price for every quantity, and need one', () => {
    expect(merge(TWO_TIERS, { price_tiers: null, unit_price: 100 })).toStrictEqual(
      merged({ price_tiers: tiers([4, 100]) }),
    );
    expect(merge(TWO_TIERS, { price_tiers: null })).toStrictEqual(
      refused(['unit_price', 'is missing, and is needed without tiers']),
    );
    expect(merge(undefined, { title: 'Mug', currency: 'GBP', price_tiers: null }, STOCK)).toEqual(
      refused(['unit_price', NOT_STORED]),
    );
  });

  it('Tiers that a change gives take the place of those that are stored', () => {
    const price_tiers = tiers([1, 90], [10, 80]);
    expect(merge(TWO_TIERS, { price_tiers })).toStrictEqual(merged({ price_tiers }));
    expect(merge(TWO_TIERS, { price_tiers, unit_price: 90 })).toStrictEqual(
      merged({ price_tiers }),
    );
    expect(merge(undefined, { title: 'Mug', currency: 'GBP', price_tiers }, STOCK)).toHaveProperty(
      'product.price_tiers',
      price_tiers,
    );
  });

  it('Another currency needs a price in it', () => {
    expect(merge({}, { currency: 'EUR' })).toStrictEqual(
      refused(['currency', 'is not GBP, and there is no price in it']),
    );
    expect(merge(TWO_TIERS, { currency: 'EUR' })).toStrictEqual(
      refused(['currency', 'is not GBP, and there is no price in it']),
    );
    expect(merge({}, { currency: 'GBP' })).toStrictEqual(merged());
  });

  it('Another currency needs tiers in it if several are stored, and else its price begins at the minimum order', () => {
    const EUR = { currency: 'EUR', unit_price: 300 };
    expect(merge({}, { ...EUR, moq: 6 })).toStrictEqual(
      merged({ currency: 'EUR', moq: 6, price_tiers: tiers([6, 300]) }),
    );
    expect(merge(TWO_TIERS, EUR)).toStrictEqual(
      refused(['price_tiers', 'are stored in GBP; give them in EUR']),
    );
    const price_tiers = tiers([4, 300], [8, 280]);
    expect(merge(TWO_TIERS, { ...EUR, price_tiers })).toStrictEqual(
      merged({ currency: 'EUR', price_tiers }),
    );
    expect(merge(TWO_TIERS, { ...EUR, price_tiers: null })).toStrictEqual(
      merged({ currency: 'EUR', price_tiers: tiers([4, 300]) }),
    );
    expect(merge(TWO_TIERS, { currency: 'GBP', unit_price: 240 })).toStrictEqual(
      merged({ price_tiers: tiers([4, 240], [8, 200]) }),
    );
  });
});

describe('The tiers of a merged product', () => {
  const given = (price_tiers: Tiers, more: Change = {}) => merge({}, { price_tiers, ...more });

  it('The quantities of tiers rise', () => {
    const [one, next] = [tiers([4, 250], [5, 200]), tiers([4, 250], [4, 200])];
    expect(given(one)).toStrictEqual(merged({ price_tiers: one }));
    expect(given(next)).toStrictEqual(
      refused(['price_tiers', 'quantities must rise: 4 is not above 4']),
    );
    expect(given(tiers([4, 250], [3, 200]))).toStrictEqual(
      refused(['price_tiers', 'quantities must rise: 3 is not above 4']),
    );
  });

  it('The prices of tiers do not rise with the quantity', () => {
    const same = tiers([4, 250], [8, 250]);
    expect(given(same)).toStrictEqual(merged({ price_tiers: same }));
    expect(given(tiers([4, 250], [8, 251]))).toStrictEqual(
      refused(['price_tiers', 'prices must not rise with quantity, and do at 8']),
    );
  });

  it('The tiers begin at the minimum order or below it', () => {
    for (const first of [1, 4]) {
      const price_tiers = tiers([first, 250]);
      expect(given(price_tiers)).toStrictEqual(merged({ price_tiers }));
    }
    expect(given(tiers([5, 250]), { unit_price: 300 })).toStrictEqual(
      refused(['price_tiers', 'begins at 5, so the minimum order of 4 has no price']),
    );
  });

  it('A price that is given with tiers is the one of the minimum order', () => {
    const price_tiers = tiers([1, 300], [4, 250], [5, 200]);
    expect(given(price_tiers, { unit_price: 250 })).toStrictEqual(merged({ price_tiers }));
    for (const unit_price of [300, 200, 251])
      expect(given(price_tiers, { unit_price })).toStrictEqual(
        refused(['price_tiers', 'differs from the price of the minimum order of 4']),
      );
  });

  it('Every fault of tiers is reported', () => {
    expect(given(tiers([6, 250], [8, 260], [8, 200], [9, 210]))).toStrictEqual(
      refused(
        ['price_tiers', 'prices must not rise with quantity, and do at 8'],
        ['price_tiers', 'quantities must rise: 8 is not above 8'],
        ['price_tiers', 'prices must not rise with quantity, and do at 9'],
        ['price_tiers', 'begins at 6, so the minimum order of 4 has no price'],
      ),
    );
  });

  it('Stored tiers that a change does not fit must be given with the price', () => {
    expect(merge(TWO_TIERS, { unit_price: 200 })).toStrictEqual(
      merged({ price_tiers: tiers([4, 200], [8, 200]) }),
    );
    expect(merge(TWO_TIERS, { unit_price: 199 })).toStrictEqual(
      refused([
        'price_tiers',
        'as stored, do not fit: prices must not rise with quantity, and do at 8; give them with the price',
      ]),
    );
    expect(merge(TWO_TIERS, { moq: 2 })).toStrictEqual(
      refused([
        'price_tiers',
        'as stored, do not fit: begins at 4, so the minimum order of 2 has no price; give them with the price',
      ]),
    );
  });
});

describe('A price of 0', () => {
  const zero = tiers([4, 250], [8, 0]);

  it('A price of 0 is refused where it is given', () => {
    expect(merge({}, { unit_price: 0 })).toStrictEqual(refused(['unit_price', FREE]));
    expect(merge({}, { price_tiers: zero })).toStrictEqual(refused(['price_tiers', FREE]));
    expect(merge({}, { unit_price: 0, price_tiers: tiers([4, 0]) })).toStrictEqual(
      refused(['unit_price', FREE]),
    );
    expect(merge({}, { unit_price: 1, price_tiers: tiers([4, 1]) })).toStrictEqual(
      merged({ price_tiers: tiers([4, 1]) }),
    );
  });

  it('A price of 0 is written with the decimals of its currency, and refused without one', () => {
    const yen = { currency: 'JPY', unit_price: 0 };
    expect(merge({}, yen)).toHaveProperty(
      'faults.0.detail',
      expect.stringMatching(/^is 0 JPY; if/),
    );
    expect(merge(undefined, { title: 'Mug', unit_price: 0 }, STOCK)).toStrictEqual(
      refused(['currency', NOT_STORED], ['unit_price', FREE.replace('GBP', '')]),
    );
  });

  it('A price of 0 is accepted if it is allowed, or stored already', () => {
    const allowed = { allowFree: true };
    expect(merge({}, { unit_price: 0 }, undefined, allowed)).toStrictEqual(
      merged({ price_tiers: tiers([4, 0]) }),
    );
    expect(merge({}, { price_tiers: zero }, undefined, allowed)).toStrictEqual(
      merged({ price_tiers: zero }),
    );
    expect(merge({ price_tiers: zero }, { title: 'Cup' })).toStrictEqual(
      merged({ title: 'Cup', price_tiers: zero }),
    );
  });
});

describe('The stock of a merged product', () => {
  type Level = Published['stock']['level'];
  const stock = (level: Level, available_quantity: number | null) => ({
    level,
    available_quantity,
  });
  /** The stock that a change of it makes of what is stored, for a minimum order of 4. */
  const stocked = (before: Published['stock'] | undefined, change: ProductChange['stock']) => {
    const next = mergeProduct(
      stateOf(before && {}, before),
      { product: { sku: 'MUG-1', ...NEW, moq: 4 }, stock: change },
      { product_id: 'prd_1', replace: false, allowFree: false },
    );
    return next.ok ? next.stock : next.faults;
  };

  it('Stock with the level out of stock has the quantity 0, and the reverse', () => {
    for (const before of [undefined, STOCK])
      for (const change of [
        { level: 'out_of_stock' },
        { level: 'out_of_stock', available_quantity: 5 },
        { level: 'out_of_stock', available_quantity: null },
        { level: 'in_stock', available_quantity: 0 },
        { available_quantity: 0 },
      ] as const)
        expect(stocked(before, change)).toStrictEqual(stock('out_of_stock', 0));
  });

  it('Stock with a level and a quantity is as it is given', () => {
    for (const change of [
      stock('in_stock', 1),
      stock('low', 99),
      stock('low', null),
      stock('in_stock', null),
    ])
      expect(stocked(STOCK, change)).toStrictEqual(change);
  });

  it('Stock without a level is low if it is less than two minimum orders', () => {
    for (const before of [undefined, STOCK, stock('out_of_stock', 0)]) {
      expect(stocked(before, { available_quantity: 8 })).toStrictEqual(stock('in_stock', 8));
      expect(stocked(before, { available_quantity: 7 })).toStrictEqual(stock('low', 7));
      expect(stocked(before, { available_quantity: 1 })).toStrictEqual(stock('low', 1));
    }
  });

  it('Stock that is in keeps the stored quantity, which decides whether it is low', () => {
    const change = { level: 'in_stock' } as const;
    expect(stocked(stock('low', 8), change)).toStrictEqual(stock('in_stock', 8));
    expect(stocked(stock('in_stock', 7), change)).toStrictEqual(stock('low', 7));
  });

  it('Stock has an unknown quantity if none is stored, and after it was out', () => {
    for (const before of [undefined, stock('out_of_stock', 0), stock('in_stock', null)]) {
      expect(stocked(before, { level: 'in_stock' })).toStrictEqual(stock('in_stock', null));
      expect(stocked(before, { level: 'low' })).toStrictEqual(stock('low', null));
    }
  });

  it('Stock that is given as low stays low, whatever quantity is stored', () => {
    for (const before of [stock('in_stock', 9), stock('low', 5)])
      expect(stocked(before, { level: 'low' })).toStrictEqual(
        stock('low', before.available_quantity),
      );
  });

  it('Stock without a level and a quantity leaves what is stored', () => {
    for (const before of [STOCK, stock('low', null), stock('low', 99), stock('out_of_stock', 0)])
      expect(stocked(before, {})).toStrictEqual(before);
    expect(stocked(undefined, {})).toStrictEqual([{ field: 'stock', detail: NOT_STORED }]);
  });

  it('Stock whose quantity is removed is in stock', () => {
    for (const before of [undefined, STOCK])
      expect(stocked(before, { available_quantity: null })).toStrictEqual(stock('in_stock', null));
  });

  it('Stock stays as it is stored if a change does not say it', () => {
    for (const before of [STOCK, stock('low', 99), stock('out_of_stock', 0)])
      expect(stocked(before, undefined)).toStrictEqual(before);
  });
});

describe('What differs between two states of a product', () => {
  const differences = (stored: Stored, next: Published) => {
    const state = stateOf(stored);
    if (!state) throw new Error('no product');
    return differencesOf(state, next);
  };

  it('Equal products differ in nothing, and a product that was withdrawn in its status', () => {
    const next = { product: { ...MUG, price_tiers: tiers([4, 250]) }, stock: { ...STOCK } };
    expect(differences({}, next)).toStrictEqual([]);
    const { state } = spec.given(published, withdrawn);
    expect(state && differencesOf(state, next)).toStrictEqual([
      { field: 'status', before: 'withdrawn', after: 'published' },
    ]);
  });

  it('A difference has both values, in the order of the members, and null for a value that is absent', () => {
    const stock = { level: 'low' as const, available_quantity: null };
    const next = { ...MUG, title: 'Cup', price_tiers: tiers([4, 240]), gtin: '12345678' };
    expect(differences({ brand: 'Potter' }, { product: next, stock })).toStrictEqual([
      { field: 'title', before: 'Mug', after: 'Cup' },
      { field: 'price_tiers', before: tiers([4, 250]), after: tiers([4, 240]) },
      { field: 'brand', before: 'Potter', after: null },
      { field: 'stock', before: 'in_stock', after: 'low' },
      { field: 'available_quantity', before: 9, after: null },
      { field: 'gtin', before: null, after: '12345678' },
    ]);
  });
});
