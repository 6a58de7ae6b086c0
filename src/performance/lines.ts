/** Lines of RFQs, which count for products and categories of their own. */
import { type Dimension, LINE_DIMENSIONS } from '#contracts/performance/records.ts';
import type { PerformanceLines } from '#src/ports/performance-rows.ts';

/** What some lines of one RFQ count. `of`: the number of their fact, which tells the RFQ from others. */
export type Part = { of: number; by: number; lines: number; amounts: (number | string)[] };

/** A fact that lines count in: `whole` is all of them. */
export type LinesFact = Pick<PerformanceLines, 'entries'> & { whole: Part };

export const isLines = (detail: unknown): detail is LinesFact =>
  typeof detail === 'object' && detail !== null && 'whole' in detail;

export const isPart = (detail: unknown): detail is Part =>
  typeof detail === 'object' && detail !== null && 'of' in detail;

type Entry = PerformanceLines['entries'][number];

const sumOf = (of: number, by: number, entries: readonly Entry[]): Part => {
  const sums = new Map<string, number>();
  let all = 0;
  for (const [, , lines, ...amounts] of entries) {
    all += lines;
    for (let at = 0; at < amounts.length; at += 2) {
      const currency = String(amounts[at + 1]);
      sums.set(currency, (sums.get(currency) ?? 0) + Number(amounts[at]));
    }
  }
  return { of, by, lines: all, amounts: [...sums].flatMap(([name, sum]) => [sum, name]) };
};

/** The lines of a stored row. `shared` returns one text for all equal ones: thousands of lines name the same products. */
export const linesFact = (
  of: number,
  { by, entries }: PerformanceLines,
  shared: (text: string) => string,
): LinesFact => {
  const same = (value: number | string | null) =>
    typeof value === 'string' ? shared(value) : value;
  return {
    entries: entries.map((entry) => entry.map(same) as Entry),
    whole: sumOf(of, by, entries),
  };
};

export type LineDims = { product_id?: string; category?: string };

/** The dimensions of lines among those of a question; without any, an RFQ counts as a whole. */
export const lineDimensionsIn = (dimensions: Iterable<Dimension>): readonly Dimension[] => {
  const named = new Set(dimensions);
  return LINE_DIMENSIONS.filter((dimension) => named.has(dimension));
};

/** Divides the lines of a fact by some of their dimensions. */
export const partsOf = (
  { entries, whole }: LinesFact,
  dimensions: readonly Dimension[],
): { dims: LineDims; part: Part }[] => {
  const [hasProduct, hasCategory] = LINE_DIMENSIONS.map((name) => dimensions.includes(name));
  const byDims = new Map<string, Entry[]>();
  for (const entry of entries) {
    const key = JSON.stringify([hasProduct ? entry[0] : null, hasCategory ? entry[1] : null]);
    const same = byDims.get(key);
    if (same) same.push(entry);
    else byDims.set(key, [entry]);
  }
  return [...byDims.values()].map((same) => {
    const [product, category] = same[0] ?? [null, null];
    return {
      dims: {
        ...(hasProduct && product !== null && { product_id: product }),
        ...(hasCategory && category !== null && { category }),
      },
      part: sumOf(whole.of, whole.by, same),
    };
  });
};
