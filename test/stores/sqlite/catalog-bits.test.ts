import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { sqliteCatalog } from '#src/stores/sqlite/catalog/catalog.ts';
import { isDamage } from '#src/stores/sqlite/failure.ts';
import { directories } from '../../support/processes/directories.ts';
import { content, history } from '../../support/world/products.ts';

const temporary = directories('tributary-catalog-bits-');
afterAll(() => temporary.removeAll());

const IDS = Array.from({ length: 60 }, (_, n) => `prd_${n}`);
/** Coprime to the size of a page, so that the flips reach every part of a page. */
const STEP_BYTES = 307;

/** Returns what each product is answered as, and how the withdrawn one is. */
const answersOf = (file: string, onDiscarded: () => void): Map<string, string> => {
  const catalog = sqliteCatalog(file, onDiscarded);
  try {
    const withdrawn = [...catalog.withdrawn(['prd_7'])];
    const found = catalog.byId(IDS);
    const { products } = catalog.search({ sort: 'updated', limit: 60, offset: 0, facets: [] });
    const all = [...products, ...found.values()];
    return new Map([
      ...withdrawn.map(([id, one]) => [id, JSON.stringify(one)] as const),
      ...all.map((one) => [one.product_id, JSON.stringify(one)] as const),
    ]);
  } catch (error) {
    if (!isDamage(error)) throw error;
    onDiscarded();
    return new Map();
  } finally {
    catalog.close();
  }
};

describe('A file of the catalog with a flipped bit', () => {
  test('A file of the catalog with a flipped bit never serves a changed product', () => {
    const file = join(temporary.fresh(), 'catalog.db');
    const { events, publish, withdraw } = history();
    for (const id of IDS)
      publish(content(id.slice('prd_'.length), { description: 'x'.repeat(200) }));
    withdraw('prd_7');
    const filled = sqliteCatalog(file);
    filled.apply(events, events.length);
    filled.close();
    const bytes = readFileSync(file);
    const right = answersOf(file, () => {});
    expect(right.size).toBe(IDS.length);
    let [discarded, served] = [0, 0];
    for (let at = 0; at < bytes.length; at += STEP_BYTES) {
      const flipped = Buffer.from(bytes);
      flipped[at] = (flipped[at] ?? 0) ^ (1 << (at % 8));
      writeFileSync(file, flipped);
      for (const [id, answer] of answersOf(file, () => (discarded += 1))) {
        served += 1;
        expect(answer, `${id}, byte ${at}`).toBe(right.get(id));
      }
    }
    expect(served).toBeGreaterThan(1_000);
    expect(discarded).toBeGreaterThan(20);
  });
});
