import { CODED, type Coded, COUNTED, type Counted, type Facts } from './facts.ts';
import { grown, ROWS_AT_FIRST, tierColumn } from './tiers.ts';

/**
 * What a search computes with, one typed array per field, indexed by the product's row: filters,
 * facets and order over 100,000 products take a millisecond here, and fifty in SQL.
 */

/**
 * Values of one field, numbered as they come; 0 is none. Float64Array like all columns, because a
 * loop that meets one kind of array only is compiled to the better code.
 */
const codedColumn = () => {
  const codes = new Map<string, number>();
  const values: string[] = [''];
  let live: number[] = [0];
  let rows = new Float64Array(ROWS_AT_FIRST);
  return {
    rows: () => rows,
    values: (): readonly string[] => values,
    codeOf: (value: string) => codes.get(value),
    /** Live products that have the value. */
    liveOf: (value: string) => live[codes.get(value) ?? 0] ?? 0,
    grow: (size: number) => void (rows = grown(rows, new Float64Array(size))),
    count(row: number, step: 1 | -1) {
      const code = rows[row] ?? 0;
      if (code > 0) live[code] = (live[code] ?? 0) + step;
    },
    set(row: number, value: string | null) {
      if (value === null) {
        rows[row] = 0;
        return;
      }
      let code = codes.get(value);
      if (code === undefined) {
        code = values.push(value) - 1;
        codes.set(value, code);
      }
      rows[row] = code;
    },
  };
};

export type Field = Coded | Counted | 'tiers';

const FIELDS: readonly (Coded | Counted)[] = [...CODED, ...COUNTED];

export type Columns = ReturnType<typeof catalogColumns>;

type Arrays = {
  coded: Record<Coded, ReturnType<typeof codedColumn>>;
  counted: Record<Counted, Float64Array>;
  tiers: ReturnType<typeof tierColumn>;
  /** Rows that the arrays have room for, and that they hold. */
  size: number;
  end: number;
};

/** 800 kB each for 100,000 products. */
const QUANTITIES_KEPT_MAX = 16;

const record = <Key extends string, Value>(
  keys: readonly Key[],
  make: () => Value,
): Record<Key, Value> => Object.fromEntries(keys.map((key) => [key, make()])) as Record<Key, Value>;

const noArrays = (): Arrays => ({
  coded: record(CODED, codedColumn),
  counted: record(COUNTED, () => new Float64Array(ROWS_AT_FIRST)),
  tiers: tierColumn(),
  size: ROWS_AT_FIRST,
  end: 0,
});

const grow = (arrays: Arrays, row: number): void => {
  if (row < arrays.size) return;
  while (row >= arrays.size) arrays.size *= 2;
  for (const field of CODED) arrays.coded[field].grow(arrays.size);
  for (const field of COUNTED) {
    arrays.counted[field] = grown(arrays.counted[field], new Float64Array(arrays.size));
  }
  arrays.tiers.grow(arrays.size);
};

/** Whether the price tiers were others. */
const write = (arrays: Arrays, row: number, facts: Facts): boolean => {
  grow(arrays, row);
  CODED.forEach((field, index) => arrays.coded[field].set(row, facts.codes[index] ?? null));
  COUNTED.forEach((field, index) => {
    arrays.counted[field][row] = facts.counts[index] ?? Number.POSITIVE_INFINITY;
  });
  arrays.end = Math.max(arrays.end, row + 1);
  return arrays.tiers.set(row, facts.tiers);
};

/** How often columns have changed: what was made of one is good while its number stands. */
const changeCounts = () => {
  const counts = new Map<Field, number>();
  let ofAll = 0;
  return {
    of: (field: Field): number => ofAll + (counts.get(field) ?? 0),
    count: (field: Field) => void counts.set(field, (counts.get(field) ?? 0) + 1),
    countAll: () => void (ofAll += 1),
  };
};

export const catalogColumns = () => {
  const arrays = noArrays();
  const changes = changeCounts();
  const live = { count: 0, words: 0 };
  let liveRows: Uint32Array | undefined;
  let scratch = new Float64Array(0);
  /** Prices of all rows at the quantities asked for last; who compares prices asks again. */
  const pricesAt = new Map<number, Float64Array>();

  const allPricesAt = (quantity: number): Float64Array => {
    const known = pricesAt.get(quantity);
    if (known) return known;
    const prices = new Float64Array(arrays.size);
    arrays.tiers.pricesAt(quantity, allLiveRows(), prices);
    for (const oldest of pricesAt.keys()) {
      if (pricesAt.size < QUANTITIES_KEPT_MAX) break;
      pricesAt.delete(oldest);
    }
    pricesAt.set(quantity, prices);
    return prices;
  };

  const allLiveRows = (): Uint32Array => {
    if (liveRows) return liveRows;
    const rows = new Uint32Array(live.count);
    let found = 0;
    for (let row = 0; row < arrays.end; row += 1) {
      if (arrays.counted.live[row] === 1) rows[found++] = row;
    }
    liveRows = rows;
    return rows;
  };

  const tally = (row: number, step: 1 | -1): void => {
    if (arrays.counted.live[row] !== 1) return;
    live.count += step;
    live.words += step * (arrays.counted.words[row] ?? 0);
    for (const field of CODED) arrays.coded[field].count(row, step);
  };

  const columnOf = (field: Coded | Counted): Float64Array =>
    field in arrays.coded ? arrays.coded[field as Coded].rows() : arrays.counted[field as Counted];

  return {
    set(row: number, facts: Facts) {
      const before = FIELDS.map((field) => columnOf(field)[row] ?? 0);
      const wasLive = arrays.counted.live[row] === 1;
      tally(row, -1);
      const isOtherPrice = write(arrays, row, facts);
      tally(row, 1);
      const isLive = arrays.counted.live[row] === 1;
      if (wasLive !== isLive) {
        changes.countAll();
        liveRows = undefined;
        pricesAt.clear();
      }
      if (!isLive) return;
      FIELDS.forEach((field, i) => {
        if (columnOf(field)[row] !== before[i]) changes.count(field);
      });
      if (!isOtherPrice) return;
      changes.count('tiers');
      pricesAt.clear();
    },
    /** What was made of the field's column is good as long as this number stands. */
    changesOf: (field: Field) => changes.of(field),
    columnOf,
    of: (field: Counted) => arrays.counted[field],
    values: (field: Coded) => arrays.coded[field],
    isLive: (row: number) => arrays.counted.live[row] === 1,
    liveCount: () => live.count,
    wordsMean: () => live.words / Math.max(1, live.count),
    /** One above the highest row. */
    end: () => arrays.end,
    liveRows: allLiveRows,
    /** Unit prices by row, of every live product. */
    allPrices: (quantity: number | undefined): Float64Array =>
      quantity === undefined ? arrays.counted.price : allPricesAt(quantity),
    /** Unit prices by row: of `rows` only, and until the next call. */
    prices(quantity: number | undefined, rows: Uint32Array): Float64Array {
      if (quantity === undefined) return arrays.counted.price;
      if (pricesAt.has(quantity) || rows.length * 4 > live.count) return allPricesAt(quantity);
      if (scratch.length < arrays.size) scratch = new Float64Array(arrays.size);
      arrays.tiers.pricesAt(quantity, rows, scratch);
      return scratch;
    },
  };
};
