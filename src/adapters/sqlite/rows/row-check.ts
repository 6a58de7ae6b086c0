import type { DatabaseSync } from 'node:sqlite';
import { addHash, entryHash, hashOf, noRows, type RowDigest } from '#src/adapters/row-digest.ts';
import type { ListEntry, RowJson } from '#src/ports/read-model.ts';
import { ALL_ROWS, BLOCK_IDS, rowPlace, RowDamaged, type RowRecord } from './row-records.ts';
import { decodeBlock } from './row-blocks.ts';

/**
 * Prepares the check of a partition: reads each of its records and returns the digest of its rows and lists. Throws
 * RowDamaged if one of them is not what was written.
 */
export const prepareCheck = (db: DatabaseSync): ((part: number) => RowDigest) => {
  const rows = db.prepare('SELECT place, hash, block, text FROM rows WHERE part = ?');
  const blocks = db.prepare('SELECT id, data FROM blocks WHERE id BETWEEN ? AND ?');
  const entries = db.prepare('SELECT scope, list, sort, key FROM entries WHERE part = ?');
  return (part) => {
    const digest = noRows();
    /** The places in the list of all rows, as the rows have them and as the list has them. */
    const [wanted, listed] = [noRows(), noRows()];
    const inBlocks = new Map<string, RowRecord>();
    const add = (text: string, place: string, { hash }: RowRecord): void => {
      if (hashOf(text) !== hash) throw new RowDamaged('the hash of a row does not fit');
      const [scope, key, sort] = JSON.parse(text) as [string, string, number | null];
      if (rowPlace(scope, key) !== place) throw new RowDamaged('a row is in a wrong place');
      digest.rows += 1;
      addHash(digest, hash);
      if (sort !== null) addHash(wanted, entryHash(scope, key, [ALL_ROWS, sort]));
    };
    for (const row of rows.iterate(part) as Iterable<RowRecord & { place: string }>)
      if (row.block === null) add(row.text ?? '', row.place, row);
      else inBlocks.set(row.place, row);
    const range = [part * BLOCK_IDS, (part + 1) * BLOCK_IDS - 1] as const;
    for (const { id, data } of blocks.iterate(...range) as Iterable<Block>)
      for (const text of decodeBlock(data).split('\n')) {
        const place = placeIn(text);
        const row = inBlocks.get(place);
        // A row that was written again later left its line here.
        if (row?.block !== id) continue;
        add(text, place, row);
        inBlocks.delete(place);
      }
    if (inBlocks.size > 0) throw new RowDamaged('a block lacks rows');
    for (const { scope, list, sort, key } of entries.iterate(part) as Iterable<Entry>)
      addHash(list === ALL_ROWS ? listed : digest, entryHash(scope, key, [list, sort]));
    if (wanted.sum !== listed.sum) throw new RowDamaged('the list of all rows does not fit');
    return digest;
  };
};

/** Prepares the read of all rows of a partition as the file has them, also of damaged ones. */
export const prepareRows = (db: DatabaseSync): ((part: number) => RowJson[]) => {
  const rows = db.prepare('SELECT place, block, text FROM rows WHERE part = ?');
  const blocks = db.prepare('SELECT id, data FROM blocks WHERE id BETWEEN ? AND ?');
  return (part) => {
    const read: RowJson[] = [];
    const inBlocks = new Map<string, number>();
    for (const { place, block, text } of rows.iterate(part) as Iterable<PlacedRow>)
      if (block === null) read.push(rowIn(text ?? '', place));
      else inBlocks.set(place, block);
    const range = [part * BLOCK_IDS, (part + 1) * BLOCK_IDS - 1] as const;
    for (const { id, data } of blocks.iterate(...range) as Iterable<Block>)
      for (const text of decodeBlock(data).split('\n')) {
        const row = rowIn(text, '');
        if (inBlocks.get(rowPlace(row.scope, row.key)) === id) read.push(row);
      }
    return read;
  };
};

/** A row of which a damaged text shows no key has its place as the key. */
const rowIn = (text: string, place: string): RowJson => {
  try {
    const [scope, key, , row] = JSON.parse(text) as [string, string, number | null, object];
    return { scope, key, json: JSON.stringify(row) };
  } catch {
    return { scope: '', key: place, json: text };
  }
};

/** The place of a line, which may be damaged. */
const placeIn = (text: string): string => {
  try {
    const [scope, key] = JSON.parse(text) as [string, string];
    return rowPlace(scope, key);
  } catch (error) {
    throw new RowDamaged('a row is not JSON', { cause: error });
  }
};

type PlacedRow = Omit<RowRecord, 'hash'> & { place: string };
type Block = { id: number; data: Uint8Array };
type Entry = { scope: string; list: ListEntry[0]; sort: number; key: string };
