import type { FoldEvent } from '#src/ports/event-log.ts';
import type { Deps } from '../pipeline/deps.ts';

type Listener = (event: FoldEvent) => void;

/**
 * News of tasks, for everybody who follows one: a single reader of the log for all of them. When it
 * ends, `onEnd` is told why, unless that was in order, and the next who comes begins another.
 */
export type TaskWatch = {
  /**
   * Hears of every event of a stream, or of a task (as `owner/task_id`), from now on and in the order
   * of the log. Resolves when nothing from here on can be missed; call what it gives to stop.
   */
  on(name: string, listener: Listener): Promise<() => void>;
};

export const taskWatch = (
  { log }: Pick<Deps, 'log'>,
  { signal, onEnd }: { signal: AbortSignal; onEnd(error?: unknown): void },
): TaskWatch => {
  const listeners = new Map<string, Set<Listener>>();
  let reading: Promise<void> | undefined;

  const tell = (name: string, event: FoldEvent): void => {
    for (const listener of listeners.get(name) ?? []) listener(event);
  };

  const read = async (after: number): Promise<void> => {
    for await (const item of log.subscribe({ after, signal })) {
      if (item.kind !== 'events' || listeners.size === 0) continue;
      for (const event of item.events) {
        const { task_id } = event.data as { task_id?: unknown };
        tell(event.stream, event);
        if (typeof task_id === 'string') tell(`${event.owner}/${task_id}`, event);
      }
    }
  };

  /** Whoever waits for news would wait for ever; who comes next begins a reading of their own. */
  const ended = (error?: unknown): void => {
    reading = undefined;
    onEnd(error);
  };

  const start = async (): Promise<void> => {
    try {
      const { position } = await log.head();
      void read(position).then(() => ended(), ended);
    } catch (error) {
      reading = undefined;
      throw error;
    }
  };

  return {
    async on(name, listener) {
      await (reading ??= start());
      const known = listeners.get(name) ?? new Set();
      listeners.set(name, known.add(listener));
      return () => {
        known.delete(listener);
        if (known.size === 0) listeners.delete(name);
      };
    },
  };
};
