import type { Position } from '#src/ports/event-log.ts';
import type { ProjectionStore, Space } from '#src/ports/read-model.ts';
import { build } from './adoption.ts';
import { isBehind } from './advance.ts';
import { type Following, setTargets } from './following.ts';
import { isLater, ofVersion, spaceToFill } from './spaces.ts';
import { moveOn, openTarget, type Target } from './target.ts';

/* How the loop finds out that a space is lost, or answers no more, and what becomes of it. */

type Spaces = { live: Space | null; all: Space[] };

/** Takes a space out of the loop: what the store has of it is less than it once confirmed. */
export const lose = (state: Following, target: Target): void => {
  takeOut(state, target);
  // Nothing has passed it until it is known what is left.
  target.checkpoints = target.checkpoints.map(() => 0);
  state.late.add(target);
};

const takeOut = (state: Following, target: Target): void => {
  state.unborn.delete(target);
  state.lost.add(target);
  setTargets(
    state,
    state.targets.filter((other) => other !== target),
  );
};

/** Fills what was taken out of the loop, from what the store has of it, or of what answers now. */
export const refillLost = async (state: Following): Promise<void> => {
  if (state.lost.size === 0) return;
  const { store } = state.options;
  const again: { target: Target; isLive: boolean }[] = [];
  for (const { projection } of state.lost) {
    const { live, all } = await store.spaces(projection.name);
    const space = ofVersion(live, projection) ? live : spaceToFill(all, projection);
    const target = await openTarget(store, projection, space, state.own);
    again.push({ target, isLive: space === live });
  }
  for (const target of state.lost) state.late.delete(target);
  state.lost.clear();
  for (const { target, isLive } of again) if (isLive) state.late.add(target);
  void build(
    state,
    again.map(({ target }) => target),
  );
};

/** What the store said of a space, and what it had confirmed of it before it was asked. */
export type Look = {
  target: Target;
  spaces: Spaces;
  /** Undefined for who folds nothing: others know what the store once had. */
  now: readonly Position[] | undefined;
  confirmed: Position[];
};

/**
 * Asks the store about each space, one after the other, so that what is being folded meanwhile need
 * not wait behind it. Throws when the store gives no answer.
 */
export const lookAt = async (
  store: ProjectionStore,
  targets: readonly Target[],
): Promise<Look[]> => {
  const looks: Look[] = [];
  for (const target of targets) {
    const confirmed = [...target.checkpoints];
    const spaces = await store.spaces(target.projection.name);
    const now = target.own.size > 0 ? await store.checkpoints(target.space) : undefined;
    looks.push({ target, spaces, now, confirmed });
  }
  return looks;
};

/** Has the store still what it had, and does what we follow still answer? */
export const check = async (state: Following, look: Look): Promise<void> => {
  const { target, spaces, now, confirmed } = look;
  // Taken out, or exchanged, since it was looked at.
  if (!state.targets.includes(target)) return;
  const { space } = target;
  const born = state.unborn.get(target);
  if (!now && (born === undefined || spaces.live === space)) {
    state.unborn.delete(target);
    follow(state, target, spaces);
    return;
  }
  if (now && isBehind(now, { own: target.own, checkpoints: confirmed })) lose(state, target);
  else if (spaces.live === space) {
    state.unborn.delete(target);
    // Opened anew, it is folded in our partitions alone.
    if (performance.now() >= (state.lent.get(target) ?? Infinity)) takeOut(state, target);
  } else if (born === undefined) takeOut(state, target);
  else if (isOvertaken(target, spaces)) {
    if (!now) follow(state, target, spaces);
    else takeOut(state, target);
  } else await bear(state, look, born);
};

/** Who folds nothing has nothing to fill: what happened is known, wherever it is folded. */
const follow = (state: Following, target: Target, { live }: Spaces): void => {
  const { projection, space } = target;
  if (live === space || !ofVersion(live, projection)) return;
  const other = { ...target, space: live };
  state.unborn.delete(target);
  setTargets(
    state,
    state.targets.map((one) => (one === target ? other : one)),
  );
};

/** Others answer with a later build, or fill one: all that share the partitions must fill the same. */
const isOvertaken = ({ projection, space }: Target, { live, all }: Spaces): boolean =>
  (ofVersion(live, projection) && isLater(live, space)) ||
  isLater(spaceToFill(all, projection), space);

/** Makes it answer, once it is whole by what all who fold it have done. */
const bear = async (state: Following, look: Look, born: Position): Promise<void> => {
  const { store } = state.options;
  const { target } = look;
  const now = look.now ?? (await store.checkpoints(target.space));
  if (Math.min(...now) < born) {
    // Others, who were filled further, may wait for partitions of ours that had no news.
    await moveOn(store, target, Math.min(state.position, state.last));
    return;
  }
  await store.goLive(target.projection.name, target.space);
  state.unborn.delete(target);
};
