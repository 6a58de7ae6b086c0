import { handoff } from '#src/domain/handoff.ts';
import { outbound } from '#src/domain/outbound.ts';
import { isTerminal, task, type TaskRow } from '#src/domain/task.ts';
import type { FoldEvent } from '#src/ports/event-log.ts';
import type { AgentCaller } from '../pipeline/call.ts';
import { foldOf } from '../events/fold.ts';
import type { Deps } from '../pipeline/deps.ts';
import { renderOutbound } from '../outreach/render.ts';
import { showHandoff } from '../handoffs/render-handoff.ts';
import { streamOf } from '../records/streams.ts';
import { permitted, rowOf, wholeViewOfRow } from './read-task.ts';
import { type TaskView, viewOfHandoff, viewOfOutbound, viewOfTask } from './task-view.ts';
import type { TaskWatch } from './task-watch.ts';

export type TaskFollowing = {
  /** Called before each view, so that a narrower scope applies at once; undefined ends the stream. */
  callerNow: () => AgentCaller | undefined;
  taskId: string;
  signal: AbortSignal;
};

/**
 * Yields the task as it is now, then after each of its events in the order of the log, until it ends or `signal`
 * aborts. All followers of a task get the same views, each within its scopes at that moment.
 */
export async function* followTask(
  deps: Deps,
  watch: TaskWatch,
  { callerNow, taskId, signal }: TaskFollowing,
): AsyncGenerator<TaskView> {
  const caller = callerNow();
  if (!caller) return;
  const shown = (view: TaskView): TaskView | undefined => {
    const now = callerNow();
    return now && permitted(now, view);
  };
  const events = queueOf<FoldEvent>(signal);
  const stops = [await watch.on(`${caller.ownerId}/${taskId}`, events.push)];
  try {
    const row = await rowOf(deps, caller, taskId);
    if (!row) return;
    let { record } = row;
    let followed: string | undefined;
    const follow = async (): Promise<void> => {
      const stream = record && streamOf(caller.ownerId, kindOf(record), record);
      if (!stream || stream === followed) return;
      followed = stream;
      // Events of a record that another interface made do not name the task.
      stops.push(await watch.on(stream, events.push));
    };
    await follow();
    let last = await wholeViewOfRow(deps, caller, row);
    const first = last && shown(last);
    if (!last || !first) return;
    yield first;
    for (let seen = 0; !isTerminal(last.status); ) {
      const event = await events.next();
      if (!event) return;
      if (event.position <= seen) continue;
      seen = event.position;
      const view = await viewAfter(deps, event, { ...row, ...(record && { record }) });
      if (!view || (view.record === last.record && view.version <= last.version)) continue;
      last = view;
      record = view.record ?? record;
      await follow();
      const next = shown(view);
      if (!next) return;
      yield next;
    }
  } finally {
    for (const stop of stops) stop();
  }
}

const kindOf = (record: string): string => (record.startsWith('out_') ? 'outbound' : 'handoff');

/** The task as of one event. */
const viewAfter = async (
  deps: Deps,
  { stream, revision, at, owner: ownerId }: FoldEvent,
  row: TaskRow,
): Promise<TaskView | undefined> => {
  const stored = (await deps.log.readStream(stream)).slice(0, revision + 1);
  const kind = stream.slice(ownerId.length + 1).split('_', 1)[0];
  if (kind === 'outbound') {
    const state = foldOf(outbound, stored);
    return state && viewOfOutbound(renderOutbound(ownerId, state, at), row);
  }
  if (kind === 'handoff') {
    const state = foldOf(handoff, stored);
    if (!state) return undefined;
    return viewOfHandoff(await showHandoff(deps, state, { ownerId, at }), row);
  }
  const state = foldOf(task, stored);
  if (!state) return undefined;
  return state.record === undefined
    ? viewOfTask(state)
    : wholeViewOfRow(deps, { ownerId }, { ...row, record: state.record });
};

/** Queue with an awaitable end; `next` answers undefined once the signal has aborted. */
const queueOf = <Item>(signal: AbortSignal) => {
  const items: Item[] = [];
  let wake: (() => void) | undefined;
  signal.addEventListener('abort', () => wake?.(), { once: true });
  return {
    push: (item: Item): void => {
      items.push(item);
      wake?.();
    },
    async next(): Promise<Item | undefined> {
      while (items.length === 0 && !signal.aborted)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      return signal.aborted ? undefined : items.shift();
    },
  };
};
