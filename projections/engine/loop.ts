import { advance } from './advance.ts';
import { adoptPending, refillLost, rejectPending, retryUntilDone } from './build.ts';
import { actOn, markLost, recheck } from './lifecycle.ts';
import type { LoopState } from './loop-state.ts';
import { RECHECK_MS } from './options.ts';
import { type Arrivals, SubscriptionBuffer } from './subscription-buffer.ts';
import { advanceCheckpoints } from './target.ts';

const BATCH_EVENTS = 4_000;
const CHECKPOINT_EVENTS = 10_000;

/** Reads, folds and maintains until the run ends; subscribes again when the log fails. */
export const runLoop = async (state: LoopState): Promise<void> => {
  const { onFault, recheckMs } = state.options;
  const timer = setInterval(() => recheck(state), recheckMs ?? RECHECK_MS);
  timer.unref();
  // Done when the log is closed and sends no more events.
  await retryUntilDone(state, () => follow(state));
  clearInterval(timer);
  await state.inspecting;
  rejectPending(state);
  try {
    await advanceIdlePartitions(state);
    await state.options.store.flush();
  } catch (error) {
    onFault?.(error);
  }
  state.waiters.close();
  state.rowWaiters.close();
};

const follow = async (state: LoopState): Promise<void> => {
  const { log, signal, batchEvents } = state.options;
  const ended = new AbortController();
  const from = { after: state.position, signal: AbortSignal.any([signal, ended.signal]) };
  const buffer = new SubscriptionBuffer(log.subscribe(from), batchEvents ?? BATCH_EVENTS);
  state.buffer = buffer;
  try {
    for (let next = await buffer.take(); next; next = await buffer.take()) {
      await foldArrivals(state, next);
      await maintain(state);
      state.waiters.settleReached();
      state.rowWaiters.settleReached();
    }
  } finally {
    ended.abort();
    buffer.close();
  }
};

/** Folds one batch into all targets at once, so that a remote store costs one round trip. */
const foldArrivals = async (state: LoopState, arrivals: Arrivals): Promise<void> => {
  const { events, position, isCaughtUp } = arrivals;
  const { targets, context, options } = state;
  const last = events.at(-1);
  if (last) {
    const upTo = last.position;
    state.lastEventPosition = upTo;
    const routed = state.route(events);
    const outcomes = await Promise.all(
      targets.map((target, i) => advance(context, target, { events: routed[i] ?? [], upTo })),
    );
    await state.catalog?.fold(events, upTo);
    state.lastEventAt = last.at;
    for (const [i, target] of targets.entries())
      if (outcomes[i] === 'lost') markLost(state, target);
  }
  state.position = Math.max(state.position, position);
  // Counts a batch of records without an event as one.
  state.eventsSinceAdvance += Math.max(1, events.length);
  const limit = options.checkpointEvents ?? CHECKPOINT_EVENTS;
  if (state.eventsSinceAdvance >= (isCaughtUp ? limit / 10 : limit))
    await advanceIdlePartitions(state);
};

const advanceIdlePartitions = async (state: LoopState): Promise<void> => {
  const { targets, options, catalog } = state;
  const position = state.idlePosition();
  state.eventsSinceAdvance = 0;
  await Promise.all(targets.map((target) => advanceCheckpoints(options.store, target, position)));
  await catalog?.advanceCheckpoint(position);
};

/** Runs between two batches: adopts pending targets, and acts on the results of an inspection. */
const maintain = async (state: LoopState): Promise<void> => {
  const { log, onFault } = state.options;
  const { inspections } = state;
  state.inspections = undefined;
  await adoptPending(state);
  try {
    const isRetry = inspections !== undefined;
    if (await state.catalog?.catchUp(log, state.position, isRetry)) state.wake();
  } catch (error) {
    onFault?.(error);
  }
  // After a loss waits for the inspection of the other spaces, so that one reading refills all.
  if (!inspections && state.inStage('lost').length === 0) return;
  try {
    for (const inspection of inspections ?? []) await actOn(state, inspection);
    await refillLost(state);
  } catch (error) {
    onFault?.(error);
  }
};
