/** Notifications to an agent that uses the public A2A library, and to agents that misbehave. */
import { AgentCard, Message, Role, TaskState } from '@a2a-js/sdk';
import {
  AgentEvent,
  DefaultRequestHandler,
  InMemoryTaskStore,
  JsonRpcTransportHandler,
  ServerCallContext,
} from '@a2a-js/sdk/server';
import { afterEach, describe, expect, it } from 'vitest';
import { a2aChannel } from '#src/delivery/channels.ts';
import { guardedRequest } from '#src/delivery/http.ts';
import { systemClock } from '#src/system/ids.ts';
import { deliveryTo } from '../support/world/deliveries.ts';
import type { Received } from '../support/world/receivers.ts';
import { freePort } from '../support/processes/free-port.ts';
import { endReceivers, rawReceiver, receiver } from '../support/world/receivers.ts';

afterEach(endReceivers);

const { signal: NEVER } = new AbortController();
const CARD_PATH = '/.well-known/agent-card.json';

const cardOf = (host: string, over: object = {}) => ({
  name: 'Partner',
  description: 'Takes notes',
  version: '1',
  supportedInterfaces: [
    { url: `http://${host}/rest`, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
    { url: `http://${host}/old`, protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
    { url: `http://${host}/a2a`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
  ],
  capabilities: {},
  defaultInputModes: ['application/json'],
  defaultOutputModes: ['application/json'],
  skills: [{ id: 'note', name: 'Note', description: 'Notes', tags: [] }],
  ...over,
});

type Rpc = { jsonrpc: string; id: string; method: string; params: { message: object } };
const rpcOf = ({ body }: Received): Rpc => JSON.parse(body) as Rpc;

/** An agent with this card that answers each message with `result` or `error`. */
const agent = async (
  said: (asked: Rpc) => object | string,
  options: { card?: (host: string) => unknown; status?: number } = {},
) => {
  const { card = cardOf, status = 200 } = options;
  const made = await receiver();
  made.answers((received, response) => {
    if (received.url === CARD_PATH) {
      const shown = card(made.host);
      response.writeHead(200).end(typeof shown === 'string' ? shown : JSON.stringify(shown));
      return;
    }
    const asked = rpcOf(received);
    const answer = said(asked);
    const body =
      typeof answer === 'string'
        ? answer
        : JSON.stringify({ jsonrpc: '2.0', id: asked.id, ...answer });
    response.writeHead(status).end(body);
  });
  return made;
};

const notify = (host: string, more: readonly string[] = []) =>
  a2aChannel({
    request: guardedRequest({ privateHosts: [host, ...more] }),
    clock: systemClock(),
  }).deliver(
    deliveryTo({
      kind: 'agent_notification',
      target: { agent_card_url: `http://${host}${CARD_PATH}` },
    }),
    NEVER,
  );

const task = (state: string, id = 'task-1') => ({ result: { task: { id, status: { state } } } });

describe('A notification', () => {
  it('A notification is one A2A 1.0 message with the text, and the envelope as data', async () => {
    const made = await agent(() => task('TASK_STATE_SUBMITTED'));
    expect(await notify(made.host)).toEqual({
      outcome: 'delivered',
      evidence: 'task task-1 submitted',
    });
    const [read, sent] = made.received;
    expect(read).toMatchObject({
      method: 'GET',
      url: CARD_PATH,
      headers: { 'a2a-version': '1.0' },
    });
    expect(sent).toMatchObject({ method: 'POST', url: '/a2a', headers: { 'a2a-version': '1.0' } });
    expect(sent && rpcOf(sent)).toEqual({
      jsonrpc: '2.0',
      id: 'out_1.2',
      method: 'SendMessage',
      params: {
        message: {
          messageId: 'out_1.2',
          role: 'ROLE_USER',
          parts: [
            { text: 'Mugs are back.' },
            { data: JSON.parse(deliveryTo().envelope), mediaType: 'application/json' },
          ],
        },
        configuration: { returnImmediately: true },
      },
    });
  });

  it('A notification includes the tenant of the card', async () => {
    const card = (host: string) =>
      cardOf(host, {
        supportedInterfaces: [
          {
            url: `http://${host}/a2a`,
            protocolBinding: 'JSONRPC',
            protocolVersion: '1.0',
            tenant: 't1',
          },
        ],
      });
    const made = await agent(() => task('TASK_STATE_WORKING'), { card });
    await notify(made.host);
    expect(made.received[1]?.body).toContain('"tenant":"t1"');
  });

  it.each([
    [task('TASK_STATE_COMPLETED'), { outcome: 'delivered', evidence: 'task task-1 completed' }],
    [
      task('TASK_STATE_AUTH_REQUIRED'),
      { outcome: 'delivered', evidence: 'task task-1 auth_required' },
    ],
    [
      { result: { message: { messageId: 'm-1' } } },
      { outcome: 'delivered', evidence: 'message m-1' },
    ],
    [
      task('TASK_STATE_WORKING', 'Ignore all <b>'),
      { outcome: 'delivered', evidence: 'task (unprintable id) working' },
    ],
    [
      task('TASK_STATE_WORKING', 'x'.repeat(101)),
      { outcome: 'delivered', evidence: 'task (unprintable id) working' },
    ],
    [task('TASK_STATE_REJECTED'), { outcome: 'refused', reason: 'task_rejected' }],
    [task('TASK_STATE_FAILED'), { outcome: 'unknown', reason: 'task_failed' }],
    [task('TASK_STATE_CANCELED'), { outcome: 'unknown', reason: 'task_canceled' }],
    [task('TASK_STATE_ODD'), { outcome: 'unknown', reason: 'answer_unreadable' }],
    [{ result: {} }, { outcome: 'unknown', reason: 'answer_unreadable' }],
    [
      { id: 'other', ...task('TASK_STATE_COMPLETED') },
      { outcome: 'unknown', reason: 'answer_unreadable' },
    ],
    ['not json', { outcome: 'unknown', reason: 'answer_unreadable' }],
    [`{"pad":"${'x'.repeat(70_000)}"}`, { outcome: 'unknown', reason: 'answer_unreadable' }],
    [{ error: { code: -32_602, message: 'x' } }, { outcome: 'refused', reason: 'rpc_-32602' }],
    [{ error: { code: -32_009, message: 'x' } }, { outcome: 'refused', reason: 'rpc_-32009' }],
    [{ error: { code: -32_603, message: 'x' } }, { outcome: 'unknown', reason: 'rpc_-32603' }],
    [{ error: { code: 7, message: 'x' } }, { outcome: 'unknown', reason: 'rpc_7' }],
  ])('A notification has the right outcome after the answer %j', async (answer, result) => {
    const made = await agent(() => answer);
    expect(await notify(made.host)).toEqual(result);
  });

  it.each([
    [401, { outcome: 'refused', reason: 'http_401' }],
    // One agent that no longer exists does not disable the channel.
    [410, { outcome: 'refused', reason: 'http_410' }],
    [503, { outcome: 'retry', reason: 'http_503' }],
    [500, { outcome: 'unknown', reason: 'http_500' }],
  ])('A notification has the right outcome after status %i', async (status, result) => {
    const made = await agent(() => ({}), { status });
    expect(await notify(made.host)).toEqual(result);
  });
});

describe('An agent card', () => {
  const never = (): never => {
    throw new Error('a message was sent');
  };

  it.each([
    ['no json', 'card_invalid'],
    [{ name: 'x' }, 'card_invalid'],
    [cardOf('h', { skills: 'none' }), 'card_invalid'],
    [cardOf('h', { supportedInterfaces: [] }), 'card_invalid'],
    [cardOf('h', { name: 'x'.repeat(3_000) }), 'card_invalid'],
    [
      cardOf('h', {
        supportedInterfaces: [
          { url: 'http://h/', protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
        ],
      }),
      'card_without_jsonrpc',
    ],
    [cardOf('169.254.169.254'), 'card_names_other_host'],
    [cardOf('127.0.0.1:1'), 'card_names_other_host'],
  ])('An unusable agent card sends nothing: %#', async (card, reason) => {
    const made = await agent(never, { card: () => card });
    expect(await notify(made.host)).toEqual({ outcome: 'refused', reason });
    expect(made.received).toHaveLength(1);
  });

  it('An agent card cannot direct the message to another host, even an allowed one', async () => {
    const other = await receiver();
    const made = await agent(never, { card: () => cardOf(other.host) });
    expect(await notify(made.host, [other.host])).toMatchObject({
      reason: 'card_names_other_host',
    });
    expect(other.received).toEqual([]);
  });

  it('An agent card is not requested from a forbidden host', async () => {
    const trap = await receiver();
    const channel = a2aChannel({
      request: guardedRequest({ privateHosts: [] }),
      clock: systemClock(),
    });
    const target = { agent_card_url: `https://127.0.0.1:${trap.port}/card` };
    expect(await channel.deliver(deliveryTo({ target }), NEVER)).toEqual({
      outcome: 'refused',
      reason: 'card_address_not_public',
    });
    expect(await channel.deliver(deliveryTo({ target: {} }), NEVER)).toMatchObject({
      reason: 'no_card_url',
    });
    expect(trap.connections()).toBe(0);
  });

  it('An agent card that cannot be read now is retried later', async () => {
    expect(await notify(`127.0.0.1:${await freePort()}`)).toEqual({
      outcome: 'retry',
      reason: 'card_connect_failed',
    });
    const broken = await rawReceiver((socket) => socket.resetAndDestroy());
    expect(await notify(broken.host)).toMatchObject({ outcome: 'retry' });
    const made = await agent(never, { card: (host) => cardOf(host, { pad: 'x'.repeat(70_000) }) });
    expect(await notify(made.host)).toEqual({ outcome: 'refused', reason: 'card_too_large' });
    for (const [status, outcome] of [
      [404, 'refused'],
      [500, 'retry'],
      [503, 'retry'],
    ] as const) {
      const { host } = await receiver({
        answer: (_received, response) => response.writeHead(status).end(),
      });
      expect(await notify(host)).toEqual({ outcome, reason: `card_http_${status}` });
    }
  });
});

describe('An agent with the public A2A library', () => {
  it('An agent with the public A2A library accepts the message, and its answer is a delivery', async () => {
    const made = await receiver();
    const heard: unknown[] = [];
    const card = AgentCard.fromJSON(cardOf(made.host));
    const handler = new JsonRpcTransportHandler(
      new DefaultRequestHandler(card, new InMemoryTaskStore(), {
        async execute({ userMessage, taskId, contextId }, bus) {
          heard.push(Message.toJSON(userMessage));
          const status = {
            state: TaskState.TASK_STATE_COMPLETED,
            message: undefined,
            timestamp: undefined,
          };
          bus.publish(
            AgentEvent.task({
              id: taskId,
              contextId,
              status,
              artifacts: [],
              history: [userMessage],
              metadata: undefined,
            }),
          );
          bus.finished();
        },
        cancelTask: async () => {},
      }),
    );
    made.answers((received, response) => {
      if (received.url === CARD_PATH) {
        response.end(JSON.stringify(AgentCard.toJSON(card)));
        return;
      }
      const requestedVersion = received.headers['a2a-version'] ?? '';
      handler.handle(received.body, new ServerCallContext({ requestedVersion })).then(
        (answer) => response.end(JSON.stringify(answer)),
        () => response.writeHead(500).end(),
      );
    });
    const result = await notify(made.host);
    expect(result).toMatchObject({ outcome: 'delivered' });
    expect(result.outcome === 'delivered' && result.evidence).toMatch(
      /^task [0-9a-f-]{36} (completed|submitted|working)$/,
    );
    expect(heard).toEqual([
      expect.objectContaining({
        messageId: 'out_1.2',
        role: Role[Role.ROLE_USER],
        parts: [
          { text: 'Mugs are back.' },
          { data: JSON.parse(deliveryTo().envelope), mediaType: 'application/json' },
        ],
      }),
    ]);
  });
});
