/** What the loop does about a space that lost rows, or that is no longer live. */
import type { Position } from '#src/ports/event-log.ts';
import { build } from './adoption.ts';
import { hasLostRows } from './advance.ts';
import type { SpaceInspection } from './inspection.ts';
import type { LoopState } from './loop-state.ts';
import { isLater, isOfVersion, spaceToFill } from './spaces.ts';
import { advanceCheckpoints, type FoldTarget, openTarget } from './target.ts';

type Spaces = SpaceInspection['spaces'];

/** Removes a space from the loop, because the store has less of it than it confirmed. */
export const markLost = (state: LoopState, target: FoldTarget): void => {
  remove(state, target);
  // No position is reached until the remaining rows are known.
  target.checkpoints = target.checkpoints.map(() => 0);
  state.lagging.add(target);
};

const remove = (state: LoopState, target: FoldTarget): void => {
  state.awaitingActivation.delete(target);
  state.lost.add(target);
  state.setTargets(state.targets.filter((other) => other !== target));
};

/** Fills the removed spaces again: from their remaining rows, or in the space that is live now. */
export const refillLost = async (state: LoopState): Promise<void> => {
  if (state.lost.size === 0) return;
  const { store } = state.options;
  const targets: FoldTarget[] = [];
  const liveTargets: FoldTarget[] = [];
  for (const { projection } of state.lost) {
    const { live, all } = await store.spaces(projection.name);
    const space = isOfVersion(live, projection) ? live : spaceToFill(all, projection);
    const target = await openTarget(store, { projection, space, own: state.own });
    targets.push(target);
    if (space === live) liveTargets.push(target);
  }
  for (const target of state.lost) state.lagging.delete(target);
  state.lost.clear();
  for (const target of liveTargets) state.lagging.add(target);
  void build(state, targets);
};

/** Checks that the store still has what it confirmed, and that the followed space is still live. */
export const repair = async (state: LoopState, inspection: SpaceInspection): Promise<void> => {
  const { target, spaces, stored, confirmed } = inspection;
  // The loop removed or replaced it during the inspection.
  if (!state.targets.includes(target)) return;
  const isLive = spaces.live === target.space;
  const activationPosition = state.awaitingActivation.get(target);
  if (stored && hasLostRows(stored, { own: target.own, checkpoints: confirmed }))
    return markLost(state, target);
  if (isLive) state.awaitingActivation.delete(target);
  if (isLive || activationPosition === undefined) {
    if (!stored) followLive(state, target, spaces);
    // Opened again, a borrowed space is folded in our own partitions only.
    else if (!isLive || performance.now() >= (state.borrowed.get(target) ?? Infinity))
      remove(state, target);
  } else if (!isOvertaken(target, spaces)) await activate(state, inspection, activationPosition);
  else if (stored) remove(state, target);
  else followLive(state, target, spaces);
};

/** In a process that folds nothing, switches to the live space: there is nothing to fill. */
const followLive = (state: LoopState, target: FoldTarget, { live }: Spaces): void => {
  if (live === target.space || !isOfVersion(live, target.projection)) return;
  const replacement = { ...target, space: live };
  state.awaitingActivation.delete(target);
  state.setTargets(state.targets.map((other) => (other === target ? replacement : other)));
};

/** Returns true if a later build is live or being filled: all workers must fill the same space. */
const isOvertaken = ({ projection, space }: FoldTarget, { live, all }: Spaces): boolean =>
  (isOfVersion(live, projection) && isLater(live, space)) ||
  isLater(spaceToFill(all, projection), space);

/** Makes the space live once all workers have filled their partitions of it. */
const activate = async (
  state: LoopState,
  { target, stored }: SpaceInspection,
  activationPosition: Position,
): Promise<void> => {
  const { store } = state.options;
  const checkpoints = stored ?? (await store.checkpoints(target.space));
  if (Math.min(...checkpoints) < activationPosition) {
    // Other workers that filled further may wait for idle partitions of ours.
    await advanceCheckpoints(store, target, state.idlePosition());
    return;
  }
  await store.goLive(target.projection.name, target.space);
  state.awaitingActivation.delete(target);
};
