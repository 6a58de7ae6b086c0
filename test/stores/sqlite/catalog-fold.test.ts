import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import * as fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { sqliteCatalog } from '#src/stores/sqlite/catalog/catalog.ts';
import { type Catalog, PoisonEvent, type ProductSearch } from '#src/ports/catalog.ts';
import type { FoldEvent } from '#src/ports/event-log.ts';
import { directories } from '../../support/processes/directories.ts';
import { content, history, MUCH, T0 } from '../../support/world/products.ts';

const temporary = directories('tributary-catalog-');
afterAll(() => temporary.removeAll());

const freshFile = (): string => join(temporary.fresh(), 'catalog.db');

const filled = (events: readonly FoldEvent[], file = ':memory:'): Catalog => {
  const catalog = sqliteCatalog(file);
  catalog.apply(events, events.length);
  return catalog;
};

const ALL: ProductSearch = { sort: 'relevance', limit: 100, offset: 0, facets: ['category'] };

describe('The catalog', () => {
  test('The catalog holds the product as its published, revised and observed events define it', () => {
    const { events, publish, revise, observe, other } = history();
    publish(content('a', { brand: 'Ada' }));
    other();
    revise(content('a', { title: 'Better', certifications: ['FSC'] }));
    observe('prd_a', { level: 'low', available_quantity: 3 });
    const catalog = filled(events);
    expect(catalog.byId(['prd_a', 'prd_x'])).toEqual(
      new Map([
        [
          'prd_a',
          {
            ...content('a', { title: 'Better', certifications: ['FSC'] }),
            stock: { level: 'low', available_quantity: 3, as_of: T0 + 4 },
            revision: 2,
            published_at: T0 + 1,
            updated_at: T0 + 4,
          },
        ],
      ]),
    );
    expect(catalog.bySku(['SKU-a']).get('SKU-a')?.product_id).toBe('prd_a');
    expect(catalog.search({ ...ALL, q: 'product' }).total).toBe(0);
    expect(catalog.search({ ...ALL, q: 'better' }).total).toBe(1);
    expect(catalog.checkpoint()).toBe(4);
  });

  test('The catalog dates the stock by the feed until another stock is observed', () => {
    const { events, publish, observe, revise } = history();
    const seen = (source_updated_at: string) => {
      const event = revise(content('a', { source_updated_at }));
      return filled(events.slice(0, event.position)).byId(['prd_a']).get('prd_a')?.stock.as_of;
    };
    publish(content('a'));
    expect(seen('2011-11-21')).toBe(Date.parse('2011-11-21T00:00:00Z'));
    expect(seen('2999-01-01T00:00:00Z')).toBe(T0 + 3);
    expect(seen('last week')).toBe(T0 + 4);
    revise(content('a', { source_updated_at: '2011-11-21' }));
    observe('prd_a', { level: 'low', available_quantity: 3 });
    expect(filled(events).byId(['prd_a']).get('prd_a')?.stock.as_of).toBe(T0 + 6);
  });

  test('The catalog omits a withdrawn product, and shows its first publication date when it is published again', () => {
    const { events, publish, observe, withdraw } = history();
    publish(content('a', { category: 'Mugs' }));
    publish(content('b'));
    withdraw('prd_a');
    const catalog = filled(events);
    expect(catalog.count()).toBe(1);
    expect(catalog.categoryNamed('Mugs')).toBeUndefined();
    expect(catalog.byId(['prd_a']).size + catalog.bySku(['SKU-a']).size).toBe(0);
    const ids = ['prd_a', 'prd_b', 'prd_x'];
    const gone = { product: { title: 'Product a', category: 'Mugs' }, reason: 'sold out' };
    expect([...catalog.withdrawn(ids)]).toMatchObject([['prd_a', gone]]);
    const seen = observe('prd_a', MUCH);
    catalog.apply([seen], seen.position);
    expect(catalog.withdrawn(ids).get('prd_a')?.reason).toBe('sold out');
    expect(catalog.search({ ...ALL, q: 'a' }).total).toBe(0);
    expect(catalog.search(ALL).facets).toEqual([
      { field: 'category', values: [{ value: 'Gifts', count: 1 }], more: 0 },
    ]);
    const again = publish(content('a', { category: 'Mugs' }));
    catalog.apply([again], again.position);
    expect(catalog.withdrawn(ids)).toEqual(new Map());
    expect(catalog.byId(['prd_a']).get('prd_a')).toMatchObject({
      published_at: T0 + 1,
      updated_at: T0 + 5,
      revision: 3,
    });
    expect(catalog.categoryNamed('mugs')).toBe('Mugs');
    expect(catalog.search({ ...ALL, q: 'a' }).total).toBe(1);
  });

  test('The catalog does not answer from its cache after a product has changed', () => {
    const { events, publish, observe, revise } = history();
    publish(content('a', { title: 'Mug' }));
    const catalog = filled(events);
    const low: ProductSearch = { ...ALL, q: 'mug', min_available: 10 };
    expect(catalog.search(low).total).toBe(1);
    const observed = observe('prd_a', { level: 'low', available_quantity: 9 });
    catalog.apply([observed], observed.position);
    expect(catalog.search(low).total).toBe(0);
    expect(catalog.search({ ...ALL, q: 'mug' }).products[0]?.stock.available_quantity).toBe(9);
    const revised = revise(content('a', { title: 'Cup' }));
    catalog.apply([revised], revised.position);
    expect(catalog.search({ ...ALL, q: 'mug' }).total).toBe(0);
  });

  test('The catalog folds an event once, however often it is applied', () => {
    const { events, publish, withdraw } = history();
    publish(content('a'));
    withdraw('prd_a');
    publish(content('b'));
    const catalog = filled(events);
    const { digest } = catalog.digest();
    catalog.apply(events, 3);
    catalog.apply(events.slice(0, 1), 1);
    expect(catalog.checkpoint()).toBe(3);
    expect(catalog.digest()).toEqual({ rows: 1, digest });
    expect(catalog.search(ALL).total).toBe(1);
    const next = publish(content('c'));
    catalog.apply([...events.slice(0, 1), next], next.position);
    expect([...catalog.byId(['prd_a', 'prd_b', 'prd_c']).keys()]).toEqual(['prd_b', 'prd_c']);
  });

  test('The catalog applies a batch completely or not at all, with rows and checkpoint unchanged', () => {
    const { events, publish, revise } = history();
    publish(content('a'));
    const file = freshFile();
    const catalog = filled(events, file);
    const before = catalog.digest();
    const bad = [publish(content('b', { title: 'Unseen' })), revise(content('never'))];
    expect(() => catalog.apply(bad, 3)).toThrow(
      new PoisonEvent('ProductRevised at 3 on a product never published'),
    );
    expect(catalog.digest()).toEqual(before);
    expect([catalog.checkpoint(), catalog.count()]).toEqual([1, 1]);
    expect(catalog.search({ ...ALL, q: 'unseen' }).total).toBe(0);
    const beside = sqliteCatalog(file);
    expect([beside.checkpoint(), beside.digest()]).toEqual([1, before]);
    beside.close();
    catalog.apply(bad.slice(0, 1), 2);
    expect(catalog.search({ ...ALL, q: 'unsene' }).total).toBe(1);
  });

  test.each([
    ['names no product', { product_id: 7 }],
    ['has a title that is not a text', { title: { en: 'Mug' } }],
    ['has price tiers that are not a list', { price_tiers: 3 }],
    ['has a SKU that no column accepts', { product_id: 'prd_a', sku: ['S'] }],
  ])('The catalog throws PoisonEvent for an event that %s', (_, over) => {
    const { publish } = history();
    const event = publish({ ...content('a'), ...(over as object) });
    expect(() => filled([event])).toThrow(PoisonEvent);
  });

  test("The catalog's digest depends on its rows and not on their history", () => {
    const steps = fc.array(
      fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.constantFrom('publish', 'observe', 'withdraw')),
      { maxLength: 20 },
    );
    fc.assert(
      fc.property(steps, fc.integer({ min: 1, max: 5 }), (done, batch) => {
        const log = history();
        const live = new Set<string>();
        for (const [key, step] of done) {
          if (step === 'publish') log.publish(content(key, { title: `T ${log.events.length}` }));
          else if (!live.has(key)) continue;
          else if (step === 'observe') log.observe(`prd_${key}`, MUCH);
          else log.withdraw(`prd_${key}`);
          if (step === 'withdraw') live.delete(key);
          else live.add(key);
        }
        const byBatch = sqliteCatalog(':memory:');
        for (let from = 0; from < log.events.length; from += batch) {
          const events = log.events.slice(from, from + batch);
          byBatch.apply(events, events.at(-1)?.position ?? 0);
        }
        const streams = Object.groupBy(log.events, ({ stream }) => stream);
        const byStream = Object.values(streams)
          .reverse()
          .flatMap((events) => events ?? []);
        const renumbered = byStream.map((event, index) => ({ ...event, position: index + 1 }));
        expect(filled(renumbered).digest()).toEqual(byBatch.digest());
        expect(byBatch.digest().rows).toBe(live.size);
      }),
      { numRuns: 40 },
    );
  });

  test("The catalog's digest differs after any difference in a product", () => {
    const one = (over: object, members: 'as they are' | 'turned' = 'as they are') => {
      const { events, publish } = history();
      const product = { ...content('a'), ...over };
      const turned = Object.fromEntries(Object.entries(product).reverse()) as typeof product;
      publish(members === 'turned' ? turned : product);
      return filled(events).digest().digest;
    };
    expect(one({}, 'turned')).toBe(one({}));
    const others = [
      { lead_time_days: 1 },
      { title: 'B' },
      { price_tiers: [{ min_quantity: 1, unit_price: 101 }] },
    ];
    expect(new Set([{}, ...others].map((over) => one(over))).size).toBe(4);
  });
});

describe('The file of the catalog', () => {
  const story = () => {
    const log = history();
    for (let n = 0; n < 50; n += 1) log.publish(content(`${n}`, { title: `Mug ${n}`, moq: n }));
    log.withdraw('prd_7');
    return log;
  };
  const answers = (catalog: Catalog) => ({
    all: catalog.search(ALL),
    text: catalog.search({ ...ALL, q: 'mug', moq_max: 9, sort: 'moq' }),
    typo: catalog.search({ ...ALL, q: 'muug' }).total,
    digest: catalog.digest(),
    checkpoint: catalog.checkpoint(),
  });

  test("The catalog's file gives the same answers and accepts events after it is opened again", () => {
    const { events, publish } = story();
    const file = freshFile();
    const first = filled(events, file);
    const before = answers(first);
    expect(before.all.total).toBe(49);
    first.close();
    const second = sqliteCatalog(file);
    expect(answers(second)).toEqual(before);
    const again = publish(content('7'));
    second.apply([again], again.position);
    expect(second.byId(['prd_7']).get('prd_7')?.published_at).toBe(T0 + 8);
    second.close();
  });

  test.each([
    [
      'has another version',
      (file: string) => {
        const db = new DatabaseSync(file);
        db.exec('pragma user_version = 99');
        db.close();
      },
    ],
    ['is not a database', (file: string) => writeFileSync(file, 'x'.repeat(10_000))],
  ])("The catalog's file is replaced by an empty one that can be filled if it %s", (_, spoil) => {
    const { events } = story();
    const file = freshFile();
    const first = filled(events, file);
    const before = answers(first);
    first.close();
    spoil(file);
    const second = sqliteCatalog(file);
    expect([second.checkpoint(), second.count()]).toEqual([0, 0]);
    second.apply(events, events.length);
    expect(answers(second)).toEqual(before);
    second.close();
  });

  test("The catalog's file cannot be opened in a missing folder", () => {
    expect(() => sqliteCatalog(join(temporary.fresh(), 'none', 'catalog.db'))).toThrow(/open/);
  });
});
