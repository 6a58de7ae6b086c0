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
  ] as const)('is reported with the likely cause: %s %j', async (format, header, hint) => {
    const items = await read(format, `${header}\n1;2;3\n`);
    expect(items).toEqual([expect.objectContaining({ line: 1, ofFile: true })]);
    expect(reasonOf(items)).toMatch(
      new RegExp(`nothing was read; its columns are separated by ${hint}$`),
    );
  });

  it.each(['csv', 'tsv', 'ndjson'] as const)(
    'is reported when a %s file is in UTF-16 or a workbook',
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

describe('An object of an NDJSON feed', () => {
  it.each([
    ['"price":"9 GBP"', 'price is given twice'],
    ['"\\u0070rice":"9 GBP"', 'price is given twice'],
    ['"price_tiers":[{"min_quantity":1,"min_quantity":2}]', 'price_tiers/0/min_quantity is given'],
    ['"__proto__":{}', '__proto__ is a reserved name'],
  ])('is rejected when it has %s in addition to a price', async (more, expected) => {
    const item = reasonOf(await read('ndjson', `${JSON.stringify(GOOD).slice(0, -1)},${more}}`));
    expect(item).toContain(expected);
  });
});
