/** No line after a misplaced quote is lost. */
import * as fc from 'fast-check';
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
const good = (id: string): string => `${id},Mug,1 GBP,in_stock`;
const brief = (items: ProductFeedItem[]): string[] =>
  items.map((item) => {
    if ('product' in item) return `${item.line} ${item.product.product.sku}`;
    return 'reason' in item ? `${item.line} ${item.column ?? '-'}: ${item.reason}` : '';
  });

describe('A CSV file with quotes', () => {
  it('A CSV file with quotes loses no line after a stray quote and reports the lines that the quote would include', async () => {
    const rows = [
      HEADER,
      good('1'),
      '2,"Open,1 GBP,in_stock',
      good('3'),
      '4,"Two\nlines",1 GBP,in_stock',
      '5,"Mug, blue",1 GBP,in_stock',
      '6,"Mug,1 GBP',
      good('7'),
      '8,""Mug"",""1 GBP',
      '',
    ];
    const remedy = 'double it and quote the value.';
    const expected = [
      '2 1',
      `3 -: has a quote that ends inside a value in line 5; ${remedy} Reading continues in line 4`,
      '4 3',
      '5 title: must be one line (its row is lines 5 to 6)',
      '7 5',
      `8 -: has a quote that does not close by line 10; ${remedy} Reading continues in line 9`,
      '9 7',
      `10 -: has a quote inside a value; ${remedy.slice(0, -1)}`,
    ];
    expect(brief(await read('csv', rows.join('\n')))).toEqual(expected);
    const bytes = [...Buffer.from(rows.join('\r\n'))].map((byte) => Buffer.from([byte]));
    expect(brief(await read('csv', ...bytes))).toEqual(expected);
    const last = await read('csv', `${HEADER}\n2,"Mug,1 GBP`);
    expect(brief(last)).toEqual([`2 -: has a quote that never closes; ${remedy.slice(0, -1)}`]);
    const tabbed = await read(
      'tsv',
      `${HEADER.replaceAll(',', '\t')}\n1\t"a\tb"\t1 GBP\tin_stock\n`,
    );
    expect(brief(tabbed)).toEqual(['2 title: must be one line']);
    const header = await read('csv', `${HEADER.replace('title', '"title')}\n${good('1')}`);
    expect(brief(header)).toHaveLength(1);
    expect(brief(header)[0]).toContain('1 -: has a quote');
  });

  it('A CSV file with quotes does not read a line inside a quoted value as a row, even when the row is rejected', async () => {
    const rows = [HEADER, '1,"Mug\nX,Forged,0.01 GBP,in_stock\n",free,in_stock', good('2')];
    expect(brief(await read('csv', rows.join('\n')))).toEqual([
      '2 price: must be like 0.85 GBP, and is "free" (its row is lines 2 to 4)',
      '2 title: must be one line (its row is lines 2 to 4)',
      '5 2',
    ]);
  });

  it('A CSV file with quotes continues with the next line after a quoted value that is longer than a product', async () => {
    const rows = Array.from({ length: 20_000 }, (_, n) => good(String(n)));
    const items = await read('csv', [HEADER, '"', ...rows].join('\n'));
    expect(items.filter((item) => 'product' in item)).toHaveLength(rows.length);
  });

  it('A CSV file with quotes rejects a line that is longer than a product, and reads it in linear time and bounded memory', async () => {
    const part = Buffer.alloc(65_536, ',');
    for (const [format, header] of [
      ['csv', HEADER],
      ['ndjson', ''],
    ] as const) {
      const huge = [`${header}\n1,"`, ...Array<Buffer>(512).fill(part), `"\n${good('2')}`];
      const [first] = brief(await read(format, ...huge));
      expect(first).toMatch(/^2 -: is longer than 262144 characters/);
    }
    const after = await read('csv', `${HEADER}\n${'x'.repeat(300_000)}\n${good('2')}\n`);
    expect(brief(after).at(-1)).toBe('3 2');
    expect(brief(await read('csv', 'x'.repeat(300_000)))[0]).toContain('1 -: is longer than');
  });

  it('A CSV file with quotes reads one quoted value of very many lines in linear time', async () => {
    const items = await read('csv', `${HEADER}\n1,"${'\n'.repeat(400_000)}\n${good('2')}`);
    expect(brief(items)).toEqual([
      expect.stringContaining('2 -: has a quote that does not close by line 262'),
      '400003 2',
    ]);
  });

  it('A CSV file with quotes reads or reports each line of any file', async () => {
    const line = fc.array(fc.constantFrom('"', '""', ',', 'a', '1 GBP', 'in_stock'), {
      maxLength: 12,
    });
    await fc.assert(
      fc.asyncProperty(fc.array(line, { maxLength: 12 }), async (lines) => {
        const texts = lines.map((parts) => parts.join(''));
        const reported = new Set<number>();
        const table = [HEADER, ...texts].join('\n');
        for (const item of await read('csv', table)) {
          const [, to] =
            'reason' in item ? (/row is lines \d+ to (\d+)/.exec(item.reason) ?? []) : [];
          for (let n = item.line; n <= Number(to ?? item.line); n += 1) reported.add(n);
        }
        for (const [at, text] of texts.entries())
          if (text !== '') expect(reported, JSON.stringify(texts)).toContain(at + 2);
      }),
      { numRuns: 300 },
    );
  });
});
