import type { FoldEvent, Position } from '#src/ports/event-log.ts';
import {
  type ListEntry,
  type PartitionBatch,
  partitionOf,
  PARTITIONS,
  type ProjectionStore,
  type Row,
  type RowKey,
  type RowWrite,
} from '#src/ports/read-model.ts';
import type { EventPlace, ScopeRows } from '../projection.ts';
import type { EventBatch } from './advance.ts';
import { compareLists, listsOf, NO_LISTS } from './list-changes.ts';
import type { FoldTarget } from './target.ts';

/* The hot loop of the engine: it uses no closures, and one object per touched row. */

/** A row that a batch touches: first the key to load, then the write to commit. */
type TouchedRow = {
  scope: string;
  key: string;
  row: Row | null;
  sort: number | null;
  /** The lists of the row in the store; undefined if it is not loaded. */
  lists: readonly ListEntry[] | undefined;
  added?: readonly ListEntry[];
  removed?: readonly ListEntry[];
  partition: number;
  isChanged: boolean;
  /** Other rows of the scope by key; allocated with the second row, because a Map is expensive. */
  others: Map<string, TouchedRow> | null;
};

type BatchWork = {
  touched: TouchedRow[];
  /** The touched rows that may exist in the store. */
  stored: TouchedRow[];
  events: FoldEvent[];
  /** The row that each event touches. */
  rows: TouchedRow[];
  /** The first touched row of each scope, which has the others. */
  scopes: Map<string, TouchedRow>;
  /** The number of touched rows of each partition. */
  counts: Int32Array;
};

/** The writes of a batch, and the part of it that is left because a partition has its limit of rows. */
export type FoldedBatch = { batches: PartitionBatch[]; rest: EventBatch | undefined };

/**
 * Folds events in log order into the rows of a target, and returns the writes. Skips events at or
 * below their partition's checkpoint. A fold that throws parks its partition before the event; the
 * other partitions continue. Stops after the event with which a partition has the store's limit of
 * rows. Returns undefined when the stored checkpoints differ.
 */
export const foldBatch = async (
  store: ProjectionStore,
  target: FoldTarget,
  { events, upTo }: EventBatch,
): Promise<FoldedBatch | undefined> => {
  const { work, placed } = placeEvents(target, events, store.commitRowsMax ?? Infinity);
  const isWhole = placed === events.length;
  const reached = isWhole ? upTo : (events[placed - 1]?.position ?? upTo);
  if (work.stored.length > 0) {
    const rows = await store.load(target.space, work.stored, target.checkpoints);
    if (!rows) return undefined;
    for (let i = 0; i < rows.length; i++) {
      const touched = work.stored[i];
      if (!touched) continue;
      touched.row = rows[i] ?? null;
      // Before the fold, which may modify the row.
      touched.lists = listsOf(target.projection, touched.row);
    }
  }
  evolveRows(target, work);
  return {
    batches: collectBatches(target, work.touched, reached),
    rest: isWhole ? undefined : { events: events.slice(placed), upTo },
  };
};

/** Returns the work of the first `placed` events. */
const placeEvents = (
  target: FoldTarget,
  events: readonly FoldEvent[],
  rowsMax: number,
): { work: BatchWork; placed: number } => {
  const { projection, checkpoints, parked, own, until } = target;
  const begins: readonly string[] = projection.begins ?? [];
  const scopes = new Map<string, TouchedRow>();
  const counts = new Int32Array(PARTITIONS);
  const work: BatchWork = { touched: [], stored: [], events: [], rows: [], scopes, counts };
  let placed = 0;
  for (const event of events) {
    placed += 1;
    let place: EventPlace | undefined;
    try {
      place = projection.place(event);
    } catch (error) {
      // The scope is unknown; rows of the event's owner are the most likely ones.
      park(target, event, { partition: partitionOf(event.owner), error });
      continue;
    }
    if (place === undefined) continue;
    const first = scopes.get(place.scope);
    const partition = first === undefined ? partitionOf(place.scope) : first.partition;
    const { position } = event;
    if (position <= (checkpoints[partition] ?? 0) || parked.has(partition)) continue;
    if (!own.has(partition)) {
      if (position > (target.lastSeen[partition] ?? 0)) {
        target.lastSeen[partition] = position;
        target.firstPending[partition] ||= position;
      }
      continue;
    }
    if (until && position > (until[partition] ?? 0)) continue;
    let touched = first && findRow(first, place.key);
    if (touched === undefined) {
      touched = addRow(work, first, touchRow(place, partition));
      if (begins.includes(event.type)) touched.lists = NO_LISTS;
      else work.stored.push(touched);
    }
    if (place.others !== undefined) touchOthers(work, first ?? touched, place.others);
    work.events.push(event);
    work.rows.push(touched);
    if ((counts[partition] ?? 0) >= rowsMax) break;
  }
  return { work, placed };
};

const findRow = (first: TouchedRow, key: string): TouchedRow | undefined =>
  first.key === key ? first : first.others?.get(key);

const addRow = (
  work: BatchWork,
  first: TouchedRow | undefined,
  touched: TouchedRow,
): TouchedRow => {
  work.touched.push(touched);
  work.counts[touched.partition] = (work.counts[touched.partition] ?? 0) + 1;
  if (first === undefined) work.scopes.set(touched.scope, touched);
  else (first.others ??= new Map()).set(touched.key, touched);
  return touched;
};

const touchOthers = (work: BatchWork, first: TouchedRow, keys: readonly string[]): void => {
  const { scope, partition } = first;
  for (const key of keys)
    if (findRow(first, key) === undefined)
      work.stored.push(addRow(work, first, touchRow({ scope, key }, partition)));
};

/** The rows of one scope during a fold; one object serves all events of a batch. */
class OtherRows implements ScopeRows {
  readonly #work: BatchWork;
  #first: TouchedRow | undefined;

  constructor(work: BatchWork) {
    this.#work = work;
  }

  of(scope: string): this {
    this.#first = this.#work.scopes.get(scope);
    return this;
  }

  get(key: string): Row | undefined {
    const touched = this.#first && findRow(this.#first, key);
    if (touched === undefined) throw new Error(`the place of the event does not name ${key}`);
    return touched.row ?? undefined;
  }

  set(key: string, row: Row | null): void {
    const first = this.#first;
    if (first === undefined) return;
    const { scope, partition } = first;
    const touched =
      findRow(first, key) ?? addRow(this.#work, first, touchRow({ scope, key }, partition));
    touched.row = row;
    touched.isChanged = true;
  }
}

const touchRow = ({ scope, key }: RowKey, partition: number): TouchedRow => ({
  scope,
  key,
  row: null,
  sort: null,
  lists: undefined,
  partition,
  isChanged: false,
  others: null,
});

const evolveRows = (target: FoldTarget, work: BatchWork): void => {
  const { projection, parked } = target;
  const { events, rows } = work;
  const others = new OtherRows(work);
  for (let i = 0; i < events.length; i++) {
    const event = events[i];
    const touched = rows[i];
    if (!event || !touched) continue;
    if (parked.size > 0) {
      // An earlier event of this batch may have parked the partition.
      const parkedAt = parked.get(touched.partition)?.position ?? Infinity;
      if (parkedAt <= event.position) continue;
    }
    try {
      touched.row = projection.evolve(touched.row ?? undefined, event, others.of(touched.scope));
      touched.isChanged = true;
    } catch (error) {
      park(target, event, { partition: touched.partition, error });
    }
  }
};

const park = (
  target: FoldTarget,
  { position, stream, type }: FoldEvent,
  { partition, error }: { partition: number; error: unknown },
): void => {
  const earlier = target.parked.get(partition);
  if (!target.own.has(partition) || (earlier && earlier.position <= position)) return;
  if (position <= (target.checkpoints[partition] ?? 0)) return;
  const reason = `${type}: ${error instanceof Error ? error.message : String(error)}`;
  target.parked.set(partition, { partition, position, stream, reason });
};

const collectBatches = (
  { projection, checkpoints, parked }: FoldTarget,
  touched: readonly TouchedRow[],
  upTo: Position,
): PartitionBatch[] => {
  const writes = new Map<number, RowWrite[]>();
  for (const write of touched) {
    if (!write.isChanged) continue;
    if (write.row !== null) write.sort = projection.sort?.(write.row) ?? null;
    if (projection.lists) Object.assign(write, compareLists(projection, write));
    const list = writes.get(write.partition);
    if (list) list.push(write);
    else writes.set(write.partition, [write]);
  }
  return Array.from(writes, ([partition, list]) => {
    const stop = parked.get(partition);
    const to = stop ? stop.position - 1 : upTo;
    return { partition, from: checkpoints[partition] ?? 0, to, writes: list };
  });
};
