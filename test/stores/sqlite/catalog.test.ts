import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { sqliteCatalog } from '#src/stores/sqlite/catalog/catalog.ts';
import type { Catalog, CatalogProduct, ProductSearch } from '#src/ports/catalog.ts';
import type { FoldEvent } from '#src/ports/event-log.ts';
import type { Content, Stock } from '../../support/world/products.ts';
import { content, history, MUCH, T0 } from '../../support/world/products.ts';

const catalogOf = (events: readonly FoldEvent[]): Catalog => {
  const catalog = sqliteCatalog(':memory:');
  catalog.apply(events, events.length);
  return catalog;
};

const catalogWith = (...products: Content[]): Catalog => {
  const { events, publish } = history();
  for (const product of products) publish(product);
  return catalogOf(events);
};

const ask = (over: Partial<ProductSearch>): ProductSearch => ({
  sort: 'relevance',
  limit: 100,
  offset: 0,
  facets: [],
  ...over,
});

const keys = (catalog: Catalog, over: Partial<ProductSearch>): string[] =>
  catalog.search(ask(over)).products.map(({ product_id }) => product_id.slice(4));

describe('A text search', () => {
  const shop = catalogWith(
    content('vase', { title: 'Pink Glass Vase', brand: 'Café Zoë' }),
    content('mug', {
      title: 'Retro Spot Mug',
      category: 'Mugs',
      description: 'Goes with a pink vase',
    }),
    content('glasses', { title: 'Pink Glasses' }),
    content('cup', { title: '青い 茶杯', sku: 'AB-123' }),
    content('cups', { title: 'Blue Cup', sku: 'AB-124' }),
  );

  test.each([
    ['finds every word by its prefix', 'pink glas', ['glasses', 'vase']],
    ['accepts words in any order and case', 'GLASS piNK', ['glasses', 'vase']],
    ['leaves out a word that no product has', 'pink zebra', ['glasses', 'mug', 'vase']],
    ['finds nothing if no product has any word', 'zebra giraffe', []],
    ['matches words of several fields', 'mugs spot', ['mug']],
    ['finds a SKU', 'ab-123', ['cup']],
    ['finds accented words without accents', 'cafe zoe', ['vase']],
    ['finds words with other accents', 'CÁFÈ', ['vase']],
    ['accepts decomposed accents', 'cafe\u0301', ['vase']],
    ['accepts full-width letters', 'ｐｉｎｋ ｖａｓｅ', ['mug', 'vase']],
    ['finds words that are written without spaces', '杯', ['cup']],
    ['finds words of the description', 'goes', ['mug']],
    ['finds nothing without a word', '*** 🎁', []],
    ['accepts one replaced letter', 'glads', ['glasses', 'vase']],
    ['accepts a missing letter in a word, but no typo in a short one', 'rtro mog', ['mug']],
    ['accepts one additional letter', 'rettro', ['mug']],
    ['accepts two exchanged letters', 'vsae', ['mug', 'vase']],
    ['accepts a wrong first letter', 'xetro', ['mug']],
    ['accepts two exchanged letters in a short word', 'mgu', ['mug']],
    ['accepts no other typo in a short word', 'mog', []],
    ['accepts no typo in a word of two letters', 'ba', []],
    ['accepts no second typo', 'glxxs', []],
    ['accepts no typo in a number', 'ab-125', ['cup', 'cups']],
    ['finds nothing by another number', '125', []],
    ['looks for typos only in words without a match', 'pink vaze', ['mug', 'vase']],
    ['does not use a shorter near word as a prefix', 'cupp', ['cups']],
  ])('A text search %s', (_, q, expected) => {
    expect(keys(shop, { q }).sort()).toEqual(expected);
  });

  test.each([
    ['Straße', 'strasse'],
    ['Größe', 'grosse'],
    ['smørbrød', 'smorbrod'],
    ['Ærø', 'aero'],
    ['cœur', 'coeur'],
    ['Łódź', 'lodz'],
    ['Đakovo', 'dakovo'],
    ['Þingvellir', 'thingvellir'],
    ['Isparta ılık', 'ilik'],
    ['İzmir', 'izmir'],
  ])('A text search finds %s as people type it: %s', (title, typed) => {
    const catalog = catalogWith(content('a', { title }));
    for (const q of [typed, typed.toUpperCase(), title, title.toUpperCase()])
      expect([q, keys(catalog, { q })]).toEqual([q, ['a']]);
  });

  test('A text search finds a gtin and an mpn, also after they have changed', () => {
    const [first, second] = [{ gtin: '5012345678900' }, { mpn: 'EM-77/b' }];
    expect(keys(catalogWith(content('a', first)), { q: '5012345678900' })).toEqual(['a']);
    expect(keys(catalogWith(content('a', second)), { q: 'em-77' })).toEqual(['a']);
    const { events, publish, revise } = history();
    publish(content('a', first));
    revise(content('a', second));
    const catalog = sqliteCatalog(':memory:');
    catalog.apply(events, events.length);
    expect([keys(catalog, { q: '5012345678900' }), keys(catalog, { q: '77' })]).toEqual([
      [],
      ['a'],
    ]);
  });

  test('A text search ranks the title above the description, and the whole word above its beginning', () => {
    const ranked = catalogWith(
      content('a', { title: 'Tinsel Garland' }),
      content('b', { title: 'Blue Box', description: 'Made of tin' }),
      content('c', { title: 'Storage Tin' }),
    );
    expect(keys(ranked, { q: 'tin' })).toEqual(['c', 'a', 'b']);
  });

  test('A text search ranks equal matches by id', () => {
    const same = ['d', 'a', 'c', 'b'].map((key) => content(key, { title: 'Same', sku: '1' }));
    expect(keys(catalogWith(...same), { q: 'same' })).toEqual(['a', 'b', 'c', 'd']);
  });

  test.each([
    '"',
    "'",
    '"pink',
    'pink*',
    'pink OR zebra',
    'NEAR(pink vase, 2)',
    'title:pink',
    '-pink',
    '^pink',
  ])('A text search reads %j as words and not as syntax', (q) =>
    expect(() => shop.search(ask({ q }))).not.toThrow(),
  );

  test('A text search accepts any text without a syntax error', () => {
    const unit = fc.oneof(
      fc.constantFrom(
        '"',
        "'",
        '*',
        '(',
        ')',
        ':',
        '^',
        '+',
        '-',
        '{',
        '}',
        '\0',
        '\ud800',
        '\u{1e900}',
      ),
      fc.constantFrom('NEAR', 'AND', 'OR', 'NOT', 'pink', 'title', ' ', '🎁', 'ß', 'İ', '茶', 'ก็'),
      fc.string({ unit: 'binary', maxLength: 4 }),
    );
    fc.assert(
      fc.property(fc.array(unit, { maxLength: 40 }), (parts) => {
        const { products, total } = shop.search(ask({ q: parts.join('') }));
        expect(products.length).toBe(total);
        shop.search(ask({ q: Array.from({ length: 200 }, () => parts.join('')).join(' ') }));
      }),
      { numRuns: 150 },
    );
  });

  test('A text search finds a product by every word of its title', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 }), (title) => {
        const one = catalogWith(content('x', { title: `known ${title}` }));
        expect(one.search(ask({ q: `known ${title}` })).total).toBe(1);
      }),
      { numRuns: 60 },
    );
  });
});

describe('Filters, order and facets', () => {
  const arbitrary = fc.record({
    category: fc.constantFrom('Mugs', 'Bags', 'Gifts'),
    brand: fc.constantFrom(undefined, 'Ada', 'Bo'),
    ship_from: fc.constantFrom(undefined, 'GB', 'DE'),
    origin_country: fc.constantFrom(undefined, 'CN', 'IN'),
    currency: fc.constantFrom('GBP', 'EUR'),
    lead_time_days: fc.constantFrom(undefined, 0, 5, 9),
    title: fc.constantFrom('Pink Mug', 'blue mug', 'Bag', 'Älpine Bag'),
    moq: fc.constantFrom(1, 4, 12),
    tiers: fc.constantFrom(
      [[1, 300]],
      [
        [4, 90],
        [48, 40],
      ],
      [
        [1, 90],
        [6, 80],
        [50, 10],
      ],
    ),
    stock: fc.constantFrom<Stock[]>(
      MUCH,
      { level: 'low', available_quantity: 3 },
      { level: 'in_stock', available_quantity: null },
      { level: 'low', available_quantity: null },
      { level: 'out_of_stock', available_quantity: 0 },
    ),
  });
  const maybe = <T>(...values: T[]) => fc.constantFrom(undefined, undefined, ...values);
  const queries = fc.record({
    q: maybe('mug', 'b', 'alpine'),
    category: maybe('Mugs', 'None'),
    brand: maybe('Ada'),
    ship_from: maybe('GB'),
    origin: maybe('CN'),
    currency: maybe('GBP', 'USD'),
    price_min: maybe(0, 41, 90),
    price_max: maybe(10, 90, 299),
    at_quantity: maybe(1, 5, 48, 1_000),
    moq_max: maybe(1, 4),
    min_available: maybe(1, 4),
    lead_time_max_days: maybe(0, 5),
    updated_since: maybe(T0 + 10),
    sort: fc.constantFrom<ProductSearch['sort'][]>(
      'relevance',
      'price',
      'moq',
      'lead_time',
      'updated',
    ),
  });
  const defined = <T extends object>(value: T) =>
    Object.fromEntries(Object.entries(value).filter(([, of]) => of !== undefined)) as {
      [K in keyof T]?: Exclude<T[K], undefined>;
    };

  const priceAt = ({ price_tiers, moq }: CatalogProduct, quantity = moq): number =>
    (price_tiers.findLast((tier) => tier.min_quantity <= quantity) ?? price_tiers[0])?.unit_price ??
    NaN;
  const matches = (query: Partial<ProductSearch>) => (product: CatalogProduct) => {
    const { stock, lead_time_days = Infinity } = product;
    const price = priceAt(product, query.at_quantity);
    const available = stock.available_quantity ?? (stock.level === 'in_stock' ? Infinity : -1);
    const words = `${product.title} ${product.category} ${product.brand} ${product.sku}`;
    const plain = words
      .normalize('NFD')
      .replace(/\u0308/g, '')
      .toLowerCase()
      .split(/[ -]/);
    return (
      (query.q === undefined || plain.some((word) => word.startsWith(query.q ?? ''))) &&
      (query.category ?? product.category) === product.category &&
      (query.brand === undefined || query.brand === product.brand) &&
      (query.ship_from === undefined || query.ship_from === product.ship_from) &&
      (query.origin === undefined || query.origin === product.origin_country) &&
      (query.currency ?? product.currency) === product.currency &&
      price >= (query.price_min ?? 0) &&
      price <= (query.price_max ?? Infinity) &&
      product.moq <= (query.moq_max ?? Infinity) &&
      available >= (query.min_available ?? -Infinity) &&
      (query.lead_time_max_days === undefined || lead_time_days <= query.lead_time_max_days) &&
      product.updated_at >= (query.updated_since ?? 0)
    );
  };
  const keyOf = (query: Partial<ProductSearch>, product: CatalogProduct): string | number =>
    ({
      relevance: product.title.replace('Ä', 'a').toLowerCase(),
      price: `${product.currency}${`${priceAt(product, query.at_quantity)}`.padStart(9, '0')}`,
      moq: product.moq,
      lead_time: product.lead_time_days ?? Infinity,
      updated: -product.updated_at,
    })[query.sort ?? 'relevance'];

  test('Filters, order and facets give the results of a plain pass over all products on every page', () => {
    const facets: ProductSearch['facets'] = ['category', 'ship_from', 'brand', 'origin', 'stock'];
    fc.assert(
      fc.property(fc.array(arbitrary, { maxLength: 25 }), queries, (made, wish) => {
        const { events, publish, observe } = history();
        made.forEach(({ tiers, stock, ...rest }, index) => {
          const price_tiers = tiers.map(([min_quantity = 0, unit_price = 0]) => ({
            min_quantity,
            unit_price,
          }));
          const id = `${(index * 7) % 26}`.padStart(2, '0');
          const product = { ...content(id), ...defined(rest), price_tiers };
          publish(product);
          observe(product.product_id, stock);
        });
        const catalog = catalogOf(events);
        const query = defined(wish);
        const every = catalog.search(ask({ limit: 1_000 })).products;
        expect(every.length).toBe(made.length);
        const expected = every.filter(matches(query));
        expected.sort((one, other) => {
          const a = keyOf(query, one);
          const b = keyOf(query, other);
          if (a !== b) return a < b ? -1 : 1;
          return one.product_id < other.product_id ? -1 : 1;
        });
        const ids = (products: CatalogProduct[]) => products.map(({ product_id }) => product_id);
        const hits = catalog.search(ask({ ...query, facets, limit: 1_000 }));
        expect(hits.total).toBe(expected.length);
        const byScore = query.q !== undefined && query.sort === 'relevance';
        expect(byScore ? ids(hits.products).sort() : ids(hits.products)).toEqual(
          byScore ? ids(expected).sort() : ids(expected),
        );
        const pages: CatalogProduct[] = [];
        for (let offset = 0; offset < hits.total; offset += 4) {
          pages.push(...catalog.search(ask({ ...query, limit: 4, offset })).products);
        }
        expect(ids(pages)).toEqual(ids(hits.products));
        for (const { field, values, more } of hits.facets) {
          expect(more).toBe(0);
          const counts = new Map<string, number>();
          for (const product of expected) {
            const from: { [Field in (typeof facets)[number]]?: unknown } = {
              ...product,
              origin: product.origin_country,
              stock: product.stock.level,
            };
            const value = from[field as (typeof facets)[number]] as string | undefined;
            if (value !== undefined) counts.set(value, (counts.get(value) ?? 0) + 1);
          }
          const sorted = [...counts].map(([value, count]) => ({ value, count }));
          sorted.sort(
            (one, other) => other.count - one.count || (one.value < other.value ? -1 : 1),
          );
          expect(values).toEqual(sorted);
        }
      }),
      { numRuns: 120 },
    );
  });

  test('Filters, order and facets include ids and SKUs, and ignore unknown ones', () => {
    const shop = catalogWith(content('a'), content('b'), content('c', { category: 'Mugs' }));
    expect(keys(shop, { ids: ['prd_c', 'prd_a', 'prd_x'] })).toEqual(['a', 'c']);
    expect(keys(shop, { skus: ['SKU-c', 'sku-a'], category: 'Mugs' })).toEqual(['c']);
    expect(keys(shop, { ids: ['prd_a'], skus: ['SKU-b'] })).toEqual([]);
  });

  test('Filters, order and facets list the most frequent values of a facet, and all categories of a catalog', () => {
    const many = Array.from({ length: 1_020 }, (_, n) =>
      content(`${n}`, { brand: `Brand ${n % 60}`, category: `Category ${n % 510}` }),
    );
    const more = content('x', { brand: 'Brand 59', category: 'Category 509' });
    const [brand, category] = catalogWith(...many, more).search(
      ask({ facets: ['brand', 'category'], limit: 1 }),
    ).facets;
    expect([brand?.values.length, brand?.more]).toEqual([50, 10]);
    expect(brand?.values[0]).toEqual({ value: 'Brand 59', count: 18 });
    expect([category?.values.length, category?.more]).toEqual([500, 10]);
    expect(category?.values[0]).toEqual({ value: 'Category 509', count: 3 });
  });

  test('Filters, order and facets keep their order on pages after the first hundreds of rows', () => {
    const many = Array.from({ length: 700 }, (_, n) =>
      content(`${(n * 389) % 700}`, { moq: n % 3 }),
    );
    const shop = catalogWith(...many);
    for (const sort of ['relevance', 'moq'] as const) {
      const whole = keys(shop, { sort, limit: 700 });
      const fresh = catalogWith(...many);
      const pages = [0, 100, 200, 300, 400, 500, 600].flatMap((offset) =>
        keys(fresh, { sort, offset }),
      );
      expect(pages).toEqual(whole);
      expect(new Set(pages).size).toBe(700);
    }
  });
});
