/**
 * The format of log.db and its records. SQLite does not notice a flipped bit in a table page, so each
 * record has two CRC-32: `crc` over what a fold reads, so that a rebuild checks it without reading the
 * rest, and `seal` over the whole record, continued from `crc`.
 */
import { crc32 } from 'node:zlib';
import { LogCorrupted } from '#src/ports/event-log.ts';
import type { StoreKind } from '#src/stores/sqlite/open.ts';
import type { Recording, Records } from './committer.ts';

/** 4,096 events share a slice of the index of owners. Part of the file format. */
export const SLICE_BITS = 12;

export const LOG_STORE: StoreKind = {
  what: 'event log',
  applicationId: 0x5452_424c,
  version: 1,
  synchronous: 'FULL',
  cacheKiB: 16_384,
  // No index has a random key, because each insert would write a page of its own (half the speed).
  // The id of a stream is the position of its first event, which rises with time; streams.db has the
  // names. Owners are indexed within slices of the log, so that inserts touch few pages, however many
  // owners are active; a reader looks into each slice. SQLite appends the position to each index.
  schema: `
    CREATE TABLE events (
      position INTEGER PRIMARY KEY, stream_id INTEGER NOT NULL, revision INTEGER NOT NULL,
      owner TEXT NOT NULL, stream TEXT NOT NULL, id TEXT NOT NULL, type TEXT NOT NULL,
      at INTEGER NOT NULL, data TEXT NOT NULL, meta TEXT NOT NULL,
      crc INTEGER NOT NULL, seal INTEGER NOT NULL
    );
    CREATE UNIQUE INDEX events_stream ON events (stream_id, revision);
    CREATE INDEX events_owner ON events (position >> ${SLICE_BITS}, owner);
    CREATE TABLE about (id TEXT NOT NULL);
    INSERT INTO about VALUES (lower(hex(randomblob(16))));
  `,
};

const COLUMN_COUNT = 12;

export const LOG_RECORDING: Recording = {
  insert: `INSERT INTO events VALUES (${Array(COLUMN_COUNT).fill('?').join()})`,
  columns: COLUMN_COUNT,
};

/** Returns position and seal of the last of some records, of which there is at least one. */
export const endOf = (records: Records): { position: number; seal: number } => ({
  position: Number(records.at(-COLUMN_COUNT)),
  seal: Number(records.at(-1)),
});

export const FOLD_COLUMNS = 'position, stream, revision, type, at, data, crc';
export type FoldRow = [
  position: number,
  stream: string,
  revision: number,
  type: string,
  at: number,
  data: string,
  crc: number,
];

export const FULL_COLUMNS = `${FOLD_COLUMNS}, owner, id, meta, seal`;
export type FullRow = [...FoldRow, owner: string, id: string, meta: string, seal: number];

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

export const damaged = (position: unknown, what: string): LogCorrupted =>
  new LogCorrupted(
    `the record at position ${String(position)} of the log is damaged: ${what}. Restore the data ` +
      'directory from a backup.',
  );

/**
 * Throws LogCorrupted if the checksum does not fit. A flipped bit can also change the type of a
 * column, and the checksum alone does not distinguish null or 0.5 from 0.
 */
export const requireFoldRow = (row: readonly [...FoldRow, ...unknown[]]): void => {
  const [position, stream, revision, type, at, data, crc] = row;
  const areTexts =
    typeof stream === 'string' && typeof type === 'string' && typeof data === 'string';
  const areIntegers = Number.isSafeInteger(revision) && Number.isSafeInteger(at);
  if (!areTexts || !areIntegers || foldCrc(row) !== crc)
    throw damaged(position, 'its checksum does not fit');
};

/** Throws LogCorrupted if a checksum of the row, with its attribution, does not fit. */
export const requireFullRow = (row: FullRow): void => {
  requireFoldRow(row);
  const [position, stream, , , , , crc, owner, id, meta, seal] = row;
  const areTexts = typeof id === 'string' && typeof meta === 'string';
  if (!areTexts || sealOf(crc, id, meta) !== seal) {
    throw damaged(position, 'the checksum of its attribution does not fit');
  }
  if (owner !== stream.slice(0, stream.indexOf('-'))) {
    throw damaged(position, 'its owner differs from the owner in its stream name');
  }
};
