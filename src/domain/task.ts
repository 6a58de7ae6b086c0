import type { EventData, EventOf, TaskEventType } from '#contracts/events/index.ts';
import { accept, type Decider, reject } from './decider.ts';
import type { OutboundStatus } from './outbound-state.ts';

type Event = EventOf<TaskEventType>;

/** Where a task of the A2A standard can stand; the wire puts TASK_STATE_ before it. */
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

/** Nothing more happens to the task, and no message continues it. */
export const isTerminal = (status: TaskStatus): boolean => TERMINAL.includes(status);

/** An outreach request as a task: who waits for a person is never at work. */
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

/** A task that made no record: what is asked for, or what was answered. */
export type TaskState = {
  task_id: string;
  context_id: string;
  agent_id: string;
  skill?: string;
  status: Extract<TaskStatus, 'INPUT_REQUIRED' | 'COMPLETED' | 'REJECTED' | 'CANCELED'>;
  missing?: string[];
  record?: string;
  artifact?: EventData<'TaskCompleted'>['artifact'];
  code?: string;
  boundary?: string;
  created_at: number;
  updated_at: number;
  version: number;
};

/** The stream of a task holds only what no other stream says of it. */
export const task: Decider<TaskState, TaskCommand, Event, TaskRejection> = {
  evolve(state, event) {
    const { task_id, context_id, agent_id, skill } = event.data;
    const base = {
      task_id,
      context_id,
      agent_id,
      ...((skill ?? state?.skill) !== undefined && { skill: skill ?? state?.skill ?? '' }),
      created_at: state?.created_at ?? event.at,
      updated_at: event.at,
      version: state ? state.version + 1 : 0,
    };
    switch (event.type) {
      case 'TaskReceived': {
        const { missing, record } = event.data;
        return {
          ...base,
          status: 'INPUT_REQUIRED',
          ...(missing && { missing }),
          ...(record !== undefined && { record }),
        };
      }
      case 'TaskCompleted':
        return { ...base, status: 'COMPLETED', artifact: event.data.artifact };
      case 'TaskRejected':
        return { ...base, status: 'REJECTED', code: event.data.code, ...pick(event.data) };
      case 'TaskCanceled':
        return { ...base, status: 'CANCELED' };
    }
  },

  decide(state, command) {
    if (command.type === 'Cancel') {
      if (!state) return reject('task_unknown', 'no such task');
      if (state.status === 'CANCELED') return accept();
      if (hasEnded(state)) return ended(state);
      const { task_id, context_id, agent_id } = state;
      return accept({ type: 'TaskCanceled', data: { task_id, context_id, agent_id } });
    }
    if (state && hasEnded(state)) return ended(state);
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

const pick = ({ boundary }: EventData<'TaskRejected'>) =>
  boundary === undefined ? {} : { boundary };

/** A task that is a record goes on as the record does, on the stream of that one. */
const hasEnded = ({ status, record }: TaskState): boolean =>
  isTerminal(status) || record !== undefined;

const ended = ({ status }: TaskState) => reject('task_ended', `the task is ${status}`);

/** A task in the list of its agent; the record itself says how it stands. */
export type TaskRow = {
  task_id: string;
  context_id: string;
  agent_id: string;
  skill?: string;
  /** The outreach request or the handoff that the task is; without one, the task's own stream says all. */
  record?: string;
  status: TaskStatus;
  /** Where its newest event stands, and when that was. */
  changed: number;
  changed_at: number;
  sort: number;
};

/** Tasks are listed by agent: no other agent finds them, of whatever owner. */
export const tasksScope = (ownerId: string, agentId: string): string => `${ownerId}/${agentId}`;
