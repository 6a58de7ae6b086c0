/**
 * How the file numbers, names and packs rows. Many rows of a partition that are written at once are compressed together in a
 * block, because their JSON is alike: a block takes a sixth of its rows' size. A row that changes later is written by itself,
 * and its line of the block is left unused.
 */
import { hash } from 'node:crypto';
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { RowDamaged } from '#src/stores/row-digest.ts';
import { PARTITIONS } from '#src/ports/read-model.ts';

/** `text` holds the row, or the block with this number does. */
export type RowRecord = { hash: number; block: number | null; text: string | null };

/** A partition can have this many blocks. */
export const BLOCK_IDS = 2 ** 24;

/** Returns the number of a partition in the file. */
export const partOf = (id: number, partition: number): number => id * PARTITIONS + partition;

/** Returns 64 bits, so that no two rows share a place. Shorter than scope and key, which the row has anyway. */
export const rowPlace = (scope: string, key: string): string =>
  hash('sha256', `${scope}\0${key}`, 'base64url').slice(0, 11);

/** Fewer rows are not worth a block. */
export const ROWS_PER_BLOCK_MIN = 16;
/** A row of this size is not, either. */
export const CHARS_PER_BLOCK = 32_768;
/** More than any row has, so that damage cannot ask for unbounded memory. */
const BYTES_MAX = 268_435_456;

/** Divides texts of rows into blocks. JSON has no line feeds of its own. */
export function* blocksOf<T extends { text: string }>(rows: readonly T[]): Generator<T[]> {
  let block: T[] = [];
  let chars = 0;
  for (const row of rows) {
    block.push(row);
    chars += row.text.length;
    if (chars < CHARS_PER_BLOCK) continue;
    yield block;
    [block, chars] = [[], 0];
  }
  if (block.length > 0) yield block;
}

export const encodeBlock = (rows: readonly { text: string }[]): Uint8Array =>
  zstdCompressSync(rows.map(({ text }) => text).join('\n'));

/** Returns the text of all rows, one a line. Throws RowDamaged. */
export const decodeBlock = (data: Uint8Array): string => {
  try {
    return zstdDecompressSync(data, { maxOutputLength: BYTES_MAX }).toString();
  } catch (error) {
    throw new RowDamaged('a block of rows cannot be decompressed', { cause: error });
  }
};

/** Returns the text of one row; undefined if the block does not have it. */
export const lineOf = (block: string, scope: string, key: string): string | undefined => {
  const start = `[${JSON.stringify(scope)},${JSON.stringify(key)},`;
  const at = block.startsWith(start) ? 0 : block.indexOf(`\n${start}`) + 1;
  if (at === 0 && !block.startsWith(start)) return undefined;
  const end = block.indexOf('\n', at);
  return block.slice(at, end < 0 ? undefined : end);
};
