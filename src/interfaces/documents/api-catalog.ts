import { A2A_BASE, CARD_PATH } from '#src/interfaces/a2a/card.ts';
import { MCP_PATH, SERVER_CARD_TYPE } from '#src/interfaces/mcp/documents.ts';
import { SERVER } from '#src/interfaces/mcp/wire.ts';
import { AGENT_BASE } from '#contracts/places.ts';

type Target = { href: string; type?: string; title?: string };

/** Returns the AI catalog: the server card of MCP and the agent card of A2A. Drafts disagree on `type` and `mediaType`. */
export const aiCatalog = (origin: string): object => {
  const publisher = new URL(origin).hostname;
  const entryOf = (kind: string, type: string, path: string): object => ({
    identifier: `urn:air:${publisher}:${kind}:${SERVER.name}`,
    displayName: SERVER.title,
    type,
    mediaType: type,
    url: origin + path,
  });
  return {
    specVersion: '1.0',
    entries: [
      entryOf('mcp', SERVER_CARD_TYPE, `${MCP_PATH}/server-card`),
      entryOf('a2a', 'application/a2a-agent-card+json', CARD_PATH),
    ],
  };
};

/** Returns the API catalog (RFC 9727): every interface of this service, as one linkset (RFC 9264). */
export const apiCatalog = (origin: string): string => {
  const at = (path: string, type?: string): Target => ({
    href: origin + path,
    ...(type !== undefined && { type }),
  });
  const doc = (page: string): Target[] => [
    at(`/docs/${page}`, 'text/html'),
    at(`/docs/${page}.md`, 'text/markdown'),
  ];
  const common = {
    'terms-of-service': [at('/docs/boundaries', 'text/html')],
    status: [at('/readyz', 'application/json')],
  };
  return `${JSON.stringify(
    {
      linkset: [
        {
          anchor: origin + AGENT_BASE,
          'service-desc': [at('/api/affiliate/openapi.json', 'application/json')],
          'service-doc': doc('rest'),
          'service-meta': [at('/llms.txt', 'text/plain')],
          ...common,
        },
        {
          anchor: origin + MCP_PATH,
          'service-desc': [at(`${MCP_PATH}/server-card`, SERVER_CARD_TYPE)],
          'service-doc': doc('mcp'),
          ...common,
          status: [at(`${MCP_PATH}/status`, 'application/json')],
        },
        {
          anchor: origin + A2A_BASE,
          'service-desc': [at(CARD_PATH, 'application/json')],
          'service-doc': doc('a2a'),
          ...common,
        },
      ],
    },
    null,
    2,
  )}\n`;
};
