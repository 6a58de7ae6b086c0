/** Frameworks and clients of A2A 0.3, each by the example of its documentation: they send text, and read a task. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { a2aApp, HANDOFF } from '../support/clients/a2a.ts';
import { freshKey, type TestApp } from '../support/world/app.ts';
import { framework, hasFrameworks } from './packages.ts';

let app: TestApp;
let origin: string;
let withKey: typeof fetch;
beforeAll(async () => {
  app = await a2aApp({ PUBLIC_URL: '' });
  origin = await app.service.listen();
  const { key } = await app.agent('acme');
  withKey = (url, init) =>
    fetch(url, {
      ...init,
      headers: { ...(init?.headers as object), authorization: `Bearer ${key}` },
    });
});
afterAll(() => app.close());

type Factory = { createFromUrl(url: string): Promise<Client> };
type Client = {
  sendMessage(params: object): Promise<{ kind: string; id: string; status: { state: string } }>;
  sendMessageStream(params: object): AsyncGenerator<{ kind: string }>;
  getTask(params: object): Promise<{ id: string }>;
  cancelTask(params: object): Promise<object>;
};
type Sdk = {
  ClientFactory: new (options: object) => Factory;
  JsonRpcTransportFactory: new (options: object) => object;
  DefaultAgentCardResolver: new (options: object) => object;
};

const factoryOf = async (name: string): Promise<Factory> => {
  const sdk = await framework<Sdk>(name);
  return new sdk.ClientFactory({
    transports: [new sdk.JsonRpcTransportFactory({ fetchImpl: withKey })],
    cardResolver: new sdk.DefaultAgentCardResolver({ fetchImpl: withKey }),
  });
};

const text = () => ({ ...HANDOFF, title: freshKey() });
const TEXT = () => JSON.stringify(text());

describe.skipIf(!hasFrameworks)('A2A 0.3 (make test-frameworks installs infra/frameworks)', () => {
  it('A2A 0.3 works with the official JavaScript client of that version', async () => {
    const client = await (await factoryOf('@a2a-js/sdk/client')).createFromUrl(origin);
    const message = (parts: object[]) => ({
      message: { kind: 'message', messageId: freshKey(), role: 'user', parts },
    });
    const task = await client.sendMessage(message([{ kind: 'data', data: text() }]));
    expect(task).toMatchObject({ kind: 'task', metadata: { skill: 'prepare_handoff' } });
    expect(await client.getTask({ id: task.id })).toMatchObject({ id: task.id });
    const events: { kind: string }[] = [];
    for await (const event of client.sendMessageStream(message([{ kind: 'text', text: TEXT() }])))
      events.push(event);
    expect(events[0]).toMatchObject({ kind: 'task', metadata: { skill: 'prepare_handoff' } });
    await expect(client.getTask({ id: 'tsk_none' })).rejects.toThrow();
  });

  it('A2A 0.3 works with Strands', async () => {
    type Agent = { invoke(text: string): Promise<object> };
    const { A2AAgent } = await framework<{ A2AAgent: new (options: object) => Agent }>(
      '@strands-agents/sdk/a2a',
    );
    const clientFactory = await factoryOf('@a2a-js/sdk/client');
    const agent = new A2AAgent({ url: origin, clientFactory });
    expect(JSON.stringify(await agent.invoke(TEXT()))).not.toContain('rror');
  });

  it('A2A 0.3 works with the Agent Development Kit', async () => {
    type Event = { content?: object; errorMessage?: string };
    type Runner = { runEphemeral(options: object): AsyncGenerator<Event> };
    const { RemoteA2AAgent, InMemoryRunner } = await framework<{
      RemoteA2AAgent: new (options: object) => object;
      InMemoryRunner: new (options: object) => Runner;
    }>('@google/adk');
    const clientFactory = await factoryOf('@a2a-js/sdk/client');
    const agent = new RemoteA2AAgent({ name: 'tributary', agentCard: origin, clientFactory });
    const runner = new InMemoryRunner({ agent, appName: 'test' });
    const events: Event[] = [];
    const newMessage = { role: 'user', parts: [{ text: TEXT() }] };
    for await (const event of runner.runEphemeral({ userId: 'u', newMessage })) events.push(event);
    expect(events.length).toBeGreaterThan(0);
    expect(events.map(({ errorMessage }) => errorMessage).filter(Boolean)).toEqual([]);
    expect(JSON.stringify(events)).toContain('review_url');
  });
});
