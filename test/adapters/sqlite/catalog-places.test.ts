/** What is kept in memory of where words stand, against what the file finds. */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { catalogColumns } from '#src/adapters/sqlite/catalog/columns.ts';
import { wordPlaces } from '#src/adapters/sqlite/catalog/places.ts';
import { openCatalogFile } from '#src/adapters/sqlite/catalog/schema.ts';
import { inFile, inPlaces } from '#src/adapters/sqlite/catalog/seen.ts';
import { vocabulary } from '#src/adapters/sqlite/catalog/words.ts';
import { catalogWriter } from '#src/adapters/sqlite/catalog/write.ts';
import { content, history } from '../../support/world/products.ts';

const WORDS = ['red', 'redder', 'rose', 'tea', 'teapot', 'team', 'tee', 'mug', 'mugs'];

const text = fc.array(fc.constantFrom(...WORDS), { maxLength: 4 }).map((words) => words.join(' '));
const product = fc.record({ title: text, category: text, brand: text, description: text });
const act = fc.record({
  kind: fc.constantFrom('put' as const, 'put' as const, 'withdraw' as const),
  key: fc.integer({ min: 0, max: 120 }),
  product,
});

const shop = () => {
  const db = openCatalogFile(':memory:', () => {});
  const columns = catalogColumns();
  const known = vocabulary();
  const writer = catalogWriter(db, columns, known);
  const places = wordPlaces(db);
  const told = history();
  const there = new Set<string>();
  return {
    fromPlaces: inPlaces(places, known, columns),
    fromFile: inFile(db, columns),
    apply(acts: readonly { kind: 'put' | 'withdraw'; key: number; product: object }[]) {
      const before = told.events.length;
      for (const { kind, key, product: made } of acts) {
        const id = `prd_${key}`;
        if (kind === 'put') {
          const as = content(String(key), { ...made });
          if (there.has(id)) told.revise(as);
          else told.publish(as);
          there.add(id);
        } else if (there.delete(id)) told.withdraw(id);
      }
      const { touched } = writer.apply(told.events.slice(before), told.events.length);
      places.forget(touched);
    },
    close: () => db.close(),
  };
};

describe('places of words', () => {
  test('say what the file says, whatever was published, revised and withdrawn between', () => {
    fc.assert(
      fc.property(fc.array(fc.array(act, { maxLength: 60 }), { maxLength: 4 }), (rounds) => {
        const it = shop();
        for (const acts of rounds) {
          it.apply(acts);
          for (const word of ['t', 'te', 'tea', 'r', 'red', 'mug', 'mugs', 'sku', 'none', '1'])
            for (const words of [
              [{ word, whole: false }],
              [{ word, whole: true }],
              [
                { word, whole: false },
                { word: 'rose', whole: true },
              ],
            ])
              expect(it.fromPlaces(words), word).toEqual(it.fromFile(words));
        }
        it.close();
      }),
      { numRuns: 60 },
    );
  });

  test('leave beginnings of very many words to the file', () => {
    const it = shop();
    const put = (key: number) => ({ kind: 'put' as const, key, product: { title: `a${key}` } });
    it.apply(Array.from({ length: 300 }, (_, key) => put(key)));
    expect(it.fromPlaces([{ word: 'a', whole: false }])).toBeUndefined();
    expect(it.fromPlaces([{ word: 'a2', whole: false }])?.rows).toHaveLength(111);
    it.close();
  });
});
