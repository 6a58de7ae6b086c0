/**
 * What proves the integrity of rows. A row is hashed as the JSON of its scope, key, sort key and data, so the hash shows a
 * row in a wrong place, too. The digest of a partition is the sum of the hashes of its rows and list entries: it does not
 * depend on their order, and a change of one row changes it without reading the others. Hashes have 48 bits, so that
 * JavaScript and Lua can add them.
 */
import { hash } from 'node:crypto';
import type { ListEntry, Row } from '#src/ports/read-model.ts';

const HASH_DIGITS = 12;
const MODULUS = 16 ** HASH_DIGITS;

/** Returns an integer from 0 to 2^48 - 1. */
export const hashOf = (text: string): number =>
  Number.parseInt(hash('sha256', text, 'hex').slice(0, HASH_DIGITS), 16);

type RowParts = { scope: string; key: string; sort: number | null; row: Row };

export const rowText = ({ scope, key, sort, row }: RowParts): string =>
  JSON.stringify([scope, key, sort, row]);

export const entryHash = (scope: string, key: string, [list, sort]: ListEntry): number =>
  hashOf(JSON.stringify([scope, list, sort, key]));

/** The number of rows, and the sum of all hashes. */
export type RowDigest = { rows: number; sum: number };

export const noRows = (): RowDigest => ({ rows: 0, sum: 0 });

export const addHash = (digest: RowDigest, added: number): void => {
  digest.sum = (digest.sum + added) % MODULUS;
};

export const removeHash = (digest: RowDigest, removed: number): void =>
  addHash(digest, MODULUS - removed);

/** Returns what the port calls a digest. */
export const digestText = ({ rows, sum }: RowDigest): { rows: number; digest: string } => ({
  rows,
  digest: sum.toString(16).padStart(HASH_DIGITS, '0'),
});
