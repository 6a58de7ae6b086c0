import { setImmediate as turn } from 'node:timers/promises';
import type { EventLog, FoldEvent, Position } from '#src/ports/event-log.ts';
import { advance, type Folding } from './advance.ts';
import { router } from './fold.ts';
import { lowest, moveOn, type Target } from './target.ts';

export type Filling = Folding & {
  log: Pick<EventLog, 'readFold'>;
  targets: readonly Target[];
  /** Events that are folded and committed at once. Without: as many as the store would have. */
  batchEvents?: number;
  /** Stops at this position; without, where the log ends. */
  upTo?: Position;
  onProgress?(position: Position): void;
};

/** More at a time is no quicker in a process, and what is in flight costs it memory. */
const BATCH_EVENTS = 500;
/** Read without a turn for the requests of this process. */
const PAGE_EVENTS = 1_000;
/** Untouched partitions are moved after so many: an interrupted fill goes on from there. */
const MOVE_ON_EVENTS = 64_000;

/**
 * Reads the log once and folds it into all targets, from the lowest of their checkpoints to the
 * end, and says how far it came. May be stopped at any moment and run again.
 */
export const fill = async (filling: Filling): Promise<Position> => {
  const limit = filling.batchEvents ?? filling.store.fillEvents ?? BATCH_EVENTS;
  // A small batch is done in one turn, before what it leaves behind grows old in memory.
  const lanes = lanesOf(limit > PAGE_EVENTS ? breathing(filling) : filling);
  try {
    return await fillThrough(filling, lanes, limit);
  } finally {
    await lanes.settled();
  }
};

/** One of all lanes in each turn of the event loop. */
const breathing = (filling: Filling): Filling => {
  let free: Promise<unknown> = Promise.resolve();
  return { ...filling, breathe: () => (free = free.then(() => turn())) };
};

const fillThrough = async (filling: Filling, lanes: Lanes, limit: number): Promise<Position> => {
  const { log, store, targets, upTo = Infinity, signal, onProgress } = filling;
  const moveOnBatches = Math.ceil(MOVE_ON_EVENTS / limit);
  const route = router(targets);
  let after = lowest(targets);
  let running: Promise<Held[]> = Promise.resolve([]);
  for (let batches = 1; ; batches++) {
    signal?.throwIfAborted();
    const read = after < upTo ? await readBatch(log, after, limit) : [];
    const last = read.at(-1);
    const before = running;
    if (last) {
      const events = last.position > upTo ? read.filter(({ position }) => position <= upTo) : read;
      after = Math.min(last.position, upTo);
      running = lanes.push(route(events), after);
    }
    const isLast = read.length < limit || after >= upTo;
    const isDue = batches % moveOnBatches === 0;
    // A batch ahead: what the log says next is read and folded while a store far away writes.
    const held = await (isLast || isDue ? running : before);
    if (held.includes('lost')) {
      const ends = await running;
      for (const [i, target] of targets.entries())
        if (ends[i] === 'lost') {
          target.checkpoints = await store.checkpoints(target.space);
          target.parked.clear();
        }
      lanes.begin();
      running = Promise.resolve([]);
      after = lowest(targets);
      continue;
    }
    onProgress?.(after);
    if (isLast) break;
    if (isDue) await moveAll(store, targets, after);
    await turn();
  }
  await moveAll(store, targets, after);
  for (const target of targets) target.read = Math.max(target.read, after);
  return after;
};

/** Fewer than `limit` where the log ends. */
const readBatch = async (
  log: Filling['log'],
  after: Position,
  limit: number,
): Promise<FoldEvent[]> => {
  const events: FoldEvent[] = [];
  for (;;) {
    const asked = Math.min(limit - events.length, PAGE_EVENTS);
    const page = await log.readFold({ after: events.at(-1)?.position ?? after, limit: asked });
    events.push(...page);
    if (page.length < asked || events.length === limit) return events;
    await turn();
  }
};

type Held = 'held' | 'lost';

/** Each target takes its batches in order, and none of them waits for another's. */
type Lanes = {
  /** Answers when the batch is done everywhere; a target that is lost takes no more. */
  push(inboxes: readonly (readonly FoldEvent[])[], upTo: Position): Promise<Held[]>;
  begin(): void;
  settled(): Promise<unknown>;
};

const lanesOf = (filling: Filling): Lanes => {
  const { targets } = filling;
  const held = (): Promise<Held>[] => targets.map(() => Promise.resolve('held'));
  let ends = held();

  const next = async (
    target: Target,
    end: Promise<Held>,
    inbox: readonly FoldEvent[],
    upTo: number,
  ) => ((await end) === 'lost' ? 'lost' : advance(filling, target, inbox, upTo));

  return {
    push(inboxes, upTo) {
      ends = targets.map((target, i) =>
        next(target, ends[i] ?? Promise.resolve('held'), inboxes[i] ?? [], upTo),
      );
      const all = Promise.all(ends);
      // Whoever gave up before this batch does not ask for it any more.
      all.catch(() => {});
      return all;
    },
    begin: () => void (ends = held()),
    settled: () => Promise.allSettled(ends),
  };
};

const moveAll = async (
  store: Folding['store'],
  targets: readonly Target[],
  upTo: Position,
): Promise<void> => {
  for (const target of targets) await moveOn(store, target, upTo);
};
