import { setTimeout as pause } from 'node:timers/promises';
import type { Position } from '#src/ports/event-log.ts';
import type { Space } from '#src/ports/read-model.ts';
import { fill } from './fill.ts';
import { type Following, setTargets } from './following.ts';
import { RECHECK_MS } from './run-options.ts';
import { ofNoUse } from './spaces.ts';
import type { Target } from './target.ts';

/*
 * How a space comes into the loop: one that has to be filled first (a new version, a rebuild, a
 * store that lost it) is filled beside the loop, and adopted by it between two batches, where
 * nothing can fall into a gap.
 */

const RETRY_MS = 500;
/** Others find within one look what answers now, and have the rest to catch up with it. */
const LENT_LOOKS = 3;
const STOPPED = 'the engine has stopped';

/**
 * Fills beside the loop, then asks the loop to adopt. False when the run ended before. What they
 * take the place of is dropped after that.
 */
export const build = async (state: Following, targets: readonly Target[]): Promise<boolean> => {
  const building: Building = { left: new Set(targets), replaced: new Set() };
  const isBuilt = await untilDone(state, () => buildOnce(state, building));
  if (isBuilt) void untilDone(state, () => dropReplaced(state, building));
  return isBuilt;
};

type Building = {
  /** Not adopted yet. What is, is the loop's, and not filled beside it by another try. */
  readonly left: Set<Target>;
  readonly replaced: Set<Space>;
};

const untilDone = async (state: Following, work: () => Promise<void>): Promise<boolean> => {
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

const buildOnce = async (state: Following, { left, replaced }: Building): Promise<void> => {
  const { log, store, progress } = state.options;
  const targets = [...left];
  const head = (await log.head()).position;
  const onProgress = (position: Position): void => {
    for (const { projection, space } of targets)
      progress(projection.name, { space, position, head });
  };
  await fill({ ...state.folding, log, targets, onProgress });
  for (const target of targets) {
    const { projection, space } = target;
    const { live } = await store.spaces(projection.name);
    // Who folds nothing has no say in what is of use.
    const isReplacing = live !== space && state.own?.size !== 0;
    const others = isReplacing ? await ofNoUse(store, projection, [space, live]) : [];
    await adopt(state, target);
    left.delete(target);
    progress(projection.name, undefined);
    for (const other of others) replaced.add(other);
  }
};

const dropReplaced = async (state: Following, { replaced }: Building): Promise<void> => {
  for (const space of replaced) {
    await state.options.store.drop(space);
    replaced.delete(space);
  }
};

export const adopt = (state: Following, target: Target): Promise<void> =>
  new Promise((resolve, reject) => {
    if (state.stopped) throw new Error(STOPPED);
    const settle = (error?: unknown): void => (error === undefined ? resolve() : reject(error));
    state.adoptions.push({ target, settle });
    state.options.wake();
  });

/** The loop's part: fills the rest, up to where the loop stands, and follows from there. */
export const adoptWaiting = async (state: Following): Promise<void> => {
  for (const { target, settle } of state.adoptions.splice(0))
    await adoptNow(state, target).then(() => settle(), settle);
};

const adoptNow = async (state: Following, target: Target): Promise<void> => {
  const { options, folding, position, late } = state;
  const { projection, space } = target;
  const filled = await fill({ ...folding, log: options.log, targets: [target], upTo: position });
  // Not the loop's position: that may lie behind the last event, where no fill comes to.
  if (target.own === state.own) state.unborn.set(target, Math.min(filled, position));
  else {
    // A rebuild has filled all partitions, also those that others fold.
    await options.store.goLive(projection.name, space);
    const lentMs = LENT_LOOKS * (options.recheckMs ?? RECHECK_MS);
    if (state.own) state.lent.set(target, performance.now() + lentMs);
  }
  for (const other of late) if (other.projection.name === projection.name) late.delete(other);
  const others = state.targets.filter((other) => other.projection.name !== projection.name);
  setTargets(state, [...others, target]);
  options.recheck();
};

export const refuseWaiting = (state: Following): void => {
  state.stopped = true;
  for (const { settle } of state.adoptions.splice(0)) settle(new Error(STOPPED));
};
