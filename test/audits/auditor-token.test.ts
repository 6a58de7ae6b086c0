/** What an auditor's token can do: read audits, and change nothing over any interface. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { deskOperations } from '#contracts/registries/desk.ts';
import { agentOperations, recordOperations } from '#contracts/registries/agents.ts';
import type { DeskOperation, Operation } from '#contracts/operation.ts';
import { DESK_BASE, pathOf } from '#contracts/places.ts';
import { HTTP_ROUTES, METHODS } from '#src/interfaces/a2a/routes.ts';
import { TOOLS } from '#src/interfaces/mcp/tools.ts';
import { BASE as A2A, message, rpc, VERSION } from '../support/clients/a2a.ts';
import { mcpAgent } from '../support/clients/mcp.ts';
import { feedProduct, freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { configure, person } from '../support/world/outreach.ts';

const V1 = '/api/affiliate/v1';

let app: TestApp;
let auditor: string;
beforeAll(async () => {
  app = await testApp();
  await app.publish([feedProduct('MUG-1')]);
  await configure(app, 'acme');
  await app.agent('acme');
  auditor = await person(app, ['auditor']);
});
afterAll(() => app.close());
// Refused credentials are limited by the minute.
beforeEach(() => app.clock.pause(60_000));

/** Calls with the token, and requires that the log has nothing new but audit records. */
const writingNothing = async (call: () => Promise<void>): Promise<void> => {
  const { log, audit } = app.service.deps;
  await audit.flush();
  const { position } = await log.head();
  await call();
  await audit.flush();
  const added = await log.readAll({ after: position, limit: 1_000 });
  expect(added.filter(({ owner, type }) => type !== 'CallsAudited' && owner !== 'notary')).toEqual(
    [],
  );
};

/** Calls an operation with its example, and returns the status of the answer. */
const statusOf = async (operation: Operation | DeskOperation, base: string): Promise<number> => {
  const { idempotency_key: _key, ...input } = operation.examples[0]?.input ?? {};
  const { method } = operation.http;
  const query = method === 'GET' ? new URLSearchParams(input as never).toString() : '';
  const { status } = await app.send({
    method,
    url: `${base}${pathOf(operation, input)}${query === '' ? '' : `?${query}`}`,
    key: auditor,
    headers: { 'idempotency-key': freshKey() },
    ...(method === 'POST' && { payload: input }),
  });
  return status;
};

const ofDesk = (kind: 'command' | 'query'): DeskOperation[] =>
  Object.values<DeskOperation>(deskOperations).filter((operation) => operation.kind === kind);

describe("An auditor's token", () => {
  it("An auditor's token can perform no command of the desk", async () => {
    const commands = ofDesk('command');
    expect(commands.length).toBeGreaterThan(20);
    await writingNothing(async () => {
      for (const operation of commands) {
        // What everybody does with their own sign-in: a token has none.
        const isOwn = operation.roles.includes('auditor') && operation.isOnPage !== true;
        const status = await statusOf(operation, DESK_BASE);
        if (isOwn) expect([404, 409, 422], operation.id).toContain(status);
        else expect(status, operation.id).toBe(403);
      }
    });
  });

  it("An auditor's token changes nothing with a desk query, and performs only the queries of the role auditor", async () => {
    const queries = ofDesk('query');
    expect(queries.length).toBeGreaterThan(15);
    await writingNothing(async () => {
      for (const operation of queries) {
        const isDenied = (await statusOf(operation, DESK_BASE)) === 403;
        const isTheirs = operation.roles.includes('auditor') && operation.isOnPage !== true;
        expect(isDenied, operation.id).toBe(!isTheirs);
      }
    });
  });

  it("An auditor's token is not accepted as an agent's key over REST", async () => {
    const operations = [agentOperations, recordOperations]
      .flatMap((registry) => Object.values<object>(registry))
      .filter((operation) => 'http' in operation) as Operation[];
    expect(operations.length).toBeGreaterThan(6);
    await writingNothing(async () => {
      for (const operation of operations)
        expect(await statusOf(operation, V1), operation.id).toBe(401);
    });
  });

  it("An auditor's token is not accepted as an agent's key over MCP, for any tool and for the list of tools", async () => {
    expect(TOOLS.length).toBeGreaterThan(11);
    const mcp = mcpAgent(app, auditor);
    await writingNothing(async () => {
      for (const { entry, operation } of TOOLS) {
        const { name } = entry;
        const [example] = operation.examples;
        const call = { name, arguments: { ...example?.input, idempotency_key: freshKey() } };
        expect((await mcp.legacy('tools/call', call)).status, name).toBe(401);
        expect((await mcp.modern('tools/call', call)).status, name).toBe(401);
      }
      for (const method of ['initialize', 'tools/list', 'resources/list', 'prompts/list'])
        expect((await mcp.legacy(method, {})).status, method).toBe(401);
    });
  });

  it("An auditor's token is not accepted as an agent's key over A2A, for any method of both bindings", async () => {
    const params = { id: 'tsk_1', message: message('How many clicks did my links get?') };
    await writingNothing(async () => {
      for (const method of Object.keys(METHODS))
        expect((await rpc(app, auditor, method, params)).status, method).toBe(401);
      for (const { method, url } of HTTP_ROUTES) {
        const path = url.replace('(^[^:/]+)', '').replaceAll('::', ':').replace(':id', 'tsk_1');
        const { status } = await app.send({
          method,
          url: A2A + path.replace(':config', 'one'),
          key: auditor,
          headers: VERSION,
          ...(method === 'POST' && { payload: params }),
        });
        expect(status, `${method} ${url}`).toBe(401);
      }
    });
  });
});
