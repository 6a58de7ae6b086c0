import { OUTBOUND_EVENTS, TASK_EVENTS } from '#contracts/events/index.ts';
import type { OutboundEventType, TaskEventType } from '#contracts/events/index.ts';
import { type TaskRow, tasksScope, type TaskStatus } from '#src/domain/task.ts';
import type { FoldEvent } from '#src/ports/event-log.ts';
import type { Projection } from './projection.ts';

type OfTask = TaskEventType | OutboundEventType | 'HandoffCreated';

/** What every event of a task names; those of a record do so only when a task made it. */
type Named = {
  agent_id: string;
  task_id?: string;
  context_id?: string;
  skill?: string;
  record?: string;
  outbound_id?: string;
  handoff_id?: string;
};

const STATUS: Partial<Record<OfTask, TaskStatus>> = {
  TaskReceived: 'INPUT_REQUIRED',
  TaskCompleted: 'COMPLETED',
  TaskRejected: 'REJECTED',
  TaskCanceled: 'CANCELED',
  HandoffCreated: 'COMPLETED',
};

const HANDLES: readonly OfTask[] = [...TASK_EVENTS, 'HandoffCreated', ...OUTBOUND_EVENTS];

const namedBy = (event: FoldEvent): Named => event.data as Named;

/**
 * An agent's tasks, newest first: which record each is, and when it last changed. How an outreach
 * request stands is in `outbound`; here its events only move the task to the front.
 */
export const tasks: Projection<TaskRow> = {
  name: 'tasks',
  version: 1,
  handles: HANDLES,
  place(event) {
    const { agent_id, task_id } = namedBy(event);
    return task_id === undefined
      ? undefined
      : { scope: tasksScope(event.owner, agent_id), key: task_id };
  },
  evolve(row, event) {
    const { agent_id, task_id = '', context_id, skill, ...named } = namedBy(event);
    const record = named.outbound_id ?? named.handoff_id ?? named.record;
    // The first record that a task becomes is the task; another one was a message sent twice at once.
    if (row?.record !== undefined && row.record !== record) return row;
    const kept: Omit<TaskRow, 'changed' | 'changed_at'> = row ?? {
      task_id,
      context_id: context_id ?? '',
      agent_id,
      status: 'WORKING',
      sort: event.position,
    };
    const known = skill ?? kept.skill;
    return {
      ...kept,
      ...(known !== undefined && { skill: known }),
      ...(record !== undefined && { record }),
      status: STATUS[event.type as OfTask] ?? 'WORKING',
      changed: event.position,
      changed_at: event.at,
    };
  },
  sort: (row) => row.sort,
};
