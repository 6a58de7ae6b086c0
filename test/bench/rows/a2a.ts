/** A: a handoff over A2A SendMessage, compared with REST on the same server, and with the official SDK's server. */
import { AgentCard, Artifact, TaskState } from '@a2a-js/sdk';
import {
  AgentEvent,
  DefaultRequestHandler,
  InMemoryTaskStore,
  JsonRpcTransportHandler,
  ServerCallContext,
} from '@a2a-js/sdk/server';
import Fastify from 'fastify';
import { authenticator } from '#src/calls/authenticate.ts';
import type { Service } from '#src/main.ts';
import { feedProduct } from '../../support/world/app.ts';
import type { Bench } from '../bench.ts';
import { compared, type Role, sampled, start, startLoad, type Target } from '../children.ts';
import { type Call, ID } from '../load.ts';
import { AGENTS, deskOf, listen, openBench, serverWith } from '../service.ts';
import { rowOf } from '../table.ts';
import { temporaryDirectory } from '../temporary.ts';

type Details = { url: string; key: string };

const PRODUCTS = 200;
const CONNECTIONS = 64;
/** Few enough for the SDK's server. */
const FEW = 8;
const SAMPLE_MS = 1_200;

const openStocked = async (directory: string): Promise<{ service: Service; key: string }> => {
  const service = await openBench(directory);
  const desk = deskOf(service);
  await desk.publish(Array.from({ length: PRODUCTS }, (_, i) => feedProduct(`SKU${i}`)));
  return { service, key: await desk.agent('acme') };
};

export const a2aServer: Role<{ directory: string }, Details> = async ({ directory }) => {
  const { service, key } = await openStocked(directory);
  const server = serverWith(service, {});
  const url = await listen(server);
  return { details: { url, key }, close: () => server.close() };
};

const CARD = AgentCard.fromJSON({
  name: 'Control',
  description: 'Prepares handoffs',
  version: '1',
  supportedInterfaces: [
    { url: 'http://127.0.0.1/', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
  ],
  capabilities: {},
  defaultInputModes: ['application/json'],
  defaultOutputModes: ['application/json'],
  skills: [{ id: 'prepare_handoff', name: 'Handoff', description: 'Prepares it', tags: [] }],
});

/** Serves the same operation by the SDK, with the same credential check and with the SDK's tasks in memory. */
export const a2aSdkServer: Role<{ directory: string }, Details> = async ({ directory }) => {
  const { service, key } = await openStocked(directory);
  const { deps, app } = service;
  const credentials = authenticator(deps);
  const handler = new JsonRpcTransportHandler(
    new DefaultRequestHandler(CARD, new InMemoryTaskStore(), {
      async execute({ userMessage, taskId, contextId, context }, bus) {
        const caller = credentials.agent(String(context.state.get('key')));
        if (!caller.ok) throw new Error(caller.detail);
        const data = userMessage.parts[0]?.content?.value as Record<string, unknown>;
        const { skill: _, ...handoff } = data;
        const outcome = await app.agents.performAs('createHandoff', {
          caller: caller.value,
          surface: 'a2a',
          requestId: deps.ids.uuid(),
          input: { ...handoff, idempotency_key: userMessage.messageId },
        });
        if (!outcome.ok) throw new Error(outcome.detail);
        const state = TaskState.TASK_STATE_COMPLETED;
        const artifact = Artifact.fromJSON({ artifactId: '1', parts: [{ data: outcome.value }] });
        bus.publish(
          AgentEvent.task({
            id: taskId,
            contextId,
            status: { state, message: undefined, timestamp: undefined },
            artifacts: [artifact],
            history: [userMessage],
            metadata: undefined,
          }),
        );
        bus.finished();
      },
      cancelTask: async () => {},
    }),
  );
  const server = Fastify();
  server.post('/*', ({ body, headers }) => {
    const credential = headers.authorization?.slice('Bearer '.length);
    const context = new ServerCallContext({
      requestedVersion: String(headers['a2a-version']),
      state: new Map([['key', credential]]),
    });
    return handler.handle(body as Record<string, unknown>, context);
  });
  const url = await listen(server);
  const close = async (): Promise<void> => {
    await server.close();
    await service.close();
  };
  return { details: { url, key }, close };
};

/** The request of both: a handoff with two lines, and a unique idempotency key. */
const handoffOf = (i: number): object => ({
  title: 'Kitchen shelf, autumn',
  external_id: ID,
  buyer: { company: 'Corner Shop', country: 'GB' },
  line_items: [
    { sku: `SKU${i}`, quantity: 4 },
    { sku: `SKU${(i + 1) % PRODUCTS}`, quantity: 48 },
  ],
});

const times = (make: (i: number) => Call): Call[] =>
  Array.from({ length: PRODUCTS }, (_, i) => make(i));

const overRest = (key: string): Call[] =>
  times((i) => ({
    method: 'POST',
    path: `${AGENTS}/handoffs`,
    headers: { authorization: `Bearer ${key}`, 'idempotency-key': `k-${ID}` },
    body: JSON.stringify(handoffOf(i)),
  }));

const overA2a = (key: string, binding: 'rpc' | 'http'): Call[] =>
  times((i) => {
    const data = { skill: 'prepare_handoff', ...handoffOf(i) };
    const message = { messageId: `m-${ID}`, role: 'ROLE_USER', parts: [{ data }] };
    const rpc = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } };
    return {
      method: 'POST',
      path: binding === 'rpc' ? '/api/affiliate/a2a' : '/api/affiliate/a2a/message:send',
      headers: { authorization: `Bearer ${key}`, 'a2a-version': '1.0' },
      body: JSON.stringify(binding === 'rpc' ? rpc : { message }),
    };
  });

/** A refused call has HTTP status 200: checks one answer before the measurement. */
const requireTask = async ({ url, key }: Details): Promise<void> => {
  const [{ path, headers, body = '' } = { path: '' }] = overA2a(key, 'rpc');
  const answer = await fetch(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: body.replaceAll(ID, 'once'),
  });
  const text = await answer.text();
  if (!text.includes('TASK_STATE_COMPLETED')) throw new Error(text);
};

export const benchA2a: Bench = async ({ note }) => {
  const server = await start<Details>('a2a', { directory: temporaryDirectory() });
  const sdk = await start<Details>('a2aSdk', { directory: temporaryDirectory() });
  const load = await startLoad();
  const { key } = server.details;
  const at = (calls: Call[], { connections = CONNECTIONS, of = server } = {}): Target => ({
    server: of,
    order: { url: of.details.url, connections, ms: SAMPLE_MS, calls },
  });
  const taken = await sampled(load, {
    rest: at(overRest(key)),
    rpc: at(overA2a(key, 'rpc')),
    http: at(overA2a(key, 'http')),
  });
  await requireTask(sdk.details);
  const servers = await sampled(load, {
    ours: at(overA2a(key, 'rpc'), { connections: FEW }),
    sdk: at(overA2a(sdk.details.key, 'rpc'), { connections: FEW, of: sdk }),
  });
  note('A', taken);
  note('A', servers);
  await Promise.all([load, server, sdk].map((child) => child.stop()));
  const { rest, rpc, http } = taken;
  const id = 'A';
  return [
    rowOf(
      {
        id,
        what: 'A2A SendMessage of a handoff, 64 connections, vs REST',
        ...compared(rpc, rest, 'perSecond'),
      },
      { of: 'ratio', atLeast: 0.7 },
    ),
    rowOf({ id, what: '  over HTTP+JSON', ...compared(http, rest, 'perSecond') }),
    rowOf({ id, what: '  server CPU a request', ...compared(rpc, rest, 'cpuUs') }),
    rowOf({ id, what: '  p99', ...compared(rpc, rest, 'p99') }),
    rowOf({
      id,
      what: "  8 connections, vs the official SDK's server",
      ...compared(servers.ours, servers.sdk, 'perSecond'),
    }),
    rowOf({ id, what: '  server CPU a request', ...compared(servers.ours, servers.sdk, 'cpuUs') }),
  ];
};
