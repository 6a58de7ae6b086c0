import { describe, expect, test } from 'vitest';
import { sqliteCatalog } from '#src/stores/sqlite/catalog/catalog.ts';
import type { Catalog, ProductMark, ProductSearch } from '#src/ports/catalog.ts';
import { createRandom } from '../../bench/random.ts';
import { content, type Content, history, MUCH } from '../../support/world/products.ts';

const chance = createRandom(8);
const PRODUCTS = 400;
const WORDS = ['pink', 'pin', 'glass', 'mug', 'retro', 'spot', 'tin', '茶杯', 'a'.repeat(40)];
const SORTS = ['relevance', 'price', 'moq', 'lead_time', 'updated'] as const;

const made = (key: string): Content =>
  content(key, {
    title: Array.from({ length: 1 + chance.below(4) }, () => chance.pick(WORDS)).join(' '),
    description: 'word '.repeat(chance.below(30)),
    currency: chance.pick(['GBP', 'GBP', 'EUR', 'USD']),
    moq: 1 + chance.below(3),
    ...(chance.below(3) > 0 && { lead_time_days: chance.below(3) }),
    price_tiers: [
      { min_quantity: 1, unit_price: 1 + chance.below(9) },
      { min_quantity: 12, unit_price: 1 },
    ],
  });

const shopOf = () => {
  const log = history();
  const live = new Set<string>();
  const catalog = sqliteCatalog(':memory:');
  let next = 0;
  const publish = (): void => {
    const key = `${(next++ * 389) % 4_001}`.padStart(5, '0');
    live.add(`prd_${key}`);
    log.publish(made(key));
  };
  for (let n = 0; n < PRODUCTS; n += 1) publish();
  const follow = (on: Catalog = catalog): void => {
    on.apply(log.events.slice(on.checkpoint()), log.events.length);
  };
  follow();
  return {
    log,
    live,
    catalog,
    follow,
    /** Withdraws, revises, observes and publishes products; returns the ids of those that changed. */
    change(): string[] {
      const touched = [...live].filter(() => chance.below(50) === 0);
      for (const id of touched) {
        const turn = chance.below(3);
        if (turn === 0) log.revise(made(id.slice(4)));
        else if (turn === 1) log.observe(id, MUCH);
        else {
          log.withdraw(id);
          live.delete(id);
        }
      }
      for (let n = 0; n < 20; n += 1) publish();
      follow();
      return touched;
    },
  };
};

const ALL: ProductSearch = { sort: 'relevance', limit: 17, offset: 0, facets: [] };

const queries = (): ProductSearch[] =>
  SORTS.flatMap((sort) =>
    [{}, { q: 'p' }, { q: 'p mug' }, { at_quantity: 12 }, { currency: 'GBP' }].map((over) => ({
      ...over,
      ...ALL,
      sort,
    })),
  );

const asJson = (mark: ProductMark): ProductMark => JSON.parse(JSON.stringify(mark)) as ProductMark;

/** Reads all rows page by page; calls `between` before each further page. */
const paged = (catalog: Catalog, query: ProductSearch, between: () => Catalog | void): string[] => {
  const seen: string[] = [];
  let from = catalog;
  let after: ProductMark | undefined;
  do {
    const { products, last } = from.search({ ...query, ...(after && { after: asJson(after) }) });
    seen.push(...products.map(({ product_id }) => product_id));
    after = last;
    if (after) from = between() ?? from;
  } while (after && seen.length < 10 * PRODUCTS);
  return seen;
};

describe('Pages that continue after a mark', () => {
  test.each(queries().map((query) => [JSON.stringify(query), query] as const))(
    'Pages that continue after a mark lose and repeat no product that does not change: %s',
    (_, query) => {
      const shop = shopOf();
      const all = shop.catalog.search({ ...query, limit: 10_000 });
      const before = all.products.map(({ product_id }) => product_id);
      expect(before.length).toBeGreaterThan(20);
      expect(all.last).toBeUndefined();
      expect(paged(shop.catalog, query, () => {})).toEqual(before);

      const changed = new Set<string>();
      const seen = paged(shop.catalog, query, () => {
        for (const id of shop.change()) changed.add(id);
      });
      const same = before.filter((id) => !changed.has(id));
      expect(seen.filter((id) => new Set(same).has(id))).toEqual(same);
      shop.catalog.close();
    },
  );

  test('Pages that continue after a mark continue in the catalog of another node', () => {
    for (const query of queries()) {
      const shop = shopOf();
      const before = paged(shop.catalog, query, () => {});
      const other = sqliteCatalog(':memory:');
      shop.follow(other);
      expect(paged(shop.catalog, query, () => other)).toEqual(before);
    }
  });

  test('Pages that continue after a mark keep their order when a rare word becomes frequent', () => {
    const { events, publish } = history();
    const catalog = sqliteCatalog(':memory:');
    const follow = (): void => catalog.apply(events.slice(catalog.checkpoint()), events.length);
    for (let n = 10; n < 20; n += 1) {
      publish(content(`in title ${n}`, { title: 'mug', description: 'pin' }));
      publish(content(`in text ${n}`, { title: 'pin', description: 'mug' }));
      for (let more = 0; more < 9; more += 1) publish(content(`${n}${more}`, { title: 'pin' }));
    }
    follow();
    const query: ProductSearch = { q: 'mug pin', ...ALL, limit: 15 };
    const before = catalog.search({ ...query, limit: 100 }).products;
    const then = catalog.search(query);
    for (let n = 0; n < 900; n += 1) publish(content(`m${n}`, { title: 'mug', category: 'Mugs' }));
    follow();
    const now = catalog.search({ ...query, limit: 100 }).products;
    const ids = (products: { product_id: string }[]) => products.map((of) => of.product_id);
    expect(ids(now)).not.toEqual(ids(before));
    const rest = catalog.search({ ...query, ...(then.last && { after: then.last }) });
    expect([...ids(then.products), ...ids(rest.products)]).toEqual(ids(before));
    catalog.close();
  });

  test('The marks of pages fit into a cursor, however long the words are', () => {
    const long = '茶'.repeat(200);
    const { events, publish } = history();
    const han = Array.from({ length: 200 }, (_, n) => String.fromCodePoint(0x4e00 + n)).join('');
    for (const key of ['a', 'b', 'c'])
      publish(content(key.repeat(24), { title: long, description: `${han} \u{20bb7}` }));
    const catalog = sqliteCatalog(':memory:');
    catalog.apply(events, events.length);
    for (const over of [{}, { q: han }]) {
      const query: ProductSearch = { ...ALL, limit: 1, ...over };
      expect(paged(catalog, query, () => {})).toHaveLength(3);
      const { last } = catalog.search(query);
      expect(Buffer.byteLength(JSON.stringify(last))).toBeLessThan(330);
    }
  });

  test('Pages of the catalog order by currency, and by amount within a currency', () => {
    const { catalog } = shopOf();
    const { products } = catalog.search({ ...ALL, sort: 'price', limit: 10_000 });
    const prices = products.map(
      ({ currency, price_tiers }) => `${currency} ${price_tiers[0]?.unit_price}`,
    );
    expect(prices).toEqual(prices.toSorted());
    expect(new Set(prices.map((price) => price.slice(0, 3))).size).toBe(3);
    catalog.close();
  });
});
