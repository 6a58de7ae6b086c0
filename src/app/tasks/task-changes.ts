import type { TaskRow } from '#src/domain/task.ts';
import type { StoredEvent } from '#src/ports/event-log.ts';
import type { Deps } from '../pipeline/deps.ts';
import { streamOfRecord } from '../records/streams.ts';
import { taskStream } from './task-refs.ts';

/**
 * Reads the events that changed a task, in log order: those of its own stream, and those of its record since it has it.
 * Later events only add to the end, so the number of a change is stable. Reads two streams.
 */
export const changesOf = async (
  { log }: Pick<Deps, 'log'>,
  ownerId: string,
  { task_id, record }: Pick<TaskRow, 'task_id' | 'record'>,
): Promise<StoredEvent[]> => {
  const own = await log.readStream(taskStream(ownerId, task_id));
  if (record === undefined) return own;
  const stored = await log.readStream(streamOfRecord(ownerId, record));
  // A handoff completes its task at once; what its buyer does later is no change of the task.
  const changing = record.startsWith('hnd_') ? stored.slice(0, 1) : stored;
  const link = own.find(({ data }) => (data as { record?: string }).record === record);
  const since = link?.position ?? 0;
  return [...own, ...changing.filter(({ position }) => position > since)].sort(
    (a, b) => a.position - b.position,
  );
};
