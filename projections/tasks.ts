/** Read models of A2A tasks and of their push configurations. */
import {
  OUTBOUND_EVENTS,
  TASK_EVENTS,
  type OutboundEventType,
  type TaskEventType,
  type PushEventType,
} from '#contracts/registries/events.ts';
import type { FoldEvent } from '#src/ports/event-log.ts';
import { listBy, OPEN_PUSH, type PushRow } from '#src/ports/rows.ts';
import { type TaskRow, tasksScope, type TaskStatus } from '#src/tasks/task.decider.ts';
import { type Projection, typedEvent } from './projection.ts';

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

/** The push notification configurations of all owners that are not deleted, without their secrets. */
export const pushConfigs: Projection<PushRow> = {
  name: 'push-configs',
  version: 1,
  handles: ['PushConfigCreated', 'PushConfigDeleted'],
  place: (event) => ({ scope: OPEN_PUSH, key: typedEvent<PushEventType>(event).data.push_id }),
  evolve(row, event) {
    const { type, data } = typedEvent<'PushConfigCreated' | 'PushConfigDeleted'>(event);
    if (type === 'PushConfigDeleted') return null;
    const { task, config_id, url, scheme } = data;
    return {
      owner: event.owner,
      task,
      config_id,
      url,
      ...(scheme !== undefined && { scheme }),
      sort: row ? row.sort : event.position,
    };
  },
  sort: (row) => row.sort,
  lists: ({ owner, task, sort }) => [
    [listBy({ owner }), sort],
    [listBy({ owner, task }), sort],
  ],
};
