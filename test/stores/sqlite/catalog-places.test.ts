/** Compares the cached postings of words with what FTS5 finds in the file. */
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { openCatalogFile, CatalogWriter } from '#src/stores/sqlite/catalog/catalog.ts';
import { CatalogColumns } from '#src/stores/sqlite/catalog/columns.ts';
import {
  findInPostings,
  prepareFileFinder,
  type QueryTerm,
  Vocabulary,
  WordPostings,
} from '#src/stores/sqlite/catalog/text.ts';
import { directories } from '../../support/processes/directories.ts';
import { content, history } from '../../support/world/products.ts';

const temporary = directories('tributary-places-');
afterAll(() => temporary.removeAll());

const WORDS = ['red', 'redder', 'rose', 'tea', 'teapot', 'team', 'tee', 'mug', 'mugs'];

const text = fc.array(fc.constantFrom(...WORDS), { maxLength: 4 }).map((words) => words.join(' '));
const product = fc.record({ title: text, category: text, brand: text, description: text });
const act = fc.record({
  kind: fc.constantFrom('put' as const, 'put' as const, 'withdraw' as const),
  key: fc.integer({ min: 0, max: 120 }),
  product,
});

const shop = (file = ':memory:') => {
  const db = openCatalogFile(file, () => {});
  const columns = new CatalogColumns();
  const vocabulary = new Vocabulary();
  const writer = new CatalogWriter(db, columns, vocabulary);
  const postings = new WordPostings(db);
  const log = history();
  const published = new Set<string>();
  return {
    postings,
    findInPostings: (terms: readonly QueryTerm[]) =>
      findInPostings({ postings, vocabulary, columns }, terms),
    findInFile: prepareFileFinder(db, columns),
    apply(acts: readonly { kind: 'put' | 'withdraw'; key: number; product: object }[]) {
      const before = log.events.length;
      for (const { kind, key, product: made } of acts) {
        const id = `prd_${key}`;
        if (kind === 'put') {
          const as = content(String(key), { ...made });
          if (published.has(id)) log.revise(as);
          else log.publish(as);
          published.add(id);
        } else if (published.delete(id)) log.withdraw(id);
      }
      const { words } = writer.apply(log.events.slice(before), log.events.length);
      postings.change(words);
    },
    close: () => db.close(),
  };
};

describe('The cached postings of words', () => {
  test('The cached postings of words find what the file finds after products are published, revised and withdrawn', () => {
    fc.assert(
      fc.property(fc.array(fc.array(act, { maxLength: 60 }), { maxLength: 4 }), (rounds) => {
        const it = shop();
        for (const acts of rounds) {
          it.apply(acts);
          for (const word of ['t', 'te', 'tea', 'r', 'red', 'mug', 'mugs', 'sku', 'none', '1'])
            for (const words of [
              [{ word, isWhole: false }],
              [{ word, isWhole: true }],
              [
                { word, isWhole: false },
                { word: 'rose', isWhole: true },
              ],
            ])
              expect(it.findInPostings(words), word).toEqual(it.findInFile(words));
        }
        it.close();
      }),
      { numRuns: 60 },
    );
  });

  test('The cached postings of words cover more changes of a word than are merged at once', () => {
    const it = shop();
    const acts = (title: string) =>
      Array.from({ length: 1_300 }, (_, key) => ({
        kind: 'put' as const,
        key,
        product: { title: key % 3 === 0 ? title : 'mug', description: key % 2 === 0 ? 'red' : '' },
      }));
    for (const title of ['red', 'rose', 'red rose', 'mug']) {
      it.apply(acts(title));
      for (const word of ['red', 'rose', 'mug'])
        expect(it.findInPostings([{ word, isWhole: true }]), word).toEqual(
          it.findInFile([{ word, isWhole: true }]),
        );
    }
    it.close();
  });

  test('Postings that are read ahead are those of the file, even of a word that changes meanwhile', async () => {
    const it = shop(join(temporary.fresh(), 'catalog.db'));
    const put = (key: number, title: string) => ({ kind: 'put' as const, key, product: { title } });
    it.apply(Array.from({ length: 1_500 }, (_, key) => put(key, 'red tea')));
    const parts: (() => void)[] = [];
    const stop = it.postings.readAhead(
      ['red', 'tea'],
      () => new Promise((resolve) => void parts.push(resolve)),
    );
    const next = async (): Promise<void> => {
      parts.shift()?.();
      await new Promise((resolve) => setImmediate(resolve));
    };
    await next();
    // One page of red has been read, and the next ones are read as they were.
    it.apply([put(1_400, 'mug')]);
    while (parts.length > 0) await next();
    for (const word of ['red', 'tea'])
      expect(it.findInPostings([{ word, isWhole: true }]), word).toEqual(
        it.findInFile([{ word, isWhole: true }]),
      );
    stop();
    it.close();
  });

  test('The cached postings of words leave prefixes of very many words to the file', () => {
    const it = shop();
    const put = (key: number) => ({ kind: 'put' as const, key, product: { title: `a${key}` } });
    it.apply(Array.from({ length: 300 }, (_, key) => put(key)));
    expect(it.findInPostings([{ word: 'a', isWhole: false }])).toBeUndefined();
    expect(it.findInPostings([{ word: 'a2', isWhole: false }])?.rows).toHaveLength(111);
    it.close();
  });
});
