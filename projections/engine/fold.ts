import type { FoldEvent, Position } from '#src/ports/event-log.ts';
import {
  type PartitionBatch,
  partitionOf,
  PARTITIONS,
  type ProjectionStore,
  type RowWrite,
} from '#src/ports/read-model.ts';
import type { EventPlace } from '../projection.ts';
import type { EventBatch } from './advance.ts';
import { compareLists, listsOf, NO_LISTS } from './list-changes.ts';
import type { FoldTarget } from './target.ts';
import {
  addTouched,
  type BatchWork,
  findRow,
  OtherRows,
  RowsMissing,
  touchOthers,
  type TouchedRow,
  touchRow,
} from './touched-rows.ts';

/* The hot loop of the engine: it uses no closures, and one object per touched row. */

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
  for (let folded = 0; folded < work.events.length; ) {
    if (!(await loadRows(store, target, work))) return undefined;
    folded = evolveRows(target, work, folded);
  }
  return {
    batches: collectBatches(target, work.touched, reached),
    rest: isWhole ? undefined : { events: events.slice(placed), upTo },
  };
};

/** Loads the rows that are touched and not loaded yet; false if the stored checkpoints differ. */
const loadRows = async (
  store: ProjectionStore,
  target: FoldTarget,
  work: BatchWork,
): Promise<boolean> => {
  const wanted = work.stored;
  if (wanted.length === 0) return true;
  work.stored = [];
  const rows = await store.load(target.space, wanted, target.checkpoints);
  if (!rows) return false;
  for (let i = 0; i < rows.length; i++) {
    const touched = wanted[i];
    if (!touched) continue;
    touched.row = rows[i] ?? null;
    // Before the fold, which may modify the row.
    touched.lists = listsOf(target.projection, touched.row);
  }
  return true;
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
    let others: readonly string[] | undefined;
    try {
      place = projection.place(event);
      if (place) others = projection.others?.(event);
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
      touched = addTouched(work, first, touchRow(place, partition));
      if (begins.includes(event.type)) touched.lists = NO_LISTS;
      else work.stored.push(touched);
    }
    if (others !== undefined) touchOthers(work, first ?? touched, others);
    work.events.push(event);
    work.rows.push(touched);
    // Some rows grow with each event.
    counts[partition] = (counts[partition] ?? 0) + 1;
    if ((counts[partition] ?? 0) >= rowsMax) break;
  }
  return { work, placed };
};

/** Folds the events from `from` on; returns the index of the first one that reads rows which are not loaded yet. */
const evolveRows = (target: FoldTarget, work: BatchWork, from: number): number => {
  const { projection, parked } = target;
  const { events, rows } = work;
  const others = new OtherRows(work);
  for (let i = from; i < events.length; i++) {
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
      if (error instanceof RowsMissing) {
        touchOthers(work, work.scopes.get(touched.scope) ?? touched, error.keys);
        return i;
      }
      park(target, event, { partition: touched.partition, error });
    }
  }
  return events.length;
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
