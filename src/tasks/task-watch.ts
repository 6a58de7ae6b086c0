import type { FoldEvent } from '#src/ports/event-log.ts';
import type { Deps } from '#src/calls/call.ts';

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
