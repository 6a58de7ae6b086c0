import { handoff } from '#src/domain/handoff.ts';
import { outbound } from '#src/domain/outbound.ts';
import { isTerminal, task, type TaskRow } from '#src/domain/task.ts';
import type { FoldEvent } from '#src/ports/event-log.ts';
import type { AgentCaller } from '../pipeline/call.ts';
import { foldOf } from '../events/decide-and-append.ts';
import type { Deps } from '../pipeline/deps.ts';
import { renderOutbound } from '../outreach/render.ts';
import { showHandoff } from '../handoffs/render-handoff.ts';
import { streamOf } from '../records/streams.ts';
import { permitted, rowOf, wholeViewOfRow } from './read.ts';
import { type TaskView, viewOfHandoff, viewOfOutbound, viewOfTask } from './view.ts';
import type { TaskWatch } from './watch.ts';

export type TaskFollowing = {
  /** Asked before each view: a scope that was taken away binds at once, a key that is gone ends it. */
  callerNow: () => AgentCaller | undefined;
  taskId: string;
  signal: AbortSignal;
};

/**
 * The task as it stands, then as each of its events leaves it, in the order of the log, up to its
 * end or until `signal` aborts. Everybody who follows a task is told the same, as far as their
 * scopes of that moment go.
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
  const news = queueOf<FoldEvent>(signal);
  const stops = [await watch.on(`${caller.ownerId}/${taskId}`, news.push)];
  try {
    const row = await rowOf(deps, caller, taskId);
    if (!row) return;
    let { record } = row;
    let streams: string | undefined;
    const follow = async (): Promise<void> => {
      const stream = record && streamOf(caller.ownerId, kindOf(record), record);
      if (!stream || stream === streams) return;
      streams = stream;
      // Events of a record that no task made do not name one.
      stops.push(await watch.on(stream, news.push));
    };
    await follow();
    let last = await wholeViewOfRow(deps, caller, row);
    const first = last && shown(last);
    if (!last || !first) return;
    yield first;
    for (let seen = 0; !isTerminal(last.status); ) {
      const event = await news.next();
      if (!event) return;
      if (event.position <= seen) continue;
      seen = event.position;
      const view = await viewAfter(deps, caller, { ...row, ...(record && { record }) }, event);
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

/** The task as this event left it, whatever has happened since. */
const viewAfter = async (
  deps: Deps,
  { ownerId }: Pick<AgentCaller, 'ownerId'>,
  row: TaskRow,
  { stream, revision, at }: FoldEvent,
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
    return viewOfHandoff(await showHandoff(deps, ownerId, state, at), row);
  }
  const state = foldOf(task, stored);
  if (!state) return undefined;
  return state.record === undefined
    ? viewOfTask(state)
    : wholeViewOfRow(deps, { ownerId }, { ...row, record: state.record });
};

/** What was pushed, one by one; undefined once the signal has aborted. */
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
