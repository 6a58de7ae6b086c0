/** Documents about the MCP server. */
import type { FastifyInstance } from 'fastify';
import { afterText, fieldsTable, json, scopeText } from '#src/interfaces/documents/markdown.ts';
import { documentRoute } from '#src/web/documents.ts';
import { type Tool, TOOLS } from './tools.ts';
import { SERVER, VERSIONS, INSTRUCTIONS, inToolWords } from './wire.ts';

export const MCP_PATH = '/api/affiliate/mcp';

/** The schema of server cards allows 100 characters. */
const DESCRIPTION =
  'Wholesale products, attributed links, buyer handoffs, leads, performance and outreach';

const KEY_HELP =
  'Bearer <API_KEY>. Keys are issued by the owner after an access review; keep yours in a server-side secret.';

/** Where the endpoint is and how to connect; nothing about owners, and no list of tools. */
const mcpStatus = (origin: string): object => ({
  status: 'available',
  endpoint: `${origin}${MCP_PATH}`,
  transport: 'streamable-http',
  protocol_versions: VERSIONS,
  server: SERVER,
  authentication: { scheme: 'bearer', header: 'Authorization', help: KEY_HELP },
  links: {
    server_card: `${origin}${MCP_PATH}/server-card`,
    docs: `${origin}/docs/mcp`,
    openapi: `${origin}/api/affiliate/openapi.json`,
    llms_txt: `${origin}/llms.txt`,
    problems: `${origin}/problems`,
  },
});

/** Server card (SEP-2127): says what the server is and how to connect. The server itself lists its tools. */
const serverCard = (origin: string): object => ({
  $schema: 'https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json',
  name: `${new URL(origin).hostname.split('.').reverse().join('.')}/${SERVER.name}`,
  version: SERVER.version,
  title: SERVER.title,
  description: DESCRIPTION,
  websiteUrl: `${origin}/`,
  remotes: [
    {
      type: 'streamable-http',
      url: `${origin}${MCP_PATH}`,
      supportedProtocolVersions: VERSIONS,
      headers: [{ name: 'Authorization', description: KEY_HELP, isRequired: true, isSecret: true }],
    },
  ],
});

export const SERVER_CARD_TYPE = 'application/mcp-server-card+json';
const JSON_TYPE = 'application/json; charset=utf-8';

/** Public documents; scanners look for the well-known paths. */
const DOCUMENTS = [
  { path: `${MCP_PATH}/status`, type: JSON_TYPE, make: mcpStatus },
  { path: `${MCP_PATH}/server-card`, type: SERVER_CARD_TYPE, make: serverCard },
  { path: '/.well-known/mcp/server-card.json', type: JSON_TYPE, make: serverCard },
  { path: '/.well-known/mcp.json', type: JSON_TYPE, make: serverCard },
] as const;

/** Serves the public documents. */
export const documentRoutes = (server: FastifyInstance, origin: () => string): void => {
  for (const { path, type, make } of DOCUMENTS)
    documentRoute(server, origin, { paths: [path], type, make });
};

/** Content of mcp-tools.json: every tool as tools/list shows it to a key with all scopes. */
export const publishedTools = (): string =>
  `${JSON.stringify({ tools: TOOLS.map(({ entry }) => entry) }, undefined, 2)}\n`;

const hintsOf = ({ entry: { annotations } }: Tool): string =>
  [
    annotations.readOnlyHint ? 'reads only' : 'writes',
    ...(annotations.destructiveHint ? ['takes something away'] : []),
    'safe to repeat',
    ...(annotations.openWorldHint ? ['reaches beyond this service once people approve'] : []),
  ].join(', ');

const toolSection = (tool: Tool): string[] => {
  const { entry, operation } = tool;
  return [
    `## ${entry.name}`,
    entry.description,
    `Needs ${scopeText(operation.scope)}; ${hintsOf(tool)}.`,
    fieldsTable(entry.inputSchema),
    ...operation.examples.flatMap((example) => [
      `Example, ${inToolWords(example.name)}${inToolWords(afterText(example))}:`,
      json({ name: entry.name, arguments: example.input }),
    ]),
  ];
};

/** The page about the tools as Markdown: how to connect, then every tool. */
export const toolsMarkdown = (origin: string): string =>
  `${[
    '# MCP tools',
    `Endpoint: \`POST ${origin}${MCP_PATH}\`, streamable HTTP, JSON answers, no sessions. Versions: ` +
      `${VERSIONS.join(', ')}. Send \`Authorization: Bearer <API_KEY>\`.`,
    INSTRUCTIONS,
    'A refusal that a model can act on is a result with `isError` and the problem as JSON text; one that ' +
      'it cannot is a JSON-RPC error whose `data` is the same problem. `tools/list` shows what the scopes ' +
      'of the key open. A result has at most 32 KiB; `_meta.truncated` says what was left out.',
    'The examples work as they stand on a service with the demo story (`make run`), except where one says ' +
      'what to put in.',
    ...TOOLS.flatMap(toolSection),
  ].join('\n\n')}\n`;
