/** An A2A task: submitted, waiting for input, completed or ended. */
import type { EventData, EventOf, TaskEventType } from '#contracts/registries/events.ts';
import { accept, type Decider, reject, type RecordVersion } from '#src/shared/decider.ts';
import type { OutboundStatus } from '#src/outreach/outbound.decider.ts';

type Event = EventOf<TaskEventType>;

/** The states of a task in A2A 1.0, without the prefix TASK_STATE_. */
export type TaskStatus =
  | 'SUBMITTED'
  | 'WORKING'
  | 'COMPLETED'
  | 'FAILED'
  | 'CANCELED'
  | 'REJECTED'
  | 'INPUT_REQUIRED'
  | 'AUTH_REQUIRED';

const TERMINAL: readonly TaskStatus[] = ['COMPLETED', 'FAILED', 'CANCELED', 'REJECTED'];

/** Whether the state is final: no message continues the task. */
export const isTerminal = (status: TaskStatus): boolean => TERMINAL.includes(status);

/** Whether the task waits for its client or for a person. */
export const isInterrupted = (status: TaskStatus): boolean =>
  status === 'INPUT_REQUIRED' || status === 'AUTH_REQUIRED';

/** The state of a task that is an outreach request. A request that waits for a person is never WORKING. */
export const TASK_STATUS_OF: Record<OutboundStatus, TaskStatus> = {
  pending_approval: 'AUTH_REQUIRED',
  changes_requested: 'INPUT_REQUIRED',
  approved: 'WORKING',
  dispatched: 'WORKING',
  confirmed: 'COMPLETED',
  failed: 'FAILED',
  outcome_unknown: 'FAILED',
  expired: 'FAILED',
  rejected: 'REJECTED',
  canceled: 'CANCELED',
};

export type TaskCommand =
  | { type: 'Receive'; task: EventData<'TaskReceived'> }
  | { type: 'Complete'; task: EventData<'TaskCompleted'> }
  | { type: 'Reject'; task: EventData<'TaskRejected'> }
  | { type: 'Cancel' };

export type TaskRejection = 'task_unknown' | 'task_ended';

/** A task without a record of its own: the missing input, or the answer. */
export type TaskState = RecordVersion & {
  task_id: string;
  context_id: string;
  agent_id: string;
  skill?: string | undefined;
  status: Extract<TaskStatus, 'INPUT_REQUIRED' | 'COMPLETED' | 'REJECTED' | 'CANCELED'>;
  missing?: string[] | undefined;
  record?: string | undefined;
  artifact?: EventData<'TaskCompleted'>['artifact'];
  code?: string;
  boundary?: string | undefined;
};

/** A task. Its stream contains only what the stream of its record does not. */
export const task: Decider<TaskState, TaskCommand, Event, TaskRejection> = {
  evolve(state, event) {
    const { task_id, context_id, agent_id, skill = state?.skill } = event.data;
    const base = {
      task_id,
      context_id,
      agent_id,
      skill,
      created_at: state?.created_at ?? event.at,
      updated_at: event.at,
      version: state ? state.version + 1 : 0,
    };
    switch (event.type) {
      case 'TaskReceived': {
        const { missing, record } = event.data;
        return { ...base, status: 'INPUT_REQUIRED', missing, record };
      }
      case 'TaskCompleted':
        return { ...base, status: 'COMPLETED', artifact: event.data.artifact };
      case 'TaskRejected': {
        const { code, boundary } = event.data;
        return { ...base, status: 'REJECTED', code, boundary };
      }
      case 'TaskCanceled':
        return { ...base, status: 'CANCELED' };
    }
  },

  decide(state, command) {
    if (command.type === 'Cancel') {
      if (!state) return reject('task_unknown', 'no such task');
      if (state.status === 'CANCELED') return accept();
      if (hasEnded(state)) return rejectEnded(state);
      const { task_id, context_id, agent_id } = state;
      return accept({ type: 'TaskCanceled', data: { task_id, context_id, agent_id } });
    }
    if (state && hasEnded(state)) return rejectEnded(state);
    switch (command.type) {
      case 'Receive':
        return accept({ type: 'TaskReceived', data: command.task });
      case 'Complete':
        return accept({ type: 'TaskCompleted', data: command.task });
      case 'Reject':
        return accept({ type: 'TaskRejected', data: command.task });
    }
  },
};

/** Whether the task accepts no message. A task with a record continues on the stream of the record. */
const hasEnded = ({ status, record }: TaskState): boolean =>
  isTerminal(status) || record !== undefined;

const rejectEnded = ({ status }: TaskState) => reject('task_ended', `the task is ${status}`);

/** A task in the list of its agent. If it has a record, that tells the state. */
export type TaskRow = {
  task_id: string;
  context_id: string;
  agent_id: string;
  skill?: string;
  /** The id of the outreach request or handoff that the task made. */
  record?: string;
  status: TaskStatus;
  /** Position and time of its newest event. */
  changed: number;
  changed_at: number;
  sort: number;
};

/** The scope of an agent's tasks; other agents of the same owner have their own. */
export const tasksScope = (ownerId: string, agentId: string): string => `${ownerId}/${agentId}`;
