/**
 * Rows of read models, kept per space and partition: a cache of the log, never the record.
 * Defined by ../../test/conformance/read-model.ts, which every adapter passes.
 */
import type { Position } from './event-log.ts';

/** Owners (or whatever a projection scopes its rows by) hash to this many partitions, for ever. */
export const PARTITIONS = 64;

const CRC_TABLE = Int32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  return crc;
});

/**
 * Partition of a scope, for ever the same: its CRC-32. Stores and folds must agree on it. Written
 * out, because on a dozen characters it is five times faster than the call into zlib.
 */
export const partitionOf = (scope: string): number => {
  let crc = -1;
  for (let i = 0; i < scope.length; i++)
    crc = (crc >>> 8) ^ (CRC_TABLE[(crc ^ scope.charCodeAt(i)) & 0xff] ?? 0);
  return (~crc >>> 0) % PARTITIONS;
};

/** Rows of one build of a projection: `{name}@{version}.{build}`. */
export type Space = string;

/** Any JSON value; a reader must not write into it. */
export type Row = object;

/** ASCII, so that every store orders them alike. */
export type RowKey = { scope: string; key: string };

export type RowWrite = {
  scope: string;
  key: string;
  /** null deletes. */
  row: Row | null;
  /** Place in the scope's list, rising; rows with none are found by key only. */
  sort: number | null;
};

/** What one partition of a space becomes: the unit of atomicity. All scopes hash to `partition`. */
export type PartitionBatch = {
  partition: number;
  from: Position;
  to: Position;
  writes: readonly RowWrite[];
};

export type ListQuery = {
  scope: string;
  /** Newest first, from below this place (exclusive). */
  before?: number;
  /** Not below this place: a store far away then sends nothing that is thrown away. */
  downTo?: number;
  limit: number;
};

/** What the engine needs: rows and checkpoint of a partition move together or not at all. */
export type ProjectionStore = {
  /** Events that a fill does best to fold at once: across a network each batch has its round trips. */
  readonly fillEvents?: number;
  /** Checkpoint of each of the 64 partitions; 0 where nothing was folded. */
  checkpoints(space: Space): Promise<Position[]>;
  /**
   * The asker may write into these rows up to its next commit. A store in this process hands out
   * the rows themselves, so there a space has one folder. Undefined when a partition of these rows
   * does not stand where `at` says: what is committed on them might be taken after a flush.
   */
  load(
    space: Space,
    keys: readonly RowKey[],
    at?: readonly Position[],
  ): Promise<(Row | undefined)[] | undefined>;
  /**
   * For each batch by itself: applies all writes and moves the partition's checkpoint to `to`, unless
   * it does not stand at `from`: then nothing. Answers in the order of the batches.
   */
  commit(space: Space, batches: readonly PartitionBatch[]): Promise<('committed' | 'stale')[]>;
  /** Rows and digest of a partition as of its checkpoint, read as one. */
  digest(
    space: Space,
    partition: number,
  ): Promise<{ checkpoint: Position; rows: number; digest: string }>;
  /** Rows of all partitions; without reading them, as a digest must. */
  count(space: Space): Promise<number>;
  /**
   * The space that answers for `name`, and every other that still stands. Where processes of several
   * versions share a store, it is the one that answers those of ours.
   */
  spaces(name: string): Promise<{ live: Space | null; all: Space[] }>;
  goLive(name: string, space: Space): Promise<void>;
  drop(space: Space): Promise<void>;
  flush(): Promise<void>;
  close(): Promise<void>;
};

/** A store in this process: a row without a promise, for what every request needs. */
export type LocalStore = ProjectionStore & {
  /** The space that answers for `name`. */
  live(name: string): Space | null;
  peek(space: Space, scope: string, key: string): Row | undefined;
  list(space: Space, query: ListQuery): { row: Row; sort: number; key: string }[];
};

/**
 * An answer of a store far away, and what it rests on. Such a store can lose what it had confirmed,
 * so each answer says how far its partition is folded: undefined when the partition is lost.
 */
export type Found<Value> = {
  /** What answers for the name; null when nothing does. */
  space: Space | null;
  checkpoint: Position | undefined;
  value: Value;
};

/** A store across the network. Throws ReadModelRebuilding when it gives no answer in time. */
export type RemoteStore = ProjectionStore & {
  find(name: string, scope: string, key: string): Promise<Found<Row | undefined>>;
  page(
    name: string,
    query: ListQuery,
  ): Promise<Found<readonly { row: Row; sort: number; key: string }[]>>;
  /** Asks anew which spaces answer: another process may have switched them. */
  refresh(): Promise<void>;
};

/** What readers need. Addressed by the projection's name: the live space answers. */
export type ReadModels = {
  get<R extends Row>(name: string, scope: string, key: string): Promise<R | undefined>;
  /** Rows of a scope in falling order of `sort`. */
  list<R extends Row>(
    name: string,
    query: ListQuery,
  ): Promise<{ row: R; sort: number; key: string }[]>;
};

/** No rows that are right can be had now: they are being filled, or their store gives no answer. */
export class ReadModelRebuilding extends Error {
  override readonly name: string = 'ReadModelRebuilding';
}

/** Not before somebody has mended what stopped the fold: to ask again soon is of no use. */
export class ReadModelParked extends ReadModelRebuilding {
  override readonly name = 'ReadModelParked';
}
