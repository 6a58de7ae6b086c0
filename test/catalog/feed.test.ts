import { createReadStream, existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { feedProduct, feedStock } from '#contracts/catalog/operations.ts';
import { publishedProduct, stockLevel } from '#contracts/event-fields.ts';
import { type FeedFormat, type ProductFeedItem, readFeed } from '#src/catalog/feed.ts';
import { mergeProduct } from '#src/catalog/product.decider.ts';
import { minorUnits } from '#src/shared/cells.ts';

async function* from(chunks: (string | Buffer)[]) {
  yield* chunks;
}

const read = async (
  format: FeedFormat,
  ...chunks: (string | Buffer)[]
): Promise<ProductFeedItem[]> => Array.fromAsync(readFeed(format, from(chunks)));

const GOOD = { id: '1', title: 'Mug', price: '0.85 GBP', availability: 'in stock' };

/** One row of the good values with these instead, as CSV with every value quoted. */
const table = (over: Record<string, string>): string => {
  const row = { ...GOOD, ...over };
  const cells = Object.values(row).map((value) => `"${value.replaceAll('"', '""')}"`);
  return `${Object.keys(row).join(',')}\n${cells.join(',')}\n`;
};

const faultsOf = async (over: Record<string, string>) => {
  const items = await read('csv', table(over));
  return items.map((item) =>
    'reason' in item ? `${item.line} ${item.column}: ${item.reason}` : item,
  );
};

const RULES = { product_id: 'prd_1', replace: false, allowFree: false };

/** The product that a row makes in an empty catalog. */
const productOf = async (over: object) => {
  const [item] = await read('ndjson', JSON.stringify({ ...GOOD, ...over }));
  if (!item || !('product' in item)) throw new Error(JSON.stringify(item));
  const merged = mergeProduct(undefined, item.product, RULES);
  if (!merged.ok) throw new Error(JSON.stringify(merged.faults));
  return merged;
};

describe('A valid row', () => {
  it('A valid feed row becomes a change without the members of absent columns', async () => {
    expect(await read('csv', table({}))).toEqual([
      {
        line: 2,
        product: {
          product: { sku: '1', title: 'Mug', currency: 'GBP', unit_price: 85 },
          stock: { level: 'in_stock' },
        },
      },
    ]);
    expect(await productOf({})).toEqual({
      ok: true,
      product: {
        product_id: 'prd_1',
        sku: '1',
        title: 'Mug',
        description: '',
        category: 'Uncategorised',
        currency: 'GBP',
        moq: 1,
        increment: 1,
        price_tiers: [{ min_quantity: 1, unit_price: 85 }],
      },
      stock: { level: 'in_stock', available_quantity: null },
    });
  });

  it('A valid feed row removes the members whose cells are empty', async () => {
    const empty = Object.fromEntries(
      ['brand', 'gtin', 'mpn', 'image_link', 'ship_from', 'lead_time_days', 'certifications'].map(
        (column) => [column, ' '],
      ),
    );
    const [item] = await read('csv', table({ ...empty, description: '', order_increment: '' }));
    expect(item).toMatchObject({
      product: {
        product: {
          brand: null,
          gtin: null,
          mpn: null,
          image_url: null,
          ship_from: null,
          lead_time_days: null,
          certifications: null,
          description: '',
          increment: 1,
        },
      },
    });
  });

  it('A valid feed row with all columns becomes a product of the stored format', async () => {
    const { product, stock } = await productOf({
      description: 'Two\nlines',
      product_type: 'Kitchen > Mugs',
      google_product_category: '2169',
      brand: 'Ada',
      gtin: '5012345678900',
      mpn: 'M-1',
      image_link: 'https://example.com/1.jpg',
      available_quantity: '97',
      min_order_quantity: '4',
      order_increment: '2',
      price: '0.39 GBP',
      price_tiers: '1:0.50|4:0.39|48:0.29',
      origin_country: 'CN',
      ship_from: 'GB',
      lead_time_days: '5',
      certifications: 'FSC | Fair trade',
      updated_at: '2011-11-21',
      link: 'ignored',
      condition: 'new',
    });
    expect(publishedProduct.strict().parse(product)).toEqual(product);
    expect(stockLevel.strict().parse(stock)).toEqual({ level: 'in_stock', available_quantity: 97 });
    expect(product).toMatchObject({
      category: 'Kitchen > Mugs',
      price_tiers: [
        { min_quantity: 1, unit_price: 50 },
        { min_quantity: 4, unit_price: 39 },
        { min_quantity: 48, unit_price: 29 },
      ],
      certifications: ['FSC', 'Fair trade'],
      source_updated_at: '2011-11-21',
    });
  });

  it.each([
    [{ availability: 'out of stock', available_quantity: '9' }, 'out_of_stock', 0],
    [{ availability: 'preorder' }, 'out_of_stock', 0],
    [{ availability: 'Backorder' }, 'out_of_stock', 0],
    [{ available_quantity: '0' }, 'out_of_stock', 0],
    [{ available_quantity: '7', min_order_quantity: '4' }, 'low', 7],
    [{ available_quantity: '8', min_order_quantity: '4' }, 'in_stock', 8],
    [{ availability: '', available_quantity: '8' }, 'in_stock', 8],
  ])('A valid feed row with %j has the stock level %s', async (over, level, available_quantity) => {
    expect((await productOf(over)).stock).toEqual({ level, available_quantity });
  });
});

describe('minorUnits', () => {
  it.each([
    ['0.85', 'GBP', 85],
    ['15', 'GBP', 1500],
    ['1.5', 'GBP', 150],
    ['1234', 'JPY', 1234],
    ['1200.00', 'JPY', 1200],
    ['1.234', 'KWD', 1234],
    ['1.250', 'KWD', 1250],
    ['1299', 'HUF', 129_900],
    ['1500.00', 'PKR', 150_000],
    ['25000.00', 'IDR', 2_500_000],
    ['0.850000', 'GBP', 85],
    ['0.29', 'EUR', 29],
    ['4503599627.35', 'USD', 450_359_962_735],
  ])('`minorUnits` converts %s %s to %i minor units', (amount, currency, minor) => {
    expect(minorUnits(amount, currency)).toBe(minor);
  });

  it('`minorUnits` converts every amount exactly', () => {
    fc.assert(
      fc.property(fc.nat(999_999_999), fc.nat(99), (major, minor) => {
        const amount = `${major}.${`${minor}`.padStart(2, '0')}`;
        expect(minorUnits(amount, 'GBP')).toBe(major * 100 + minor);
      }),
    );
  });
});

describe('A fault of a value names line, column and reason', () => {
  it.each([
    [{ id: '' }, '2 id: is missing'],
    [{ title: ' ' }, '2 title: is missing'],
    [{ price: '' }, '2 price: is missing'],
    [{ title: 'x'.repeat(201) }, '2 title: has 201 characters; at most 200 are allowed'],
    [{ id: 'x'.repeat(65) }, '2 id: has 65 characters; at most 64 are allowed'],
    [{ title: 'two\nlines' }, '2 title: must be one line (its row is lines 2 to 3)'],
    [
      { title: 'a\u202eb' },
      '2 title: contains U+202E, a bidirectional character, and is "a⟨U+202E⟩b"',
    ],
    [
      { description: 'a\0b' },
      '2 description: contains U+0000, a control character, and is "a⟨U+0000⟩b"',
    ],
    [{ price: '12.00\u00a0EUR' }, '2 price: must be like 0.85 GBP, and is "12.00⟨U+00A0⟩EUR"'],
    [{ mpn: 'M'.repeat(71) }, '2 mpn: has 71 characters; at most 70 are allowed'],
    [
      { price: '10000000.01 GBP' },
      '2 price: must be at most 10000000.00 GBP, and is "10000000.01"',
    ],
    [
      { price_tiers: Array.from({ length: 21 }, (_, n) => `${n + 1}:0.85`).join('|') },
      '2 price_tiers: has more than 20 tiers',
    ],
    [
      { certifications: 'x'.repeat(101) },
      '2 certifications: must be at most 20 names of at most 100 characters',
    ],
    [{ price: '-1 GBP' }, '2 price: must not be negative, and is "-1"'],
    [{ price: '0.85' }, '2 price: must be like 0.85 GBP, and is "0.85"'],
    [{ price: '£0.85' }, '2 price: must be like 0.85 GBP, and is "£0.85"'],
    [{ price: '0,85 GBP' }, '2 price: must be an amount like 0.85, and is "0,85"'],
    [{ price: '1e3 GBP' }, '2 price: must be an amount like 0.85, and is "1e3"'],
    [{ price: '0.855 GBP' }, '2 price: has more decimals than the 2 of GBP: "0.855"'],
    [{ price: '1.5 JPY' }, '2 price: has more decimals than the 0 of JPY: "1.5"'],
    [{ price: '1 QQQ' }, '2 price: QQQ is not a currency of ISO 4217'],
    [
      { min_order_quantity: '1.5' },
      '2 min_order_quantity: must be a whole number from 1 to 100000000, and is "1.5"',
    ],
    [
      { order_increment: '0' },
      '2 order_increment: must be a whole number from 1 to 100000000, and is "0"',
    ],
    [
      { available_quantity: '-1' },
      '2 available_quantity: must be a whole number from 0 to 999999999, and is "-1"',
    ],
    [{ price_tiers: '1:0.85|x' }, '2 price_tiers: must be like 4:0.39|48:0.29, and has "x"'],
    [{ price_tiers: '1:0.85|4:-1' }, '2 price_tiers: must not be negative, and is "-1"'],
    [
      { availability: 'soon' },
      '2 availability: must be in_stock, out_of_stock, preorder or backorder, and is "soon"',
    ],
    [{ availability: '' }, '2 availability: is missing, and so is available_quantity'],
    [{ gtin: '123' }, '2 gtin: must be 8, 12, 13 or 14 digits, and is "123"'],
    [
      { ship_from: 'UKX' },
      '2 ship_from: must be a country code of two letters, like GB, and is "UKX"',
    ],
    [
      { lead_time_days: 'soon' },
      '2 lead_time_days: must be a whole number from 0 to 3650, and is "soon"',
    ],
    [
      { updated_at: '21/11/2011' },
      '2 updated_at: must be a date or a time, like 2026-11-21, and is "21/11/2011"',
    ],
    [
      { product_type: 'x'.repeat(101) },
      '2 product_type: has 101 characters; at most 100 are allowed',
    ],
  ] as [Record<string, string>, string][])(
    'A fault of a feed value names line, column and reason for %j',
    async (over, expected) => {
      expect(await faultsOf(over)).toEqual([expected]);
    },
  );

  it('A feed reports each value that is not valid, not only the first', async () => {
    expect((await faultsOf({ title: '', price: 'x', gtin: 'y' })).length).toBe(3);
  });
});

describe('A feed', () => {
  const HEADER = 'id,title,price,availability';
  const brief = (items: ProductFeedItem[]) =>
    items.map((item) => {
      if ('product' in item) return `${item.line} ${item.product.product.sku}`;
      if ('reason' in item) return `${item.line} ${item.column ?? '-'}: ${item.reason}`;
      if ('note' in item) return `${item.line} ${item.column}: ${item.note}`;
      return `${item.line} unknown ${item.unknown_columns.join(' ')}`;
    });
  const good = (id: string): string => `${id},Mug,1 GBP,in_stock`;

  it('A feed yields the valid rows and the faults of the others, each with its line', async () => {
    const rows = [
      HEADER,
      good('1'),
      '',
      '2,"two',
      'lines",1 GBP,in_stock',
      '3,Mug',
      '4,Mug,1 GBP,in_stock,more',
      '5,12" plate,1 GBP,in_stock',
      '"6"x,Mug,1 GBP,in_stock',
      good('1'),
      '7,"A ""good"" one",1 GBP,in_stock',
      good('8'),
    ];
    const expected = [
      '2 1',
      '4 title: must be one line (its row is lines 4 to 5)',
      '6 -: has 2 columns, and the first line 4',
      '7 -: has 5 columns, and the first line 4',
      '8 -: has a quote inside a value; double it and quote the value',
      '9 -: has a quote inside a value; double it and quote the value',
      '10 id: repeats the id of line 2',
      '11 7',
      '12 8',
    ];
    expect(brief(await read('csv', rows.join('\n')))).toEqual(expected);
    expect(brief(await read('csv', `\ufeff${rows.join('\r\n')}\r\n`))).toEqual(expected);
    const bytes = [...Buffer.from(`\ufeff${rows.join('\n')}`)].map((byte) => Buffer.from([byte]));
    expect(brief(await read('csv', ...bytes))).toEqual(expected);
  });

  it.each([
    [
      'id,title\n1,Mug\n',
      '1 -: the file has no column price, availability or available_quantity; nothing was read',
    ],
    [`${HEADER},title\n`, '1 title: appears twice'],
    ['', '1 -: the file is empty'],
  ])('A feed with the text %j yields one fault', async (text, expected) => {
    expect(brief(await read('csv', text))).toEqual([expected]);
  });

  it('A feed reports unknown columns once and yields the rows', async () => {
    const header = 'ID, Title ,price,availability,colour,Image Link';
    const text = `${header}\n${good('1')},red,\n${good('2')},red,\n`;
    expect(brief(await read('csv', text))).toEqual(['1 unknown colour', '2 1', '3 2']);
  });

  it('A feed rejects text that is not valid UTF-8 but accepts characters that span two chunks', async () => {
    const latin = Buffer.from(`${HEADER}\n1,caf\xe9,1 GBP,in_stock\n${good('2')}`, 'latin1');
    expect(brief(await read('csv', latin))).toEqual([
      '2 title: holds text that is not valid UTF-8',
      '3 2',
    ]);
    const cut = await read(
      'csv',
      `${HEADER}\n1,\ud83c`,
      '\udf81,1 GBP,in_stock\n2,\ud83c,1 GBP,in_stock',
    );
    expect(brief(cut)).toEqual(['2 1', '3 title: holds text that is not valid UTF-8']);
    expect(await read('ndjson', JSON.stringify({ ...GOOD, title: 'a\ud83c' }))).toMatchObject([
      { line: 1, column: 'title' },
    ]);
  });

  it('A feed can be separated by tabs', async () => {
    const text = `${HEADER.replaceAll(',', '\t')}\n1\tMug, blue\t1 GBP\tin stock\n`;
    expect(brief(await read('tsv', text))).toEqual(['2 1']);
  });

  it('A feed can have one JSON object in each line, with JSON lists', async () => {
    const tiers = [
      { min_quantity: 4, unit_price: 0.39 },
      { min_quantity: 48, unit_price: '0.29' },
    ];
    const object = {
      ...GOOD,
      price: '0.39 GBP',
      min_order_quantity: 4,
      certifications: ['FSC'],
      brand: null,
    };
    const lines = [
      `\ufeff${JSON.stringify({ ...object, price_tiers: tiers, colour: 'red' })}\r`,
      '',
      '[]',
      '{"id":',
      JSON.stringify({ ...GOOD, id: 2, title: ['x'] }),
      JSON.stringify({ ...GOOD, id: 3, colour: 'blue' }),
      JSON.stringify({ ...GOOD, id: '1' }),
    ];
    const items = await read('ndjson', lines.join('\n'));
    expect(brief(items)).toEqual([
      '1 1',
      '3 -: is not a JSON object',
      '4 -: is not a JSON object',
      '5 title: must be text or a number',
      '6 3',
      '7 id: repeats the id of line 1',
      '7 unknown colour',
    ]);
    expect(items[0]).toMatchObject({
      product: {
        product: {
          price_tiers: [
            { min_quantity: 4, unit_price: 39 },
            { min_quantity: 48, unit_price: 29 },
          ],
          certifications: ['FSC'],
        },
      },
    });
    expect(brief(await read('ndjson', '\n'))).toEqual(['1 -: the file is empty']);
  });

  it('A feed throws when the file cannot be read to its end', async () => {
    async function* broken() {
      yield `${HEADER}\n${good('1')}\n`;
      throw new Error('disk gone');
    }
    await expect(Array.fromAsync(readFeed('csv', broken()))).rejects.toThrow('disk gone');
  });

  it('A feed yields only products of the stored format for any bytes', async () => {
    const part = fc.oneof(
      fc.constantFrom(
        '"',
        ',',
        '\n',
        '\r\n',
        '|',
        ':',
        '4:0.39',
        '1 GBP',
        'in_stock',
        '\ud800',
        '\0',
      ),
      fc.string({ unit: 'binary', maxLength: 5 }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(part, { maxLength: 30 }), async (parts) => {
        for (const item of await read('csv', `${HEADER}\n${good('1')}\n`, ...parts)) {
          if (!('product' in item)) continue;
          feedProduct.parse(item.product.product);
          feedStock.parse(item.product.stock);
          expect(item.product.product.title?.isWellFormed()).toBe(true);
        }
      }),
      { numRuns: 150 },
    );
  });
});

const REAL = fileURLToPath(
  new URL('../../../../shared/data/wholesale/catalog.csv', import.meta.url),
);

it.skipIf(!existsSync(REAL))(
  'A feed of 2,961 real rows is accepted (skipped when ../shared/data/wholesale/catalog.csv is absent)',
  async () => {
    const items = await Array.fromAsync(readFeed('csv', createReadStream(REAL)));
    expect(items.filter((item) => !('product' in item))).toEqual([]);
    expect(items.length).toBe(2_961);
    for (const item of items) {
      if (!('product' in item)) continue;
      const merged = mergeProduct(undefined, item.product, RULES);
      if (!merged.ok) throw new Error(JSON.stringify(merged.faults));
      publishedProduct.strict().parse(merged.product);
      stockLevel.strict().parse(merged.stock);
    }
  },
);
