/** Fills a new space of a store from the log, partition by partition. */
import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises';
import {
  type EventLog,
  type FoldEvent,
  LogUnavailable,
  type Position,
} from '#src/ports/event-log.ts';
import {
  advance,
  type AdvanceOutcome,
  type FoldContext,
  RETRY_MS_FIRST,
  RETRY_MS_MAX,
  createRouter,
  reportUnknown,
} from './fold.ts';
import type { FillControl } from './fill-control.ts';
import { fillPartitions } from './folded-rows.ts';
import {
  advanceCheckpoints,
  type FoldTarget,
  lowestPosition,
  type ParkedPartition,
} from './target.ts';
import { ALL_PARTITIONS, PARTITIONS, type Space } from '#src/ports/read-model.ts';

export type FillOptions = FoldContext & {
  log: Pick<EventLog, 'readFold' | 'head'>;
  targets: readonly FoldTarget[];
  /** Events per batch; by default the most that a store of the targets prefers. */
  batchEvents?: number;
  /** Last position to fold; the end of the log by default. */
  upTo?: Position;
  /** Folds empty partitions of many events in other threads, which this process does not wait for. */
  inThreads?: FillInThreads | undefined;
  onProgress?(position: Position): void;
  /** Lets operators pause and slow the fill. */
  control?: FillControl | undefined;
  /** Receives each batch that is read, up to a position; the next one is read after it. */
  onBatch?: ((events: readonly FoldEvent[], upTo: Position) => Promise<void>) | undefined;
};

/** Spaces of one store to fill from the beginning of the log up to a position. */
export type ThreadedFill = {
  spaces: readonly Space[];
  upTo: Position;
  signal?: AbortSignal | undefined;
  control?: FillControl | undefined;
  onProgress(share: number): void;
};

/**
 * Fills all partitions of the spaces, and returns those that stopped at an event that cannot be folded. Returns undefined if
 * the spaces have to be filled in this thread.
 */
export type FillInThreads = (
  fill: ThreadedFill,
) => Promise<readonly { space: Space; parked: ParkedPartition }[]> | undefined;

/** Fewer events are folded before a thread has started. */
const EVENTS_FOR_THREADS = 20_000;

/** Larger batches are no faster in this process, and those in flight cost memory. */
const BATCH_EVENTS = 500;
/** Events read before requests of this process get a turn of the event loop. */
const PAGE_EVENTS = 1_000;
/** Idle partitions advance after this many events, so that an interrupted fill can resume. */
const CHECKPOINT_EVENTS = 64_000;

/**
 * Reads the log once, from the lowest checkpoint of all targets to the end, and folds it into each
 * of them. Returns the position it reached. Can be aborted at any time and run again.
 */
export const fill = async (options: FillOptions): Promise<Position> => {
  const preferred = options.targets.map(({ store }) => store.fillEvents ?? BATCH_EVENTS);
  const limit = options.batchEvents ?? Math.max(...preferred);
  await fillEmpty(options);
  // A small batch needs only one turn, and its garbage never leaves the young generation.
  const lanes = new Lanes(limit > PAGE_EVENTS ? withSharedTurns(options) : options);
  try {
    return await fillThrough(options, lanes, limit);
  } finally {
    await lanes.settled();
  }
};

/** Lets at most one target fold or commit in each turn of the event loop. */
export const withSharedTurns = (options: FillOptions): FillOptions => {
  let free: Promise<unknown> = Promise.resolve();
  return { ...options, awaitTurn: () => (free = free.then(() => turn())) };
};

/**
 * Folds the partitions that have nothing yet in memory, in one reading of the log, and writes each row once. The others, and
 * what follows, are folded batch by batch.
 */
const fillEmpty = async (options: FillOptions): Promise<void> => {
  const { upTo = (await untilAnswered(options, () => options.log.head())).position } = options;
  const empty = options.targets.filter(
    (target) => target.store.fillPartition && !target.until && emptyOf(target).size > 0,
  );
  if (empty.length === 0 || upTo === 0) return;
  const report = (share: number): void => options.onProgress?.(Math.floor(share * upTo));
  const filling = { upTo, report };
  const parked =
    (await fillApart(options, empty, filling)) ?? (await fillHere(options, empty, filling));
  for (const target of empty) {
    target.checkpoints = await target.store.checkpoints(target.space);
    for (const one of parked) {
      if (one.space !== target.space) continue;
      target.parked.set(one.parked.partition, one.parked);
      options.onParked?.(target.projection.name, one.parked);
    }
  }
};

type Filling = { upTo: Position; report(share: number): void };

const emptyOf = ({ checkpoints, own }: FoldTarget): ReadonlySet<number> =>
  new Set(ALL_PARTITIONS.filter((partition) => own.has(partition) && checkpoints[partition] === 0));

/** Returns undefined if the partitions have to be filled in this thread. */
const fillApart = async (
  { inThreads, signal, control }: FillOptions,
  targets: readonly FoldTarget[],
  { upTo, report }: Filling,
) => {
  const isWhole = targets.every((target) => emptyOf(target).size === PARTITIONS);
  if (!inThreads || !isWhole || upTo < EVENTS_FOR_THREADS) return undefined;
  const spaces = targets.map(({ space }) => space);
  return inThreads({ spaces, upTo, signal, control, onProgress: report });
};

const fillHere = async (
  options: FillOptions,
  targets: readonly FoldTarget[],
  { upTo, report }: Filling,
) => {
  const parked: { space: Space; parked: ParkedPartition }[] = [];
  let seen = 0;
  const spaces = targets.map((target) => ({
    projection: target.projection,
    space: target.space,
    partitions: emptyOf(target),
  }));
  const fills = targets.map((target) => ({ target, withoutRows: new Set<number>() }));
  const fillOf = new Map(fills.map((one) => [one.target.space, one]));
  const log = {
    readFold: (page: Parameters<EventLog['readFold']>[0]) =>
      untilAnswered(options, () => options.log.readFold(page)),
  };
  await fillPartitions({
    log,
    spaces,
    partitions: ALL_PARTITIONS,
    upTo,
    signal: options.signal,
    pageEvents: options.batchEvents,
    onProgress: report,
    leavesOutLarge: true,
    async onPage(events, to) {
      await options.control?.allow(events.length, options.signal);
      if (to <= seen) return;
      reportUnknown(events, options.onUnknownType);
      // Events that are read again for other partitions are known to those who share the reading.
      await options.onBatch?.(eventsAfter(seen, eventsUpTo(events, to)), to);
      seen = to;
    },
    async write({ space, partition, ...filled }) {
      if (filled.parked) parked.push({ space, parked: filled.parked });
      const { target, withoutRows } = fillOf.get(space) ?? {};
      if (filled.rows.length === 0 && !filled.parked) withoutRows?.add(partition);
      else await target?.store.fillPartition?.(space, partition, filled);
    },
  });
  // Together: one by one, thousands of empty partitions would cost a store across the network a round trip each.
  for (const { target, withoutRows } of fills)
    await advanceCheckpoints({ ...target, own: withoutRows }, upTo);
  return parked;
};

const fillThrough = async (
  options: FillOptions,
  lanes: Lanes,
  limit: number,
): Promise<Position> => {
  const { targets, upTo = Infinity, signal, onProgress, onUnknownType } = options;
  // Beside writers the log has always another event, so a fill ends where the log ended.
  const end =
    upTo === Infinity ? (await untilAnswered(options, () => options.log.head())).position : upTo;
  const checkpointBatches = Math.ceil(CHECKPOINT_EVENTS / limit);
  const route = createRouter(targets, onUnknownType);
  let after = lowestPosition(targets);
  let running: Promise<AdvanceOutcome[]> = Promise.resolve([]);
  for (let batches = 1; ; batches++) {
    signal?.throwIfAborted();
    const events = after < end ? await readBatch(options, after, limit) : [];
    const previous = running;
    const last = events.at(-1);
    if (last) {
      after = Math.min(last.position, upTo);
      const isWhole = last.position <= upTo;
      const batch = isWhole ? events : eventsUpTo(events, upTo);
      running = lanes.push(route(batch), after);
      await options.onBatch?.(batch, after);
    }
    const isLast = events.length === 0 || after >= end;
    const isDue = batches % checkpointBatches === 0;
    // Reads and folds one batch ahead while a remote store writes the previous one.
    const outcomes = await (isLast || isDue ? running : previous);
    if (outcomes.includes('lost')) {
      await reloadLost(targets, await running);
      lanes.reset();
      running = Promise.resolve([]);
      after = lowestPosition(targets);
      continue;
    }
    onProgress?.(after);
    if (isLast || isDue) for (const target of targets) await advanceCheckpoints(target, after);
    await options.control?.allow(events.length, signal);
    if (isLast) break;
    await turn();
  }
  for (const target of targets) target.filledTo = Math.max(target.filledTo, after);
  return after;
};

/** Continues lost targets from the checkpoints that the store has now. */
const reloadLost = async (
  targets: readonly FoldTarget[],
  outcomes: readonly AdvanceOutcome[],
): Promise<void> => {
  for (const target of targets.filter((_, i) => outcomes[i] === 'lost')) {
    target.checkpoints = await target.store.checkpoints(target.space);
    target.parked.clear();
  }
};

export const eventsUpTo = (events: readonly FoldEvent[], upTo: Position): FoldEvent[] =>
  events.filter(({ position }) => position <= upTo);

const eventsAfter = (after: Position, events: readonly FoldEvent[]): FoldEvent[] =>
  events.filter(({ position }) => position > after);

/** Returns fewer than `limit` events where they are large, and none at the end of the log. */
const readBatch = async (
  options: FillOptions,
  after: Position,
  limit: number,
): Promise<FoldEvent[]> => {
  const events: FoldEvent[] = [];
  for (;;) {
    const pageLimit = Math.min(limit - events.length, PAGE_EVENTS);
    const from = events.at(-1)?.position ?? after;
    const page = await untilAnswered(options, () =>
      options.log.readFold({ after: from, limit: pageLimit }),
    );
    events.push(...page);
    if (page.length < pageLimit || events.length === limit) return events;
    await turn();
  }
};

/**
 * Repeats a read that fails while the engine runs: a fill that ended would begin again at its last checkpoints, which can
 * be far behind, and cost the log even more. The fill of a command, which has no signal, fails.
 */
const untilAnswered = async <Answer>(
  { signal, onFault }: FillOptions,
  read: () => Promise<Answer>,
): Promise<Answer> => {
  for (let wait = RETRY_MS_FIRST; ; wait = Math.min(2 * wait, RETRY_MS_MAX)) {
    try {
      return await read();
    } catch (error) {
      const isPassing = error instanceof LogUnavailable && error.reason !== 'closed';
      if (!isPassing || !signal) throw error;
      onFault?.(error);
      await pause(wait, undefined, { ref: false, signal });
    }
  }
};

/** Advances each target through its batches in order; no target waits for another one. */
class Lanes {
  readonly #options: FillOptions;
  #tails: Promise<AdvanceOutcome>[] = [];

  constructor(options: FillOptions) {
    this.#options = options;
  }

  /** Resolves when every target has finished the batch; a lost target skips it. */
  push(routed: readonly (readonly FoldEvent[])[], upTo: Position): Promise<AdvanceOutcome[]> {
    this.#tails = this.#options.targets.map(async (target, i) => {
      if ((await this.#tails[i]) === 'lost') return 'lost';
      return advance(this.#options, target, { events: routed[i] ?? [], upTo });
    });
    const all = Promise.all(this.#tails);
    // Prevents an unhandled rejection when the fill ends before it awaits this batch.
    all.catch(() => {});
    return all;
  }

  reset(): void {
    this.#tails = [];
  }

  settled(): Promise<unknown> {
    return Promise.allSettled(this.#tails);
  }
}
