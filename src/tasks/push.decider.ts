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
import type { AttemptState, OutcomeCommand } from '#src/sending/attempt.decider.ts';

type Event = EventOf<PushEventType>;
type Config = EventData<'PushConfigCreated'>;

/** Why the service removes a configuration by itself. */
type Ending = 'key_ended' | 'task_ended' | 'receiver_gone';

export type PushCommand =
  | { type: 'Register'; config: Config }
  | { type: 'Delete'; reason?: Ending }
  | { type: 'Dispatch'; at: number; change: number; until: number }
  | OutcomeCommand;

export type PushRejection =
  | 'push_unknown'
  | 'push_deleted'
  | 'push_settled'
  | 'not_due'
  | 'not_dispatched';

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

/** Where a receiver is notified of a task, and each attempt to do so. At most one attempt is under way. */
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
    const { push_id, task, agent_id, status } = state;
    const about = { push_id, task, agent_id };
    if (command.type === 'Delete') {
      const { reason } = command;
      return status === 'deleted'
        ? accept()
        : accept({ type: 'PushConfigDeleted', data: { ...about, ...(reason && { reason }) } });
    }
    if (status === 'deleted') return reject('push_deleted', 'the configuration was deleted');
    if (command.type === 'Dispatch') return dispatch(state, command);
    return settle(state, command);
  },
};

const changesOf = (
  state: PushState,
  event: Exclude<Event, { type: 'PushConfigCreated' }> & { at: number },
): Partial<PushState> => {
  const ended = { until: undefined, retry_at: undefined, uncertain: undefined };
  switch (event.type) {
    case 'PushConfigDeleted':
      return { status: 'deleted', ...ended };
    case 'PushDispatched': {
      const { change, attempt: attempts, until } = event.data;
      const isRetry = change === state.change;
      const uncertain = isRetry ? state.uncertain : undefined;
      return { change, attempts, until, attempted_at: event.at, retry_at: undefined, uncertain };
    }
    case 'PushDeferred': {
      const { retry_at, uncertain } = event.data;
      return { until: undefined, retry_at, ...(uncertain && { uncertain }) };
    }
    case 'PushDelivered':
    case 'PushFailed':
    case 'PushOutcomeUnknown':
      return { settled: event.data.change, ...ended };
  }
};

/** Whether a registration changes nothing. What is left to send does not depend on it. */
const isSame = (state: PushState, config: Config): boolean =>
  (['url', 'key_id', 'scheme', 'sealed_token', 'sealed_credentials'] as const).every(
    (name) => state[name] === config[name],
  );

type Of<Type> = Extract<PushCommand, { type: Type }>;
type Verdict = Decision<Event, PushRejection>;

/** A newer change replaces a notification that waits for its next attempt. */
const dispatch = (state: PushState, { at, change, until }: Of<'Dispatch'>): Verdict => {
  const { push_id, task, agent_id } = state;
  if (change <= state.settled) return reject('push_settled', 'the receiver has this change');
  if (state.until !== undefined) return reject('not_due', 'an attempt is under way');
  const isRetry = change === state.change;
  if (change < state.change || (isRetry && at < (state.retry_at ?? Infinity)))
    return reject('not_due', 'it is not due yet');
  const attempt = isRetry ? state.attempts + 1 : 1;
  return accept({
    type: 'PushDispatched',
    data: { push_id, task, agent_id, change, attempt, until },
  });
};

const settle = (state: PushState, command: OutcomeCommand): Verdict => {
  const { push_id, task, agent_id, change, attempts } = state;
  const { attempt } = command;
  if (state.until === undefined || attempt !== attempts)
    return reject('not_dispatched', `attempt ${attempt} is not under way`);
  const data = { push_id, task, agent_id, change, attempt };
  switch (command.type) {
    case 'Defer': {
      const { reason, retryAt: retry_at, uncertain } = command;
      return accept({
        type: 'PushDeferred',
        data: { ...data, reason, retry_at, ...(uncertain && { uncertain }) },
      });
    }
    case 'Confirm':
      return accept({ type: 'PushDelivered', data: { ...data, evidence: command.evidence } });
    case 'Fail':
      return accept({ type: 'PushFailed', data: { ...data, reason: command.reason } });
    case 'LoseTrack':
      return accept({ type: 'PushOutcomeUnknown', data: { ...data, reason: command.reason } });
  }
};
