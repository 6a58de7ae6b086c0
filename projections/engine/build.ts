/**
 * How a space enters the loop. A space that must be filled first (a new version, a rebuild, a lost space) is filled beside
 * the loop; the loop adopts it between two batches, so that no event is missed.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Position } from '#src/ports/event-log.ts';
import type { Space } from '#src/ports/read-model.ts';
import { fill } from './fill.ts';
import { LIVE } from './life.ts';
import { observe, recheck } from './lifecycle.ts';
import type { LoopState } from './loop-state.ts';
import { RECHECK_MS } from './options.ts';
import { findLiveSpace, findObsolete, isOfVersion, spaceToFill } from './spaces.ts';
import { type FoldTarget, lowestPosition, openTarget } from './target.ts';

const RETRY_MS = 500;
/** Other workers find the new live space within one inspection; the others are for catching up. */
const BORROWED_INSPECTIONS = 3;
const STOPPED = 'the engine has stopped';

/** Opens the live spaces to follow them, and starts to fill the others beside the loop. */
export const openSpaces = async (
  state: LoopState,
): Promise<{ head: Position; built: Promise<boolean> }> => {
  const { log, store, projections } = state.options;
  const head = await log.head();
  const unfilled: FoldTarget[] = [];
  for (const projection of projections) {
    const live = await findLiveSpace(store, projection, log);
    const { all } = await store.spaces(projection.name);
    const space = live ?? spaceToFill(all, projection);
    const isEmpty = live === undefined && head.position === 0;
    if (isEmpty) await store.goLive(projection.name, space);
    const target = await openTarget(store, { projection, space, own: state.own });
    if (live === undefined && !isEmpty) unfilled.push(target);
    else {
      target.life = LIVE;
      state.spaces.add(target);
    }
  }
  state.refresh();
  const { targets } = state;
  state.position = targets.length > 0 ? lowestPosition(targets) : head.position;
  state.lastEventAt = head.at;
  state.lastEventPosition = state.position;
  const built = unfilled.length > 0 ? build(state, unfilled) : Promise.resolve(true);
  return { head: head.position, built };
};

/** Fills the lost spaces again: from their remaining rows, or in the space that is live now. */
export const refillLost = async (state: LoopState): Promise<void> => {
  const { store } = state.options;
  const lost = state.inStage('lost');
  const targets: FoldTarget[] = [];
  for (const { projection } of lost) {
    const { live, all } = await store.spaces(projection.name);
    const space = isOfVersion(live, projection) ? live : spaceToFill(all, projection);
    const target = await openTarget(store, { projection, space, own: state.own });
    target.life = { stage: 'filling', isRead: space === live };
    targets.push(target);
  }
  for (const target of lost) state.spaces.delete(target);
  for (const target of targets) state.spaces.add(target);
  state.refresh();
  if (targets.length > 0) void build(state, targets);
};

/**
 * Fills the targets beside the loop and has the loop adopt them, then drops the spaces that they
 * replace. Returns false if the run ended first.
 */
const build = async (state: LoopState, targets: readonly FoldTarget[]): Promise<boolean> => {
  /** The loop has not adopted these yet; a retry fills only these. */
  const remaining = new Set(targets);
  const replaced = new Set<Space>();
  const isBuilt = await retryUntilDone(state, () => buildOnce(state, remaining, replaced));
  if (isBuilt)
    void retryUntilDone(state, async () => {
      for (const space of replaced) {
        await state.options.store.drop(space);
        replaced.delete(space);
      }
    });
  return isBuilt;
};

/** Returns false if the run ended before `work` succeeded. */
export const retryUntilDone = async (
  state: LoopState,
  work: () => Promise<void>,
): Promise<boolean> => {
  const { signal, onFault } = state.options;
  while (!signal.aborted) {
    try {
      await work();
      return true;
    } catch (error) {
      if (signal.aborted) break;
      onFault?.(error);
      await pause(RETRY_MS, undefined, { ref: false, signal }).catch(() => {});
    }
  }
  return false;
};

const buildOnce = async (
  state: LoopState,
  remaining: Set<FoldTarget>,
  replaced: Set<Space>,
): Promise<void> => {
  const { log, store } = state.options;
  const targets = [...remaining];
  const head = (await log.head()).position;
  const onProgress = (position: Position): void => {
    for (const { projection, space } of targets)
      state.reportFill(projection.name, { space, position, head });
  };
  await fill({ ...state.context, log, targets, onProgress });
  const adoptTarget = async (target: FoldTarget): Promise<void> => {
    const { projection, space } = target;
    const { live } = await store.spaces(projection.name);
    // A process that folds nothing must not decide which spaces are obsolete.
    const isReplacing = live !== space && state.own?.size !== 0;
    const obsolete = isReplacing ? await findObsolete(store, projection, [space, live]) : [];
    await adopt(state, target);
    remaining.delete(target);
    state.reportFill(projection.name, undefined);
    for (const other of obsolete) replaced.add(other);
  };
  await Promise.all(targets.map(adoptTarget));
};

/** Resolves when the loop follows the target. Rejects if the engine has stopped. */
export const adopt = (state: LoopState, target: FoldTarget): Promise<void> =>
  new Promise((resolve, reject) => {
    if (state.isStopped) throw new Error(STOPPED);
    const settle = (error?: unknown): void => (error === undefined ? resolve() : reject(error));
    state.adoptions.push({ target, settle });
    state.wake();
  });

/**
 * Called by the loop: fills the targets up to its position, in one reading of the log, and follows them
 * from there.
 */
export const adoptPending = async (state: LoopState): Promise<void> => {
  const { options, context, position } = state;
  const adoptions = state.adoptions.splice(0);
  if (adoptions.length === 0) return;
  const targets = adoptions.map(({ target }) => target);
  const filled = fill({ ...context, log: options.log, targets, upTo: position });
  for (const { target, settle } of adoptions)
    await filled.then((filledTo) => adoptNow(state, target, filledTo)).then(() => settle(), settle);
};

const adoptNow = async (
  state: LoopState,
  target: FoldTarget,
  filledTo: Position,
): Promise<void> => {
  const { recheckMs = RECHECK_MS } = state.options;
  const borrowedUntil = performance.now() + BORROWED_INSPECTIONS * recheckMs;
  await observe(state.options.store, target, {
    is: 'filled',
    // The position of the loop can be beyond the last event, where no fill stores a checkpoint.
    upTo: Math.min(filledTo, state.position),
    isWhole: target.own !== state.own,
    returnsAt: state.own ? borrowedUntil : Infinity,
  });
  for (const other of state.spaces)
    if (other.projection.name === target.projection.name) state.spaces.delete(other);
  state.spaces.add(target);
  state.refresh();
  recheck(state);
};

export const rejectPending = (state: LoopState): void => {
  state.isStopped = true;
  for (const { settle } of state.adoptions.splice(0)) settle(new Error(STOPPED));
};
