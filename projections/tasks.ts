import { OUTBOUND_EVENTS, TASK_EVENTS } from '#contracts/registries/events.ts';
import type { OutboundEventType, TaskEventType } from '#contracts/registries/events.ts';
import { type TaskRow, tasksScope, type TaskStatus } from '#src/tasks/task.decider.ts';
import type { FoldEvent } from '#src/ports/event-log.ts';
import type { Projection } from './projection.ts';

type HandledType = TaskEventType | OutboundEventType | 'HandoffCreated';

/** References in the events of a task. Events of a record have a `task_id` only if a task made the record. */
type TaskReferences = {
  agent_id: string;
  task_id?: string;
  context_id?: string;
  skill?: string;
  record?: string;
  outbound_id?: string;
  handoff_id?: string;
};

const STATUS: Partial<Record<HandledType, TaskStatus>> = {
  TaskReceived: 'INPUT_REQUIRED',
  TaskCompleted: 'COMPLETED',
  TaskRejected: 'REJECTED',
  TaskCanceled: 'CANCELED',
  HandoffCreated: 'COMPLETED',
};

const HANDLES: readonly HandledType[] = [...TASK_EVENTS, 'HandoffCreated', ...OUTBOUND_EVENTS];

const referencesIn = (event: FoldEvent): TaskReferences => event.data as TaskReferences;

/**
 * An agent's tasks, newest first, with the record of each and its last change. The state of an outreach request is in
 * `outbound`; here its events only update the time of the last change.
 */
export const tasks: Projection<TaskRow> = {
  name: 'tasks',
  version: 1,
  handles: HANDLES,
  place(event) {
    const { agent_id, task_id } = referencesIn(event);
    return task_id === undefined
      ? undefined
      : { scope: tasksScope(event.owner, agent_id), key: task_id };
  },
  evolve(row, event) {
    const { agent_id, task_id = '', context_id, skill, ...ids } = referencesIn(event);
    const record = ids.outbound_id ?? ids.handoff_id ?? ids.record;
    // A task has the record that it made first. A second one comes from a message that was sent twice concurrently.
    if (row?.record !== undefined && row.record !== record) return row;
    const before: Omit<TaskRow, 'changed' | 'changed_at'> = row ?? {
      task_id,
      context_id: context_id ?? '',
      agent_id,
      status: 'WORKING',
      sort: event.position,
    };
    const newest = skill ?? before.skill;
    return {
      ...before,
      ...(newest !== undefined && { skill: newest }),
      ...(record !== undefined && { record }),
      status: STATUS[event.type as HandledType] ?? 'WORKING',
      changed: event.position,
      changed_at: event.at,
    };
  },
  sort: (row) => row.sort,
};
