/** The real catalog if this machine has it, and products generated from its words. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { EventData } from '#contracts/registries/events.ts';
import { readFeed } from '#src/catalog/feed.ts';
import { mergeProduct } from '#src/catalog/product.decider.ts';
import { madeLog } from '../generated-log.ts';
import { createRandom, type Random } from '../random.ts';
import { temporaryDirectory } from '../temporary.ts';

export const REAL_PRODUCTS = 2_961;
const REAL_FILE = join(import.meta.dirname, '../../../../shared/data/wholesale/catalog.csv');

const MADE_WORDS =
  'red white heart vintage paper lunch bag box set cake tin holder t-light glass garden kitchen ' +
  'metal sign doormat retro spot christmas hanging wooden cotton jumbo shopper mug jar candle';
const CATEGORIES = ['Gifts', 'Kitchen', 'Garden', 'Stationery', 'Toys', 'Lighting'];

/** Writes a feed of so many made-up products. */
export const madeFile = (count = REAL_PRODUCTS): string => {
  const words = MADE_WORDS.split(' ');
  const line = (_: unknown, i: number): string => {
    const title = [0, 7, 13].map((step) => words[(i * 7 + i * i + step) % words.length]).join(' ');
    const category = CATEGORIES[i % CATEGORIES.length] ?? '';
    return `${10_000 + i},${title},${title},${category},${1 + (i % 90)}.25 GBP,in_stock,${i % 500}`;
  };
  const head = 'id,title,description,product_type,price,availability,available_quantity';
  const file = join(temporaryDirectory(), 'catalog.csv');
  writeFileSync(file, [head, ...Array.from({ length: count }, line), ''].join('\n'));
  return file;
};

/** Returns a feed of 2,961 products, and whether they are the real ones. */
export const feedFile = (): { file: string; real: boolean } =>
  existsSync(REAL_FILE) ? { file: REAL_FILE, real: true } : { file: madeFile(), real: false };

type ProductInput = EventData<'ProductPublished'>;

export const feedProducts = async (): Promise<ProductInput[]> => {
  const { file } = feedFile();
  const products: ProductInput[] = [];
  for await (const item of readFeed('csv', chunksOf(file)))
    if ('product' in item) {
      const { sku } = item.product.product;
      const rules = { product_id: `prd_${sku}`, replace: true, allowFree: true };
      const merged = mergeProduct(undefined, item.product, rules);
      if (merged.ok) products.push({ product: merged.product, stock: merged.stock });
    }
  return products;
};

async function* chunksOf(file: string): AsyncIterable<Buffer> {
  yield readFileSync(file);
}

/** Returns words with their frequency in titles, so that common words match realistically often. */
export const wordsOf = (products: readonly ProductInput[]): string[] =>
  products.flatMap(({ product: { title } }) =>
    title
      .toLowerCase()
      .split(/[^a-z0-9-]+/)
      .filter((word) => word.length > 2),
  );

const COUNTRIES = ['GB', 'DE', 'FR', 'PL', 'CN'];

/** Generates similar products with other combinations of the same title words. */
export const more = (
  products: readonly ProductInput[],
  count: number,
  random: Random,
): ProductInput[] => {
  const words = wordsOf(products);
  return Array.from({ length: count }, (_, i) => {
    const { product, stock } = random.pick(products);
    const title = Array.from({ length: 3 + random.below(4) }, () => random.pick(words)).join(' ');
    const unit_price = 20 + Math.floor(20_000 / (1 + random.below(200)));
    return {
      product: {
        ...product,
        sku: `S${i}`,
        title,
        description: title,
        brand: `Brand ${random.below(300)}`,
        ship_from: random.pick(COUNTRIES),
        price_tiers: [
          { min_quantity: product.moq, unit_price },
          { min_quantity: product.moq * 10, unit_price: Math.ceil(unit_price * 0.85) },
        ],
      },
      stock,
    };
  });
};

const CHUNK = 10_000;
const PUBLISHED_AT = Date.UTC(2026, 9, 1);

/** Writes a log of `count` published products, directly: the desk reads a stream for each product. */
export const makeProducts = async (directory: string, count: number): Promise<void> => {
  const random = createRandom(4);
  const products = await feedProducts();
  const log = await madeLog(directory);
  for (let from = 0; from < count; from += CHUNK)
    for (const [n, made] of more(products, Math.min(CHUNK, count - from), random).entries()) {
      const id = random.text(24);
      const product = { ...made.product, product_id: `prd_${id}`, sku: `S${from + n}` };
      const meta = {
        at: PUBLISHED_AT + from + n,
        actor: 'system',
        surface: 'desk',
        operation: 'importProducts',
        request: 'bench',
        v: 1,
      } as const;
      log.append('catalog', `catalog-product_${id}`, [
        {
          id: random.uuid(),
          type: 'ProductPublished',
          data: { product, stock: made.stock },
          meta,
        },
      ]);
    }
  log.close();
};
