/** Which notifications a receiver gets, when, and what is known about each. */
import { afterEach, describe, expect, it } from 'vitest';
import { Dispatcher } from '#src/sending/dispatcher.ts';
import { pushWork } from '#src/tasks/push.ts';
import {
  act,
  approve,
  confirmed,
  dispatched,
  HANDOFF,
  message,
  POST,
  rpc,
  sent,
} from '../support/clients/a2a.ts';
import { HOOK, notifying } from '../support/dispatch/notifying.ts';
import { DAY_MS, HOUR_MS } from '../support/world/outreach-acts.ts';

type World = Awaited<ReturnType<typeof notifying>>;

const RETRY = { outcome: 'retry', reason: 'http_503' } as const;
const LOST = { outcome: 'unknown', reason: 'connection_lost' } as const;

const open: World[] = [];
/** A task of an agent of acme that waits for approval, and a dispatcher. */
const world = async () => {
  const one = await notifying();
  open.push(one);
  const { app } = one;
  const { key, keyId, agentId } = await app.agent('acme');
  const task = await sent(app, key, message(POST));
  one.start();
  await one.settle();
  const record = task.metadata.record ?? '';
  return {
    ...one,
    key,
    keyId,
    agentId,
    task,
    async change(command: Parameters<typeof act>[3]) {
      await act(app, 'acme', record, command);
      await one.settle();
    },
    async desk(path: string) {
      const answer = await app.desk('POST', path, { reason: 'Test' });
      if (answer.status !== 200) throw new Error(answer.text);
      await one.settle();
    },
  };
};
afterEach(async () => {
  for (const one of open.splice(0)) {
    expect(one.faults).toEqual([]);
    await one.end();
  }
});

describe('A receiver', () => {
  it('A receiver gets the whole task after each change that follows its registration, and its secrets', async () => {
    const w = await world();
    const authentication = { scheme: 'Bearer', credentials: 'c-1' };
    await w.register(w.key, w.task, { token: 't-1', authentication });
    expect(w.sent).toEqual([]);
    for (const command of [approve, dispatched, confirmed]) await w.change(command);
    expect(w.tasks().map(({ status }) => status.state)).toEqual([
      'TASK_STATE_WORKING',
      'TASK_STATE_WORKING',
      'TASK_STATE_COMPLETED',
    ]);
    const [last] = w.tasks().slice(-1);
    expect(last).toMatchObject({ id: w.task.id, contextId: w.task.contextId });
    expect(last?.artifacts?.map(({ name }) => name)).toEqual(['receipt']);
    const { result } = await rpc(w.app, w.key, 'GetTask', { id: w.task.id });
    expect(last).toEqual(result);
    for (const one of w.sent)
      expect(one).toMatchObject({ url: HOOK, token: 't-1', authorization: 'Bearer c-1' });
    expect(new Set(w.sent.map(({ id }) => id)).size).toBe(3);
  });

  it('A receiver that a message registers gets the change that the message makes', async () => {
    const w = await world();
    const configuration = { taskPushNotificationConfig: { url: HOOK, token: 't' } };
    const params = { message: message(HANDOFF), configuration };
    const { result } = await rpc<{ task: { id: string } }>(w.app, w.key, 'SendMessage', params);
    await w.settle();
    expect(w.tasks()).toMatchObject([
      { id: result.task.id, status: { state: 'TASK_STATE_COMPLETED' } },
    ]);
    const follow = { ...message('more'), taskId: w.task.id };
    await rpc(w.app, w.key, 'SendMessage', { message: follow, configuration });
    await w.settle();
    expect(w.sent).toHaveLength(1);
    await w.change(approve);
    expect(w.tasks()[1]).toMatchObject({ id: w.task.id });
  });

  it('A receiver gets the changes of a request that another interface made, since the task names it', async () => {
    const w = await world();
    const draft = { ...POST, idempotency_key: 'shared', text: 'Made over MCP.' };
    const { skill: _skill, kind: _kind, ...input } = draft;
    const { agents } = w.app.service.app;
    const arrival = { credential: w.key, surface: 'mcp', requestId: 'r', address: '::1' } as const;
    const admission = await agents.admit(arrival, 'requestSocialPost');
    if (!admission.ok) throw new Error(admission.detail);
    const made = await agents.perform(admission.value, 'requestSocialPost', { input });
    if (!made.ok) throw new Error(made.detail);
    const linked = await sent(w.app, w.key, message(draft));
    expect(linked.metadata.record).toBe(made.value.id);
    await w.register(w.key, linked);
    await act(w.app, 'acme', made.value.id, approve);
    await w.settle();
    expect(w.tasks()).toMatchObject([{ id: linked.id, status: { state: 'TASK_STATE_WORKING' } }]);
  });

  it('A receiver gets no artifact that the scopes of its agent do not allow any more', async () => {
    const w = await world();
    await w.register(w.key, w.task);
    const { log, ids, clock } = w.app.service.deps;
    const [stored] = (await log.readStream(`acme-agent_${w.agentId.slice(4)}`)).slice(-1);
    if (!stored) throw new Error('the agent has no events');
    const narrowed = {
      id: ids.uuid(),
      type: 'AccessApproved' as const,
      data: { agent_id: w.agentId, scopes: ['products:read'], reason: 'less' },
      meta: { ...stored.meta, request: ids.uuid(), at: clock.now() },
    };
    await log.append(stored.stream, stored.revision, [narrowed]);
    for (const command of [approve, dispatched, confirmed]) await w.change(command);
    expect(w.tasks().at(-1)?.status.state).toBe('TASK_STATE_COMPLETED');
    expect(w.tasks().at(-1)?.artifacts).toBeUndefined();
  });
});

describe('A notification', () => {
  it('A notification is sent again with the same id and body until the receiver accepts it', async () => {
    const w = await world();
    const { id } = await w.register(w.key, w.task, { id: 'mine' });
    expect(id).toBe('mine');
    w.play(() => (w.sent.length === 1 ? RETRY : LOST));
    await w.change(approve);
    await w.advance(4_999);
    expect(w.sent).toHaveLength(1);
    await w.advance(2_000);
    expect(w.sent).toHaveLength(2);
    w.play(() => ({ outcome: 'delivered', evidence: 'http_204' }));
    await w.advance(HOUR_MS);
    expect(w.sent).toHaveLength(3);
    const [first] = w.sent;
    for (const one of w.sent) expect(one).toMatchObject({ id: first?.id, body: first?.body });
    expect((await w.eventsOf()).join(' ')).toBe(
      'PushConfigCreated PushDispatched PushDeferred PushDispatched PushDeferred PushDispatched PushDelivered',
    );
    await w.advance(2 * DAY_MS);
    expect(w.sent).toHaveLength(3);
  });

  it.each([
    [RETRY, 'PushFailed'],
    [LOST, 'PushOutcomeUnknown'],
  ])(
    'A notification that ends with %j after the last of ten attempts is recorded as such',
    async (result, end) => {
      const w = await world();
      await w.register(w.key, w.task);
      w.play(() => result);
      await w.change(approve);
      await w.advance(5 * DAY_MS);
      expect(w.sent).toHaveLength(10);
      expect((await w.eventsOf()).at(-1)).toBe(end);
      w.play(() => ({ outcome: 'delivered', evidence: 'http_204' }));
      await w.change(dispatched);
      expect(w.sent).toHaveLength(11);
      expect((await w.eventsOf()).at(-1)).toBe('PushDelivered');
    },
  );

  it('A notification that the receiver refuses is not sent again', async () => {
    const w = await world();
    await w.register(w.key, w.task);
    w.play(() => ({ outcome: 'refused', reason: 'http_302' }));
    await w.change(approve);
    await w.advance(HOUR_MS);
    expect(w.sent).toHaveLength(1);
    expect((await w.eventsOf()).at(-1)).toBe('PushFailed');
  });

  it('A notification that waits for an attempt is replaced by that of a newer change', async () => {
    const w = await world();
    await w.register(w.key, w.task);
    w.play(() => RETRY);
    await w.change(approve);
    w.play(() => ({ outcome: 'delivered', evidence: 'http_204' }));
    await w.change(dispatched);
    await w.advance(HOUR_MS);
    expect(w.sent).toHaveLength(2);
    expect(w.sent[0]?.id).not.toBe(w.sent[1]?.id);
  });

  it('A notification whose sender is gone is sent again after the time of the attempt', async () => {
    const w = await world();
    await w.register(w.key, w.task);
    const never = Promise.withResolvers<never>();
    w.play(() => never.promise);
    const { log, ids } = w.app.service.deps;
    const [created] = await log.readAll({ after: 0, limit: 10, types: ['PushConfigCreated'] });
    if (!created) throw new Error('nothing is registered');
    const { push_id, agent_id } = created.data as { push_id: string; agent_id: string };
    const data = { push_id, task: w.task.id, agent_id, change: 2, attempt: 1 };
    const until = w.time.clock.now() + 35_000;
    const event = {
      id: ids.uuid(),
      type: 'PushDispatched' as const,
      data: { ...data, until },
      meta: { ...created.meta, request: ids.uuid(), at: w.time.clock.now() },
    };
    // Another process wrote this, and ended before it recorded an outcome.
    await log.append(created.stream, created.revision, [event]);
    w.play(() => ({ outcome: 'delivered', evidence: 'http_204' }));
    await w.change(approve);
    expect(w.sent).toEqual([]);
    await w.advance(35_000);
    expect(w.sent.map(({ id }) => id)).toEqual([`${push_id}.2`]);
    expect((await w.eventsOf()).slice(1).join(' ')).toBe(
      'PushDispatched PushDeferred PushDispatched PushDelivered',
    );
  });

  it('A notification is sent once by two dispatchers on one log', async () => {
    const w = await world();
    w.start();
    await w.register(w.key, w.task);
    for (const command of [approve, dispatched, confirmed]) await w.change(command);
    await w.advance(HOUR_MS);
    expect(new Set(w.sent.map(({ id }) => id)).size).toBe(w.sent.length);
    expect(w.tasks().at(-1)?.status.state).toBe('TASK_STATE_COMPLETED');
  });
});

describe('Nothing is sent', () => {
  it('Nothing is sent for a deleted configuration, even while a notification waits for its next attempt', async () => {
    const w = await world();
    const { id } = await w.register(w.key, w.task);
    w.play(() => RETRY);
    await w.change(approve);
    await rpc(w.app, w.key, 'DeleteTaskPushNotificationConfig', { taskId: w.task.id, id });
    await w.change(dispatched);
    await w.advance(DAY_MS);
    expect(w.sent).toHaveLength(1);
    expect((await w.eventsOf()).at(-1)).toBe('PushConfigDeleted');
  });

  it('Nothing is sent after the key that registered it was revoked, which deletes the configuration', async () => {
    const w = await world();
    await w.register(w.key, w.task, { token: 't' });
    await w.desk(`/keys/${w.keyId}/revoke`);
    await w.change(approve);
    expect(w.sent).toEqual([]);
    await expectDeleted(w);
  });

  it('Nothing is sent while the agent is suspended, and the newest change once it is reinstated', async () => {
    const w = await world();
    await w.register(w.key, w.task);
    await w.desk(`/agents/${w.agentId}/suspend`);
    await w.change(approve);
    await w.change(dispatched);
    expect(w.sent).toEqual([]);
    await w.desk(`/agents/${w.agentId}/reinstate`);
    expect(w.sent).toHaveLength(1);
  });

  it('Nothing is sent after the receiver said that it is gone', async () => {
    const w = await world();
    await w.register(w.key, w.task, { token: 't' });
    w.play(() => ({ outcome: 'refused', reason: 'http_410', disable: true }));
    await w.change(approve);
    await w.change(dispatched);
    expect(w.sent).toHaveLength(1);
    await expectDeleted(w);
  });
});

describe('A dispatcher', () => {
  it('A dispatcher looks again as soon as it knows what an item awaits, because that may have changed before', async () => {
    const one = await notifying();
    open.push(one);
    const { key } = await one.app.agent('acme');
    const task = await sent(one.app, key, message(POST));
    const looks: string[] = [];
    const dispatcher = new Dispatcher(one.deps, {
      ...pushWork(one.deps),
      advance: async (_owner, id) => {
        looks.push(id);
        return { next_at: one.time.clock.now() + DAY_MS, awaits: [task.id] };
      },
    });
    dispatcher.start();
    await one.register(key, task);
    await dispatcher.idle();
    expect(looks).toHaveLength(2);
    await act(one.app, 'acme', task.metadata.record ?? '', approve);
    await one.settle();
    await dispatcher.idle();
    expect(looks).toHaveLength(3);
    await dispatcher.stop();
  });
});

describe('A configuration', () => {
  it('A push configuration is deleted a day after its task has ended and the receiver knows it', async () => {
    const w = await world();
    await w.register(w.key, w.task, { token: 't' });
    for (const command of [approve, dispatched, confirmed]) await w.change(command);
    await w.advance(DAY_MS - 1);
    expect(await w.state(await pushIdOf(w))).toMatchObject({ status: 'active' });
    await w.advance(1);
    await expectDeleted(w);
  });

  it('A push configuration is continued by a dispatcher that starts later', async () => {
    const one = await notifying();
    open.push(one);
    const { key } = await one.app.agent('acme');
    const task = await sent(one.app, key, message(POST));
    await one.register(key, task);
    await act(one.app, 'acme', task.metadata.record ?? '', approve);
    one.start();
    await one.settle();
    expect(one.tasks()).toMatchObject([{ id: task.id, status: { state: 'TASK_STATE_WORKING' } }]);
  });
});

/** Expects that the configuration is deleted, and that nothing can read its secrets any more. */
const expectDeleted = async (w: World): Promise<void> => {
  const state = await w.state(await pushIdOf(w));
  expect(state).toMatchObject({ status: 'deleted' });
  const { vault } = w.app.service.deps;
  expect(await vault.knows(state?.sealed_for ?? '')).toBe('destroyed');
};

const pushIdOf = async (w: World): Promise<string> => {
  const { log } = w.app.service.deps;
  const [event] = await log.readAll({ after: 0, limit: 1, types: ['PushConfigCreated'] });
  return (event?.data as { push_id: string } | undefined)?.push_id ?? '';
};
