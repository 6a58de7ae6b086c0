/**
 * The fields that a search computes with, one typed array each, indexed by the product's row: filters,
 * facets and order over 100,000 products take a millisecond here, and fifty in SQL.
 */
import { crc32 } from 'node:zlib';
import type { CatalogProduct } from '#src/ports/catalog.ts';
import { categoriesAbove, nameKey } from '#src/ports/folded-text.ts';
import { LruCache } from '#src/stores/caches.ts';
import { RecordDamaged } from '#src/stores/sqlite/failure.ts';

/** Initial length of columns, which double when they are full. */
const INITIAL_ROWS = 1_024;

/** Copies `from` into the longer `to`, and returns `to`. */
const copyInto = <A extends Float64Array | Uint32Array>(from: A, to: A): A => {
  to.set(from);
  return to;
};

/** Price tiers of all rows in one array; a row that outgrows its space gets a new one at the end. */
class PriceTierColumn {
  #start = new Uint32Array(INITIAL_ROWS);
  #count = new Uint32Array(INITIAL_ROWS);
  #capacity = new Uint32Array(INITIAL_ROWS);
  #pool = new Float64Array(2 * INITIAL_ROWS);
  #used = 0;

  grow(size: number): void {
    this.#start = copyInto(this.#start, new Uint32Array(size));
    this.#count = copyInto(this.#count, new Uint32Array(size));
    this.#capacity = copyInto(this.#capacity, new Uint32Array(size));
  }

  /** `tiers` alternates quantity and price. Returns whether they have changed. */
  set(row: number, tiers: readonly number[]): boolean {
    const first = this.#start[row] ?? 0;
    const isSame =
      tiers.length === this.#count[row] &&
      tiers.every((value, i) => value === this.#pool[first + i]);
    if (isSame) return false;
    if (tiers.length > (this.#capacity[row] ?? 0)) {
      while (this.#used + tiers.length > this.#pool.length)
        this.#pool = copyInto(this.#pool, new Float64Array(2 * this.#pool.length));
      this.#start[row] = this.#used;
      this.#capacity[row] = tiers.length;
      this.#used += tiers.length;
    }
    this.#pool.set(tiers, this.#start[row]);
    this.#count[row] = tiers.length;
    return true;
  }

  /** Writes the unit price of each of `rows` at `quantity` into `prices`, indexed by row. */
  writePrices(quantity: number, rows: Uint32Array, prices: Float64Array): void {
    const [start, count, pool] = [this.#start, this.#count, this.#pool];
    for (let i = 0; i < rows.length; i += 1) {
      const row = rows[i] ?? 0;
      const first = start[row] ?? 0;
      const end = first + (count[row] ?? 0);
      let at = first;
      while (at + 2 < end && (pool[at + 2] ?? 0) <= quantity) at += 2;
      prices[row] = at < end ? (pool[at + 1] ?? 0) : Number.POSITIVE_INFINITY;
    }
  }
}

// The facts of a product that a search computes with, in the order of the columns in columns.ts.

const CODED = [
  'category',
  'brand',
  'ship_from',
  'origin',
  'currency',
  'stock',
  'certifications',
] as const;
export type Coded = (typeof CODED)[number];

/** Fields whose value has several names, each of which finds the product. A value of another field is its only name. */
const NAMES_IN: { [Field in Coded]?: (value: string) => string[] } = {
  category: categoriesAbove,
  certifications: (value) => JSON.parse(value) as string[],
};
const COUNTED = ['live', 'moq', 'available', 'lead_time', 'updated', 'price', 'words'] as const;
export type Counted = (typeof COUNTED)[number];

/** The facts of a row as the file stores them. */
export type Facts = {
  codes: (string | null)[];
  counts: (number | null)[];
  /** Quantity, price, quantity, price, ... */
  tiers: number[];
};

/**
 * An unknown quantity is infinite while the product is in stock, and below zero otherwise; an unknown
 * lead time is infinite. Infinity is null here, because JSON cannot represent it.
 */
export const factsOf = (product: CatalogProduct, live: boolean, words: number): Facts => {
  const { stock, price_tiers, moq, certifications = [] } = product;
  const unknown = stock.level === 'in_stock' ? null : -1;
  const tiers = price_tiers.flatMap(({ min_quantity, unit_price }) => [min_quantity, unit_price]);
  const price = price_tiers.findLast((tier) => tier.min_quantity <= moq) ?? price_tiers[0];
  return {
    codes: [
      product.category,
      product.brand ?? null,
      product.ship_from ?? null,
      product.origin_country ?? null,
      product.currency,
      stock.level,
      certifications.length > 0 ? JSON.stringify(certifications) : null,
    ],
    counts: [
      live ? 1 : 0,
      moq,
      stock.available_quantity ?? unknown,
      product.lead_time_days ?? null,
      product.updated_at,
      price?.unit_price ?? null,
      words,
    ],
    tiers,
  };
};

export const factsCrc = (row: number, facts: string): number => crc32(facts, row);

/** Throws RecordDamaged if a checksum does not fit. */
export const requireFacts = (
  rows: readonly number[],
  facts: readonly string[],
  crcs: readonly number[],
): void => {
  for (const [i, row] of rows.entries())
    if (factsCrc(row, facts[i] ?? '') !== crcs[i])
      throw new RecordDamaged('the checksum of the facts of a product does not fit');
};

/** A name, and the codes of the values that have it, with its spelling in each. */
type CodedName = { codes: number[]; spellings: string[] };

/**
 * The values of one field as codes, numbered in order of appearance; 0 is no value. A Float64Array like
 * all columns, because the compiler optimizes a loop that meets only one kind of array better.
 */
class CodedColumn {
  readonly #namesIn: (value: string) => string[];
  readonly #codes = new Map<string, number>();
  readonly #values: string[] = [''];
  readonly #live: number[] = [0];
  readonly #names: CodedName[] = [];
  readonly #places = new Map<string, number>();
  /** The places in `#names` of the names of each code. */
  readonly #namesOf: number[][] = [[]];
  #rows = new Float64Array(INITIAL_ROWS);

  constructor(namesIn: (value: string) => string[] = (value) => [value]) {
    this.#namesIn = namesIn;
  }

  /** The code of each row. */
  get rows(): Float64Array {
    return this.#rows;
  }

  /** The value of each code. */
  get values(): readonly string[] {
    return this.#values;
  }

  codeOf(value: string): number | undefined {
    return this.#codes.get(value);
  }

  /** Returns the codes of all values that have the name, in any spelling. */
  codesOf(name: string): readonly number[] {
    return this.#names[this.#places.get(nameKey(name)) ?? -1]?.codes ?? [];
  }

  /** Returns how many live rows have the name. */
  liveOf(name: string): number {
    return this.codesOf(name).reduce((sum, code) => sum + (this.#live[code] ?? 0), 0);
  }

  /** Returns the name as most live rows spell it; undefined if none has it. */
  spellingOf(name: string): string | undefined {
    const place = this.#places.get(nameKey(name));
    return place === undefined || this.liveOf(name) === 0 ? undefined : this.#spelling(place);
  }

  /** Returns every name that live rows have. */
  get liveNames(): string[] {
    const isLive = ({ codes }: CodedName): boolean => codes.some((code) => this.#live[code] !== 0);
    return this.#names.flatMap((name, place) => (isLive(name) ? this.#spelling(place) : []));
  }

  /** Sums the counts of the codes by name. */
  countNames(counts: Uint32Array): { value: string; count: number }[] {
    const ofNames = new Uint32Array(this.#names.length);
    for (let code = 1; code < counts.length; code += 1) {
      const count = counts[code] ?? 0;
      if (count === 0) continue;
      for (const place of this.#namesOf[code] ?? []) ofNames[place] = (ofNames[place] ?? 0) + count;
    }
    const named: { value: string; count: number }[] = [];
    for (const [place, count] of ofNames.entries())
      if (count > 0) named.push({ value: this.#spelling(place), count });
    return named;
  }

  grow(size: number): void {
    this.#rows = copyInto(this.#rows, new Float64Array(size));
  }

  count(row: number, step: 1 | -1): void {
    const code = this.#rows[row] ?? 0;
    if (code > 0) this.#live[code] = (this.#live[code] ?? 0) + step;
  }

  set(row: number, value: string | null): void {
    this.#rows[row] = value === null ? 0 : (this.#codes.get(value) ?? this.#add(value));
  }

  #add(value: string): number {
    const code = this.#values.push(value) - 1;
    this.#codes.set(value, code);
    this.#live[code] = 0;
    const places = new Set<number>();
    for (const spelling of this.#namesIn(value)) {
      const key = nameKey(spelling);
      const place = this.#places.get(key) ?? this.#names.push({ codes: [], spellings: [] }) - 1;
      this.#places.set(key, place);
      if (places.has(place)) continue;
      places.add(place);
      this.#names[place]?.codes.push(code);
      this.#names[place]?.spellings.push(spelling);
    }
    this.#namesOf[code] = [...places];
    return code;
  }

  /** The spelling that most live rows have; of several the first by code point, which is the same on every node. */
  #spelling(place: number): string {
    const { codes = [], spellings = [] } = this.#names[place] ?? {};
    if (codes.length === 1) return spellings[0] ?? '';
    const live = new Map<string, number>();
    for (const [index, spelling] of spellings.entries())
      live.set(spelling, (live.get(spelling) ?? 0) + (this.#live[codes[index] ?? 0] ?? 0));
    const [best = ['']] = [...live].sort(
      ([one, rows], [other, others]) => others - rows || (one < other ? -1 : 1),
    );
    return best[0];
  }
}

/** 800 kB each for 100,000 products. */
const CACHED_QUANTITIES_MAX = 16;

const recordOf = <Key extends string, Value>(
  keys: readonly Key[],
  make: (key: Key) => Value,
): Record<Key, Value> =>
  Object.fromEntries(keys.map((key) => [key, make(key)])) as Record<Key, Value>;

export class CatalogColumns {
  readonly #coded = recordOf(CODED, (field) => new CodedColumn(NAMES_IN[field]));
  readonly #counted = recordOf(COUNTED, () => new Float64Array(INITIAL_ROWS));
  readonly #tiers = new PriceTierColumn();
  /** Prices of all rows at the quantities of recent queries. */
  readonly #pricesAt = new LruCache<number, Float64Array>(CACHED_QUANTITIES_MAX);
  #size = INITIAL_ROWS;
  #end = 0;
  #liveCount = 0;
  #liveWords = 0;
  #liveRows: Uint32Array | undefined;
  #scratch = new Float64Array(0);

  set(row: number, facts: Facts): void {
    const wasLive = this.isLive(row);
    this.#tally(row, -1);
    const hasOtherPrice = this.#write(row, facts);
    this.#tally(row, 1);
    const isSameSet = wasLive === this.isLive(row);
    if (!isSameSet) this.#liveRows = undefined;
    if (!isSameSet || hasOtherPrice) this.#pricesAt.clear();
  }

  columnOf(field: Coded | Counted): Float64Array {
    return field in this.#coded ? this.#coded[field as Coded].rows : this.of(field as Counted);
  }

  of(field: Counted): Float64Array {
    return this.#counted[field];
  }

  values(field: Coded): CodedColumn {
    return this.#coded[field];
  }

  isLive(row: number): boolean {
    return this.#counted.live[row] === 1;
  }

  get liveCount(): number {
    return this.#liveCount;
  }

  get meanWords(): number {
    return this.#liveWords / Math.max(1, this.#liveCount);
  }

  /** One above the highest row. */
  get end(): number {
    return this.#end;
  }

  get liveRows(): Uint32Array {
    if (this.#liveRows) return this.#liveRows;
    const rows = new Uint32Array(this.#liveCount);
    const { live } = this.#counted;
    let count = 0;
    for (let row = 0; row < this.#end; row += 1) if (live[row] === 1) rows[count++] = row;
    this.#liveRows = rows;
    return rows;
  }

  /** Returns unit prices indexed by row, only of `rows`, valid until the next call. */
  prices(quantity: number | undefined, rows: Uint32Array): Float64Array {
    if (quantity === undefined) return this.#counted.price;
    const cached = this.#pricesAt.get(quantity);
    if (cached) return cached;
    if (rows.length * 4 <= this.#liveCount) {
      if (this.#scratch.length < this.#size) this.#scratch = new Float64Array(this.#size);
      this.#tiers.writePrices(quantity, rows, this.#scratch);
      return this.#scratch;
    }
    const prices = new Float64Array(this.#size);
    this.#tiers.writePrices(quantity, this.liveRows, prices);
    this.#pricesAt.set(quantity, prices, 1);
    return prices;
  }

  /** Makes space for the rows below `end` at once; otherwise the columns grow by doubling. */
  reserve(end: number): void {
    this.#grow(end - 1);
  }

  /** Adds a live row to the counts, or removes it. */
  #tally(row: number, step: 1 | -1): void {
    if (!this.isLive(row)) return;
    this.#liveCount += step;
    this.#liveWords += step * (this.#counted.words[row] ?? 0);
    for (const field of CODED) this.#coded[field].count(row, step);
  }

  /** Returns whether the price tiers have changed. */
  #write(row: number, facts: Facts): boolean {
    this.#grow(row);
    CODED.forEach((field, index) => this.#coded[field].set(row, facts.codes[index] ?? null));
    COUNTED.forEach((field, index) => {
      this.#counted[field][row] = facts.counts[index] ?? Number.POSITIVE_INFINITY;
    });
    this.#end = Math.max(this.#end, row + 1);
    return this.#tiers.set(row, facts.tiers);
  }

  #grow(row: number): void {
    if (row < this.#size) return;
    while (row >= this.#size) this.#size *= 2;
    for (const field of CODED) this.#coded[field].grow(this.#size);
    for (const field of COUNTED)
      this.#counted[field] = copyInto(this.#counted[field], new Float64Array(this.#size));
    this.#tiers.grow(this.#size);
  }
}
