/**
 * Folds a batch of events into rows, for the loop, for fills and for comparisons; and the events that read models are folded
 * without, because two people decided so. Every fold reads those first.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { EVENTS, type EventData } from '#contracts/registries/events.ts';
import type { Projection, ScopeRows, EventPlace } from '#projections/projection.ts';
import type { FoldEvent, Position, EventLog } from '#src/ports/event-log.ts';
import {
  type ListEntry,
  type Row,
  type RowWrite,
  type RowKey,
  type PartitionBatch,
  partitionOf,
  PARTITIONS,
  RowsUnwritable,
} from '#src/ports/read-model.ts';
import type { FoldTarget, ParkedPartition } from './target.ts';

/** The stream of what operators decide about parked events. */
export const REPAIRS_STREAM = 'desk-repairs_read-models';

/** An event is named by its place in its stream, which is the same in every copy of the log. */
export type Skip = { read_model: string; stream: string; revision: number };

type EventName = Pick<FoldEvent, 'stream' | 'revision'>;

const keyOf = ({ stream, revision }: EventName): string => `${revision}@${stream}`;

/**
 * The skipped events of each read model. The engine of each process adds what is approved while it runs, so that
 * everything that folds in a process shares one of these. `list` gives them to a thread or a file.
 */
export class Skips {
  readonly #byReadModel = new Map<string, Map<string, Skip>>();

  constructor(skips: readonly Skip[] = []) {
    for (const skip of skips) this.#add(skip);
  }

  /** Adds the skips that the log has. Call it before the first fold. */
  async read(log: Pick<EventLog, 'readStream'>): Promise<void> {
    this.learn(await log.readStream(REPAIRS_STREAM));
  }

  /** Adds what was decided in these events of the log. Returns the read models to try again: undefined is all of them. */
  learn(events: readonly Pick<FoldEvent, 'stream' | 'type' | 'data'>[]): (string | undefined)[] {
    const retried: (string | undefined)[] = [];
    for (const { stream, type, data } of events) {
      if (stream !== REPAIRS_STREAM) continue;
      if (type === 'EventSkipApproved') {
        const { read_model, ...event } = data as EventData<'EventSkipApproved'>;
        this.#add({ read_model, stream: event.stream, revision: event.revision });
        retried.push(read_model);
      } else if (type === 'ParkedEventsRetried')
        retried.push((data as EventData<'ParkedEventsRetried'>).read_model);
    }
    return retried;
  }

  has(readModel: string, event: EventName): boolean {
    if (this.#byReadModel.size === 0) return false;
    return this.#byReadModel.get(readModel)?.has(keyOf(event)) === true;
  }

  /** The events that the read model is folded with. */
  without<Event extends EventName>(readModel: string, events: readonly Event[]): readonly Event[] {
    if (!this.#byReadModel.has(readModel)) return events;
    return events.filter((event) => !this.has(readModel, event));
  }

  /** The same projections, which place a skipped event nowhere. */
  over(projections: readonly Projection[]): Projection[] {
    return projections.map((projection) => ({
      ...projection,
      place: (event) => (this.has(projection.name, event) ? undefined : projection.place(event)),
    }));
  }

  list(): Skip[] {
    return [...this.#byReadModel.values()].flatMap((skips) => [...skips.values()]);
  }

  count(readModel: string): number {
    return this.#byReadModel.get(readModel)?.size ?? 0;
  }

  get isEmpty(): boolean {
    return this.#byReadModel.size === 0;
  }

  #add(skip: Skip): void {
    const skips = this.#byReadModel.get(skip.read_model) ?? new Map<string, Skip>();
    this.#byReadModel.set(skip.read_model, skips.set(keyOf(skip), skip));
  }
}

const NO_LISTS: readonly ListEntry[] = [];

const listsOf = (projection: Projection, row: Row | null): readonly ListEntry[] =>
  (row && projection.lists?.(row)) ?? NO_LISTS;

type ChangedRow = { key: string; row: Row | null; lists: readonly ListEntry[] | undefined };

/** Returns what the lists of the row gain and lose. Throws if the lists before are unknown, because the row was not loaded. */
const compareLists = (
  projection: Projection,
  { key, row, lists: before }: ChangedRow,
): Pick<RowWrite, 'added' | 'removed'> => {
  if (!before) throw new Error(`${projection.name} has lists, and sets ${key} without its place`);
  const after = listsOf(projection, row);
  return { added: entriesBeyond(before, after), removed: entriesBeyond(after, before) };
};

/** The entries of `all` that are not in `known`; both are short. */
export const entriesBeyond = (
  known: readonly ListEntry[],
  all: readonly ListEntry[],
): readonly ListEntry[] =>
  all.filter(([list, sort]) => !known.some((other) => other[0] === list && other[1] === sort));

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

/** The work of one batch. */
type BatchWork = {
  touched: TouchedRow[];
  /** The touched rows that may exist in the store and are not loaded yet. */
  stored: TouchedRow[];
  events: FoldEvent[];
  /** The row that each event touches. */
  rows: TouchedRow[];
  /** The first touched row of each scope, which has the others. */
  scopes: Map<string, TouchedRow>;
  /** The number of touched rows of each partition. */
  counts: Int32Array;
};

/** The touched row with this key in the scope of `first`. */
const findRow = (first: TouchedRow, key: string): TouchedRow | undefined =>
  first.key === key ? first : first.others?.get(key);

/** Adds a row to the work. `first`: the first touched row of its scope, if there is one. */
const addTouched = (
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

/** Adds those rows of a scope that are not touched yet. */
const touchOthers = (work: BatchWork, first: TouchedRow, keys: readonly string[]): void => {
  const { scope, partition } = first;
  for (const key of keys)
    if (findRow(first, key) === undefined)
      work.stored.push(addTouched(work, first, touchRow({ scope, key }, partition)));
};

/** An event reads rows that its place did not name. */
class RowsMissing extends Error {
  override readonly name = 'RowsMissing';
  keys: readonly string[] = [];
}

/** The only one: to collect a stack trace for each takes longer than to fold the event. */
const rowsMissing = new RowsMissing('rows are not loaded yet');

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

  load(keys: readonly string[]): void {
    const first = this.#first;
    const missing = first ? keys.filter((key) => findRow(first, key) === undefined) : [];
    if (missing.length === 0) return;
    rowsMissing.keys = missing;
    throw rowsMissing;
  }

  set(key: string, row: Row | null): void {
    const first = this.#first;
    if (first === undefined) return;
    const { scope, partition } = first;
    const touched =
      findRow(first, key) ?? addTouched(this.#work, first, touchRow({ scope, key }, partition));
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

/* The hot loop of the engine: it uses no closures, and one object per touched row. */

/** The writes of a batch, and the part of it that is left because a partition has its limit of rows. */
type FoldedBatch = { batches: PartitionBatch[]; rest: EventBatch | undefined };

/**
 * Folds events in log order into the rows of a target, and returns the writes. Skips events at or
 * below their partition's checkpoint. A fold that throws parks its partition before the event; the
 * other partitions continue. Stops after the event with which a partition has the store's limit of
 * rows. Returns undefined when the stored checkpoints differ.
 */
export const foldBatch = async (
  target: FoldTarget,
  { events, upTo }: EventBatch,
): Promise<FoldedBatch | undefined> => {
  const { work, placed } = placeEvents(target, events, target.store.commitRowsMax ?? Infinity);
  const isWhole = placed === events.length;
  const reached = isWhole ? upTo : (events[placed - 1]?.position ?? upTo);
  for (let folded = 0; folded < work.events.length; ) {
    if (!(await loadRows(target, work))) return undefined;
    folded = evolveRows(target, work, folded);
  }
  return {
    batches: collectBatches(target, work.touched, reached),
    rest: isWhole ? undefined : { events: events.slice(placed), upTo },
  };
};

/** Loads the rows that are touched and not loaded yet; false if the stored checkpoints differ. */
const loadRows = async (target: FoldTarget, work: BatchWork): Promise<boolean> => {
  const wanted = work.stored;
  if (wanted.length === 0) return true;
  work.stored = [];
  const rows = await target.store.load(target.space, wanted, target.checkpoints);
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

export type FoldContext = {
  signal?: AbortSignal | undefined;
  onParked?: ((projection: string, parked: ParkedPartition) => void) | undefined;
  /** Called when the store fails; the same batch is retried until it succeeds. */
  onFault?: ((error: unknown) => void) | undefined;
  /** Called for each skipped event of a type that this version does not know. */
  onUnknownType?: ((event: FoldEvent) => void) | undefined;
  /** True while the last commit failed. */
  isFailing?: boolean;
  /**
   * Gives up a target at once whose store takes no writes, as if it had lost rows, so that the others continue: a fill beside
   * the loop tries again.
   */
  setsAside?: boolean;
  /** Waits for a turn of the event loop, so that folds and commits do not delay requests. */
  awaitTurn?(): Promise<unknown>;
};

/** Events for one target, from a reading of the log up to `upTo`. */
type EventBatch = { events: readonly FoldEvent[]; upTo: Position };

/** `lost`: the stored checkpoint is lower than the confirmed one (a flush, or an older copy), or cannot be moved. */
export type AdvanceOutcome = 'held' | 'lost';

/** The first pause after a failure, and the longest; each pause is twice the one before. */
export const RETRY_MS_FIRST = 50;
export const RETRY_MS_MAX = 2_000;

/**
 * Folds a batch into a target and commits it, with retries. When the store lost rows, committing
 * this batch would leave a gap: the target must be filled again.
 */
export const advance = async (
  context: FoldContext,
  target: FoldTarget,
  batch: EventBatch,
): Promise<AdvanceOutcome> => {
  const { signal, onFault } = context;
  if (batch.events.length === 0) return 'held';
  for (let wait = RETRY_MS_FIRST; ; wait = Math.min(2 * wait, RETRY_MS_MAX)) {
    try {
      const isCommitted = await tryAdvance(context, target, batch);
      context.isFailing = false;
      if (isCommitted) return 'held';
      const stored = await target.store.checkpoints(target.space);
      // Keeps the confirmed checkpoints: lower ones would be advanced over the lost events.
      if (hasLostRows(stored, target)) return 'lost';
      target.checkpoints = stored;
      // Another process whose code could fold the event has gone beyond it.
      for (const { partition, position } of target.parked.values())
        if ((stored[partition] ?? 0) >= position) target.parked.delete(partition);
    } catch (error) {
      context.isFailing = true;
      onFault?.(error);
      if (context.setsAside && error instanceof RowsUnwritable) return 'lost';
      await pause(wait, undefined, { ref: false, ...(signal && { signal }) });
      // If the commit did happen, the next attempt is stale and reads the new checkpoints.
    }
  }
};

/** Returns false when another process advanced one of the partitions in the meantime. */
const tryAdvance = async (
  { onParked, awaitTurn }: FoldContext,
  target: FoldTarget,
  batch: EventBatch,
): Promise<boolean> => {
  for (let rest: EventBatch | undefined = batch; rest; ) {
    await awaitTurn?.();
    const parkedBefore = target.parked.size;
    const folded: FoldedBatch | undefined = await foldBatch(target, rest);
    if (!folded) return false;
    for (const parked of [...target.parked.values()].slice(parkedBefore))
      onParked?.(target.projection.name, parked);
    const { batches } = folded;
    rest = folded.rest;
    if (batches.length === 0) continue;
    await awaitTurn?.();
    const results = await target.store.commit(target.space, batches);
    for (const [i, { partition, to }] of batches.entries())
      if (results[i] === 'committed') target.checkpoints[partition] = to;
    if (results.includes('stale')) return false;
  }
  return true;
};

/** Returns true when a stored checkpoint is lower than one that the store confirmed earlier. */
export const hasLostRows = (
  stored: readonly Position[],
  { own, checkpoints }: Pick<FoldTarget, 'own' | 'checkpoints'>,
): boolean =>
  [...own].some((partition) => (stored[partition] ?? 0) < (checkpoints[partition] ?? 0));

export type EventRouter = (events: readonly FoldEvent[]) => FoldEvent[][];

const KNOWN_TYPES: ReadonlySet<string> = new Set(Object.keys(EVENTS));

/**
 * Builds a function that distributes events to targets by type, and skips duplicates. It skips and
 * reports events of types that only a newer version knows.
 */
export const createRouter = (
  targets: readonly FoldTarget[],
  onUnknownType?: (event: FoldEvent) => void,
): EventRouter => {
  const indexesByType = new Map<string, number[]>();
  for (const [i, { projection }] of targets.entries())
    for (const type of projection.handles) {
      const indexes = indexesByType.get(type);
      if (indexes) indexes.push(i);
      else indexesByType.set(type, [i]);
    }
  return (events) => {
    const routed: FoldEvent[][] = targets.map(() => []);
    let last = 0;
    for (const event of events) {
      if (event.position <= last) continue;
      last = event.position;
      const indexes = indexesByType.get(event.type);
      if (indexes) for (const i of indexes) routed[i]?.push(event);
      else if (!KNOWN_TYPES.has(event.type)) onUnknownType?.(event);
    }
    return routed;
  };
};

/** Names the events of types that this version does not know, which no read model handles. */
export const reportUnknown = (
  events: readonly FoldEvent[],
  onUnknownType: FoldContext['onUnknownType'],
): void => {
  for (const event of events) if (!KNOWN_TYPES.has(event.type)) onUnknownType?.(event);
};
