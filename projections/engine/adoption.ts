/**
 * How a space enters the loop. A space that must be filled first (a new version, a rebuild, a lost
 * space) is filled beside the loop; the loop adopts it between two batches, so that no event is
 * missed.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Position } from '#src/ports/event-log.ts';
import type { Space } from '#src/ports/read-model.ts';
import { fill } from './fill.ts';
import { recheck } from './inspection.ts';
import type { LoopState } from './loop-state.ts';
import { RECHECK_MS } from './options.ts';
import { findObsolete } from './spaces.ts';
import type { FoldTarget } from './target.ts';

const RETRY_MS = 500;
/** Other workers find the new live space within one inspection; the others are for catching up. */
const BORROWED_INSPECTIONS = 3;
const STOPPED = 'the engine has stopped';

type Build = {
  /** Targets that the loop has not adopted yet; a retry fills only these. */
  readonly remaining: Set<FoldTarget>;
  readonly replaced: Set<Space>;
};

/**
 * Fills the targets beside the loop and has the loop adopt them, then drops the spaces that they
 * replace. Returns false if the run ended first.
 */
export const build = async (state: LoopState, targets: readonly FoldTarget[]): Promise<boolean> => {
  const work: Build = { remaining: new Set(targets), replaced: new Set() };
  const isBuilt = await retryUntilDone(state, () => buildOnce(state, work));
  if (isBuilt) void retryUntilDone(state, () => dropReplaced(state, work));
  return isBuilt;
};

/** Returns false if the run ended before `work` succeeded. */
const retryUntilDone = async (state: LoopState, work: () => Promise<void>): Promise<boolean> => {
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

const buildOnce = async (state: LoopState, { remaining, replaced }: Build): Promise<void> => {
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

const dropReplaced = async (state: LoopState, { replaced }: Build): Promise<void> => {
  for (const space of replaced) {
    await state.options.store.drop(space);
    replaced.delete(space);
  }
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
  const { options, position, lagging } = state;
  const { store, recheckMs = RECHECK_MS } = options;
  const { name } = target.projection;
  // `position` can be beyond the last event, where no fill stores a checkpoint.
  if (target.own === state.own) state.awaitingActivation.set(target, Math.min(filledTo, position));
  else {
    // A rebuild has filled all partitions, including those that other workers fold.
    await store.goLive(name, target.space);
    if (state.own) state.borrowed.set(target, performance.now() + BORROWED_INSPECTIONS * recheckMs);
  }
  for (const other of lagging) if (other.projection.name === name) lagging.delete(other);
  const others = state.targets.filter(({ projection }) => projection.name !== name);
  state.setTargets([...others, target]);
  recheck(state);
};

export const rejectPending = (state: LoopState): void => {
  state.isStopped = true;
  for (const { settle } of state.adoptions.splice(0)) settle(new Error(STOPPED));
};
