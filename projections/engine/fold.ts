import type { FoldEvent, Position } from '#src/ports/event-log.ts';
import type {
  PartitionBatch,
  ProjectionStore,
  Row,
  RowKey,
  RowWrite,
} from '#src/ports/read-model.ts';
import { partitionOf } from '#src/ports/read-model.ts';
import type { Target } from './target.ts';

/* The one hot loop of the engine: no closures, and one object per touched row. */

/** A row that a batch touches: the key to load, then the write to commit. */
type Touched = {
  scope: string;
  key: string;
  row: Row | null;
  sort: number | null;
  partition: number;
  changed: boolean;
  /** Of its scope, by key; a Map costs more than a fold, so the first has it, with the second. */
  others: Map<string, Touched> | null;
};

type Work = {
  touched: Touched[];
  /** Those of them that the store may have. */
  stored: Touched[];
  events: FoldEvent[];
  rows: Touched[];
};

/** Says which targets want an event, by its type; duplicates within a batch go to none. */
export const router = (
  targets: readonly Target[],
): ((events: readonly FoldEvent[]) => FoldEvent[][]) => {
  const takers = new Map<string, number[]>();
  for (const [i, { projection }] of targets.entries())
    for (const type of projection.handles) {
      const known = takers.get(type);
      if (known) known.push(i);
      else takers.set(type, [i]);
    }
  return (events) => {
    const inboxes: FoldEvent[][] = targets.map(() => []);
    let last = 0;
    for (const event of events) {
      if (event.position <= last) continue;
      last = event.position;
      const indexes = takers.get(event.type);
      if (indexes) for (const i of indexes) inboxes[i]?.push(event);
    }
    return inboxes;
  };
};

/**
 * What a target's rows become by these events, in log order. An event at or below its partition's
 * checkpoint has had its effect and is passed over. A fold that throws parks its partition before
 * the event; the other partitions go on. Undefined when the store stands elsewhere.
 */
export const fold = async (
  store: ProjectionStore,
  target: Target,
  events: readonly FoldEvent[],
  upTo: Position,
): Promise<PartitionBatch[] | undefined> => {
  const work = placeAll(target, events);
  if (work.stored.length > 0) {
    const found = await store.load(target.space, work.stored, target.checkpoints);
    if (!found) return undefined;
    for (let i = 0; i < found.length; i++) {
      const touched = work.stored[i];
      if (touched) touched.row = found[i] ?? null;
    }
  }
  evolveAll(target, work);
  return batchesOf(target, work.touched, upTo);
};

const placeAll = (target: Target, events: readonly FoldEvent[]): Work => {
  const { projection, checkpoints, parked, own, until } = target;
  const begins: readonly string[] = projection.begins ?? [];
  const scopes = new Map<string, Touched>();
  const work: Work = { touched: [], stored: [], events: [], rows: [] };
  for (const event of events) {
    let place: RowKey | undefined;
    try {
      place = projection.place(event);
    } catch (error) {
      // Where it belongs is not known; rows of its owner are what it most likely touches.
      park(target, partitionOf(event.owner), event, error);
      continue;
    }
    if (place === undefined) continue;
    const first = scopes.get(place.scope);
    const partition = first === undefined ? partitionOf(place.scope) : first.partition;
    const { position } = event;
    if (position <= (checkpoints[partition] ?? 0) || parked.has(partition)) continue;
    if (!own.has(partition)) {
      if (position > (target.seen[partition] ?? 0)) {
        target.seen[partition] = position;
        target.waiting[partition] ||= position;
      }
      continue;
    }
    if (until && position > (until[partition] ?? 0)) continue;
    let touched = first?.key === place.key ? first : first?.others?.get(place.key);
    if (touched === undefined) {
      touched = touchedAt(place, partition);
      work.touched.push(touched);
      if (!begins.includes(event.type)) work.stored.push(touched);
      if (first === undefined) scopes.set(place.scope, touched);
      else (first.others ??= new Map()).set(place.key, touched);
    }
    work.events.push(event);
    work.rows.push(touched);
  }
  return work;
};

const touchedAt = ({ scope, key }: RowKey, partition: number): Touched => ({
  scope,
  key,
  row: null,
  sort: null,
  partition,
  changed: false,
  others: null,
});

const evolveAll = (target: Target, { events, rows }: Work): void => {
  const { projection, parked } = target;
  for (let i = 0; i < events.length; i++) {
    const event = events[i];
    const touched = rows[i];
    if (!event || !touched) continue;
    if (parked.size > 0) {
      // Parked by an event before this one, in this batch.
      const stop = parked.get(touched.partition);
      if (stop && stop.position <= event.position) continue;
    }
    try {
      touched.row = projection.evolve(touched.row ?? undefined, event);
      touched.changed = true;
    } catch (error) {
      park(target, touched.partition, event, error);
    }
  }
};

const park = (target: Target, partition: number, event: FoldEvent, error: unknown): void => {
  const { position, stream, type } = event;
  const known = target.parked.get(partition);
  if (!target.own.has(partition) || (known && known.position <= position)) return;
  if (position <= (target.checkpoints[partition] ?? 0)) return;
  const reason = `${type}: ${error instanceof Error ? error.message : String(error)}`;
  target.parked.set(partition, { partition, position, stream, reason });
};

const batchesOf = (
  { projection, checkpoints, parked }: Target,
  touched: readonly Touched[],
  upTo: Position,
): PartitionBatch[] => {
  const writes = new Map<number, RowWrite[]>();
  for (const write of touched) {
    if (!write.changed) continue;
    if (write.row !== null) write.sort = projection.sort?.(write.row) ?? null;
    const known = writes.get(write.partition);
    if (known) known.push(write);
    else writes.set(write.partition, [write]);
  }
  const batches: PartitionBatch[] = [];
  for (const [partition, list] of writes) {
    const stop = parked.get(partition);
    const to = stop ? stop.position - 1 : upTo;
    batches.push({ partition, from: checkpoints[partition] ?? 0, to, writes: list });
  }
  return batches;
};
