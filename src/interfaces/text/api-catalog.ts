import { A2A_BASE } from '../a2a/card.ts';
import { MCP_PATH } from '../mcp/documents.ts';
import { AGENT_BASE } from '#contracts/places.ts';

type Target = { href: string; type?: string; title?: string };

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
          'service-desc': [at(`${MCP_PATH}/server-card`, 'application/mcp-server-card+json')],
          'service-doc': doc('mcp'),
          ...common,
          status: [at(`${MCP_PATH}/status`, 'application/json')],
        },
        {
          anchor: origin + A2A_BASE,
          'service-desc': [at('/.well-known/agent-card.json', 'application/json')],
          'service-doc': doc('a2a'),
          ...common,
        },
      ],
    },
    null,
    2,
  )}\n`;
};
