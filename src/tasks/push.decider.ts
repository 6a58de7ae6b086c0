/** A push notification configuration of a task, and the attempts to send to it. */
import type { EventData, EventOf, PushEventType } from '#contracts/registries/events.ts';
import {
  accept,
  type Decider,
  type Decision,
  firstVersion,
  nextVersion,
  reject,
  type RecordVersion,
} from '#src/shared/decider.ts';
import {
  type AttemptRejection,
  type AttemptState,
  decideOutcome,
  foldAttempt,
  type OutcomeCommand,
  rejectAttempt,
} from '#src/sending/attempt.decider.ts';

type Event = EventOf<PushEventType>;
type Config = EventData<'PushConfigCreated'>;

/** Why the service removes a configuration by itself. */
export type Ending = 'key_ended' | 'task_ended' | 'receiver_gone';

export type PushCommand =
  | { type: 'Register'; config: Config }
  | { type: 'Delete'; reason?: Ending }
  | { type: 'Dispatch'; at: number; change: number; until: number }
  | OutcomeCommand;

export type PushRejection = 'push_unknown' | 'push_deleted' | 'push_settled' | AttemptRejection;

/** A push notification configuration of a task, and its newest notification. */
export type PushState = Config &
  AttemptState &
  RecordVersion & {
    status: 'active' | 'deleted';
    /** The change of the task up to which nothing is to be sent. */
    settled: number;
    /** The change that the newest notification shows; 0 before the first one. */
    change: number;
  };

const OUTCOMES = {
  Defer: 'PushDeferred',
  Confirm: 'PushDelivered',
  Fail: 'PushFailed',
  LoseTrack: 'PushOutcomeUnknown',
} as const;

/** Where a receiver is notified of a task, and each attempt to do so. */
export const push: Decider<PushState, PushCommand, Event, PushRejection> = {
  evolve(state, event) {
    if (event.type === 'PushConfigCreated')
      return {
        ...event.data,
        status: 'active',
        settled: event.data.after,
        change: 0,
        attempts: 0,
        ...(state
          ? { ...nextVersion(state, event.at), created_at: state.created_at }
          : firstVersion(event.at)),
      };
    if (!state) throw new Error(`${event.type} on a configuration that was never created`);
    return { ...state, ...changesOf(state, event), ...nextVersion(state, event.at) };
  },

  decide(state, command) {
    if (command.type === 'Register') {
      const { config } = command;
      return state?.status === 'active' && isSame(state, config)
        ? accept()
        : accept({ type: 'PushConfigCreated', data: config });
    }
    if (!state) return reject('push_unknown', 'no such configuration');
    const { push_id, task, agent_id, status, change } = state;
    const about = { push_id, task, agent_id };
    if (command.type === 'Delete') {
      const { reason } = command;
      return status === 'deleted'
        ? accept()
        : accept({ type: 'PushConfigDeleted', data: { ...about, ...(reason && { reason }) } });
    }
    if (status === 'deleted') return reject('push_deleted', 'the configuration was deleted');
    if (command.type === 'Dispatch') return dispatch(state, command);
    const record = { kind: 'push', types: OUTCOMES, about: { ...about, change } } as const;
    return decideOutcome(state, command, record);
  },
};

const changesOf = (
  state: PushState,
  event: Exclude<Event, { type: 'PushConfigCreated' }> & { at: number },
): Partial<PushState> => {
  switch (event.type) {
    case 'PushConfigDeleted':
      return { status: 'deleted' };
    case 'PushDispatched': {
      const { change } = event.data;
      const uncertain = change === state.change ? state.uncertain : undefined;
      return { ...foldAttempt(event), change, uncertain };
    }
    case 'PushDeferred':
      return foldAttempt(event);
    case 'PushDelivered':
    case 'PushFailed':
    case 'PushOutcomeUnknown':
      return { ...foldAttempt(event), settled: event.data.change };
  }
};

/** Whether a registration changes nothing. What is left to send does not depend on it. */
const isSame = (state: PushState, config: Config): boolean =>
  (['url', 'key_id', 'scheme', 'sealed_token', 'sealed_credentials'] as const).every(
    (name) => state[name] === config[name],
  );

type Of<Type> = Extract<PushCommand, { type: Type }>;
type Verdict = Decision<Event, PushRejection>;

/** A newer change replaces a notification that waits for its next attempt, and has its own attempts. */
const dispatch = (state: PushState, { at, change, until }: Of<'Dispatch'>): Verdict => {
  const { push_id, task, agent_id } = state;
  if (change <= state.settled) return reject('push_settled', 'the receiver has this change');
  if (change < state.change) return reject('not_due', 'a newer change is sent');
  const last = change === state.change ? state : { attempts: 0, until: state.until };
  const data = { push_id, task, agent_id, change, attempt: last.attempts + 1, until };
  return rejectAttempt(last, { at }) ?? accept({ type: 'PushDispatched', data });
};
