import { REQUIRED_COLUMNS } from './feed-product.ts';

/** Thrown when no text of the file can be read. */
export class NotUtf8 extends Error {
  override readonly name = 'NotUtf8';
}

const CHECKED_BYTES = 64;

/** Rejects UTF-16 and workbooks, which contain zero bytes; text in UTF-8 has none. */
export const requireUtf8 = (first: Buffer): void => {
  if (first.subarray(0, CHECKED_BYTES).includes(0))
    throw new NotUtf8('is not text in UTF-8 but in UTF-16, or a workbook; save it as CSV in UTF-8');
};

export const columnsOf = (header: readonly string[]): string[] =>
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
export const headerFault = (
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
