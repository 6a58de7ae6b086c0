import type { CellFault, Cells } from './feed-cells.ts';
import { NotUtf8, columnsOf, headerFault, requireUtf8 } from './feed-file.ts';
import { KNOWN_COLUMNS, type ProductInput, productOf } from './feed-product.ts';
import { recordsOf, type TableRecord } from './feed-table.ts';
import { scanJson } from '../shared/json-scan.ts';

export type { ProductInput } from './feed-product.ts';
export type FeedFormat = 'csv' | 'tsv' | 'ndjson';
export type FeedRow = { line: number; product: ProductInput };
/** Why a row did not go in, or `ofFile` nothing at all. */
export type FeedFault = { line: number; column?: string; reason: string; ofFile?: true };
/** Nothing was left out but these columns. At most one for a file. */
export type FeedWarning = { line: number; unknown_columns: string[] };
export type FeedItem = FeedRow | FeedFault | FeedWarning;

type Chunks = AsyncIterable<string | Buffer>;
type RawRow = { line: number; to: number; cells: Cells } | FeedFault | FeedWarning;

/** Spaces around a value mean nothing, and an empty value is none. */
const trimmed = (value: string): string => value.replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, '');

const cellOf = (value: unknown): string | undefined => {
  if (typeof value === 'string') return trimmed(value);
  if (typeof value === 'number') return String(value);
  return undefined;
};

const listOf = (column: string, value: unknown[]): string | undefined => {
  const parts = value.map((item: unknown) => {
    if (column === 'certifications') return typeof item === 'string' ? item : undefined;
    const { min_quantity, unit_price } = (item ?? {}) as Record<string, unknown>;
    return `${cellOf(min_quantity) ?? ''}:${cellOf(unit_price) ?? ''}`;
  });
  return parts.every((part) => part !== undefined) ? parts.join('|') : undefined;
};

const LISTS = new Set(['price_tiers', 'certifications']);

/**
 * A JSON object as the row it stands for. Lists may be lists: certifications of texts, price_tiers
 * of {min_quantity, unit_price} with the price in major units, as everywhere in a feed.
 */
const cellsOfJson = (object: object): { cells: Cells; faults: CellFault[] } => {
  const cells = new Map<string, string>();
  const faults: CellFault[] = [];
  for (const [column, value] of Object.entries(object) as [string, unknown][]) {
    if (value === null || !KNOWN_COLUMNS.has(column)) continue;
    const isList = Array.isArray(value) && LISTS.has(column);
    const cell = isList ? listOf(column, value) : cellOf(value);
    if (cell === undefined) faults.push({ column, reason: 'must be text or a number' });
    else if (cell !== '') cells.set(column, cell);
  }
  return { cells, faults };
};

/** A parsed record (column name to text) or a JSON object: the product, or what is wrong. */
export const feedProduct = (record: object): ProductInput | { faults: CellFault[] } => {
  const { cells, faults } = cellsOfJson(record);
  return faults.length > 0 ? { faults } : productOf(cells);
};

const NOTHING_IN_IT: FeedFault = { line: 1, reason: 'the file is empty', ofFile: true };

/** Text with plain line ends, of whole characters: a chunk may end in the middle of either. */
async function* textOf(chunks: Chunks): AsyncIterable<string> {
  const decoder = new TextDecoder();
  let rest = '';
  let isFirst = true;
  for await (const chunk of chunks) {
    if (isFirst && typeof chunk !== 'string') requireUtf8(chunk);
    const read = typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true });
    const text = rest + (isFirst ? read.replace(/^\ufeff/, '') : read);
    isFirst = false;
    rest = /[\ud800-\udbff\r]$/.exec(text)?.[0] ?? '';
    yield text.slice(0, text.length - rest.length).replaceAll('\r\n', '\n');
  }
  yield rest + decoder.decode();
}

async function* linesOf(chunks: Chunks): AsyncIterable<string> {
  let rest = '';
  for await (const text of textOf(chunks)) {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  if (rest !== '') yield rest;
}

/** Of a row of several lines: a quote that is missing may have made it so. */
const withinText = (line: number, to: number): string =>
  to > line ? ` (its row is lines ${line} to ${to})` : '';

const SEPARATORS = { csv: ',', tsv: '\t' };

const rowOf = (columns: readonly string[], record: TableRecord): RawRow => {
  const { from: line, to, values } = record;
  if (record.reason !== undefined) return { line, reason: record.reason };
  const cells = new Map<string, string>();
  for (const [index, column] of columns.entries()) {
    const value = trimmed(values[index] ?? '');
    if (value !== '') cells.set(column, value);
  }
  if (values.length === columns.length) return { line, to, cells };
  const reason = `has ${values.length} columns, and the first line ${columns.length}`;
  return { line, reason: reason + withinText(line, to) };
};

async function* tableRows(format: 'csv' | 'tsv', chunks: Chunks): AsyncIterable<RawRow> {
  const separator = SEPARATORS[format];
  let columns: string[] | undefined;
  for await (const record of recordsOf(linesOf(chunks), separator)) {
    if (columns) {
      yield rowOf(columns, record);
      continue;
    }
    const { values, reason } = record;
    columns = columnsOf(values);
    const fault =
      headerFault(columns, values.join(separator)) ?? (reason !== undefined && { reason });
    if (fault) {
      yield { line: 1, ofFile: true, ...fault };
      return;
    }
    const unknown_columns = columns.filter((column) => !KNOWN_COLUMNS.has(column));
    if (unknown_columns.length > 0) yield { line: 1, unknown_columns };
  }
  if (!columns) yield NOTHING_IN_IT;
}

const jsonOf = (text: string): object | undefined => {
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
    const json = trimmed(text);
    if (json === '') continue;
    isEmpty = false;
    const object = jsonOf(json);
    if (!object) {
      yield { line, reason: 'is not a JSON object' };
      continue;
    }
    const taken = scanJson(json);
    if (taken) {
      const column = taken.pointer.slice(1);
      yield { line, ...(column !== '' && { column }), reason: taken.detail };
      continue;
    }
    for (const column of Object.keys(object)) if (!KNOWN_COLUMNS.has(column)) unknown.add(column);
    const { cells, faults } = cellsOfJson(object);
    if (faults.length === 0) yield { line, to: line, cells };
    for (const fault of faults) yield { line, ...fault };
  }
  if (isEmpty) yield NOTHING_IN_IT;
  if (unknown.size > 0) yield { line, unknown_columns: [...unknown] };
}

async function* rowsOf(format: FeedFormat, chunks: Chunks): AsyncIterable<RawRow> {
  try {
    yield* format === 'ndjson' ? objectRows(chunks) : tableRows(format, chunks);
  } catch (error) {
    if (!(error instanceof NotUtf8)) throw error;
    yield { line: 1, reason: error.message, ofFile: true };
  }
}

/**
 * The products of a feed in the order of its rows, and every fault with its line. Of two rows with
 * one id the later is a fault even when the former was one too: which is meant, nobody can tell.
 */
export async function* readFeed(format: FeedFormat, chunks: Chunks): AsyncIterable<FeedItem> {
  const seen = new Map<string, number>();
  for await (const row of rowsOf(format, chunks)) {
    if (!('cells' in row)) {
      yield row;
      continue;
    }
    const { line, to, cells } = row;
    const id = cells.get('id');
    const earlier = id === undefined ? undefined : seen.get(id);
    if (earlier !== undefined) {
      yield { line, column: 'id', reason: `is that of line ${earlier} again` };
      continue;
    }
    if (id !== undefined) seen.set(id, line);
    const product = productOf(cells);
    if (!('faults' in product)) yield { line, product };
    else
      for (const { column, reason } of product.faults)
        yield { line, column, reason: reason + withinText(line, to) };
  }
}
