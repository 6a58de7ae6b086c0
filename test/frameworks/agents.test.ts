/** Agent frameworks, without a model: each lists the tools, converts them and calls one. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { agentOperations } from '#contracts/registries/agents.ts';
import { toolName } from '#contracts/places.ts';
import { MCP } from '../support/clients/mcp.ts';
import { feedProduct, testApp, type TestApp } from '../support/world/app.ts';
import { framework, hasFrameworks } from './packages.ts';

const NAMES = Object.values(agentOperations).map(toolName);
const QUERY = { q: 'mug', limit: 1 };

let app: TestApp;
let url: string;
let headers: Record<string, string>;
beforeAll(async () => {
  app = await testApp({ PUBLIC_URL: '' });
  await app.publish([feedProduct('MUG-1', { title: 'Stoneware mug' })]);
  const { key } = await app.agent('acme');
  url = (await app.service.listen()) + MCP;
  headers = { Authorization: `Bearer ${key}` };
});
afterAll(() => app.close());

/** Expects the product in an answer, whatever form a framework gives it. */
const expectProduct = (answer: unknown): void =>
  expect(JSON.stringify(answer)).toContain('Stoneware mug');

describe.skipIf(!hasFrameworks)(
  'The tools (make test-frameworks installs infra/frameworks)',
  () => {
    it('The tools work with the AI SDK', async () => {
      type Tool = { execute(input: object, options: object): Promise<unknown> };
      const { createMCPClient } = await framework<{
        createMCPClient(options: object): Promise<{
          tools(): Promise<Record<string, Tool>>;
          close(): Promise<void>;
        }>;
      }>('@ai-sdk/mcp');
      const client = await createMCPClient({ transport: { type: 'http', url, headers } });
      const tools = await client.tools();
      expect(Object.keys(tools)).toEqual(NAMES);
      const options = { toolCallId: 'call-1', messages: [] };
      expectProduct(await tools['search_products']?.execute(QUERY, options));
      await client.close();
    });

    it('The tools work with LangChain', async () => {
      type Tool = { name: string; invoke(input: object): Promise<unknown> };
      const { MultiServerMCPClient } = await framework<{
        MultiServerMCPClient: new (
          options: object,
        ) => { getTools(): Promise<Tool[]>; close(): Promise<void> };
      }>('@langchain/mcp-adapters');
      const server = { transport: 'http', url, headers };
      const client = new MultiServerMCPClient({ mcpServers: { tributary: server } });
      const tools = await client.getTools();
      expect(tools.map(({ name }) => name)).toEqual(NAMES);
      expectProduct(await tools.find(({ name }) => name === 'search_products')?.invoke(QUERY));
      await client.close();
    });

    it('The tools work with Mastra', async () => {
      type Tool = { execute(input: object, options: object): Promise<unknown> };
      const { MCPClient } = await framework<{
        MCPClient: new (
          options: object,
        ) => { listTools(): Promise<Record<string, Tool>>; disconnect(): Promise<void> };
      }>('@mastra/mcp');
      const server = { url: new URL(url), requestInit: { headers } };
      const client = new MCPClient({ servers: { tributary: server } });
      const tools = await client.listTools();
      expect(Object.keys(tools)).toEqual(NAMES.map((name) => `tributary_${name}`));
      expectProduct(await tools['tributary_search_products']?.execute(QUERY, {}));
      await client.disconnect();
    });

    it('The tools work with OpenAI Agents in strict mode, which sends null for each optional field', async () => {
      type Tool = {
        name: string;
        strict: boolean;
        parameters: { properties: object };
        invoke(context: object, input: string): Promise<unknown>;
      };
      const { MCPServerStreamableHttp, getAllMcpTools } = await framework<{
        MCPServerStreamableHttp: new (
          options: object,
        ) => { connect(): Promise<void>; close(): Promise<void> };
        getAllMcpTools(options: object): Promise<Tool[]>;
      }>('@openai/agents');
      const server = new MCPServerStreamableHttp({
        url,
        name: 'tributary',
        requestInit: { headers },
      });
      await server.connect();
      const tools = await getAllMcpTools({ mcpServers: [server], convertSchemasToStrict: true });
      expect(tools.map(({ name, strict }) => [name, strict])).toEqual(
        NAMES.map((name) => [name, true]),
      );
      const search = tools.find(({ name }) => name === 'search_products');
      const names = Object.keys(search?.parameters.properties ?? {});
      const strict = { ...Object.fromEntries(names.map((name) => [name, null])), ...QUERY };
      expectProduct(await search?.invoke({ context: {} }, JSON.stringify(strict)));
      await server.close();
    });

    it('The tools work with the TypeScript SDK 1.12, which knows no version after 2025-03-26', async () => {
      type Client = {
        connect(transport: object): Promise<void>;
        listTools(): Promise<{ tools: { name: string }[] }>;
        callTool(call: object): Promise<object>;
        close(): Promise<void>;
      };
      const { Client } = await framework<{ Client: new (info: object) => Client }>(
        'mcp-sdk-1.12/client/index.js',
      );
      const { StreamableHTTPClientTransport } = await framework<{
        StreamableHTTPClientTransport: new (at: URL, options: object) => object;
      }>('mcp-sdk-1.12/client/streamableHttp.js');
      const client = new Client({ name: 'tributary-test', version: '1.0.0' });
      await client.connect(
        new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }),
      );
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).toEqual(NAMES);
      expectProduct(await client.callTool({ name: 'search_products', arguments: QUERY }));
      await client.close();
    });

    it('The tools work with Google GenAI', async () => {
      type Callable = {
        tool(): Promise<{ functionDeclarations: { name: string }[] }>;
        callTool(calls: object[]): Promise<unknown>;
      };
      const { mcpToTool } = await framework<{ mcpToTool(client: object): Callable }>(
        '@google/genai',
      );
      const { Client } = await framework<{
        Client: new (
          info: object,
        ) => { connect(transport: object): Promise<void>; close(): Promise<void> };
      }>('@modelcontextprotocol/sdk/client/index.js');
      const { StreamableHTTPClientTransport } = await framework<{
        StreamableHTTPClientTransport: new (at: URL, options: object) => object;
      }>('@modelcontextprotocol/sdk/client/streamableHttp.js');
      const client = new Client({ name: 'tributary-test', version: '1.0.0' });
      await client.connect(
        new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }),
      );
      const callable = mcpToTool(client);
      const { functionDeclarations } = await callable.tool();
      expect(functionDeclarations.map(({ name }) => name)).toEqual(NAMES);
      expectProduct(await callable.callTool([{ name: 'search_products', args: QUERY }]));
      await client.close();
    });
  },
);
