import { describe, expect, it } from 'vitest';
import type { EventData } from '#contracts/registries/events.ts';
import { push } from '#src/tasks/push.decider.ts';
import { specify } from '../support/world/decider-spec.ts';

const { given } = specify(push);

const about = { push_id: 'psh_1', task: 'tsk_1', agent_id: 'agt_1' };
const config: EventData<'PushConfigCreated'> = {
  ...about,
  config_id: 'mine',
  key_id: 'key_1',
  url: 'https://hook.example/in',
  after: 1,
  scheme: 'Bearer',
  sealed_for: 'psk_1',
  sealed_credentials: 's1.psk_1.x',
};
const created = { type: 'PushConfigCreated' as const, data: config };
const deleted = { type: 'PushConfigDeleted' as const, data: about };
const dispatched = (change: number, attempt = 1) => ({
  type: 'PushDispatched' as const,
  data: { ...about, change, attempt, until: 9_000 },
});
const deferred = (change: number, attempt = 1, uncertain?: true) => ({
  type: 'PushDeferred' as const,
  data: {
    ...about,
    change,
    attempt,
    reason: 'http_503',
    retry_at: 5_000,
    ...(uncertain && { uncertain }),
  },
});
const delivered = (change: number, attempt = 1) => ({
  type: 'PushDelivered' as const,
  data: { ...about, change, attempt, evidence: 'http_204' },
});
const send = (change: number, at = 2_000) =>
  ({ type: 'Dispatch', change, at, until: 9_000 }) as const;

describe('A push notification configuration', () => {
  it('A push notification configuration is created once, and replaced by another registration with its id', () => {
    given().when({ type: 'Register', config }).then(created);
    given(created).when({ type: 'Register', config }).then();
    const other = { ...config, url: 'https://other.example/' };
    given(created)
      .when({ type: 'Register', config: other })
      .then({ type: 'PushConfigCreated', data: other });
  });

  it('A push notification configuration is deleted once, and sends nothing afterwards until it is registered again', () => {
    given(created).when({ type: 'Delete' }).then(deleted);
    given(created)
      .when({ type: 'Delete', reason: 'key_ended' })
      .then({ type: 'PushConfigDeleted', data: { ...about, reason: 'key_ended' } });
    given(created, deleted).when({ type: 'Delete' }).then();
    given(created, deleted).when(send(2)).rejected('push_deleted');
    given(created, dispatched(2), deleted)
      .when({ type: 'Confirm', attempt: 1, evidence: 'e' })
      .rejected('push_deleted');
    given(created, deleted).when({ type: 'Register', config }).then(created);
  });

  it('A push notification configuration accepts no other command before it exists', () => {
    for (const command of [{ type: 'Delete' }, send(1)] as const)
      given().when(command).rejected('push_unknown');
    expect(() => push.evolve(undefined, { ...deleted, at: 1 })).toThrow(/never created/);
  });
});

describe('A push notification', () => {
  it('A push notification shows only changes after the registration and after the last settled one', () => {
    given(created).when(send(1)).rejected('push_settled');
    given(created).when(send(2)).then(dispatched(2));
    given(created, dispatched(2), delivered(2)).when(send(2)).rejected('push_settled');
    given(created, dispatched(2), delivered(2)).when(send(3)).then(dispatched(3));
  });

  it('A push notification is sent by one attempt at a time, and again when its time has come', () => {
    given(created, dispatched(2))
      .when(send(2))
      .rejected('not_due', /under way/);
    given(created, dispatched(2))
      .when(send(3))
      .rejected('not_due', /under way/);
    given(created, dispatched(2), deferred(2))
      .when(send(2, 4_999))
      .rejected('not_due', /not due/);
    given(created, dispatched(2), deferred(2)).when(send(2, 5_000)).then(dispatched(2, 2));
  });

  it('A push notification that waits for an attempt is replaced by that of a newer change, and never by an older one', () => {
    const later = given(created, dispatched(3), deferred(3, 1, true)).when(send(4));
    expect(later.then(dispatched(4))).toMatchObject({ attempts: 1, uncertain: undefined });
    given(created, dispatched(3), deferred(3))
      .when(send(2, 5_000))
      .rejected('not_due', 'a newer change is sent');
  });

  it('A push notification is settled by its outcome, which only the attempt that is under way can have', () => {
    const outcomes = [
      [{ type: 'Confirm', attempt: 1, evidence: 'http_204' }, delivered(2)],
      [
        { type: 'Fail', attempt: 1, reason: 'http_404' },
        { type: 'PushFailed', data: { ...about, change: 2, attempt: 1, reason: 'http_404' } },
      ],
      [
        { type: 'LoseTrack', attempt: 1, reason: 'timeout' },
        {
          type: 'PushOutcomeUnknown',
          data: { ...about, change: 2, attempt: 1, reason: 'timeout' },
        },
      ],
    ] as const;
    for (const [command, event] of outcomes) {
      const state = given(created, dispatched(2)).when(command).then(event);
      expect(state).toMatchObject({ settled: 2, until: undefined });
      given(created).when(command).rejected('not_dispatched');
      given(created, dispatched(2), deferred(2)).when(command).rejected('not_dispatched');
      given(created, dispatched(2), deferred(2), dispatched(2, 2))
        .when(command)
        .rejected('not_dispatched', 'attempt 1 is not the last one');
    }
  });

  it('A push notification remembers over its attempts that one may have reached the receiver', () => {
    const defer = { type: 'Defer', attempt: 1, reason: 'http_503', retry_at: 5_000 } as const;
    given(created, dispatched(2)).when(defer).then(deferred(2));
    const state = given(created, dispatched(2))
      .when({ ...defer, uncertain: true })
      .then(deferred(2, 1, true));
    expect(state).toMatchObject({ uncertain: true, retry_at: 5_000, settled: 1 });
    const { state: again } = given(created, dispatched(2), deferred(2, 1, true), dispatched(2, 2));
    expect(again).toMatchObject({ uncertain: true, attempts: 2 });
  });
});
