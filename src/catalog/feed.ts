import { scanJson } from '#src/shared/json-scan.ts';
import type { CellFault, Cells } from '#src/shared/cells.ts';
import { columnsOf, headerFault, NotUtf8, requireUtf8 } from './feed-file.ts';
import { KNOWN_COLUMNS, type ProductInput, productOf } from './feed-product.ts';
import { recordsOf, ROW_CHARS_MAX, ROW_TOO_LONG, type TableRecord } from './feed-table.ts';

export type { ProductInput } from './feed-product.ts';
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
