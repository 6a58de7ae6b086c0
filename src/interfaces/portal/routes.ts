import type { FastifyInstance } from 'fastify';
import { sendTagged } from '../http/documents.ts';
import { ASSETS } from './layout/asset-files.ts';
import { docRoutes } from './docs/doc-routes.ts';
import { errorPages, notFoundPage } from './layout/error-pages.ts';
import { PORTAL_HEADERS, PUBLIC_PAGE } from './layout/headers.ts';
import { sendPage } from './layout/layout.ts';
import type { App } from '#src/app/app.ts';
import { isProblemCode, problemMarkdown, problemPage, problemsPage } from './docs/problem-pages.ts';
import { productRoutes } from './links/product-routes.ts';
import { type LinkOptions, linkRoutes } from './links/redirect.ts';
import { reviewRoutes } from './buyer/review-routes.ts';
import { startPage } from './docs/start-page.ts';

/** One year: the path of an asset changes with its content. */
const FOR_GOOD = 'public, max-age=31536000, immutable';

/** Serves the pages for people: short links, their targets, buyers' lists and documentation. */
export const portalRoutes = (server: FastifyInstance, app: App, options: LinkOptions): void => {
  // A scope of its own: only here are forms accepted and errors answered with pages.
  void server.register(async (scope) => {
    errorPages(scope);
    scope.addHook('onRequest', async (_request, reply) => {
      reply.headers(PORTAL_HEADERS);
    });
    await scope.register(async (links) => linkRoutes(links, app, options), { prefix: '/l' });
    await scope.register((reviews) => reviewRoutes(reviews, app), { prefix: '/h' });
    productRoutes(scope, app);
    problemRoutes(scope, app);
    docRoutes(scope, app);
    assetRoutes(scope);
  });
};

const problemRoutes = (scope: FastifyInstance, { origin }: App): void => {
  scope.get('/', (_request, reply) => sendPage(reply.headers(PUBLIC_PAGE), 200, startPage()));

  scope.get('/problems', (_request, reply) =>
    sendPage(reply.headers(PUBLIC_PAGE), 200, problemsPage()),
  );

  scope.get<{ Params: { code: string } }>('/problems/:code', async (request, reply) => {
    const [, code = '', suffix] = /^(.*?)(\.md)?$/.exec(request.params.code) ?? [];
    if (!isProblemCode(code)) return notFoundPage(reply, 'There is no problem of this code.');
    reply.headers(PUBLIC_PAGE).header('vary', 'accept');
    const accepts = request.headers.accept ?? '';
    if (suffix === undefined && !accepts.includes('text/markdown'))
      return sendPage(reply, 200, problemPage(code, origin()));
    return reply.type('text/markdown; charset=utf-8').send(problemMarkdown(code, origin()));
  });
};

const assetRoutes = (scope: FastifyInstance): void => {
  for (const [name, asset] of Object.entries(ASSETS))
    scope.get<{ Querystring: { v?: unknown } }>(`/assets/${name}`, async (request, reply) =>
      sendTagged(reply, asset, request.query.v === asset.digest ? FOR_GOOD : 'no-cache'),
    );
};
