/** The official A2A client against a listening service, over both bindings. */
import { AgentCard, Role, type Task, TaskState, verifyAgentCardSignature } from '@a2a-js/sdk';
import type { Client } from '@a2a-js/sdk/client';
import {
  ClientFactory,
  ClientFactoryOptions,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from '@a2a-js/sdk/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freshKey, type TestApp } from '../../support/world/app.ts';
import {
  a2aApp,
  act,
  approve,
  confirmed,
  dispatched,
  HANDOFF,
  POST,
} from '../../support/clients/a2a.ts';

let app: TestApp;
let url: string;
let key: string;
beforeAll(async () => {
  app = await a2aApp({ PUBLIC_URL: '' });
  url = await app.service.listen();
  ({ key } = await app.agent('acme'));
});
afterAll(() => app.close());

const clientFor = (transport: 'JSONRPC' | 'HTTP+JSON', by: string | undefined): Promise<Client> => {
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

const saying = (data: object, taskId = '') => ({
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
const named = (id: string) => ({ tenant: '', id, historyLength: undefined, metadata: undefined });
const stateOf = (task: unknown): TaskState | undefined => (task as Task).status?.state;
const recordOf = (task: unknown): string =>
  (task as { metadata: { record: string } }).metadata.record;

describe.each(['JSONRPC', 'HTTP+JSON'] as const)('the client over %s', (transport) => {
  let client: Client;
  beforeAll(async () => {
    client = await clientFor(transport, key);
  });

  it('reads the card, checks its signature, and asks for the extended one', async () => {
    expect(client.transport.protocolName).toBe(transport);
    const check = verifyAgentCardSignature(async (kid, jku) => {
      const { keys } = (await (await fetch(jku ?? '')).json()) as { keys: { kid: string }[] };
      return keys.find((one) => one.kid === kid) as never;
    });
    // As JSON: of a card that it has parsed, the client's own check forgets the security schemes.
    const card = AgentCard.toJSON(await client.getAgentCard()) as AgentCard;
    await check(card);
    expect(card.skills).toHaveLength(4);
    expect(card.signatures).toHaveLength(1);
  });

  it('sends, gets, lists and cancels', async () => {
    const made = (await client.sendMessage(saying(HANDOFF))) as Task;
    expect(stateOf(made)).toBe(TaskState.TASK_STATE_COMPLETED);
    expect(made.artifacts[0]?.parts[0]).toMatchObject({
      content: { $case: 'data', value: { id: recordOf(made) } },
      metadata: { untrusted: true },
    });
    const waiting = (await client.sendMessage(saying(POST))) as Task;
    expect(stateOf(waiting)).toBe(TaskState.TASK_STATE_AUTH_REQUIRED);
    expect(await client.getTask(named(waiting.id))).toEqual(waiting);
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
    const canceled = await client.cancelTask(named(waiting.id));
    expect(stateOf(canceled)).toBe(TaskState.TASK_STATE_CANCELED);
  });

  it('follows a promotion from its proposal to its end', async () => {
    const stream = client.sendMessageStream(saying(POST));
    const first = (await stream.next()).value?.payload;
    if (first?.$case !== 'task') throw new Error('the first event is no task');
    const { id } = first.value;
    const second = client.resubscribeTask(named(id));
    const again = (await second.next()).value?.payload;
    expect(again).toEqual(first);
    const rest = async (events: typeof stream) => {
      const seen: unknown[] = [];
      for await (const { payload } of events) seen.push(payload);
      return seen;
    };
    const [one, two] = [rest(stream), rest(second)];
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

  it('gets one event of what is done at once', async () => {
    const seen: unknown[] = [];
    for await (const { payload } of client.sendMessageStream(saying(HANDOFF))) seen.push(payload);
    expect(seen).toMatchObject([{ $case: 'task' }]);
    const { value } = seen[0] as { value: Task };
    await expect(client.resubscribeTask(named(value.id)).next()).rejects.toMatchObject({
      name: expect.stringContaining('UnsupportedOperation'),
    });
  });

  it('is told of a task that is not there, of push, and of a key that is none', async () => {
    const gone = named('tsk_000000000000000000000000');
    await expect(client.getTask(gone)).rejects.toMatchObject({
      name: expect.stringContaining('TaskNotFound'),
    });
    await expect(client.cancelTask(gone)).rejects.toMatchObject({
      name: expect.stringContaining('TaskNotFound'),
    });
    await expect(client.resubscribeTask(gone).next()).rejects.toMatchObject({
      name: expect.stringContaining('TaskNotFound'),
    });
    // Past the client, which reads in the card that there is none, and asks nobody.
    const config = { tenant: '', taskId: 'x', pageSize: 1, pageToken: '' };
    await expect(
      client.transport.listTaskPushNotificationConfig(config, {
        serviceParameters: { 'A2A-Version': '1.0' },
      }),
    ).rejects.toMatchObject({ name: expect.stringContaining('PushNotificationNotSupported') });
    const stranger = await clientFor(transport, undefined);
    await expect(stranger.sendMessage(saying(HANDOFF))).rejects.toThrow(/API_KEY/);
    await expect(stranger.sendMessageStream(saying(HANDOFF)).next()).rejects.toThrow(/API_KEY/);
  });
});
