/** The tree of the log in a SQLite file: hashes in tiles, the place of each owner's leaves, the marks, and who cosigned them. */
import type { DatabaseSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import {
  type Cosigned,
  type OwnerLeaf,
  type ProofStore,
  type StoredOwnerHead,
  type TreeChange,
  TreeDamaged,
  type TreeMark,
  type TreeProgress,
} from '#src/ports/proof-store.ts';
import { FIRST_FORMAT, inTransaction, openStore, type StoreKind } from './open.ts';

const EMPTY = `INSERT INTO progress VALUES (1, 0, 0, '')`;

const PROOF_STORE: StoreKind = {
  what: 'tree of the log',
  applicationId: 0x5452_4254,
  version: FIRST_FORMAT,
  synchronous: 'NORMAL',
  schema: `
    CREATE TABLE progress (one INTEGER PRIMARY KEY, size INTEGER, position INTEGER, event_id TEXT) STRICT;
    CREATE TABLE tiles (
      level INTEGER, number INTEGER, hashes BLOB, crc INTEGER, PRIMARY KEY (level, number)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE leaves (
      owner TEXT, position INTEGER, sequence INTEGER, leaf INTEGER, PRIMARY KEY (owner, position)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE heads (kind TEXT, owner TEXT, sequence INTEGER, leaf BLOB, PRIMARY KEY (kind, owner)) STRICT;
    CREATE TABLE marks (size INTEGER PRIMARY KEY, position INTEGER) STRICT;
    CREATE TABLE cosigned (witness TEXT PRIMARY KEY, size INTEGER, text TEXT, line TEXT, crc INTEGER) STRICT;
    ${EMPTY};`,
};

type HeadRow = { owner: string; sequence: number; leaf: Uint8Array };

const TILE_HASHES = 256;
const HASH_BYTES = 32;
const LEAF = 'SELECT position, sequence, leaf AS "index" FROM leaves';

/** Returns a function that stores a change, within a transaction. */
const writerOf = (db: DatabaseSync): ((change: TreeChange) => void) => {
  const setProgress = db.prepare('UPDATE progress SET size = ?, position = ?, event_id = ?');
  const setTile = db.prepare('INSERT OR REPLACE INTO tiles VALUES (?, ?, ?, ?)');
  const setHead = db.prepare('INSERT OR REPLACE INTO heads VALUES (?, ?, ?, ?)');
  const addLeaf = db.prepare('INSERT INTO leaves VALUES (?, ?, ?, ?)');
  const addMark = db.prepare('INSERT INTO marks VALUES (?, ?)');
  const putHeads = (kind: string, changed: readonly StoredOwnerHead[]): void => {
    for (const { owner, sequence, leaf } of changed) setHead.run(kind, owner, sequence, leaf);
  };
  return ({ progress: { size, position, eventId }, ...change }) => {
    setProgress.run(size, position, eventId);
    for (const { level, number, hashes } of change.tiles)
      setTile.run(level, number, hashes, crc32(hashes));
    for (const { owner, position: at, sequence, index } of change.leaves)
      addLeaf.run(owner, at, sequence, index);
    putHeads('newest', change.heads);
    putHeads('marked', change.markedHeads);
    for (const mark of change.marks) addMark.run(mark.size, mark.position);
  };
};

/** Opens the file, or creates it. Throws StartupError. */
export const sqliteProofStore = (path: string): ProofStore => {
  const db = openStore(path, PROOF_STORE);
  const progress = db.prepare('SELECT size, position, event_id AS eventId FROM progress');
  const tile = db.prepare('SELECT hashes, crc FROM tiles WHERE level = ? AND number = ?');
  const heads = db.prepare('SELECT owner, sequence, leaf FROM heads WHERE kind = ?');
  const leaves = db.prepare(
    `${LEAF} WHERE owner = ? AND position > ? AND position <= ? ORDER BY position`,
  );
  const leafUpTo = db.prepare(
    `${LEAF} WHERE owner = ? AND position <= ? ORDER BY position DESC LIMIT 1`,
  );
  const lastMark = db.prepare('SELECT size, position FROM marks ORDER BY size DESC LIMIT 1');
  const firstMark = db.prepare('SELECT size, position FROM marks ORDER BY size LIMIT 1');
  const markOf = db.prepare('SELECT size, position FROM marks WHERE size = ?');
  const marks = db.prepare('SELECT count(*) AS count FROM marks');
  const headsOf = (kind: string): StoredOwnerHead[] =>
    (heads.all(kind) as HeadRow[]).map((row) => ({ ...row, leaf: Buffer.from(row.leaf) }));
  const cosigned = db.prepare('SELECT witness, size, text, line, crc FROM cosigned');
  const setCosigned = db.prepare('INSERT OR REPLACE INTO cosigned VALUES (?, ?, ?, ?, ?)');
  const put = writerOf(db);
  const tileOf = (level: number, number: number): Buffer | undefined => {
    const row = tile.get(level, number) as { hashes: Uint8Array; crc: number } | undefined;
    if (row && crc32(row.hashes) !== row.crc)
      throw new TreeDamaged(`tile ${number} of level ${level} is damaged`);
    return row && Buffer.from(row.hashes);
  };
  return {
    progress: () => progress.get() as TreeProgress,
    leaf(index) {
      const from = HASH_BYTES * (index % TILE_HASHES);
      const hashes = tileOf(0, Math.floor(index / TILE_HASHES));
      return hashes?.subarray(from, from + HASH_BYTES) ?? Buffer.alloc(0);
    },
    tile: tileOf,
    heads: () => headsOf('newest'),
    markedHeads: () => headsOf('marked'),
    lastMark: () => lastMark.get() as TreeMark | undefined,
    firstMark: () => firstMark.get() as TreeMark | undefined,
    markOf: (size) => markOf.get(size) as TreeMark | undefined,
    marks: () => (marks.get() as { count: number }).count,
    leavesOf: (owner, { after, upTo }) => leaves.all(owner, after, upTo) as OwnerLeaf[],
    leafUpTo: (owner, at) => leafUpTo.get(owner, at) as OwnerLeaf | undefined,
    commit: (change) => inTransaction(db, () => put(change)),
    // A damaged one is as if it had not been asked for.
    cosigned: () =>
      (cosigned.all() as (Cosigned & { crc: number })[]).filter(
        ({ text, line, crc }) => crc32(text + line) === crc,
      ),
    keepCosigned: ({ witness, size, text, line }) =>
      setCosigned.run(witness, size, text, line, crc32(text + line)),
    clear: () =>
      inTransaction(db, () => {
        for (const table of ['progress', 'tiles', 'leaves', 'heads', 'marks'])
          db.exec(`DELETE FROM ${table}`);
        db.exec(EMPTY);
      }),
    close: () => db.close(),
  };
};
