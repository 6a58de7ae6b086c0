/**
 * Rows of read models by space and partition. They are a cache of the log, never the record.
 * test/conformance/read-model.ts specifies the stores; every adapter passes that suite.
 */
import type { Position, FoldEvent } from './event-log.ts';

/** Number of partitions that scopes hash to. It can never change: stores contain checkpoints by it. */
export const PARTITIONS = 64;

export const ALL_PARTITIONS: readonly number[] = Array.from({ length: PARTITIONS }, (_, n) => n);

const CRC_TABLE = Int32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  return crc;
});

/**
 * Returns the partition of a scope by its CRC-32, on which stores and folds must always agree.
 * Written out because it is five times faster than zlib on a dozen characters.
 */
export const partitionOf = (scope: string): number => {
  let crc = -1;
  for (let i = 0; i < scope.length; i++)
    crc = (crc >>> 8) ^ (CRC_TABLE[(crc ^ scope.charCodeAt(i)) & 0xff] ?? 0);
  return (~crc >>> 0) % PARTITIONS;
};

/** Rows of one build of a projection: `{name}@{version}.{build}`. */
export type Space = string;

/** Returns the name of the read model whose rows the space has. */
export const readModelOf = (space: Space): string => space.slice(0, space.indexOf('@'));

/** A JSON object; readers must not modify it. */
export type Row = object;

/** Both parts are ASCII, so that all stores sort them equally. */
export type RowKey = { scope: string; key: string };

/** A row's place in a list of its scope: the name, in ASCII, and the ascending sort key. A row has one in each list. */
export type ListEntry = readonly [list: string, sort: number];

/** The list of all rows that have a sort key. It follows from the rows, so a digest does not include it. */
export const ALL_ROWS = '';

/** All entries of a new row, with that in the list of all rows. */
export const entriesOfNew = ({ sort, added = [] }: Pick<RowWrite, 'sort' | 'added'>) =>
  sort === null ? added : [[ALL_ROWS, sort] as const, ...added];

/** Orders the entries of a row by the names of their lists. */
export const entriesInOrder = (entries: readonly ListEntry[]): ListEntry[] =>
  entries.toSorted(([one, at], [other, place]) =>
    one === other ? at - place : one < other ? -1 : 1,
  );

/** A row as JSON, as the store has it, and its entries in the order of `entriesInOrder`. */
export type RowJson = RowKey & { json: string; entries: readonly ListEntry[] };

export type RowWrite = {
  scope: string;
  key: string;
  /** null deletes the row. */
  row: Row | null;
  /** Ascending place in the list of its scope; rows without one are found only by key. */
  sort: number | null;
  /** The entries that the row has from this write on, and those that it no longer has. */
  added?: readonly ListEntry[];
  removed?: readonly ListEntry[];
};

/** The writes of one partition, applied atomically. All their scopes hash to `partition`. */
export type PartitionBatch = {
  partition: number;
  from: Position;
  to: Position;
  writes: readonly RowWrite[];
};

/** All rows of a partition, in order of scope and key, as of a position. */
export type PartitionFill = { position: Position; rows: readonly RowWrite[] };

export type ListedRow<R extends Row = Row> = { row: R; sort: number; key: string };

export type ListQuery = {
  scope: string;
  /** Lists the rows that have an entry in this list; without it, all rows of the scope that have a `sort`. */
  list?: string;
  /** Lists from below this place (exclusive), newest first. */
  before?: number;
  /** Lists the rows at `before` as well whose key is less. */
  beforeKey?: string;
  /** Lists no row below this place, so that a remote store sends no unused rows. */
  downTo?: number;
  /** Lists oldest first. `limit` must be 1. */
  isAscending?: boolean;
  limit: number;
};

/** What the engine needs of a store: rows and checkpoint of a partition change atomically. */
export type ProjectionStore = {
  /** Preferred batch size of a fill, because each batch costs a remote store round trips. */
  readonly fillEvents?: number;
  /** Approximate number of rows and events of one partition after which a batch is cut, so that no commit delays readers. */
  readonly commitRowsMax?: number;
  /** Returns the checkpoint of each partition; 0 for a partition without any fold. */
  checkpoints(space: Space): Promise<Position[]>;
  /**
   * Loads rows that the caller may modify until its next commit. A local store returns the rows
   * themselves, so only one engine may fold a space of it. Returns undefined when the checkpoint of
   * a partition of these rows is not the one in `at`: the rows may have been replaced after a flush.
   */
  load(
    space: Space,
    keys: readonly RowKey[],
    at?: readonly Position[],
  ): Promise<(Row | undefined)[] | undefined>;
  /**
   * Applies the writes of each batch and sets the checkpoint of its partition to `to`, if it is at
   * `from`; otherwise the batch is stale and has no effect. Returns the outcomes in order.
   */
  commit(space: Space, batches: readonly PartitionBatch[]): Promise<('committed' | 'stale')[]>;
  /**
   * Stores all rows of a partition that has no checkpoint, and its checkpoint with the last of them. Where others have begun
   * or filled it meanwhile, theirs remains. Without this, a fill commits batches.
   */
  fillPartition?(space: Space, partition: number, filled: PartitionFill): Promise<void>;
  /** Reads checkpoint, number of rows and digest of a partition atomically. */
  digest(
    space: Space,
    partition: number,
  ): Promise<{ checkpoint: Position; rows: number; digest: string }>;
  /** Reads each record of a partition. Throws ReadModelRebuilding, and removes the partition, if one is damaged. */
  check?(space: Space, partition: number): Promise<void>;
  /** Reads checkpoint and rows of a partition atomically, as `digest` does, for a comparison row by row. */
  partitionRows(
    space: Space,
    partition: number,
  ): Promise<{ checkpoint: Position; rows: RowJson[] }>;
  /** Counts the rows of all partitions without reading them. */
  count(space: Space): Promise<number>;
  /**
   * Returns the live space of `name`, and all spaces that exist. If processes of several versions
   * share the store, `live` is the space that is live for this version.
   */
  spaces(name: string): Promise<{ live: Space | null; all: Space[] }>;
  /** Makes the space live for its read model. */
  goLive(space: Space): Promise<void>;
  drop(space: Space): Promise<void>;
  flush(): Promise<void>;
  close(): Promise<void>;
};

/** What a comparison of all rows reads. */
export type RowsReader = Pick<ProjectionStore, 'count' | 'partitionRows'> & {
  spaces(name: string): Promise<{ live: Space | null }>;
};

/** A store in this process, with synchronous reads, which authentication needs for every request. */
export type LocalStore = ProjectionStore & {
  live(name: string): Space | null;
  peek(space: Space, scope: string, key: string): Row | undefined;
  list(space: Space, query: ListQuery): ListedRow[];
};

/**
 * A value of a remote store, and the checkpoint of its partition. A remote store can lose what it
 * confirmed, so every read returns the checkpoint: undefined if the partition is lost.
 */
export type RemoteRead<Value> = {
  /** The live space of the name; null if there is none. */
  space: Space | null;
  checkpoint: Position | undefined;
  value: Value;
};

/** The newest rows of a query. `isCut`: it has more rows, which did not fit into one answer. */
export type RemotePage = { rows: readonly ListedRow[]; isCut: boolean };

/** A store across the network. Throws ReadModelRebuilding if it does not answer in time. */
export type RemoteStore = ProjectionStore & {
  find(name: string, scope: string, key: string): Promise<RemoteRead<Row | undefined>>;
  /** Returns at most a bounded number of bytes, and at least one row if there is one. */
  page(name: string, query: ListQuery): Promise<RemoteRead<RemotePage>>;
  /** Reads again which spaces are live, because another process may have switched them. */
  refresh(): Promise<void>;
};

/** Reads rows of the live space by the name of the projection. */
export type ReadModels = {
  get<R extends Row>(name: string, scope: string, key: string): Promise<R | undefined>;
  /** Lists rows of a scope, or of one list of it, in descending order of `sort`, then of the key. */
  list<R extends Row>(name: string, query: ListQuery): Promise<ListedRow<R>[]>;
};

/** Correct rows are unavailable: they are being filled, or their store does not answer. */
export class ReadModelRebuilding extends Error {
  override readonly name: string = 'ReadModelRebuilding';
}

/** Rows are unavailable until an operator fixes what stopped the fold; retries fail until then. */
export class ReadModelParked extends ReadModelRebuilding {
  override readonly name = 'ReadModelParked';
}

/** The store takes no writes: its disk is full or fails. Nothing of the commit is stored. */
export class RowsUnwritable extends Error {
  override readonly name = 'RowsUnwritable';
}

export type RowPlace = RowKey & { readModel: string };

/** The rows of one owner at one position of the log, folded in memory by the projections of the read models. */
export type OwnerFold = {
  /** The folded rows, as a process reads those of its read models. They change with the next `add`. */
  readonly rows: ReadModels;
  /** Folds the next event. Throws ReadModelParked if a projection cannot fold it; the fold is unusable then. */
  add(event: FoldEvent): void;
  /** Lists the row of each read model that the event changes; a projection may change further rows beside it. */
  placesOf(event: FoldEvent): RowPlace[];
  peek(place: RowPlace): Row | undefined;
  rowsOf(readModel: string): RowJson[];
};

/** How far the read models follow the log. */
export type ReadModelFollower = {
  /**
   * Resolves to true once every read model has folded the log up to `position`, and to false after
   * `waitMs`. In a process that does not fold, it waits only for `scope`; without a scope, true means
   * that this process knows the position and shows no older rows. Parked partitions are not awaited,
   * because their rows are not shown.
   */
  passed(position: Position, waitMs: number, scope?: string): Promise<boolean>;
  asOf(): { position: Position; at: number | null };
  /**
   * Names the read models of this process whose rows cannot be read now, because their file is being filled or the disk
   * fails. Requests need them, so the process is not ready.
   */
  unreadable?(): string[];
};
