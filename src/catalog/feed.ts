/** Reads a product feed (CSV, TSV or NDJSON) row by row. */
import { decoded } from '#contracts/catalog/plain-text.ts';
import { type ProductChange, productFields } from '#contracts/catalog/operations.ts';
import { PRODUCT_LIMITS } from '#contracts/limits.ts';
import { trimmedText, visibleText } from '#contracts/texts.ts';
import {
  type CellFault,
  type CellReader,
  type Cells,
  cellReader,
  priceIn,
  shown,
  tiersIn,
} from '#src/shared/cells.ts';
import { scanJson, present } from '#src/shared/json.ts';
import { NO_CATEGORY } from './product.decider.ts';

/** Named as in the feeds of Google Merchant Center, with more columns for wholesale. */
const REQUIRED_COLUMNS = ['id', 'title', 'price'] as const;
const STOCK_COLUMNS = ['availability', 'available_quantity'] as const;
/** The columns that a product is read from, and the member of importProducts that each becomes. */
const READ_COLUMNS = {
  id: 'sku',
  title: 'title',
  price: 'unit_price',
  availability: 'stock',
  available_quantity: 'available_quantity',
  description: 'description',
  product_type: 'category',
  google_product_category: 'category',
  brand: 'brand',
  gtin: 'gtin',
  mpn: 'mpn',
  image_link: 'image_url',
  min_order_quantity: 'moq',
  order_increment: 'increment',
  price_tiers: 'price_tiers',
  origin_country: 'origin_country',
  ship_from: 'ship_from',
  lead_time_days: 'lead_time_days',
  certifications: 'certifications',
  updated_at: 'source_updated_at',
} as const;
/** Ignored: links are made per promoter, and all stock is new. */
const IGNORED_COLUMNS = ['link', 'condition'];
const READ: ReadonlySet<string> = new Set(Object.keys(READ_COLUMNS));
const KNOWN_COLUMNS: ReadonlySet<string> = new Set([...READ, ...IGNORED_COLUMNS]);

/** The column that a member of importProducts is read from. */
export const columnOfField = (field: string): string =>
  field === 'currency'
    ? 'price'
    : (Object.entries(READ_COLUMNS).find(([, member]) => member === field)?.[0] ?? field);

/** Compared in lower case and with underscores for spaces. */
const AVAILABILITIES: ReadonlyMap<string, 'in' | 'out'> = new Map([
  ['in_stock', 'in'],
  ['out_of_stock', 'out'],
  // The catalog contains only ready stock.
  ['preorder', 'out'],
  ['backorder', 'out'],
]);

/** Availability out_of_stock means a quantity of 0, whatever available_quantity says. */
const stockOf = (cells: CellReader): ProductChange['stock'] => {
  const text = cells.raw('availability');
  const quantity = cells.whole('available_quantity', 0, PRODUCT_LIMITS.STOCK_MAX);
  const availability = AVAILABILITIES.get((text ?? 'in_stock').toLowerCase().replaceAll(' ', '_'));
  if (!availability && text !== undefined)
    cells.refuse(
      'availability',
      `must be in_stock, out_of_stock, preorder or backorder, and is ${shown(text)}`,
    );
  if (text === undefined && cells.raw('available_quantity') === undefined)
    cells.refuse('availability', 'is missing, and so is available_quantity');
  if (availability === 'out') return { level: 'out_of_stock' };
  if (quantity !== undefined) return { available_quantity: quantity };
  // A quantity of an earlier feed remains if this one has no column for it.
  return cells.has('available_quantity')
    ? { level: 'in_stock', available_quantity: null }
    : { level: 'in_stock' };
};

/** Keeps what is stored if there is no such column, and removes it if its cell is empty. */
const orNull = <Value>(cells: CellReader, column: string, value: Value | undefined) =>
  value === undefined && cells.has(column) && cells.raw(column) === undefined ? null : value;

const orDefault = <Value>(
  cells: CellReader,
  column: string,
  [value, ifEmpty]: [Value | undefined, Value],
): Value | undefined => orNull(cells, column, value) ?? (cells.has(column) ? ifEmpty : undefined);

const pricesOf = (cells: CellReader): Partial<ProductChange['product']> => {
  const max = PRODUCT_LIMITS.QUANTITY_MAX;
  const price = priceIn(cells, 'price');
  return present({
    moq: orDefault(cells, 'min_order_quantity', [cells.whole('min_order_quantity', 1, max), 1]),
    increment: orDefault(cells, 'order_increment', [cells.whole('order_increment', 1, max), 1]),
    currency: price?.currency,
    unit_price: price?.amount,
    price_tiers:
      price && orNull(cells, 'price_tiers', tiersIn(cells, 'price_tiers', price.currency)),
  });
};

const certificationsOf = (cells: CellReader): string[] | undefined => {
  const names = cells.raw('certifications')?.split('|').map(trimmedText);
  const value = names?.filter((name) => name !== '');
  if (!value) return undefined;
  const result = productFields.certifications.safeParse(value);
  if (result.success) return result.data;
  const { NAME_CHARS_MAX, CERTIFICATIONS_MAX } = PRODUCT_LIMITS;
  return cells.refuse(
    'certifications',
    `must be at most ${CERTIFICATIONS_MAX} names of at most ${NAME_CHARS_MAX} characters`,
  );
};

/** A picture that no page could show is left out, and the product stays. */
const pictureOf = (cells: CellReader): { image_url?: string | null; note?: CellFault } => {
  const column = 'image_link';
  const link = cells.raw(column);
  if (link === undefined) return cells.has(column) ? { image_url: null } : {};
  const result = productFields.image_url.safeParse(link);
  if (result.success) return { image_url: result.data };
  const reason = /[^!-~]/.test(link)
    ? 'has characters that an address must escape'
    : 'is not an http or https address';
  return { note: { column, reason: `${reason}, so the picture is left out: ${shown(link)}` } };
};

const COUNTRY = 'must be a country code of two letters, like GB';

const categoryOf = (cells: CellReader): string | undefined => {
  const [own, google] = ['product_type', 'google_product_category'];
  const column = cells.raw(own) === undefined && cells.has(google) ? google : own;
  return orDefault(cells, column, [cells.read(column, productFields.category), NO_CATEGORY]);
};

/** Reads a product and its stock, or all faults of its row. */
const productOf = (
  from: Cells,
): { product: ProductChange; note?: CellFault } | { faults: CellFault[] } => {
  const cells = cellReader(from);
  const { read } = cells;
  for (const column of REQUIRED_COLUMNS)
    if (cells.raw(column) === undefined) cells.refuse(column, 'is missing');
  const prices = pricesOf(cells);
  const stock = stockOf(cells);
  const { image_url, note } = pictureOf(cells);
  const removable = <Value>(column: string, value: Value | undefined) =>
    orNull(cells, column, value);
  const sku = read('id', productFields.sku) ?? '';
  const product = {
    title: read('title', productFields.title),
    description: orDefault(cells, 'description', [
      read('description', productFields.description),
      '',
    ]),
    category: categoryOf(cells),
    ...prices,
    brand: removable('brand', read('brand', productFields.brand)),
    gtin: removable('gtin', read('gtin', productFields.gtin)),
    mpn: removable('mpn', read('mpn', productFields.mpn)),
    image_url,
    origin_country: removable(
      'origin_country',
      read('origin_country', productFields.origin_country, COUNTRY),
    ),
    ship_from: removable('ship_from', read('ship_from', productFields.ship_from, COUNTRY)),
    lead_time_days: removable(
      'lead_time_days',
      cells.whole('lead_time_days', 0, PRODUCT_LIMITS.LEAD_DAYS_MAX),
    ),
    certifications: removable('certifications', certificationsOf(cells)),
    source_updated_at: removable(
      'updated_at',
      read(
        'updated_at',
        productFields.source_updated_at,
        'must be a date or a time, like 2026-11-21',
      ),
    ),
  };
  if (cells.faults.length > 0) return { faults: cells.faults };
  return { product: { product: { sku, ...present(product) }, stock }, ...(note && { note }) };
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
  header.map((name) => visibleText(name).toLowerCase().replaceAll(' ', '_'));

const SEPARATORS = new Map([
  [';', 'semicolons: save it with commas'],
  ['\t', 'tabs: name it .tsv'],
  [',', 'commas: name it .csv'],
  ['|', 'bars: save it with commas'],
]);

/** Names another separator with which the header would have all required columns. */
const hintOf = (header: string, read: readonly string[]): string => {
  if (REQUIRED_COLUMNS.every((column) => read.includes(column))) return '';
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
  const repeated = columns.find(
    (column, index) => READ.has(column) && columns.indexOf(column) < index,
  );
  if (repeated !== undefined) return { column: repeated, reason: 'appears twice' };
  const missing: string[] = REQUIRED_COLUMNS.filter((column) => !columns.includes(column));
  const hasStock = STOCK_COLUMNS.some((column) => columns.includes(column));
  if (!hasStock) missing.push('availability or available_quantity');
  if (missing.length === 0) return undefined;
  return {
    reason: `the file has no column ${missing.join(', ')}; nothing was read${hintOf(header, columns)}`,
  };
};

/**
 * A record of a table. `from` and `to` are its lines. A record with wrong quotes is its first line alone, because its end
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
 * Reads a file's records by the quoting rules of RFC 4180. Not csv-parse, because a streaming parser loses the good
 * lines after a stray quote. Each line that is not empty is part of one record. Takes linear time; memory is bounded by
 * ROW_CHARS_MAX and the longest line.
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
type FeedRow = { line: number; product: ProductChange };
/**
 * Why a row was rejected, or the whole file if `ofFile`. `ids` has every id that the row can have: its product is not
 * absent from the feed. Without any, its product is unknown.
 */
export type FeedFault = {
  line: number;
  column?: string;
  reason: string;
  ids?: readonly string[];
  ofFile?: true;
};
/** What was left out of a row that is read. */
type FeedNote = { line: number; column: string; note: string };
/** Columns that were ignored; at most one warning for a file. */
type FeedWarning = { line: number; unknown_columns: string[] };
export type ProductFeedItem = FeedRow | FeedFault | FeedNote | FeedWarning;

type Chunks = AsyncIterable<string | Buffer>;
type RawRow = { line: number; to: number; cells: Cells } | FeedFault | FeedWarning;

/** A cell as its column is read: without entities, and without what cannot be seen at its ends. */
const cellText = (value: string): string => trimmedText(decoded(value));

const idIn = (value: string): string => visibleText(decoded(value));

const cellOf = (value: unknown): string | undefined => {
  if (typeof value === 'string') return cellText(value);
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
    if (!READ.has(column)) continue;
    const isList = Array.isArray(value) && LISTS.has(column);
    const cell = isList ? listCell(column, value) : cellOf(value ?? '');
    if (cell === undefined) faults.push({ column, reason: 'must be text or a number' });
    else cells.set(column, cell);
  }
  return { cells, faults };
};

const EMPTY_FILE: FeedFault = { line: 1, reason: 'the file is empty', ofFile: true };

/** Of Windows, of others, and of old spreadsheets. */
const LINE_END = /\r\n|\n|\r/;

/**
 * Decodes chunks to lines; a chunk may end inside a character, a line or a line end. Takes linear time: of a line beyond
 * ROW_CHARS_MAX the rest is dropped.
 */
async function* linesOf(chunks: Chunks): AsyncIterable<string> {
  const decoder = new TextDecoder();
  let line = '';
  let isFirst = true;
  let isAfterReturn = false;
  for await (const chunk of chunks) {
    if (isFirst && typeof chunk !== 'string') requireUtf8(chunk);
    const read = typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true });
    // The second half of a line end.
    const text = isAfterReturn && read.startsWith('\n') ? read.slice(1) : read;
    if (read === '') continue;
    isAfterReturn = read.endsWith('\r');
    const [end = '', ...more] = (isFirst ? text.replace(/^\ufeff/, '') : text).split(LINE_END);
    isFirst = false;
    if (line.length <= ROW_CHARS_MAX) line += end;
    for (const next of more) {
      yield line;
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
  // Where the values of a row are not certain, each of them can be its id.
  const ids = values.map(idIn).filter((id) => id !== '');
  if (reason !== undefined) return { line, reason, ids };
  if (values.length !== columns.length) {
    const counts = `has ${values.length} columns, and the first line ${columns.length}`;
    return { line, reason: counts + rowLines(line, to), ids };
  }
  const cells = new Map<string, string>();
  for (const [index, column] of columns.entries())
    if (READ.has(column)) cells.set(column, cellText(values[index] ?? ''));
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
    const unknown_columns = [...new Set(columns)].filter(
      (column) => column !== '' && !KNOWN_COLUMNS.has(column),
    );
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
    const json = text.trim();
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
    const id = idIn(cells.get('id') ?? '');
    for (const fault of faults) yield { line, ...fault, ids: id === '' ? [] : [id] };
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
    const id = idIn(cells.get('id') ?? '');
    const ids = id === '' ? [] : [id];
    const earlier = lines.get(id);
    if (earlier !== undefined) {
      yield { line, column: 'id', reason: `repeats the id of line ${earlier}`, ids };
      continue;
    }
    if (id !== '') lines.set(id, line);
    const read = productOf(cells);
    if ('faults' in read) {
      for (const { column, reason } of read.faults)
        yield { line, column, reason: reason + rowLines(line, to), ids };
      continue;
    }
    yield { line, product: read.product };
    if (read.note) yield { line, column: read.note.column, note: read.note.reason };
  }
}
