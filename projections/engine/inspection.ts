import type { Position } from '#src/ports/event-log.ts';
import type { Space } from '#src/ports/read-model.ts';
import type { LoopState } from './loop-state.ts';
import type { FoldTarget } from './target.ts';

/** What the store reported about a space, and which checkpoints it had confirmed before. */
export type SpaceInspection = {
  target: FoldTarget;
  spaces: { live: Space | null; all: Space[] };
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
    inspections.push({ target, spaces, stored, confirmed });
  }
  return inspections;
};
