/**
 * What proves the integrity of rows. A row is hashed as the JSON of its scope, key, sort key and data, so the hash shows a
 * row in a wrong place, too. A partition's digest is the sum of its rows' and list entries' hashes: it does not
 * depend on their order, and a change of one row changes it without reading the others. Hashes have 48 bits, so that
 * JavaScript and Lua can add them.
 */
import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { ALL_ROWS, type ListEntry, type RowKey } from '#src/ports/read-model.ts';

/** Hexadecimal digits of a hash. */
export const HASH_DIGITS = 12;
const MODULUS = 16 ** HASH_DIGITS;

/** A record of a store is not what was written. */
export class RowDamaged extends Error {
  override readonly name = 'RowDamaged';
}

export const hashText = (text: string): string => hash('sha256', text, 'hex').slice(0, HASH_DIGITS);

/** Returns an integer from 0 to 2^48 - 1. */
export const hashOf = (text: string): number => Number.parseInt(hashText(text), 16);

/** The text that is hashed: the JSON of scope, key, sort key and row. `json` is that of the row. */
export const rowText = ({ scope, key }: RowKey, sort: number | null, json: string): string =>
  `[${JSON.stringify(scope)},${JSON.stringify(key)},${sort},${json}]`;

/** A row has many entries: a check sum finds a flipped bit, and costs a fifth of a hash. */
export const entryHash = (scope: string, key: string, [list, sort]: ListEntry): number =>
  crc32(`${scope}\0${list}\0${sort}\0${key}`);

export type RowDigest = { rows: number; sum: number };

export const noRows = (): RowDigest => ({ rows: 0, sum: 0 });

export const addHash = (digest: RowDigest, added: number): void => {
  digest.sum = (digest.sum + added) % MODULUS;
};

export const removeHash = (digest: RowDigest, removed: number): void =>
  addHash(digest, MODULUS - removed);

export const hexOf = (sum: number): string => sum.toString(16).padStart(HASH_DIGITS, '0');

/** Returns what the port calls a digest. */
export const digestText = ({ rows, sum }: RowDigest): { rows: number; digest: string } => ({
  rows,
  digest: hexOf(sum),
});

/** Collects each record of a partition, and compares them with the digest that was written with its checkpoint. */
export class PartitionCheck {
  readonly #found = noRows();
  /** The entries of the list of all rows, as the rows imply them and as the list contains them. */
  readonly #implied = noRows();
  readonly #listed = noRows();

  /** Adds a row whose hash fits. */
  addRow({ scope, key }: RowKey, sort: number | null, rowHash: number): void {
    this.#found.rows += 1;
    addHash(this.#found, rowHash);
    if (sort !== null) addHash(this.#implied, entryHash(scope, key, [ALL_ROWS, sort]));
  }

  addEntry({ scope, key }: RowKey, entry: ListEntry): void {
    addHash(entry[0] === ALL_ROWS ? this.#listed : this.#found, entryHash(scope, key, entry));
  }

  /** Throws RowDamaged if records are missing, superfluous or changed. */
  requireDigest({ rows, sum }: RowDigest): void {
    if (this.#implied.sum !== this.#listed.sum)
      throw new RowDamaged('the list of all rows does not fit');
    const found = this.#found;
    if (found.rows !== rows)
      throw new RowDamaged(`it has ${found.rows} rows, and not the ${rows} that were written`);
    if (found.sum !== sum) throw new RowDamaged('rows or lists are not those that were written');
  }
}
