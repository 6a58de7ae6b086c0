import { setImmediate as turn } from 'node:timers/promises';
import type { EventLog, Position } from '#src/ports/event-log.ts';
import type { Folding } from './advance.ts';
import { advance } from './advance.ts';
import { router } from './fold.ts';
import type { Target } from './target.ts';
import { lowest, moveOn } from './target.ts';

export type Filling = Folding & {
  log: Pick<EventLog, 'readFold'>;
  targets: readonly Target[];
  /** Events in memory at a time; between two batches the process serves its requests. */
  batchEvents?: number;
  /** Stops at this position; without, where the log ends. */
  upTo?: Position;
  onProgress?(position: Position): void;
};

const BATCH_EVENTS = 4_000;
/** Untouched partitions are moved every so many batches: an interrupted fill goes on from there. */
const MOVE_ON_BATCHES = 64;

/**
 * Reads the log once and folds it into all targets, from the lowest of their checkpoints to the
 * end, and says how far it came. May be stopped at any moment and run again.
 */
export const fill = async (filling: Filling): Promise<Position> => {
  const { log, store, targets, upTo = Infinity, signal, onProgress } = filling;
  const limit = filling.batchEvents ?? BATCH_EVENTS;
  const route = router(targets);
  let after = lowest(targets);
  for (let batches = 1; after < upTo; batches++) {
    signal?.throwIfAborted();
    const read = await log.readFold({ after, limit });
    const last = read.at(-1);
    if (!last) break;
    const events = last.position > upTo ? read.filter(({ position }) => position <= upTo) : read;
    const position = Math.min(last.position, upTo);
    const inboxes = route(events);
    const held = await Promise.all(
      targets.map((target, i) => advance(filling, target, inboxes[i] ?? [], position)),
    );
    if (held.includes('lost')) {
      after = lowest(targets);
      continue;
    }
    after = position;
    onProgress?.(after);
    if (read.length < limit) break;
    if (batches % MOVE_ON_BATCHES === 0) await moveAll(store, targets, after);
    await turn();
  }
  await moveAll(store, targets, after);
  return after;
};

const moveAll = async (
  store: Folding['store'],
  targets: readonly Target[],
  upTo: Position,
): Promise<void> => {
  for (const target of targets) await moveOn(store, target, upTo);
};
