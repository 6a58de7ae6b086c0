/** How the file numbers and names its records. */
import { hash } from 'node:crypto';
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
