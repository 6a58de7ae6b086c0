import type { Dimension } from '#contracts/performance/performance.records.ts';
import type { Dims } from './columns.ts';

const SUB_IDS = ['sub_id_1', 'sub_id_2', 'sub_id_3'] as const satisfies Dimension[];
type SubId = (typeof SUB_IDS)[number];

const isSubId = (dimension: Dimension): dimension is SubId => dimension.startsWith('sub_id_');

/** The value of a set of dimensions; null for a country, which visits have and sets do not. */
export const valueOf = (dims: Dims, dimension: Dimension): string | null => {
  if (dimension === 'country') return null;
  if (isSubId(dimension)) return dims.sub_ids?.[SUB_IDS.indexOf(dimension)] ?? null;
  return dims[dimension] ?? null;
};

/** Returns whether a set of dimensions passes all filters, except that on country. */
export const matcherOf = (
  filters: Partial<Record<Dimension, string>>,
): ((dims: Dims) => boolean) => {
  const wanted = (Object.entries(filters) as [Dimension, string][]).filter(
    ([name]) => name !== 'country',
  );
  return (dims) => wanted.every(([name, value]) => valueOf(dims, name) === value);
};

export const restrictDims = (dims: Dims, dimensions: readonly Dimension[]): Dims => {
  const values: Record<string, string | string[]> = {};
  const subIds: string[] = [];
  for (const dimension of dimensions) {
    const value = valueOf(dims, dimension);
    if (value === null) continue;
    if (isSubId(dimension)) subIds[SUB_IDS.indexOf(dimension)] = value;
    else values[dimension] = value;
  }
  return { ...values, ...(subIds.length > 0 && { sub_ids: subIds }) };
};
