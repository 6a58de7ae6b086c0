/** The format of log.db. The thread that writes it loads this file without what reads events. */
import type { DatabaseSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { FIRST_FORMAT, inTransaction, type StoreKind } from '#src/stores/sqlite/open.ts';
import type { Recording, Records } from './committer.ts';

/** 4,096 events share a slice of the owner index. Part of the file format. */
export const SLICE_BITS = 12;

/**
 * What the indexes must have, written with each event: its number among its owner's events (`nth`), the events of each owner,
 * and the last revision of a stream with more than one event. A flipped bit in a page of an index hides events or leads a
 * search past them, and SQLite does not notice it.
 */
const COUNTS = `
  CREATE TABLE owners (owner TEXT PRIMARY KEY, events INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE heads (stream_id INTEGER PRIMARY KEY, revision INTEGER NOT NULL);
  CREATE TRIGGER events_counted AFTER INSERT ON events BEGIN
    INSERT INTO owners VALUES (new.owner, 1) ON CONFLICT (owner) DO UPDATE SET events = events + 1;
    INSERT OR REPLACE INTO heads SELECT new.stream_id, new.revision WHERE new.revision > 0;
  END;
`;

/** Fills the counts from the records. */
const FILL_COUNTS = `
  INSERT INTO owners SELECT owner, count(*) FROM events NOT INDEXED GROUP BY owner;
  INSERT INTO heads SELECT stream_id, max(revision) FROM events NOT INDEXED WHERE revision > 0 GROUP BY stream_id;
  UPDATE events SET nth = right.nth FROM (
    SELECT position, row_number() OVER (PARTITION BY owner ORDER BY position) AS nth FROM events NOT INDEXED
  ) AS right WHERE events.position = right.position AND events.nth <> right.nth;
`;

/** Builds the indexes and the counts again from the records, which must be intact. */
export const rebuildIndexes = (db: DatabaseSync): void =>
  inTransaction(db, () =>
    db.exec(`
      REINDEX events;
      DELETE FROM owners;
      DELETE FROM heads;
      ${FILL_COUNTS}
    `),
  );

/**
 * The format of log.db and its records. SQLite does not notice a flipped bit in a table page, so each record has two
 * CRC-32: `crc` over what a fold reads, so that a rebuild checks it without reading the rest, and `seal` over the whole
 * record, continued from `crc`.
 */
export const LOG_STORE: StoreKind = {
  what: 'event log',
  applicationId: 0x5452_424c,
  version: FIRST_FORMAT,
  synchronous: 'FULL',
  cacheKiB: 16_384,
  // No index has a random key, because each insert would write a page of its own (half the speed).
  // The id of a stream is the position of its first event, which rises with time; streams.db holds the
  // names. Owners are indexed within slices of the log, so that inserts touch few pages, however many
  // owners are active; a reader looks into each slice. SQLite appends the position to each index.
  schema: `
    CREATE TABLE events (
      position INTEGER PRIMARY KEY, stream_id INTEGER NOT NULL, revision INTEGER NOT NULL,
      owner TEXT NOT NULL, stream TEXT NOT NULL, id TEXT NOT NULL, type TEXT NOT NULL,
      at INTEGER NOT NULL, data TEXT NOT NULL, meta TEXT NOT NULL,
      crc INTEGER NOT NULL, seal INTEGER NOT NULL, nth INTEGER NOT NULL
    );
    CREATE UNIQUE INDEX events_stream ON events (stream_id, revision);
    CREATE INDEX events_owner ON events (position >> ${SLICE_BITS}, owner);
    CREATE TABLE about (id TEXT NOT NULL);
    INSERT INTO about VALUES (lower(hex(randomblob(16))));
    ${COUNTS}
  `,
};

const COLUMN_COUNT = 12;

export const LOG_RECORDING: Recording = {
  insert: `INSERT INTO events VALUES (${Array(COLUMN_COUNT).fill('?').join()},
    (SELECT coalesce(max(events), 0) + 1 FROM owners WHERE owner = ?4))`,
  columns: COLUMN_COUNT,
};

/** Returns the position and the seal of the last record. There must be one. */
export const endOf = (records: Records): { position: number; seal: number } => ({
  position: Number(records.at(-COLUMN_COUNT)),
  seal: Number(records.at(-1)),
});

const TWO_32 = 4_294_967_296;
const typeCrcs = new Map<string, number>();
const typeCrc = (type: string): number => {
  const cached = typeCrcs.get(type);
  if (cached !== undefined) return cached;
  const crc = crc32(type);
  // Bounded, because a damaged file can have any text here.
  if (typeCrcs.size < 256) typeCrcs.set(type, crc);
  return crc;
};

const mix = (mixed: number, part: number): number => {
  const next = Math.imul(mixed ^ part, 0x9e37_79b1);
  return next ^ (next >>> 15);
};

/**
 * Computes the checksum of what a fold reads. Mixes the numbers into the start value instead of the
 * checked text, because formatting them costs more than the rest of the check.
 */
export const foldCrc = (
  row: readonly [number, string, number, string, number, string, ...unknown[]],
): number => {
  const [position, stream, revision, type, at, data] = row;
  const start = mix(mix(typeCrc(type), position), position / TWO_32);
  const mixed = mix(mix(mix(start, revision), at), at / TWO_32);
  return crc32(data, crc32(stream, mixed >>> 0));
};

export const sealOf = (crc: number, id: string, meta: string): number =>
  crc32(meta, crc32(id, crc));
