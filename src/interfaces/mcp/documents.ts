import type { FastifyInstance } from 'fastify';
import { documentRoute } from '#src/web/documents.ts';
import { SERVER, VERSIONS } from './wire.ts';

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

/** Serves the public documents, to pages of every origin. */
export const documentRoutes = (server: FastifyInstance, origin: () => string): void => {
  for (const { path, type, make } of DOCUMENTS)
    documentRoute(server, origin, {
      paths: [path],
      type,
      make,
      headers: () => ({ 'access-control-allow-origin': '*' }),
    });
};
