/** Files that are not feeds and rows with repeated names are reported with the likely cause. */
import { describe, expect, it } from 'vitest';
import { type FeedFormat, type ProductFeedItem, readFeed } from '#src/catalog/feed.ts';

async function* from(chunks: (string | Buffer)[]) {
  yield* chunks;
}

const read = async (
  format: FeedFormat,
  ...chunks: (string | Buffer)[]
): Promise<ProductFeedItem[]> => Array.fromAsync(readFeed(format, from(chunks)));

const HEADER = 'id,title,price,availability';
const ROW = '1,Mug,0.85 GBP,in stock';
const GOOD = { id: '1', title: 'Mug', price: '0.85 GBP', availability: 'in stock' };

const reasonOf = (items: ProductFeedItem[]): string =>
  items.map((item) => ('reason' in item ? `${item.column ?? '-'} ${item.reason}` : '')).join();

describe('A file that is not a feed', () => {
  it.each([
    ['csv', HEADER.replaceAll(',', ';'), 'semicolons: save it with commas'],
    ['csv', '"ID";"Title";"Price"', 'semicolons: save it with commas'],
    ['csv', HEADER.replaceAll(',', '\t'), 'tabs: name it .tsv'],
    ['tsv', HEADER, 'commas: name it .csv'],
  ] as const)(
    'A file that is not a feed is reported with the likely cause: %s %j',
    async (format, header, hint) => {
      const items = await read(format, `${header}\n1;2;3\n`);
      expect(items).toEqual([expect.objectContaining({ line: 1, ofFile: true })]);
      expect(reasonOf(items)).toMatch(
        new RegExp(`nothing was read; its columns are separated by ${hint}$`),
      );
    },
  );

  it.each(['csv', 'tsv', 'ndjson'] as const)(
    'A file that is not a feed is reported when a %s file is in UTF-16 or a workbook',
    async (format) => {
      const text = `${HEADER}\n${ROW}\n`;
      const little = Buffer.from(text, 'utf16le');
      const files = [
        little,
        Buffer.concat([Buffer.from('fffe', 'hex'), little]),
        Buffer.concat([Buffer.from('feff', 'hex'), Buffer.from(little).swap16()]),
        Buffer.from('504b030414000600', 'hex'),
      ];
      for (const file of files) {
        const items = await read(format, file);
        expect(items).toEqual([expect.objectContaining({ line: 1, ofFile: true })]);
        expect(reasonOf(items)).toContain('is not text in UTF-8 but in UTF-16, or a workbook');
      }
    },
  );
});

describe('A table', () => {
  const idsIn = (items: ProductFeedItem[]): string[] =>
    items.flatMap((item) => ('product' in item ? [item.product.product.sku] : []));

  it.each([
    ['empty columns', `${HEADER},,\n${ROW},,\n`],
    ['a repeated column that is ignored', `${HEADER},link,link\n${ROW},a,b\n`],
    [
      'a repeated column that is unknown',
      `${HEADER},additional_image_link,additional_image_link\n${ROW},a,b\n`,
    ],
    ['names of members of objects', `${HEADER},constructor,constructor\n${ROW},a,b\n`],
    ['line ends of old spreadsheets', `${HEADER}\r${ROW}\r`],
    ['line ends of Windows', `${HEADER}\r\n${ROW}\r\n`],
    ['a byte-order mark', `\ufeff${HEADER}\n${ROW}\n`],
    [
      'columns with spaces that cannot be seen',
      `${HEADER.replace('id', '\u00a0ID\u200b')}\n${ROW}\n`,
    ],
  ])('A table is read with %s, in any chunks', async (_, text) => {
    expect(idsIn(await read('csv', text))).toEqual(['1']);
    const bytes = [...Buffer.from(text)].map((byte) => Buffer.from([byte]));
    const items = await read('csv', ...bytes);
    expect(idsIn(items)).toEqual(['1']);
    expect(items.find((item) => 'product' in item)?.line).toBe(2);
  });

  it.each([
    ['id,title,price\n1,Mug,1 GBP\n', 'availability or available_quantity'],
    ['id,title,availability\n1,Mug,in_stock\n', 'price'],
    ['title,price,availability\nMug,1 GBP,in_stock\n', 'id'],
  ])(
    'A table without a required column is refused with the name of that column, and nothing else: %j',
    async (text, missing) => {
      expect(reasonOf(await read('csv', text))).toBe(
        `- the file has no column ${missing}; nothing was read`,
      );
    },
  );

  it.each([
    'https://img.example/größe.jpg',
    'ftp://img.example/1.jpg',
    'img.example/1.jpg',
    'javascript:1',
  ])('A table keeps the product without a picture that no page could show: %s', async (link) => {
    const items = await read('csv', `${HEADER},image_link\n${ROW},${link}\n`);
    expect(idsIn(items)).toEqual(['1']);
    expect(items).toContainEqual(
      expect.objectContaining({
        column: 'image_link',
        note: expect.stringContaining('so the picture is left out'),
      }),
    );
  });

  it('A table names every id that a rejected row can have', async () => {
    const rows = [
      '2,Mug,free,in_stock',
      '3,Mug',
      'Mug, blue,4,1 GBP,in_stock',
      '5,"Mug,1 GBP,in_stock',
      ',Mug,1 GBP,in_stock',
    ];
    const items = await read('csv', `${HEADER}\n${rows.join('\n')}\n`);
    expect(items.map((item) => ('ids' in item ? item.ids : undefined))).toEqual([
      ['2'],
      ['3', 'Mug'],
      ['Mug', 'blue', '4', '1 GBP', 'in_stock'],
      ['5', 'Mug', '1 GBP', 'in_stock'],
      [],
    ]);
  });
});

describe('An object of an NDJSON feed', () => {
  it.each([
    ['"price":"9 GBP"', 'price is given twice'],
    ['"\\u0070rice":"9 GBP"', 'price is given twice'],
    ['"price_tiers":[{"min_quantity":1,"min_quantity":2}]', 'price_tiers/0/min_quantity is given'],
    ['"__proto__":{}', '__proto__ is a reserved name'],
  ])(
    'An object of an NDJSON feed is rejected when it contains %s in addition to a price',
    async (more, expected) => {
      const item = reasonOf(await read('ndjson', `${JSON.stringify(GOOD).slice(0, -1)},${more}}`));
      expect(item).toContain(expected);
    },
  );
});
