import type { Position } from '#src/ports/event-log.ts';
import { adoptWaiting, build, refuseWaiting } from './adoption.ts';
import { advance } from './advance.ts';
import { check, type Look, lose, refillLost } from './checking.ts';
import { type Following, setTargets } from './following.ts';
import type { Mail } from './mailbox.ts';
import { liveSpace, spaceToFill } from './spaces.ts';
import { lowest, moveOn, openTarget, type Target } from './target.ts';

const MOVE_ON_EVENTS = 10_000;

/** Live spaces are followed from where they stand; the others are filled first, beside the loop. */
export const startFollowing = async (
  state: Following,
): Promise<{ head: Position; built: Promise<boolean> }> => {
  const { log, store, projections } = state.options;
  const head = await log.head();
  const filled: Target[] = [];
  const unfilled: Target[] = [];
  for (const projection of projections) {
    const live = await liveSpace(store, projection, log);
    const { all } = await store.spaces(projection.name);
    const space = live ?? spaceToFill(all, projection);
    const isEmpty = live === undefined && head.position === 0;
    if (isEmpty) await store.goLive(projection.name, space);
    const target = await openTarget(store, projection, space, state.own);
    (live === undefined && !isEmpty ? unfilled : filled).push(target);
  }
  setTargets(state, filled);
  state.position = filled.length > 0 ? lowest(filled) : head.position;
  state.at = head.at;
  state.last = head.position;
  const built = unfilled.length > 0 ? build(state, unfilled) : Promise.resolve(true);
  return { head: head.position, built };
};

/** One batch into every target: at once, because a store far away is waited for once then. */
export const foldMail = async (state: Following, mail: Mail): Promise<void> => {
  const { events, position: upTo, caughtUp } = mail;
  const { targets, folding, options } = state;
  const last = events.at(-1);
  if (last) {
    state.last = last.position;
    const inboxes = state.route(events);
    const answers = await Promise.all(
      targets.map((target, i) => advance(folding, target, inboxes[i] ?? [], last.position)),
    );
    await options.catalog?.fold(events, last.position);
    state.at = last.at;
    for (const [i, target] of targets.entries()) if (answers[i] === 'lost') lose(state, target);
  }
  state.position = Math.max(state.position, upTo);
  state.sinceMoved += events.length;
  const limit = options.moveOnEvents ?? MOVE_ON_EVENTS;
  if (state.sinceMoved >= limit || (caughtUp && state.sinceMoved >= limit / 10))
    await moveAllOn(state);
};

const moveAllOn = async (state: Following): Promise<void> => {
  const { targets, options } = state;
  const position = Math.min(state.position, state.last);
  state.sinceMoved = 0;
  await Promise.all(targets.map((target) => moveOn(options.store, target, position)));
  await options.catalog?.moveOn(position);
};

/** Between two batches: what waits to be adopted, and what a look at the store has found. */
export const settle = async (state: Following, looks?: readonly Look[]): Promise<void> => {
  await adoptWaiting(state);
  await catchUpCatalog(state, looks !== undefined);
  // What one space lost, the others may have lost, too: all that did are filled again at once.
  if (!looks && state.lost.size === 0) return;
  const { options } = state;
  try {
    for (const look of looks ?? []) await check(state, look);
    await refillLost(state);
  } catch (error) {
    options.onFault?.(error);
  }
};

const catchUpCatalog = async (state: Following, isLook: boolean): Promise<void> => {
  const { catalog, log, wake, onFault } = state.options;
  try {
    if (await catalog?.catchUp(log, state.position, isLook)) wake();
  } catch (error) {
    onFault?.(error);
  }
};

export const stopFollowing = async (state: Following): Promise<void> => {
  refuseWaiting(state);
  await moveAllOn(state);
  await state.options.store.flush();
};
