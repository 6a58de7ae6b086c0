import { readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';
import type { Deps } from '#src/calls/call.ts';
import { documentRoute } from '#src/web/documents.ts';
import { deskOpenApi, openApi } from '#src/interfaces/rest/openapi.ts';
import { API_CATALOG_PATH, apiCatalogLink } from '#src/web/problem.ts';
import { aiCatalog, apiCatalog } from '#src/interfaces/documents/api-catalog.ts';
import { llmsText } from '#src/interfaces/documents/llms.ts';

/** Written by test/faults/boundaries.test.ts. */
const BOUNDARIES_REPORT = new URL('../../contracts/published/boundaries.json', import.meta.url);

const JSON_TYPE = 'application/json; charset=utf-8';

/** Serves the documents about the whole service; those of a protocol are served beside it. */
export const publicDocumentRoutes = (
  server: FastifyInstance,
  { origin, limits }: Pick<Deps, 'origin' | 'limits'>,
): void => {
  const serve = (paths: string[], type: string, make: (origin: string) => string): void =>
    documentRoute(server, origin, { paths, type, make });
  serve(['/api/affiliate/openapi.json'], JSON_TYPE, (at) => openApi(at, limits));
  serve(['/api/desk/openapi.json'], JSON_TYPE, (at) => deskOpenApi(at, limits));
  serve(['/boundaries.json'], JSON_TYPE, () => readFileSync(BOUNDARIES_REPORT, 'utf8'));
  serve(['/llms.txt', '/api/affiliate/llms.txt'], 'text/plain; charset=utf-8', llmsText);
  documentRoute(server, origin, {
    paths: [API_CATALOG_PATH],
    type: 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"',
    make: apiCatalog,
    headers: () => ({ link: apiCatalogLink(origin()) }),
  });
  documentRoute(server, origin, {
    paths: ['/.well-known/ai-catalog.json'],
    type: 'application/ai-catalog+json',
    make: aiCatalog,
    headers: () => ({ 'access-control-allow-origin': '*' }),
  });
};
