/** What is wrong with a feed as a whole, and the likeliest cause of it. */
import { REQUIRED_COLUMNS } from './feed-product.ts';

/** Thrown by the decoder: no text of the file can be read. */
export class NotUtf8 extends Error {
  override readonly name = 'NotUtf8';
}

const LOOKED_AT = 64;

/** Text in UTF-8 has no zero bytes; UTF-16 has one beside every letter, a workbook has many. */
export const requireUtf8 = (first: Buffer): void => {
  if (first.subarray(0, LOOKED_AT).includes(0))
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

/** Another separator, with which the first line would name what it must. */
const hintOf = (header: string): string => {
  for (const [separator, hint] of SEPARATORS) {
    const columns = columnsOf(header.replaceAll('"', '').split(separator));
    if (REQUIRED_COLUMNS.every((column) => columns.includes(column)))
      return `; its columns stand between ${hint}`;
  }
  return '';
};

/** `header` is the first line as it stands. undefined when the columns do. */
export const headerFault = (
  columns: readonly string[],
  header: string,
): { column?: string; reason: string } | undefined => {
  const twice = columns.find((column, index) => columns.indexOf(column) < index);
  if (twice !== undefined) return { column: twice, reason: 'is there twice' };
  const missing: string[] = REQUIRED_COLUMNS.filter((column) => !columns.includes(column));
  const hasStock = columns.includes('availability') || columns.includes('available_quantity');
  if (!hasStock) missing.push('availability or available_quantity');
  if (missing.length === 0) return undefined;
  return {
    reason: `the file has no column ${missing.join(', ')}; nothing was read${hintOf(header)}`,
  };
};
