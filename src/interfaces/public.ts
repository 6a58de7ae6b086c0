import { hash } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { deskOpenApi, openApi } from './rest/openapi.ts';
import { llmsText } from './text/llms.ts';

/** Documents that need no credential: made once, the same bytes for everyone, cacheable. */
export const publicRoutes = (server: FastifyInstance, origin: () => string): void => {
  const serve = (
    paths: readonly string[],
    type: string,
    make: (origin: string) => string,
  ): void => {
    let made: { text: string; etag: string } | undefined;
    for (const url of paths)
      server.get(url, async (request, reply) => {
        if (!made) {
          const text = make(origin());
          made = { text, etag: `"${hash('sha256', text, 'base64url').slice(0, 22)}"` };
        }
        reply.header('cache-control', 'public, max-age=60').header('etag', made.etag);
        if (request.headers['if-none-match'] === made.etag) return reply.code(304).send();
        return reply.type(type).send(made.text);
      });
  };
  serve(['/api/affiliate/openapi.json'], 'application/json', openApi);
  serve(['/api/desk/openapi.json'], 'application/json', deskOpenApi);
  serve(['/llms.txt', '/api/affiliate/llms.txt'], 'text/plain; charset=utf-8', llmsText);
};
