/** M: a link over MCP, compared with REST and with the official SDK's server; and tools/list. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { toWebRequest } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { createLink } from '#contracts/links/operations.ts';
import { authenticator } from '#src/calls/authenticate.ts';
import type { Bench } from '../bench.ts';
import { feedProduct } from '../../support/world/app.ts';
import type { Role, Started, Target } from '../children.ts';
import { compared, sampled, start, startLoad } from '../children.ts';
import { type Call, ID } from '../load.ts';
import { AGENTS, deskOf, openBench } from '../service.ts';
import { rowOf } from '../table.ts';
import { temporaryDirectory } from '../temporary.ts';

type Details = { url: string; key: string };
type Era = 'modern' | 'legacy';

const MCP = '/api/affiliate/mcp';
const MODERN = '2026-07-28';
const CONNECTIONS = 64;
/** Few enough for the SDK's server, which creates a new instance for every request. */
const FEW = 8;
const SAMPLE_MS = 1_200;

const openStocked = async (directory: string) => {
  const service = await openBench(directory);
  const desk = deskOf(service);
  await desk.publish([feedProduct('SKU1')]);
  return { service, key: await desk.agent('acme') };
};

export const mcpServer: Role<{ directory: string }, Details> = async ({ directory }) => {
  const { service, key } = await openStocked(directory);
  return { details: { url: await service.listen(), key }, close: () => service.close() };
};

/** Serves the same handler by the SDK's stateless server, with the same credential check. */
export const sdkServer: Role<{ directory: string }, Details> = async ({ directory }) => {
  const { service, key } = await openStocked(directory);
  const { deps, app } = service;
  const credentials = authenticator(deps);
  const make = (authorization: string): McpServer => {
    const caller = credentials.agent(authorization.slice('Bearer '.length));
    if (!caller.ok) throw new Error(caller.detail);
    const server = new McpServer({ name: 'control', version: '1.0.0' });
    const schemas = { inputSchema: createLink.input, outputSchema: createLink.output };
    server.registerTool('create_link', schemas, async (input) => {
      const requestId = deps.ids.uuid();
      const args = { caller: caller.value, surface: 'mcp', requestId, input } as const;
      const outcome = await app.agents.performAs('createLink', args);
      if (!outcome.ok) throw new Error(outcome.detail);
      const { value } = outcome;
      return { content: [{ type: 'text', text: JSON.stringify(value) }], structuredContent: value };
    });
    return server;
  };
  const handler = createMcpHandler(
    ({ requestInfo }) => make(requestInfo?.headers.get('authorization') ?? ''),
    { responseMode: 'json' },
  );
  const server = createServer((incoming, outgoing) => {
    void (async () => {
      const answer = await handler.fetch(
        await toWebRequest(incoming as Parameters<typeof toWebRequest>[0]),
      );
      // Sends the answer with its length, which the generator needs.
      const body = await answer.text();
      outgoing.writeHead(answer.status, {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      });
      outgoing.end(body);
    })();
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    details: { url: `http://127.0.0.1:${port}`, key },
    async close() {
      server.closeAllConnections();
      server.close();
      await service.close();
    },
  };
};

const LINK = {
  target: { kind: 'search', ref: 'SKU1' },
  external_id: ID,
  campaign: 'spring-sale',
  channel: 'email',
};

const messageOf = (era: Era, key: string, method: string, args: Record<string, unknown>): Call => {
  const modern = era === 'modern';
  const meta = {
    'io.modelcontextprotocol/protocolVersion': MODERN,
    'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const params = { ...args, ...(modern && { _meta: meta }) };
  const name = args['name'];
  return {
    method: 'POST',
    path: MCP,
    headers: {
      authorization: `Bearer ${key}`,
      accept: 'application/json, text/event-stream',
      ...(modern && { 'mcp-protocol-version': MODERN, 'mcp-method': method }),
      ...(modern && typeof name === 'string' && { 'mcp-name': name }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  };
};

const createOver = (era: Era, key: string): Call =>
  messageOf(era, key, 'tools/call', {
    name: 'create_link',
    arguments: { idempotency_key: `k-${ID}`, ...LINK },
  });

const createOverRest = (key: string): Call => ({
  method: 'POST',
  path: `${AGENTS}/links`,
  headers: { authorization: `Bearer ${key}`, 'idempotency-key': `k-${ID}` },
  body: JSON.stringify(LINK),
});

const textOf = async (
  { url }: Details,
  { path, headers = {}, body = '' }: Call,
): Promise<string> => {
  const answer = await fetch(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: body.replaceAll(ID, 'once'),
  });
  const text = await answer.text();
  if (!answer.ok || text.includes('isError')) throw new Error(`${path}: ${text}`);
  return text;
};

const at = (
  server: Started<{ url: string }>,
  call: Call,
  connections: number = CONNECTIONS,
): Target => ({
  server,
  order: { url: server.details.url, connections, ms: SAMPLE_MS, calls: [call] },
});

export const benchMcp: Bench = async ({ note }) => {
  const ours = await start<Details>('mcp', { directory: temporaryDirectory() });
  const sdk = await start<Details>('mcpSdk', { directory: temporaryDirectory() });
  const load = await startLoad();
  const { key } = ours.details;
  const list = messageOf('modern', key, 'tools/list', {});
  const body = await textOf(ours.details, list);
  // A tool call that is refused has HTTP status 200: checks one answer before the measurement.
  await textOf(ours.details, createOver('modern', key));
  await textOf(sdk.details, createOver('modern', sdk.details.key));
  const bare = await start<{ url: string }>('bytes', {
    body,
    type: 'application/json; charset=utf-8',
  });
  const links = await sampled(load, {
    modern: at(ours, createOver('modern', key)),
    legacy: at(ours, createOver('legacy', key)),
    rest: at(ours, createOverRest(key)),
  });
  const servers = await sampled(load, {
    ours: at(ours, createOver('modern', key), FEW),
    sdk: at(sdk, createOver('modern', sdk.details.key), FEW),
  });
  const lists = await sampled(load, { list: at(ours, list), bare: at(bare, { path: '/' }) });
  note('M', links);
  note('M', servers);
  note('M', lists);
  await Promise.all([load, ours, sdk, bare].map((child) => child.stop()));
  const id = 'M';
  return [
    rowOf(
      {
        id,
        what: 'create_link over MCP, 64 connections, vs REST',
        ...compared(links.modern, links.rest, 'perSecond'),
      },
      { of: 'ratio', atLeast: 0.85 },
    ),
    rowOf({ id, what: '  in the legacy era', ...compared(links.legacy, links.rest, 'perSecond') }),
    rowOf({ id, what: '  server CPU a request', ...compared(links.modern, links.rest, 'cpuUs') }),
    rowOf(
      {
        id,
        what: "  8 connections, vs the official SDK's stateless server",
        ...compared(servers.ours, servers.sdk, 'perSecond'),
      },
      { of: 'ratio', atLeast: 5 },
    ),
    rowOf(
      { id, what: 'tools/list, vs bare fastify', ...compared(lists.list, lists.bare, 'perSecond') },
      { of: 'ratio', atLeast: 0.8 },
    ),
  ];
};
