/** Observes what the store reports about spaces, and performs what `life.ts` decides. */
import type { Position } from '#src/ports/event-log.ts';
import type { ProjectionStore, Space } from '#src/ports/read-model.ts';
import { hasLostRows } from './advance.ts';
import { type Effect, type Observation, LIVE, nextLife } from './life.ts';
import type { LoopState } from './loop-state.ts';
import { isLater, isOfVersion, spaceToFill } from './spaces.ts';
import { advanceCheckpoints, type FoldTarget } from './target.ts';

/** What the store reported about a space, and which checkpoints it had confirmed before. */
export type SpaceInspection = {
  target: FoldTarget;
  live: Space | null;
  all: readonly Space[];
  /** Undefined in a process that folds nothing: it does not know what the store confirmed. */
  stored: readonly Position[] | undefined;
  confirmed: Position[];
};

/**
 * Inspects the store now, beside the loop. When an inspection is already running, another one
 * follows it, because the running one may have passed a space that is lost since.
 */
export const recheck = (state: LoopState): void => {
  state.isInspectionDue = true;
  state.inspecting ??= inspectWhileDue(state);
};

const inspectWhileDue = async (state: LoopState): Promise<void> => {
  const { signal, onFault } = state.options;
  do {
    state.isInspectionDue = false;
    try {
      state.inspections = await inspectSpaces(state);
    } catch (error) {
      onFault?.(error);
    }
    state.wake();
  } while (state.isInspectionDue && !signal.aborted);
  state.inspecting = undefined;
};

/** Inspects one space after the other, so that folds need not wait. Throws when the store fails. */
const inspectSpaces = async ({ options: { store }, targets }: LoopState) => {
  const inspections: SpaceInspection[] = [];
  for (const target of targets) {
    const confirmed = [...target.checkpoints];
    const spaces = await store.spaces(target.projection.name);
    const stored = target.own.size > 0 ? await store.checkpoints(target.space) : undefined;
    inspections.push({ target, ...spaces, stored, confirmed });
  }
  return inspections;
};

/** Changes the life of a space, once the store has done what that needs. Returns the effect, which may be left to the loop. */
export const observe = async (
  store: Pick<ProjectionStore, 'goLive' | 'drop'>,
  target: FoldTarget,
  seen: Observation,
): Promise<Effect | undefined> => {
  const { life, effect } = nextLife(target.life, seen);
  if (effect === 'goLive') await store.goLive(target.projection.name, target.space);
  if (effect === 'drop') await store.drop(target.space);
  target.life = life;
  return effect;
};

/** Called by the loop: acts on an inspection. Throws when the store fails. */
export const actOn = async (state: LoopState, inspection: SpaceInspection): Promise<void> => {
  const { store } = state.options;
  const { target, live, all, stored, confirmed } = inspection;
  const { projection, space, own, life } = target;
  // The loop removed or replaced it during the inspection.
  if (!state.targets.includes(target)) return;
  if (stored && hasLostRows(stored, { own, checkpoints: confirmed }))
    return markLost(state, target);
  const isLive = live === space;
  const newest = spaceToFill(all, projection);
  const isOvertaken =
    (isOfVersion(live, projection) && isLater(live, space)) || isLater(newest, space);
  const isAwaited = life.stage === 'awaiting' && !isLive && !isOvertaken;
  const checkpoints = isAwaited ? (stored ?? (await store.checkpoints(space))) : [];
  const effect = await observe(store, target, {
    is: 'inspected',
    isLive,
    isOvertaken,
    isFolded: stored !== undefined,
    lowest: Math.min(...checkpoints),
    now: performance.now(),
  });
  if (effect === 'advance') await advanceCheckpoints(store, target, state.idlePosition());
  // In a process that folds nothing there is nothing to fill.
  if (effect === 'follow' && isOfVersion(live, projection)) {
    state.spaces.delete(target);
    state.spaces.add({ ...target, space: live, life: LIVE });
  }
  if (target.life !== life || effect === 'follow') state.refresh();
};

/** Removes a space from the loop, because the store has less of it than it confirmed. */
export const markLost = (state: LoopState, target: FoldTarget): void => {
  target.life = nextLife(target.life, { is: 'lost' }).life;
  // No position is reached until the remaining rows are known.
  target.checkpoints = target.checkpoints.map(() => 0);
  state.refresh();
};
