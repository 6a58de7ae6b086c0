/** The official A2A client with a listening service, over both bindings. */
import {
  AgentCard,
  Role,
  StreamResponse,
  type Task,
  TaskState,
  verifyAgentCardSignature,
} from '@a2a-js/sdk';
import type { Client } from '@a2a-js/sdk/client';
import {
  ClientFactory,
  ClientFactoryOptions,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from '@a2a-js/sdk/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freshKey, type TestApp } from '../../support/world/app.ts';
import { endReceivers, receiver, type Received } from '../../support/world/receivers.ts';
import {
  a2aApp,
  act,
  approve,
  confirmed,
  dispatched,
  HANDOFF,
  POST,
  requestChanges,
} from '../../support/clients/a2a.ts';

const TRANSPORTS = ['JSONRPC', 'HTTP+JSON'] as const;

let app: TestApp;
let url: string;
let key: string;
let hook: Awaited<ReturnType<typeof receiver>>;
beforeAll(async () => {
  hook = await receiver();
  app = await a2aApp({ PUBLIC_URL: '', OUTREACH_PRIVATE_HOSTS: hook.host });
  url = await app.service.listen();
  ({ key } = await app.agent('acme'));
});
afterAll(async () => {
  await app.close();
  await endReceivers();
});

const clientFor = (
  transport: (typeof TRANSPORTS)[number],
  by: string | undefined,
): Promise<Client> => {
  const fetchImpl: typeof fetch = (input, init) => {
    const headers = new Headers(init?.headers);
    if (by !== undefined) headers.set('authorization', `Bearer ${by}`);
    return fetch(input, { ...init, headers });
  };
  return new ClientFactory(
    ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
      transports: [
        new JsonRpcTransportFactory({ fetchImpl }),
        new RestTransportFactory({ fetchImpl }),
      ],
      preferredTransports: [transport],
    }),
  ).createFromUrl(url);
};

const messageWith = (data: object, taskId = '') => ({
  tenant: '',
  message: {
    messageId: freshKey(),
    contextId: '',
    taskId,
    role: Role.ROLE_USER,
    parts: [
      {
        content: { $case: 'data' as const, value: data },
        metadata: undefined,
        filename: '',
        mediaType: 'application/json',
      },
    ],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  },
  configuration: undefined,
  metadata: undefined,
});
const taskParams = (id: string) => ({
  tenant: '',
  id,
  historyLength: undefined,
  metadata: undefined,
});
const stateOf = (task: unknown): TaskState | undefined => (task as Task).status?.state;
const recordOf = (task: unknown): string =>
  (task as { metadata: { record: string } }).metadata.record;

describe.each(TRANSPORTS)('The A2A client over %s', (transport) => {
  let client: Client;
  beforeAll(async () => {
    client = await clientFor(transport, key);
  });

  it('The A2A client reads the agent card, verifies its signature, and gets the extended card', async () => {
    expect(client.transport.protocolName).toBe(transport);
    const check = verifyAgentCardSignature(async (kid, jku) => {
      const { keys } = (await (await fetch(jku ?? '')).json()) as { keys: { kid: string }[] };
      return keys.find((one) => one.kid === kid) as never;
    });
    // As JSON, because the client's check of a parsed card ignores the security schemes.
    const card = AgentCard.toJSON(await client.getAgentCard()) as AgentCard;
    await check(card);
    expect(card.skills).toHaveLength(4);
    expect(card.signatures).toHaveLength(1);
  });

  it('The A2A client sends messages, and gets, lists and cancels tasks', async () => {
    const made = (await client.sendMessage(messageWith(HANDOFF))) as Task;
    expect(stateOf(made)).toBe(TaskState.TASK_STATE_COMPLETED);
    expect(made.artifacts[0]?.parts[0]).toMatchObject({
      content: { $case: 'data', value: { id: recordOf(made) } },
      metadata: { untrusted: true },
    });
    const waiting = (await client.sendMessage(messageWith(POST))) as Task;
    expect(stateOf(waiting)).toBe(TaskState.TASK_STATE_AUTH_REQUIRED);
    expect(await client.getTask(taskParams(waiting.id))).toEqual(waiting);
    const list = await client.listTasks({
      tenant: '',
      contextId: '',
      status: TaskState.TASK_STATE_AUTH_REQUIRED,
      pageSize: 1,
      pageToken: '',
      statusTimestampAfter: undefined,
    });
    expect(list.tasks.map(({ id }) => id)).toEqual([waiting.id]);
    expect(list.totalSize).toBeGreaterThan(0);
    const canceled = await client.cancelTask(taskParams(waiting.id));
    expect(stateOf(canceled)).toBe(TaskState.TASK_STATE_CANCELED);
  });

  it('The A2A client streams a promotion from its proposal to its completion', async () => {
    const stream = client.sendMessageStream(messageWith(POST));
    const first = (await stream.next()).value?.payload;
    if (first?.$case !== 'task') throw new Error('the first event is no task');
    // It waits for approval, so the stream of the message ends; subscriptions stay open.
    expect((await stream.next()).done).toBe(true);
    const { id } = first.value;
    const subscribed = async () => {
      const opened = client.resubscribeTask(taskParams(id));
      expect((await opened.next()).value?.payload).toEqual(first);
      return opened;
    };
    const subscriptions = [await subscribed(), await subscribed()] as const;
    const rest = async (events: typeof stream) => {
      const seen: unknown[] = [];
      for await (const { payload } of events) seen.push(payload);
      return seen;
    };
    const [one, two] = [rest(subscriptions[0]), rest(subscriptions[1])];
    for (const command of [approve, dispatched, confirmed])
      await act(app, 'acme', recordOf(first.value), command);
    const seen = await one;
    expect(await two).toEqual(seen);
    expect(
      seen.map((event) => {
        const { $case, value } = event as { $case: string; value: Task };
        return $case === 'statusUpdate' ? stateOf(value) : $case;
      }),
    ).toEqual([
      TaskState.TASK_STATE_WORKING,
      TaskState.TASK_STATE_WORKING,
      'artifactUpdate',
      TaskState.TASK_STATE_COMPLETED,
    ]);
  });

  it('The A2A client gets one event for a task that completes immediately', async () => {
    const seen: unknown[] = [];
    for await (const { payload } of client.sendMessageStream(messageWith(HANDOFF)))
      seen.push(payload);
    expect(seen).toMatchObject([{ $case: 'task' }]);
    const { value } = seen[0] as { value: Task };
    await expect(client.resubscribeTask(taskParams(value.id)).next()).rejects.toMatchObject({
      name: expect.stringContaining('UnsupportedOperation'),
    });
  });

  it('The A2A client gets errors for an unknown task and a missing key', async () => {
    const unknown = taskParams('tsk_000000000000000000000000');
    await expect(client.getTask(unknown)).rejects.toMatchObject({
      name: expect.stringContaining('TaskNotFound'),
    });
    await expect(client.cancelTask(unknown)).rejects.toMatchObject({
      name: expect.stringContaining('TaskNotFound'),
    });
    await expect(client.resubscribeTask(unknown).next()).rejects.toMatchObject({
      name: expect.stringContaining('TaskNotFound'),
    });
    const anonymous = await clientFor(transport, undefined);
    await expect(anonymous.sendMessage(messageWith(HANDOFF))).rejects.toThrow(/API_KEY/);
    await expect(anonymous.sendMessageStream(messageWith(HANDOFF)).next()).rejects.toThrow(
      /API_KEY/,
    );
  });
});

describe('A receiver that the A2A client registers', () => {
  // Only from here on: it would send the outreach of the tests above by itself.
  beforeAll(() => app.service.dispatcher.start());

  it.each(TRANSPORTS)(
    'A receiver that the A2A client registers over %s gets the task as the client reads it',
    async (transport) => {
      const client = await clientFor(transport, key);
      const arrived = Promise.withResolvers<Received>();
      hook.answers((received, response) => {
        response.writeHead(204).end();
        arrived.resolve(received);
      });
      const task = (await client.sendMessage(messageWith(POST))) as Task;
      const config = {
        tenant: '',
        id: '',
        taskId: task.id,
        url: `http://${hook.host}/${transport}`,
        token: 'token',
        authentication: { scheme: 'Bearer', credentials: 'secret' },
      };
      const created = await client.createTaskPushNotificationConfig(config);
      expect(created).toMatchObject({ taskId: task.id, url: config.url });
      const { id } = created;
      const one = { tenant: '', taskId: task.id, id };
      expect(await client.getTaskPushNotificationConfig(one)).toEqual(created);
      const query = { tenant: '', taskId: task.id, pageSize: 0, pageToken: '' };
      expect((await client.listTaskPushNotificationConfig(query)).configs).toEqual([created]);
      await act(app, 'acme', recordOf(task), requestChanges);
      const { headers, body } = await arrived.promise;
      expect(headers).toMatchObject({
        authorization: 'Bearer secret',
        'x-a2a-notification-token': 'token',
      });
      const { payload } = StreamResponse.fromJSON(JSON.parse(body));
      expect(payload).toEqual({
        $case: 'task',
        value: await client.getTask(taskParams(task.id)),
      });
      await client.deleteTaskPushNotificationConfig(one);
      await client.deleteTaskPushNotificationConfig(one);
      await expect(client.getTaskPushNotificationConfig(one)).rejects.toMatchObject({
        name: expect.stringContaining('TaskNotFound'),
      });
    },
  );
});
