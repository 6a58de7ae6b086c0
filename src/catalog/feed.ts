/** Reads a product feed (CSV, TSV or NDJSON) row by row. */
import type { z } from 'zod';
import type { publishedProduct, stockLevel } from '#contracts/event-fields.ts';
import {
  type CellFault,
  type CellReader,
  type Cells,
  type Tier,
  cellReader,
  priceIn,
  tiersIn,
} from '#src/shared/cells.ts';
import { scanJson } from '#src/shared/json.ts';
import { present } from '#src/shared/present.ts';

/** A product as a feed describes it; the catalog assigns its id. */
export type ProductInput = {
  product: Omit<z.infer<typeof publishedProduct>, 'product_id'>;
  stock: z.infer<typeof stockLevel>;
};

/** Named as in the feeds of Google Merchant Center, with more columns for wholesale. */
const REQUIRED_COLUMNS = ['id', 'title', 'price'] as const;
const STOCK_COLUMNS = ['availability', 'available_quantity'] as const;
const KNOWN_COLUMNS: ReadonlySet<string> = new Set([
  ...REQUIRED_COLUMNS,
  ...STOCK_COLUMNS,
  'description',
  'product_type',
  'google_product_category',
  'brand',
  'gtin',
  'mpn',
  'image_link',
  'min_order_quantity',
  'order_increment',
  'price_tiers',
  'origin_country',
  'ship_from',
  'lead_time_days',
  'certifications',
  'updated_at',
  // Ignored: links are made per promoter, and all stock is new.
  'link',
  'condition',
]);

const ID_CHARS_MAX = 64;
const TITLE_CHARS_MAX = 200;
const DESCRIPTION_CHARS_MAX = 5_000;
const NAME_CHARS_MAX = 100;
const LEAD_DAYS_MAX = 3_650;
const STOCK_MAX = 999_999_999;

/** Stock for fewer minimum orders than this is low. */
const LOW_ORDERS = 2;

const NO_CATEGORY = 'Uncategorised';

/** Compared in lower case and with underscores for spaces. */
const AVAILABILITIES: ReadonlyMap<string, 'in' | 'out'> = new Map([
  ['in_stock', 'in'],
  ['out_of_stock', 'out'],
  // The catalog contains only ready stock.
  ['preorder', 'out'],
  ['backorder', 'out'],
]);

/** Availability out_of_stock means a quantity of 0, whatever available_quantity says. */
const stockOf = (cells: CellReader, moq: number): ProductInput['stock'] => {
  const text = cells.raw('availability');
  const quantity = cells.whole('available_quantity', 0, STOCK_MAX);
  const availability = AVAILABILITIES.get((text ?? 'in_stock').toLowerCase().replaceAll(' ', '_'));
  if (!availability) {
    cells.refuse('availability', 'must be in_stock, out_of_stock, preorder or backorder');
  }
  if (text === undefined && !cells.has('available_quantity')) {
    cells.refuse('availability', 'is missing, and so is available_quantity');
  }
  if (availability === 'out' || quantity === 0) {
    return { level: 'out_of_stock', available_quantity: 0 };
  }
  if (quantity === undefined) return { level: 'in_stock', available_quantity: null };
  return {
    level: quantity < moq * LOW_ORDERS ? 'low' : 'in_stock',
    available_quantity: quantity,
  };
};

const checkTiers = (
  cells: CellReader,
  tiers: readonly Tier[],
  { moq, price }: { moq: number; price: number },
): void => {
  const column = 'price_tiers';
  for (const [index, tier] of tiers.entries()) {
    const before = tiers[index - 1];
    if (!before) continue;
    if (tier.min_quantity <= before.min_quantity) {
      cells.refuse(
        column,
        `quantities must rise: ${tier.min_quantity} is not above ${before.min_quantity}`,
      );
    } else if (tier.unit_price > before.unit_price) {
      cells.refuse(column, `prices must not rise with quantity, and do at ${tier.min_quantity}`);
    }
  }
  const first = tiers[0]?.min_quantity ?? 0;
  if (first > moq) {
    cells.refuse(column, `begins at ${first}, so the minimum order of ${moq} has no price`);
    return;
  }
  const atMoq = tiers.findLast((tier) => tier.min_quantity <= moq);
  if (atMoq && atMoq.unit_price !== price) {
    cells.refuse(column, `differs from price for the minimum order of ${moq}`);
  }
};

const pricesOf = (cells: CellReader) => {
  const moq = cells.whole('min_order_quantity', 1) ?? 1;
  const increment = cells.whole('order_increment', 1) ?? 1;
  if (moq % increment !== 0 && cells.faults.length === 0) {
    cells.refuse(
      'min_order_quantity',
      `must be a multiple of order_increment: ${moq} of ${increment}`,
    );
  }
  const price = priceIn(cells, 'price');
  const single = [{ min_quantity: moq, unit_price: price?.amount ?? 0 }];
  const price_tiers = (price && tiersIn(cells, 'price_tiers', price.currency)) ?? single;
  if (price) checkTiers(cells, price_tiers, { moq, price: price.amount });
  return { moq, increment, currency: price?.currency ?? '', price_tiers };
};

const certificationsOf = (cells: CellReader): string[] | undefined => {
  const line = cells.line('certifications', DESCRIPTION_CHARS_MAX);
  const names = line?.split('|').map((name) => name.trim());
  return names?.filter((name) => name !== '');
};

const gtinOf = (cells: CellReader): string | undefined => {
  const gtin = cells.raw('gtin');
  if (gtin === undefined || /^(\d{8}|\d{12,14})$/.test(gtin)) return gtin;
  return cells.refuse('gtin', 'must be 8, 12, 13 or 14 digits');
};

/** Reads a product and its stock, or all faults of its row. */
const productOf = (from: Cells): ProductInput | { faults: CellFault[] } => {
  const cells = cellReader(from);
  for (const column of REQUIRED_COLUMNS) if (!cells.has(column)) cells.refuse(column, 'is missing');
  const prices = pricesOf(cells);
  const stock = stockOf(cells, prices.moq);
  const category = cells.has('product_type') ? 'product_type' : 'google_product_category';
  const product = {
    sku: cells.line('id', ID_CHARS_MAX) ?? '',
    title: cells.line('title', TITLE_CHARS_MAX) ?? '',
    description: cells.text('description', DESCRIPTION_CHARS_MAX) ?? '',
    category: cells.line(category, NAME_CHARS_MAX) ?? NO_CATEGORY,
    ...prices,
    ...present({
      brand: cells.line('brand', NAME_CHARS_MAX),
      gtin: gtinOf(cells),
      mpn: cells.line('mpn', NAME_CHARS_MAX),
      image_url: cells.url('image_link'),
      origin_country: cells.country('origin_country'),
      ship_from: cells.country('ship_from'),
      lead_time_days: cells.whole('lead_time_days', 0, LEAD_DAYS_MAX),
      certifications: certificationsOf(cells),
      source_updated_at: cells.time('updated_at'),
    }),
  };
  return cells.faults.length > 0 ? { faults: cells.faults } : { product, stock };
};

/** Thrown when no text of the file can be read. */
class NotUtf8 extends Error {
  override readonly name = 'NotUtf8';
}

const CHECKED_BYTES = 64;

/** Rejects UTF-16 and workbooks, which contain zero bytes; text in UTF-8 has none. */
const requireUtf8 = (first: Buffer): void => {
  if (first.subarray(0, CHECKED_BYTES).includes(0))
    throw new NotUtf8('is not text in UTF-8 but in UTF-16, or a workbook; save it as CSV in UTF-8');
};

const columnsOf = (header: readonly string[]): string[] =>
  header.map((name) => name.trim().toLowerCase().replaceAll(' ', '_'));

const SEPARATORS = new Map([
  [';', 'semicolons: save it with commas'],
  ['\t', 'tabs: name it .tsv'],
  [',', 'commas: name it .csv'],
  ['|', 'bars: save it with commas'],
]);

/** Names another separator with which the header would have all required columns. */
const hintOf = (header: string): string => {
  for (const [separator, hint] of SEPARATORS) {
    const columns = columnsOf(header.replaceAll('"', '').split(separator));
    if (REQUIRED_COLUMNS.every((column) => columns.includes(column)))
      return `; its columns are separated by ${hint}`;
  }
  return '';
};

/** Finds what is wrong with the columns; `header` is the first line of the file. */
const headerFault = (
  columns: readonly string[],
  header: string,
): { column?: string; reason: string } | undefined => {
  const repeated = columns.find((column, index) => columns.indexOf(column) < index);
  if (repeated !== undefined) return { column: repeated, reason: 'appears twice' };
  const missing: string[] = REQUIRED_COLUMNS.filter((column) => !columns.includes(column));
  const hasStock = columns.includes('availability') || columns.includes('available_quantity');
  if (!hasStock) missing.push('availability or available_quantity');
  if (missing.length === 0) return undefined;
  return {
    reason: `the file has no column ${missing.join(', ')}; nothing was read${hintOf(header)}`,
  };
};

/**
 * Splits a CSV or TSV feed into records by the quoting rules of RFC 4180. Not csv-parse, because a
 * streaming parser loses the good lines after a stray quote.
 */

/**
 * `from` and `to` are its lines. A record with wrong quotes is its first line alone, because its end
 * is unknown; the lines after it are read as records of their own.
 */
type TableRecord = { from: number; to: number; values: string[]; reason?: string };

/** More than a product can hold: a quoted value that is longer was not meant to be quoted. */
const ROW_CHARS_MAX = 262_144;
const ROW_TOO_LONG = `is longer than ${ROW_CHARS_MAX} characters, which no product needs; check its quotes`;

const QUOTED = /^"[^"]*(?:""[^"]*)*"$/;
const OPEN_QUOTE = /^"[^"]*(?:""[^"]*)*$/;
const INSIDE_QUOTES = /^[^"]*(?:""[^"]*)*$/;

const hasOddQuotes = (text: string): boolean => text.split('"').length % 2 === 0;

/** The values of a record so far; `open` is a quoted value that continues in the next line. */
type Values = { values: string[]; open?: string };

/** Splits text into values; undefined when a quote is misplaced. */
const valuesIn = (text: string, separator: string): Values | undefined => {
  const pieces = text.split(separator);
  if (!text.includes('"')) return { values: pieces };
  const values: string[] = [];
  let open: string | undefined;
  for (const piece of pieces) {
    const value = open === undefined ? piece : open + separator + piece;
    const continues = (open !== undefined) !== hasOddQuotes(piece);
    open = continues ? value : undefined;
    if (continues) continue;
    if (!value.includes('"')) values.push(value);
    else if (QUOTED.test(value)) values.push(value.slice(1, -1).replaceAll('""', '"'));
    else return undefined;
  }
  if (open === undefined) return { values };
  return OPEN_QUOTE.test(open) ? { values, open } : undefined;
};

/** Adds one more line; only the open value is split again. */
const withLine = (
  { values, open = '' }: Values,
  line: string,
  separator: string,
): Values | undefined => {
  const text = `${open}\n${line}`;
  if (INSIDE_QUOTES.test(line)) return { values, open: text };
  const more = valuesIn(text, separator);
  for (const value of more?.values ?? []) values.push(value);
  return more && { ...more, values };
};

const reasonOf = (ends: boolean, from: number, to: number): string => {
  const remedy = 'double it and quote the value';
  if (from === to) return `has a quote ${ends ? 'inside a value' : 'that never closes'}; ${remedy}`;
  const how = ends ? `that ends inside a value in line ${to}` : `that does not close by line ${to}`;
  return `has a quote ${how}; ${remedy}. Reading continues in line ${from + 1}`;
};

/** Lines that were read ahead. Takes constant time for each line: an array moves all others when its first is removed. */
class LineQueue {
  readonly #source: AsyncIterator<string>;
  #lines: string[] = [];
  #first = 0;

  constructor(source: AsyncIterator<string>) {
    this.#source = source;
  }

  /** Returns the line at this offset from the first, which is at most one past those read; undefined at the end. */
  async at(offset: number): Promise<string | undefined> {
    const index = this.#first + offset;
    if (this.#lines.length <= index) {
      const next = await this.#source.next();
      if (!next.done) this.#lines.push(next.value);
    }
    return this.#lines[index];
  }

  drop(count: number): void {
    this.#first += count;
    if (this.#first * 2 < this.#lines.length) return;
    this.#lines = this.#lines.slice(this.#first);
    this.#first = 0;
  }
}

/**
 * Reads the records of a file. Each line that is not empty is part of one record. Takes linear time; memory is bounded
 * by ROW_CHARS_MAX and the longest line.
 */
async function* recordsOf(
  lines: AsyncIterable<string>,
  separator: string,
): AsyncIterable<TableRecord> {
  const source = lines[Symbol.asyncIterator]();
  const queue = new LineQueue(source);
  let from = 1;
  try {
    for (let first = await queue.at(0); first !== undefined; first = await queue.at(0)) {
      if (first.length > ROW_CHARS_MAX) {
        yield { from, to: from, values: [], reason: ROW_TOO_LONG };
        queue.drop(1);
        from += 1;
        continue;
      }
      let [read, count, chars] = [valuesIn(first, separator), 1, first.length];
      while (read?.open !== undefined && chars < ROW_CHARS_MAX) {
        const next = await queue.at(count);
        if (next === undefined) break;
        count += 1;
        chars += next.length + 1;
        read = withLine(read, next, separator);
      }
      const to = from + count - 1;
      if (!read || read.open !== undefined) {
        const values = first.replaceAll('"', '').split(separator);
        yield { from, to: from, values, reason: reasonOf(!read, from, to) };
        count = 1;
      } else if (first !== '') yield { from, to, values: read.values };
      queue.drop(count);
      from += count;
    }
  } finally {
    await source.return?.();
  }
}

export type FeedFormat = 'csv' | 'tsv' | 'ndjson';
type FeedRow = { line: number; product: ProductInput };
/** Why a row was rejected, or the whole file if `ofFile`. */
export type FeedFault = { line: number; column?: string; reason: string; ofFile?: true };
/** Columns that were ignored; at most one warning for a file. */
type FeedWarning = { line: number; unknown_columns: string[] };
export type ProductFeedItem = FeedRow | FeedFault | FeedWarning;

type Chunks = AsyncIterable<string | Buffer>;
type RawRow = { line: number; to: number; cells: Cells } | FeedFault | FeedWarning;

const trimmed = (value: string): string => value.replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, '');

const cellOf = (value: unknown): string | undefined => {
  if (typeof value === 'string') return trimmed(value);
  return typeof value === 'number' ? String(value) : undefined;
};

const listCell = (column: string, value: unknown[]): string | undefined => {
  const parts = value.map((item: unknown) => {
    if (column === 'certifications') return typeof item === 'string' ? item : undefined;
    const { min_quantity, unit_price } = (item ?? {}) as Record<string, unknown>;
    return `${cellOf(min_quantity) ?? ''}:${cellOf(unit_price) ?? ''}`;
  });
  return parts.every((part) => part !== undefined) ? parts.join('|') : undefined;
};

const LISTS = new Set(['price_tiers', 'certifications']);

/**
 * Converts a JSON object to the cells of a row. Lists may be JSON lists: `certifications` of texts,
 * `price_tiers` of {min_quantity, unit_price} with the price in major units, as everywhere in a feed.
 */
const cellsOfJson = (object: object): { cells: Cells; faults: CellFault[] } => {
  const cells = new Map<string, string>();
  const faults: CellFault[] = [];
  for (const [column, value] of Object.entries(object) as [string, unknown][]) {
    if (value === null || !KNOWN_COLUMNS.has(column)) continue;
    const isList = Array.isArray(value) && LISTS.has(column);
    const cell = isList ? listCell(column, value) : cellOf(value);
    if (cell === undefined) faults.push({ column, reason: 'must be text or a number' });
    else if (cell !== '') cells.set(column, cell);
  }
  return { cells, faults };
};

const EMPTY_FILE: FeedFault = { line: 1, reason: 'the file is empty', ofFile: true };

/**
 * Decodes chunks to lines; a chunk may end inside a character, a line or a line end. Takes linear time: of a line beyond
 * ROW_CHARS_MAX the rest is dropped.
 */
async function* linesOf(chunks: Chunks): AsyncIterable<string> {
  const decoder = new TextDecoder();
  let line = '';
  let isFirst = true;
  for await (const chunk of chunks) {
    if (isFirst && typeof chunk !== 'string') requireUtf8(chunk);
    const text = typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true });
    const [end = '', ...more] = (isFirst ? text.replace(/^\ufeff/, '') : text).split('\n');
    isFirst = false;
    if (line.length <= ROW_CHARS_MAX) line += end;
    for (const next of more) {
      yield line.replace(/\r$/, '');
      line = next;
    }
  }
  line += decoder.decode();
  if (line !== '') yield line;
}

/** Names the lines of a row that has several: a missing quote may be the cause. */
const rowLines = (line: number, to: number): string =>
  to > line ? ` (its row is lines ${line} to ${to})` : '';

const rowOf = (columns: readonly string[], record: TableRecord): RawRow => {
  const { from: line, to, values, reason } = record;
  if (reason !== undefined) return { line, reason };
  if (values.length !== columns.length) {
    const counts = `has ${values.length} columns, and the first line ${columns.length}`;
    return { line, reason: counts + rowLines(line, to) };
  }
  const cells = new Map<string, string>();
  for (const [index, column] of columns.entries()) {
    const value = trimmed(values[index] ?? '');
    if (value !== '') cells.set(column, value);
  }
  return { line, to, cells };
};

async function* tableRows(separator: ',' | '\t', chunks: Chunks): AsyncIterable<RawRow> {
  let columns: string[] | undefined;
  for await (const record of recordsOf(linesOf(chunks), separator)) {
    if (columns) {
      yield rowOf(columns, record);
      continue;
    }
    const { values, reason } = record;
    columns = columnsOf(values);
    const columnFault =
      values.length > 0 ? headerFault(columns, values.join(separator)) : undefined;
    const fault = columnFault ?? (reason !== undefined && { reason });
    if (fault) {
      yield { line: 1, ofFile: true, ...fault };
      return;
    }
    const unknown_columns = columns.filter((column) => !KNOWN_COLUMNS.has(column));
    if (unknown_columns.length > 0) yield { line: 1, unknown_columns };
  }
  if (!columns) yield EMPTY_FILE;
}

const objectIn = (text: string): object | undefined => {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
};

async function* objectRows(chunks: Chunks): AsyncIterable<RawRow> {
  const unknown = new Set<string>();
  let line = 0;
  let isEmpty = true;
  for await (const text of linesOf(chunks)) {
    line += 1;
    if (text.length > ROW_CHARS_MAX) {
      isEmpty = false;
      yield { line, reason: ROW_TOO_LONG };
      continue;
    }
    const json = trimmed(text);
    if (json === '') continue;
    isEmpty = false;
    const object = objectIn(json);
    if (!object) {
      yield { line, reason: 'is not a JSON object' };
      continue;
    }
    const scanFault = scanJson(json);
    if (scanFault) {
      const column = scanFault.pointer.slice(1);
      yield { line, ...(column !== '' && { column }), reason: scanFault.detail };
      continue;
    }
    for (const column of Object.keys(object)) if (!KNOWN_COLUMNS.has(column)) unknown.add(column);
    const { cells, faults } = cellsOfJson(object);
    if (faults.length === 0) yield { line, to: line, cells };
    for (const fault of faults) yield { line, ...fault };
  }
  if (isEmpty) yield EMPTY_FILE;
  if (unknown.size > 0) yield { line, unknown_columns: [...unknown] };
}

async function* rowsOf(format: FeedFormat, chunks: Chunks): AsyncIterable<RawRow> {
  try {
    if (format === 'ndjson') yield* objectRows(chunks);
    else yield* tableRows(format === 'csv' ? ',' : '\t', chunks);
  } catch (error) {
    if (!(error instanceof NotUtf8)) throw error;
    yield { line: 1, reason: error.message, ofFile: true };
  }
}

/**
 * Reads the products of a feed in the order of its rows, and every fault with its line. A repeated id
 * is a fault even when the earlier row was rejected, because either row can be the intended one.
 */
export async function* readFeed(
  format: FeedFormat,
  chunks: Chunks,
): AsyncIterable<ProductFeedItem> {
  const lines = new Map<string, number>();
  for await (const row of rowsOf(format, chunks)) {
    if (!('cells' in row)) {
      yield row;
      continue;
    }
    const { line, to, cells } = row;
    const id = cells.get('id');
    const earlier = id === undefined ? undefined : lines.get(id);
    if (earlier !== undefined) {
      yield { line, column: 'id', reason: `repeats the id of line ${earlier}` };
      continue;
    }
    if (id !== undefined) lines.set(id, line);
    const product = productOf(cells);
    if (!('faults' in product)) yield { line, product };
    else
      for (const { column, reason } of product.faults)
        yield { line, column, reason: reason + rowLines(line, to) };
  }
}
