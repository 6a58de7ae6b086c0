import type { TaskRow } from '#src/domain/task.ts';
import type { StoredEvent } from '#src/ports/event-log.ts';
import type { Deps } from '../pipeline/deps.ts';
import { streamOfRecord } from '../records/streams.ts';
import { taskStream } from './task-refs.ts';

/**
 * Reads the events that changed a task, in log order: those of its own stream and of its record. Their number only grows,
 * so the number of the newest change names one change only. Reads two streams.
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
  return [...own, ...changing].sort((a, b) => a.position - b.position);
};
