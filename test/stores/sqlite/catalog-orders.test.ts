import { describe, expect, test } from 'vitest';
import { sqliteCatalog } from '#src/stores/sqlite/catalog/catalog.ts';
import type { Catalog, CatalogProduct, ProductSearch } from '#src/ports/catalog.ts';
import { createRandom } from '../../bench/random.ts';
import { content, type Content, history, type Stock, T0 } from '../../support/world/products.ts';

const chance = createRandom(20);
const PRODUCTS = 1_000;
const WORDS = ['pink', 'pin', 'glass', 'mug', 'retro', 'spot', 'tin'];
const STOCKS: Stock[] = [
  { level: 'in_stock', available_quantity: null },
  { level: 'in_stock', available_quantity: 500 },
  { level: 'low', available_quantity: 3 },
  { level: 'low', available_quantity: null },
  { level: 'out_of_stock', available_quantity: 0 },
];

const made = (key: string): Content =>
  content(key, {
    title: `${chance.pick(WORDS)} ${chance.pick(WORDS)}`,
    category: chance.pick(['Mugs', 'Bags', 'Gifts']),
    brand: `Brand ${chance.below(70)}`,
    currency: chance.below(20) === 0 ? 'EUR' : 'GBP',
    moq: 1 + chance.below(30),
    ...(chance.below(3) > 0 && { lead_time_days: chance.below(10) }),
    price_tiers: [
      { min_quantity: 1, unit_price: 1 + chance.below(400) },
      { min_quantity: 12, unit_price: 1 + chance.below(300) },
    ],
  });

const sometimes = <Value>(value: () => Value): Value | undefined =>
  chance.below(3) === 0 ? value() : undefined;

const randomQuery = (): ProductSearch => {
  const price_min = chance.below(200);
  const wish = {
    q: sometimes(() => (chance.below(2) === 0 ? chance.pick(WORDS) : 'pin mug')),
    category: sometimes(() => chance.pick(['Mugs', 'Bags'])),
    currency: sometimes(() => 'GBP'),
    price_min: sometimes(() => price_min),
    price_max: sometimes(() => price_min + chance.below(300)),
    at_quantity: sometimes(() => 12),
    moq_max: sometimes(() => 1 + chance.below(30)),
    min_available: sometimes(() => chance.pick([1, 4, 501])),
    lead_time_max_days: sometimes(() => chance.below(10)),
    updated_since: sometimes(() => T0 + chance.below(2_000)),
  };
  const said = Object.fromEntries(Object.entries(wish).filter(([, of]) => of !== undefined));
  return {
    ...(said as Partial<ProductSearch>),
    sort: chance.pick(['relevance', 'price', 'moq', 'lead_time', 'updated'] as const),
    limit: 25,
    offset: chance.pick([0, 0, 75, 150]),
    facets: chance.below(3) === 0 ? ['brand', 'stock'] : [],
  };
};

const priceAt = ({ price_tiers, moq }: CatalogProduct, quantity = moq): number =>
  (price_tiers.findLast((tier) => tier.min_quantity <= quantity) ?? price_tiers[0])?.unit_price ??
  NaN;

const passes = (query: ProductSearch, product: CatalogProduct): boolean => {
  const { stock, lead_time_days = Infinity } = product;
  const price = priceAt(product, query.at_quantity);
  const available = stock.available_quantity ?? (stock.level === 'in_stock' ? Infinity : -1);
  return (
    (query.category ?? product.category) === product.category &&
    (query.currency ?? product.currency) === product.currency &&
    price >= (query.price_min ?? 0) &&
    price <= (query.price_max ?? Infinity) &&
    product.moq <= (query.moq_max ?? Infinity) &&
    available >= (query.min_available ?? -Infinity) &&
    (query.lead_time_max_days === undefined || lead_time_days <= query.lead_time_max_days) &&
    product.updated_at >= (query.updated_since ?? 0)
  );
};

const keyOf = ({ sort, at_quantity }: ProductSearch, product: CatalogProduct): string | number =>
  ({
    relevance: product.title,
    price: `${product.currency}${`${priceAt(product, at_quantity)}`.padStart(9, '0')}`,
    moq: product.moq,
    lead_time: product.lead_time_days ?? Infinity,
    updated: -product.updated_at,
  })[sort];

const byKey =
  (query: ProductSearch) =>
  (one: CatalogProduct, other: CatalogProduct): number => {
    const [a, b] = [keyOf(query, one), keyOf(query, other)];
    if (a !== b) return a < b ? -1 : 1;
    return one.product_id < other.product_id ? -1 : 1;
  };

const ALL: ProductSearch = { sort: 'relevance', limit: 10_000, offset: 0, facets: [] };

/** Searches by a plain pass over all products. Takes the matches of a text and their scores as given. */
const walked = (catalog: Catalog, query: ProductSearch) => {
  const { q } = query;
  const from = catalog.search({ ...ALL, ...(q !== undefined && { q }) }).products;
  const found = from.filter((product) => passes(query, product));
  if (q === undefined || query.sort !== 'relevance') found.sort(byKey(query));
  const facets = query.facets.map((field) => {
    const counts = new Map<string, number>();
    for (const { brand = '', stock } of found) {
      const value = field === 'brand' ? brand : stock.level;
      counts.set(value, (counts.get(value) ?? 0) + 1);
    }
    const values = [...counts].map(([value, count]) => ({ value, count }));
    values.sort((one, other) => other.count - one.count || (one.value < other.value ? -1 : 1));
    return { field, values: values.slice(0, 50), more: Math.max(0, values.length - 50) };
  });
  const page = found.slice(query.offset, query.offset + query.limit);
  return { products: page.map(({ product_id }) => product_id), total: found.length, facets };
};

/** Enough queries to meet each filter and order after every kind of change. */
const ASKED_BETWEEN_CHANGES = 60;

describe('A search of the catalog', () => {
  test('A search of the catalog gives the results of a plain pass over all products after each kind of change', () => {
    const log = history();
    const live = new Set<string>();
    const publish = (key: string): void => {
      live.add(key);
      log.publish(made(key), chance.pick(STOCKS));
    };
    const some = (): string[] => [...live].filter(() => chance.below(50) === 0);
    const changes: Record<string, () => void> = {
      publish: () => {
        for (let n = 0; n < PRODUCTS; n += 1) publish(`${(n * 389) % PRODUCTS}`.padStart(5, '0'));
      },
      observe: () => some().forEach((key) => log.observe(`prd_${key}`, chance.pick(STOCKS))),
      revise: () => some().forEach((key) => log.revise(made(key), chance.pick(STOCKS))),
      withdraw: () =>
        some().forEach((key) => {
          live.delete(key);
          log.withdraw(`prd_${key}`);
        }),
      more: () => {
        for (let n = 0; n < 40; n += 1) publish(`${n * 31}-new`.padStart(9, '0'));
      },
      back: () => publish('00000'),
    };
    const catalog = sqliteCatalog(':memory:');
    const view = { show: (product: CatalogProduct) => product.product_id, bytes: () => 1 };
    for (const [change, happen] of Object.entries(changes)) {
      happen();
      catalog.apply(log.events.slice(catalog.checkpoint()), log.events.length);
      expect(catalog.count()).toBe(live.size);
      for (let n = 0; n < ASKED_BETWEEN_CHANGES; n += 1) {
        const query = randomQuery();
        const { last, relaxed: _relaxed, excluded_by = [], ...hits } = catalog.show(query, view);
        const expected = walked(catalog, query);
        expect({ change, query, ...hits }).toEqual({ change, query, ...expected });
        expect(excluded_by.length > 0).toBe(hits.total === 0);
        const end = query.offset + query.limit;
        expect(last?.shown).toBe(end < expected.total ? end : undefined);
      }
    }
    catalog.close();
  });

  test('A search of the catalog extends its cached result by the rows and facets of later queries', () => {
    const { events, publish } = history();
    for (let n = 0; n < 200; n += 1) publish(made(`${(n * 89) % 200}`.padStart(3, '0')));
    const fresh = (): Catalog => {
      const catalog = sqliteCatalog(':memory:');
      catalog.apply(events, events.length);
      return catalog;
    };
    const kept = fresh();
    const asks: Partial<ProductSearch>[] = [
      {},
      { facets: ['brand'] },
      { offset: 20 },
      { offset: 40, facets: ['stock', 'category'] },
      { offset: 150 },
      { facets: ['category', 'brand'] },
    ];
    for (const sort of ['relevance', 'price', 'updated'] as const)
      for (const over of asks) {
        const query = { ...ALL, sort, limit: 20, ...over };
        expect(kept.search(query)).toEqual(fresh().search(query));
      }
  });

  test('A search of the catalog makes the view of a product again after a change, and not before', () => {
    const { events, publish, observe } = history();
    publish(content('a'));
    publish(content('b'));
    const catalog = sqliteCatalog(':memory:');
    catalog.apply(events, events.length);
    const shown: string[] = [];
    const view = {
      show(product: CatalogProduct) {
        shown.push(product.product_id);
        return `${product.product_id} ${product.stock.level}`;
      },
      bytes: (text: string) => text.length,
    };
    expect(catalog.show(ALL, view).products).toEqual(['prd_a in_stock', 'prd_b in_stock']);
    catalog.show({ ...ALL, sort: 'moq' }, view);
    expect(shown).toEqual(['prd_a', 'prd_b']);
    const observed = observe('prd_b', { level: 'low', available_quantity: 1 });
    catalog.apply([observed], observed.position);
    expect(catalog.show(ALL, view).products).toEqual(['prd_a in_stock', 'prd_b low']);
    expect(shown).toEqual(['prd_a', 'prd_b', 'prd_b']);
    catalog.close();
  });
});
