/** How a catalog opens its file beside other work, with counted turns, and keeps the order of its rows. */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import * as fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import {
  sqliteCatalog,
  catalogBuilds,
  type CatalogBuilds,
} from '#src/stores/sqlite/catalog/catalog.ts';
import { SortedWords } from '#src/stores/sqlite/catalog/text.ts';
import { TurnQueue } from '#src/shared/work.ts';
import type { Catalog, ProductSearch } from '#src/ports/catalog.ts';
import { ReadModelRebuilding } from '#src/ports/read-model.ts';
import { directories } from '../../support/processes/directories.ts';
import { content, history } from '../../support/world/products.ts';

const temporary = directories('tributary-opening-');
afterAll(() => temporary.removeAll());

const LOG = 'a1b2c3d4';
const PRODUCTS = 3_000;
/** A turn of 5 ms has five parts of 1 ms, of 250 products each, and begins with one. */
const PRODUCTS_IN_TURN_MAX = 1_500;
const ALL: ProductSearch = { sort: 'relevance', limit: 9, offset: 0, facets: ['category'] };

/** A queue whose clock advances by 1 ms for every part of the work. The test runs its turns. */
const countedTurns = () => {
  let now = 0;
  const scheduled: (() => void)[] = [];
  const turns = new TurnQueue({
    monotonic: () => now,
    nextTurn: (task) => void scheduled.push(task),
  });
  return {
    pause: () => {
      now += 1;
      return turns.pause();
    },
    /** Runs the next turn; returns false if there is none. */
    async run(): Promise<boolean> {
      // Promises settle within the turn.
      await new Promise((resolve) => setImmediate(resolve));
      const tasks = scheduled.splice(0);
      for (const task of tasks) task();
      return tasks.length > 0;
    },
  };
};

const filledDirectory = (): { directory: string; answers: object } => {
  const directory = temporary.fresh();
  const { events, publish, withdraw } = history();
  for (let n = 0; n < PRODUCTS; n += 1)
    publish(content(`${(n * 389) % PRODUCTS}`, { title: `Mug ${n % 97}`, moq: n % 13 }));
  withdraw('prd_7');
  const { catalog } = catalogBuilds(directory, LOG);
  catalog.apply(events, events.length);
  const answers = answersOf(catalog);
  catalog.close();
  return { directory, answers };
};

const answersOf = (catalog: Catalog): object => ({
  all: catalog.search(ALL),
  later: catalog.search({ ...ALL, offset: 700 }),
  prefix: catalog.search({ ...ALL, q: 'mug 9', sort: 'moq' }),
  typo: catalog.search({ ...ALL, q: 'muug' }).total,
  digest: catalog.digest(),
  checkpoint: catalog.checkpoint(),
});

describe('A catalog that opens a large file', () => {
  const { directory, answers } = filledDirectory();
  const isOpen = ({ catalog }: CatalogBuilds): boolean => catalog.opening() === undefined;

  test('A catalog that opens a large file reads a bounded number of products in a turn, and then answers as before', async () => {
    const { pause, run } = countedTurns();
    const builds = catalogBuilds(directory, LOG, { pause });
    const { catalog } = builds;
    const progress: number[] = [0];
    while (await run()) progress.push(catalog.opening()?.done ?? PRODUCTS);
    await catalog.opened;
    progress.push(PRODUCTS);
    expect(isOpen(builds)).toBe(true);
    const steps = progress.slice(1).map((done, turn) => done - (progress[turn] ?? 0));
    expect(Math.max(...steps)).toBeLessThanOrEqual(PRODUCTS_IN_TURN_MAX);
    expect(Math.min(...steps)).toBeGreaterThanOrEqual(0);
    expect(answersOf(catalog)).toEqual(answers);
    catalog.close();
  });

  test('A catalog that opens a large file reports its progress, answers no read and has the checkpoint 0 until it is open', async () => {
    const { pause, run } = countedTurns();
    const { catalog } = catalogBuilds(directory, LOG, { pause });
    expect(catalog.opening()).toEqual({ done: 0, of: PRODUCTS });
    expect(catalog.checkpoint()).toBe(0);
    expect(() => catalog.search(ALL)).toThrow(ReadModelRebuilding);
    expect(() => catalog.apply([], PRODUCTS + 2)).toThrow(ReadModelRebuilding);
    while (await run());
    await catalog.opened;
    expect(catalog.checkpoint()).toBe(PRODUCTS + 1);
    catalog.close();
  });

  test('A catalog that opens a large file closes its file at once when it is closed before it is open', async () => {
    const { pause, run } = countedTurns();
    const { catalog } = catalogBuilds(directory, LOG, { pause });
    await run();
    catalog.close();
    const db = new DatabaseSync(join(directory, `catalog-${LOG}.1.db`));
    // A file that was not closed is marked as open.
    expect(db.prepare('select count(*) as marks from opened').get()).toEqual({ marks: 0 });
    db.close();
    while (await run());
    await catalog.opened;
    expect(() => catalog.search(ALL)).toThrow(ReadModelRebuilding);
  });
});

describe('The order of products by title', () => {
  const title = fc.stringMatching(/^[a-c]{0,3}$/);
  const put = fc.record({ key: fc.integer({ min: 0, max: 40 }), title });
  const rounds = fc.array(fc.array(put, { maxLength: 30 }), { maxLength: 6 });

  test('The order of products by title is that of a sort after any products are published and renamed, and after a start', () => {
    fc.assert(
      fc.property(rounds, (changes) => {
        const file = join(temporary.fresh(), 'catalog.db');
        const { events, publish, revise } = history();
        const titles = new Map<string, string>();
        const catalog = sqliteCatalog(file);
        const expectSorted = (searched: Catalog): void => {
          const ids = searched.search({ ...ALL, limit: 100 }).products.map((one) => one.product_id);
          expect(ids).toEqual(
            [...titles]
              .toSorted(([a, one], [b, other]) => (`${one} ${a}` < `${other} ${b}` ? -1 : 1))
              .map(([id]) => id),
          );
        };
        for (const puts of changes) {
          for (const { key, title: to } of puts) {
            const product = content(`${key}`, { title: to });
            (titles.has(product.product_id) ? revise : publish)(product);
            titles.set(product.product_id, to);
          }
          catalog.apply(events.slice(catalog.checkpoint()), events.length);
          expectSorted(catalog);
        }
        catalog.close();
        const again = sqliteCatalog(file);
        expectSorted(again);
        again.close();
      }),
      { numRuns: 40 },
    );
  });

  test('The order of products by title is kept when products are added between the same two again and again', () => {
    const { events, publish } = history();
    const catalog = sqliteCatalog(':memory:');
    const idOf = (n: number): string => `prd_${`${n}`.padStart(3, '0')}`;
    publish(content('000', { title: 'Last' }));
    for (let n = 1; n < 100; n += 1) {
      publish(content(`${n}`.padStart(3, '0'), { title: 'First' }));
      catalog.apply(events.slice(catalog.checkpoint()), events.length);
      const { products } = catalog.search({ ...ALL, limit: 200 });
      const added = Array.from({ length: n }, (_, i) => idOf(i + 1));
      expect(products.map(({ product_id }) => product_id)).toEqual([...added, idOf(0)]);
    }
    catalog.close();
  });

  test('The order of products by title is kept for more new products than are merged at once', () => {
    const { events, publish } = history();
    const catalog = sqliteCatalog(':memory:');
    for (let n = 0; n < PRODUCTS; n += 1) {
      publish(content(`${(n * 389) % PRODUCTS}`.padStart(5, '0'), { title: 'Mug' }));
      if (n % 70 === 0) catalog.apply(events.slice(catalog.checkpoint()), events.length);
    }
    catalog.apply(events.slice(catalog.checkpoint()), events.length);
    const { products } = catalog.search({ ...ALL, limit: PRODUCTS });
    const ids = products.map(({ product_id }) => product_id);
    expect(ids).toEqual(ids.toSorted());
    catalog.close();
  });
});

describe('A sorted set of words', () => {
  test('A sorted set of words contains the added words, and finds them by prefix in order', () => {
    const letters = ['a', 'b', '\u{e000}', '\u{1f600}'];
    const word = fc.array(fc.constantFrom(...letters), { minLength: 1, maxLength: 8 });
    const words = fc.array(
      word.map((parts) => parts.join('')),
      { maxLength: 4_000, size: 'max' },
    );
    fc.assert(
      fc.property(words, fc.boolean(), word, (added, inOrder, prefix) => {
        const set = new SortedWords();
        const plain = new Set<string>();
        for (const one of inOrder ? added.toSorted() : added) {
          expect(set.has(one)).toBe(plain.has(one));
          expect(set.add(one)).toBe(!plain.has(one));
          plain.add(one);
        }
        const start = prefix.slice(0, 2).join('');
        const expected = [...plain].filter((one) => one.startsWith(start)).toSorted();
        expect(set.withPrefix(start, 10_000)).toEqual(expected);
        expect(set.withPrefix(start, expected.length)).toEqual(expected);
        if (expected.length > 0) expect(set.withPrefix(start, expected.length - 1)).toBeUndefined();
      }),
      { numRuns: 50 },
    );
  });
});
