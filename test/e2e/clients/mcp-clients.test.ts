/** Third-party MCP clients with a listening service: they list and call every tool. */
import { execFile } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import {
  Client as NewClient,
  StreamableHTTPClientTransport as NewTransport,
} from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { agentOperations } from '#contracts/registries/agents.ts';
import { toolName } from '#contracts/places.ts';
import { feedProduct, freshKey, testApp, type TestApp } from '../../support/world/app.ts';
import { MCP } from '../../support/clients/mcp.ts';
import { COMPILED } from '../../support/clients/cli.ts';
import { configure } from '../../support/world/outreach.ts';
import { verifies } from '../../support/source/verifies.ts';

const TOOLS = Object.values(agentOperations).map(toolName);

let app: TestApp;
let key: string;
let url: string;

beforeAll(async () => {
  app = await testApp({ PUBLIC_URL: '' });
  await app.publish(Array.from({ length: 60 }, (_, i) => feedProduct(`MUG-${i}`)));
  await configure(app, 'acme');
  ({ key } = await app.agent('acme'));
  url = `${await app.service.listen()}${MCP}`;
});
afterAll(() => app.close());

type Result = {
  isError?: boolean;
  structuredContent?: Record<string, unknown>;
  content: { text: string }[];
  _meta?: Record<string, unknown>;
};
/** The functions of a client that the tests use. */
type Connected = {
  version(): string | undefined;
  tools(): Promise<{ name: string; annotations?: object | undefined }[]>;
  call(name: string, input: object): Promise<Result>;
  resource(uri: string): Promise<string>;
  prompt(): Promise<number>;
  close(): Promise<void>;
};

const INFO = { name: 'tributary-test', version: '1.0.0' };
const authorized = (credential: string) => ({
  requestInit: { headers: { Authorization: `Bearer ${credential}` } },
});

const oldLine = async (credential = key): Promise<Connected> => {
  const client = new OldClient(INFO);
  const transport = new OldTransport(new URL(url), authorized(credential));
  await client.connect(transport);
  return {
    version: () => transport.protocolVersion,
    tools: async () => (await client.listTools()).tools,
    call: async (name, input) =>
      (await client.callTool({ name, arguments: { ...input } })) as never,
    resource: async (uri) => textOf(await client.readResource({ uri })),
    prompt: async () =>
      (await client.getPrompt({ name: 'promote_product', arguments: { product: 'mug' } })).messages
        .length,
    close: () => client.close(),
  };
};

const newLine =
  (mode: 'legacy' | 'auto' | { pin: string }) =>
  async (credential = key): Promise<Connected> => {
    const client = new NewClient(INFO, { versionNegotiation: { mode } });
    await client.connect(new NewTransport(new URL(url), authorized(credential)));
    return {
      version: () => client.getNegotiatedProtocolVersion(),
      tools: async () => (await client.listTools()).tools,
      call: async (name, input) =>
        (await client.callTool({ name, arguments: { ...input } })) as never,
      resource: async (uri) => textOf(await client.readResource({ uri })),
      prompt: async () =>
        (await client.getPrompt({ name: 'promote_product', arguments: { product: 'mug' } }))
          .messages.length,
      close: () => client.close(),
    };
  };

const textOf = ({ contents: [content] }: { contents: object[] }): string =>
  content && 'text' in content ? String(content.text) : '';

/** Calls every tool once, in the order of an agent's first day; returns their names. */
const callAll = async (call: Connected['call']): Promise<string[]> => {
  const called: string[] = [];
  let requestId: unknown;
  const ok = async (name: string, input: object = {}): Promise<Record<string, unknown>> => {
    const { isError, structuredContent = {}, content, _meta } = await call(name, input);
    requestId = _meta?.['requestId'];
    if (isError) throw new Error(`${name}: ${content[0]?.text}`);
    called.push(name);
    return structuredContent;
  };
  const keyed = (input: object) => ({ idempotency_key: freshKey(), ...input });
  const text = 'Mugs are back in stock.';
  await ok('get_connection');
  await ok('search_products', { q: 'product', facets: ['category'] });
  const target = { kind: 'product', ref: 'MUG-1' };
  const link = await ok('create_link', keyed({ target }));
  await ok('create_links', keyed({ links: [{ target }] }));
  await ok('update_link', keyed({ link_id: link['id'], stop: true }));
  const list = { title: 'List', line_items: [{ sku: 'MUG-1', quantity: 4 }] };
  const { id: handoff_id } = await ok('create_handoff', keyed(list));
  await ok('list_records', { kind: 'handoff' });
  await ok('get_record', { id: handoff_id });
  await ok('list_changes');
  await ok('revise_handoff', keyed({ handoff_id, title: 'Another list' }));
  await ok('withdraw_handoff', keyed({ handoff_id, reason: 'Sold out' }));
  await ok('get_receipt', { request_id: requestId });
  const company = { name: 'Shop', country: 'GB' };
  await ok('submit_lead', keyed({ external_id: freshKey(), company }));
  await ok('list_leads');
  await ok('get_performance', { granularity: 'total' });
  const { id } = await ok(
    'request_social_post',
    keyed({ network: 'mastodon', account_ref: 'shop', text }),
  );
  await ok('request_message', keyed({ channel: 'email', recipient_ref: 'list:a', text }));
  const agent_card_url = 'https://partner.example/.well-known/agent-card.json';
  await ok('request_agent_notification', keyed({ agent_card_url, text }));
  await ok('get_outbound_request', { outbound_id: id });
  await ok('cancel_outbound_request', keyed({ outbound_id: id }));
  return called;
};

describe.each<[string, string, (credential?: string) => Promise<Connected>]>([
  ['MCP SDK 1, which begins with initialize', '2025-11-25', oldLine],
  ['MCP SDK 2 with a legacy version', '2025-11-25', newLine('legacy')],
  ['MCP SDK 2 with a negotiated version', '2026-07-28', newLine('auto')],
  ['MCP SDK 2 with a pinned modern version', '2026-07-28', newLine({ pin: '2026-07-28' })],
])('%s', (_name, version, connect) => {
  it('An MCP client lists and calls every tool, and accepts every result as valid', async () => {
    verifies('service.2', 'service.1');
    const client = await connect();
    expect(client.version()).toBe(version);
    expect((await client.tools()).map(({ name }) => name)).toEqual(TOOLS);
    expect((await callAll(client.call)).sort()).toEqual([...TOOLS].sort());
    expect(JSON.parse(await client.resource('tributary://boundaries'))).toHaveLength(5);
    expect(await client.prompt()).toBe(1);
    await client.close();
  });

  it('An MCP client reads a refusal as an error, and continues', async () => {
    const { key: narrow } = await app.agent('acme', ['links:write']);
    const client = await connect(narrow);
    const refused = await client.call('create_link', { target: { kind: 'product', ref: 'MUG-1' } });
    expect(refused.isError).toBe(true);
    expect(JSON.parse(refused.content[0]?.text ?? '')).toMatchObject({
      code: 'idempotency_key_required',
    });
    await expect(client.call('list_leads', {})).rejects.toThrow(/leads:read|insufficient|403/);
    const allowed = (await client.tools()).map(({ name }) => name);
    expect(allowed).toContain('create_link');
    expect(allowed).not.toContain('list_leads');
    await client.close();
  });

  it('An MCP client gets an error for an invalid key', async () => {
    await expect(connect('nonsense')).rejects.toThrow(/credential|Unauthorized|401/i);
  });
});

describe('The MCP Inspector', () => {
  const BIN = join(
    dirname(fileURLToPath(import.meta.resolve('@modelcontextprotocol/inspector/package.json'))),
    'clients/launcher/build/index.js',
  );
  const inspect = async (...args: string[]): Promise<{ stdout: string; stderr: string }> =>
    promisify(execFile)(
      process.execPath,
      [
        BIN,
        '--cli',
        url,
        '--transport',
        'http',
        '--header',
        `Authorization: Bearer ${key}`,
        ...args,
      ],
      // The Inspector stores files in its home directory.
      {
        env: { PATH: '/usr/bin:/bin', HOME: app.directory, NODE_COMPILE_CACHE: COMPILED },
        maxBuffer: 4_000_000,
      },
    );

  it('The MCP Inspector reports no problem of the schemas', async () => {
    const { stdout, stderr } = await inspect('--method', 'tools/list', '--strict');
    const { tools } = JSON.parse(stdout) as { tools: { name: string }[] };
    expect(tools.map(({ name }) => name)).toEqual(TOOLS);
    expect(stderr).toBe('');
  });

  it('The MCP Inspector calls every tool', async () => {
    const call = async (name: string, input: object): Promise<Result> => {
      const pairs = Object.entries(input).map(
        ([field, value]) => `${field}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
      );
      const given = pairs.length > 0 ? ['--tool-arg', ...pairs] : [];
      const { stdout } = await inspect('--method', 'tools/call', '--tool-name', name, ...given);
      return JSON.parse(stdout) as Result;
    };
    expect((await callAll(call)).sort()).toEqual([...TOOLS].sort());
    // Starts a process for each, one after the other.
  });
});
