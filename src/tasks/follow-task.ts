/** Follows a task through the log, for streams of A2A. */
import type { Deps } from '#src/calls/handlers.ts';
import type { FoldEvent } from '#src/ports/event-log.ts';
import type { AgentCaller } from '#src/shared/call.ts';
import { streamOfRecord } from '#src/writing/streams.ts';
import { permitted, readChange, readView, rowOf } from './read-task.ts';
import type { TaskView } from './task-view.ts';
import { isInterrupted, isTerminal } from './task.decider.ts';

export type TaskFollowing = {
  /** Called before each view, so that a narrower scope applies at once; undefined ends the stream. */
  callerNow: () => AgentCaller | undefined;
  taskId: string;
  /** Whether to end as soon as the task waits for its client or for a person. */
  endsWhenInterrupted: boolean;
  signal: AbortSignal;
};

/**
 * Yields the task as it is now, then after each of its events in the order of the log, until it ends, waits or `signal`
 * aborts. All followers of a task get the same views, each within its scopes at that moment.
 */
export async function* followTask(
  deps: Deps,
  watch: TaskWatch,
  { callerNow, taskId, endsWhenInterrupted, signal }: TaskFollowing,
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
      const stream = record && streamOfRecord(caller.ownerId, record);
      if (!stream || stream === followed) return;
      followed = stream;
      // Events of a record that another interface made do not name the task.
      stops.push(await watch.on(stream, events.push));
    };
    await follow();
    let last = await readView(deps, caller.ownerId, { row });
    const first = last && shown(last);
    if (!last || !first) return;
    yield first;
    const hasEnded = ({ status }: TaskView): boolean =>
      isTerminal(status) || (endsWhenInterrupted && isInterrupted(status));
    for (let seen = 0; !hasEnded(last); ) {
      const event = await events.next();
      if (!event) return;
      if (event.position <= seen) continue;
      seen = event.position;
      const view = await readChange(deps, event.owner, { row, event });
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

type Listener = (event: FoldEvent) => void;

/**
 * Notifies all followers of tasks from one subscription to the log. When the subscription ends, `onEnd` gets the
 * error, if any, and the next follower starts another.
 */
export type TaskWatch = {
  /**
   * Calls `listener` for every later event of a stream, or of a task (as `owner/task_id`), in the order of the log.
   * Resolves, once no later event can be missed, with a function that stops it.
   */
  on(name: string, listener: Listener): Promise<() => void>;
};

export const taskWatch = (
  { log }: Pick<Deps, 'log'>,
  { signal, onEnd }: { signal: AbortSignal; onEnd(error?: unknown): void },
): TaskWatch => {
  const listeners = new Map<string, Set<Listener>>();
  let reading: Promise<void> | undefined;

  const notify = (name: string, event: FoldEvent): void => {
    for (const listener of listeners.get(name) ?? []) listener(event);
  };

  const read = async (after: number): Promise<void> => {
    for await (const item of log.subscribe({ after, signal })) {
      if (item.kind !== 'events' || listeners.size === 0) continue;
      for (const event of item.events) {
        const { task_id } = event.data as { task_id?: unknown };
        notify(event.stream, event);
        if (typeof task_id === 'string') notify(`${event.owner}/${task_id}`, event);
      }
    }
  };

  /** Ends all followers, who would wait in vain; the next one starts a subscription. */
  const end = (error?: unknown): void => {
    reading = undefined;
    onEnd(error);
  };

  const start = async (): Promise<void> => {
    try {
      const { position } = await log.head();
      void read(position).then(() => end(), end);
    } catch (error) {
      reading = undefined;
      throw error;
    }
  };

  return {
    async on(name, listener) {
      await (reading ??= start());
      const ofName = listeners.get(name) ?? new Set();
      listeners.set(name, ofName.add(listener));
      return () => {
        ofName.delete(listener);
        if (ofName.size === 0) listeners.delete(name);
      };
    },
  };
};
