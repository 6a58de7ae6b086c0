/**
 * A record of log.db as it lies in the file. SQLite does not notice a flipped bit in a table page,
 * so each record carries two CRC-32: `crc` over what a fold reads, so that a rebuild checks it
 * without fetching the rest, and `seal` over all, going on from `crc`.
 */
import { crc32 } from 'node:zlib';
import { LogCorrupted } from '#src/ports/event-log.ts';
import type { Recording } from './committer.ts';
import type { StoreKind } from '../open.ts';

/** 4,096 events share a slice of the index of owners: fixed with the format. */
export const SLICE_BITS = 12;

export const LOG_STORE: StoreKind = {
  what: 'event log',
  applicationId: 0x5452_424c,
  version: 1,
  synchronous: 'FULL',
  cacheKiB: 16_384,
  // No index with a random key: each insert into one dirties a page of its own (half the speed). A
  // stream is named by the position of its first event, which grows with time; the names are in
  // streams.db. Owners are indexed within slices of the log, so that inserts meet a few pages only,
  // however many owners are at work; a reader looks into each slice. Each index ends with the
  // position by itself.
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
  const known = typeCrcs.get(type);
  if (known !== undefined) return known;
  const crc = crc32(type);
  // Bounded: a damaged file can hold any text here.
  if (typeCrcs.size < 256) typeCrcs.set(type, crc);
  return crc;
};

const mix = (mixed: number, part: number): number => {
  const next = Math.imul(mixed ^ part, 0x9e37_79b1);
  return next ^ (next >>> 15);
};

/**
 * The numbers are mixed into the start value instead of being printed into the checked text:
 * formatting and joining cost more than all the rest of a folding read's check.
 */
export const foldCrc = (
  row: readonly [number, string, number, string, number, string, ...unknown[]],
): number => {
  const [position, stream, revision, type, at, data] = row;
  const places = mix(mix(typeCrc(type), position), position / TWO_32);
  const mixed = mix(mix(mix(places, revision), at), at / TWO_32);
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
 * Throws unless the row is what was written. A flipped bit can also change a column's type, and the
 * checksum alone would take null or 0.5 for 0.
 */
export const requireFoldRow = (row: readonly [...FoldRow, ...unknown[]]): void => {
  const [position, stream, revision, type, at, data, crc] = row;
  const texts = typeof stream === 'string' && typeof type === 'string' && typeof data === 'string';
  const whole = Number.isSafeInteger(revision) && Number.isSafeInteger(at);
  if (!texts || !whole || foldCrc(row) !== crc)
    throw damaged(position, 'its checksum does not fit');
};

export const requireFullRow = (row: FullRow): void => {
  requireFoldRow(row);
  const [position, stream, , , , , crc, owner, id, meta, seal] = row;
  const texts = typeof id === 'string' && typeof meta === 'string';
  if (!texts || sealOf(crc, id, meta) !== seal) {
    throw damaged(position, 'the checksum of its attribution does not fit');
  }
  if (owner !== stream.slice(0, stream.indexOf('-'))) {
    throw damaged(position, 'its owner is not the one of its stream');
  }
};
