/** Checks the hashes of stored rows. */
import type { DatabaseSync } from 'node:sqlite';
import { hashOf, PartitionCheck, RowDamaged, type RowDigest } from '#src/stores/row-digest.ts';
import type { ListEntry, RowJson } from '#src/ports/read-model.ts';
import { BLOCK_IDS, decodeBlock, rowPlace, type RowRecord } from './row-blocks.ts';

/** The text of a row; undefined if its block does not have it. */
type FoundRow = { place: string; hash: number; text: string | undefined };

/**
 * Prepares the reading of all rows of a partition: those by themselves, then those in blocks. `placeOf` tells the place of a
 * line of a block. Yields undefined for a row whose block comes later, so that a reader can pause. Only one reading at a time
 * is possible. Throws RowDamaged if a block cannot be decompressed.
 */
const prepareReading = (db: DatabaseSync, placeOf: (line: string) => string) => {
  const rows = db.prepare('SELECT place, hash, block, text FROM rows WHERE part = ?');
  const blocks = db.prepare('SELECT id, data FROM blocks WHERE id BETWEEN ? AND ?');
  return function* (part: number): Generator<FoundRow | undefined, void> {
    const inBlocks = new Map<string, RowRecord>();
    for (const row of rows.iterate(part) as Iterable<RowRecord & { place: string }>)
      if (row.block === null) yield { ...row, text: row.text ?? '' };
      else {
        inBlocks.set(row.place, row);
        yield undefined;
      }
    const range = [part * BLOCK_IDS, (part + 1) * BLOCK_IDS - 1] as const;
    for (const { id, data } of blocks.iterate(...range) as Iterable<Block>)
      for (const text of decodeBlock(data).split('\n')) {
        const place = placeOf(text);
        const row = inBlocks.get(place);
        // A row that was written again later left its line here.
        if (row?.block !== id) continue;
        yield { place, hash: row.hash, text };
        inBlocks.delete(place);
      }
    for (const [place, { hash }] of inBlocks) yield { place, hash, text: undefined };
  };
};

/**
 * Prepares the check of a partition: reads each of its records. Throws RowDamaged if one of them is not what was written, or
 * if they do not have the digest that was.
 */
export const prepareCheck = (db: DatabaseSync) => {
  const rowsOf = prepareReading(db, placeIn);
  const entries = db.prepare('SELECT scope, list, sort, key FROM entries WHERE part = ?');
  return (part: number, written: RowDigest): void => {
    const check = new PartitionCheck();
    for (const row of rowsOf(part)) {
      if (!row) continue;
      const { place, hash, text } = row;
      if (text === undefined) throw new RowDamaged('a block lacks rows');
      if (hashOf(text) !== hash) throw new RowDamaged('the hash of a row does not fit');
      const [scope, key, sort] = JSON.parse(text) as [string, string, number | null];
      if (rowPlace(scope, key) !== place) throw new RowDamaged('a row is in a wrong place');
      check.addRow({ scope, key }, sort, hash);
    }
    for (const { list, sort, ...row } of entries.iterate(part) as Iterable<Entry>)
      check.addEntry(row, [list, sort]);
    check.requireDigest(written);
  };
};

/**
 * Prepares the reading of a partition's rows as the file has them, also damaged ones. Yields undefined now and then, so
 * that the reader can pause; it keeps a transaction open meanwhile.
 */
export const prepareRows = (
  db: DatabaseSync,
): ((part: number) => Generator<RowJson | undefined, void>) => {
  const rowsOf = prepareReading(db, (line) => {
    const { scope, key } = rowIn(line, '');
    return rowPlace(scope, key);
  });
  return function* (part) {
    for (const row of rowsOf(part))
      yield row?.text === undefined ? undefined : rowIn(row.text, row.place);
  };
};

/** The beginning of a row's text: its scope, its key and its sort key. */
const ROW_START = /^\[("(?:[^"\\]|\\.)*","(?:[^"\\]|\\.)*"),[^,]*,/;

/** Returns the row; if its text is damaged so that it shows no key, with its place as the key. */
const rowIn = (text: string, place: string): RowJson => {
  const [start, names] = ROW_START.exec(text) ?? [];
  try {
    if (start === undefined) throw new SyntaxError('the text is not a row');
    const [scope, key] = JSON.parse(`[${names}]`) as [string, string];
    return { scope, key, json: text.slice(start.length, -1) };
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

type Block = { id: number; data: Uint8Array };
type Entry = { scope: string; list: ListEntry[0]; sort: number; key: string };
