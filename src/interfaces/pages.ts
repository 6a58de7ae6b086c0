/** Routes of all pages. */
import type { FastifyInstance } from 'fastify';
import { COMPRESSED, sendPublic, sendTagged } from '#src/web/documents.ts';
import { apiCatalogLink } from '#src/web/problem.ts';
import { ASSETS, PICTURES, portalHeaders, sendPublicPage } from '#src/web/layout.ts';
import {
  docRoutes,
  isProblemCode,
  problemMarkdown,
  problemPage,
  problemsPage,
  startPage,
} from '#src/interfaces/documents/pages.ts';
import { errorPages, notFoundPage } from '#src/web/error-pages.ts';
import type { App } from '#src/registries/app.ts';
import { DAY_MS, iso } from '#src/shared/time.ts';
import { type PictureOptions, productRoutes } from '#src/links/landing.pages.ts';
import { type LinkOptions, linkRoutes } from '#src/links/redirect.pages.ts';
import { quotationRoutes } from '#src/handoffs/quotation.pages.ts';
import { requestRoutes } from '#src/handoffs/request.pages.ts';
import { reviewRoutes } from '#src/handoffs/review.pages.ts';
import { applicationRoutes } from '#src/access/application.pages.ts';
import { deviceRoutes } from '#src/people/device.pages.ts';
import { meRoutes } from '#src/people/me.pages.ts';
import { signInRoutes } from '#src/people/sign-in.pages.ts';
import { mailboxRoutes } from '#src/owners/mailbox.pages.ts';
import { ownerLinkRoutes } from '#src/owners/owner-links.pages.ts';
import { ownerRecordRoutes } from '#src/owners/owner-records.pages.ts';
import { ownerAgentRoutes } from '#src/owners/owner-agents.pages.ts';
import { ownerProfileRoutes } from '#src/owners/owner-profile.pages.ts';
import { ownerHomeRoutes } from '#src/owners/owner-home.pages.ts';
import { importRoutes } from '#src/catalog/import.pages.ts';
import { catalogRoutes } from '#src/catalog/catalog.pages.ts';
import { ownersRoutes } from '#src/owners/owners.pages.ts';
import { tokenRoutes } from '#src/access/tokens.pages.ts';
import { peopleRoutes } from '#src/people/people.pages.ts';
import { inboxRoutes } from '#src/records/desk.pages.ts';
import { recordRoutes } from '#src/records/record.pages.ts';
import { searchRoutes } from '#src/records/search.pages.ts';
import { approvalRoutes } from '#src/outreach/approval.pages.ts';
import type { ProofDeps } from '#src/proof/notary.ts';
import { proofRoutes } from '#src/proof/proof.pages.ts';
import { privacyRoutes } from '#src/privacy/privacy.pages.ts';

/** One year: the path of an asset changes with its content. */
const FOR_GOOD = 'public, max-age=31536000, immutable';

/** Serves the pages for people: short links, their targets, buyers' lists and documentation. */
export const portalRoutes = (
  server: FastifyInstance,
  app: App,
  options: LinkOptions & PictureOptions & { proof(): ProofDeps },
): void => {
  const { imageOrigins } = options;
  const headers = portalHeaders(imageOrigins);
  // A scope of its own: only here are forms accepted and errors answered with pages.
  void server.register(async (scope) => {
    errorPages(scope);
    scope.addHook('onRequest', async (_request, reply) => {
      reply.headers(headers);
    });
    await scope.register(async (links) => linkRoutes(links, app, options), { prefix: '/l' });
    await scope.register((reviews) => reviewRoutes(reviews, app, { imageOrigins }), {
      prefix: '/h',
    });
    await scope.register((requests) => requestRoutes(requests, app, { imageOrigins }), {
      prefix: '/rfq',
    });
    await scope.register((quotations) => quotationRoutes(quotations, app), {
      prefix: '/quotation',
    });
    await scope.register((privacy) => privacyRoutes(privacy, app), { prefix: '/privacy' });
    await scope.register((owners) => applicationRoutes(owners, app), { prefix: '/apply' });
    await scope.register((owners) => mailboxRoutes(owners, app), { prefix: '/mailbox' });
    await scope.register((people) => signInRoutes(people, app));
    await scope.register((people) => meRoutes(people, app));
    await scope.register((people) => approvalRoutes(people, app));
    await scope.register((people) => ownerHomeRoutes(people, app));
    await scope.register((people) => ownerLinkRoutes(people, app));
    await scope.register((people) => ownerRecordRoutes(people, app));
    await scope.register((people) => ownerAgentRoutes(people, app));
    await scope.register((people) => ownerProfileRoutes(people, app));
    await scope.register((people) => inboxRoutes(people, app));
    await scope.register((people) => recordRoutes(people, app));
    await scope.register((people) => searchRoutes(people, app));
    await scope.register((people) => catalogRoutes(people, app));
    await scope.register((people) => importRoutes(people, app));
    await scope.register((people) => ownersRoutes(people, app));
    await scope.register((people) => peopleRoutes(people, app));
    await scope.register((people) => tokenRoutes(people, app));
    await scope.register((people) => deviceRoutes(people, app));
    proofRoutes(scope, options);
    productRoutes(scope, app, options);
    problemRoutes(scope, app);
    docRoutes(scope, app);
    siteRoutes(scope, app);
    assetRoutes(scope);
  });
};

const problemRoutes = (scope: FastifyInstance, { origin }: App): void => {
  scope.get('/', COMPRESSED, (_request, reply) =>
    sendPublicPage(reply.header('link', apiCatalogLink(origin())), startPage()),
  );

  scope.get('/problems', COMPRESSED, (_request, reply) => sendPublicPage(reply, problemsPage()));

  scope.get<{ Params: { code: string } }>('/problems/:code', COMPRESSED, async (request, reply) => {
    const [, code = '', suffix] = /^(.*?)(\.md)?$/.exec(request.params.code) ?? [];
    if (!isProblemCode(code)) return notFoundPage(reply, 'There is no problem of this code.');
    reply.header('vary', 'accept');
    const accepts = request.headers.accept ?? '';
    if (suffix === undefined && !accepts.includes('text/markdown'))
      return sendPublicPage(reply, problemPage(code, origin()));
    return sendPublic(reply, 'text/markdown; charset=utf-8', problemMarkdown(code, origin()));
  });
};

/** Pages of somebody, links that record a visit, and pages that change with each search. */
const ROBOTS = `User-agent: *
${['/h/', '/rfq/', '/quotation/', '/l/', '/s', '/list', '/signin', '/desk', '/o/']
  .map((path) => `Disallow: ${path}`)
  .join('\n')}
`;

const SECURITY_DAYS = 180;

/** Where to report a weakness (RFC 9116). */
const securityText = ({ origin, house, now }: Pick<App, 'origin' | 'house' | 'now'>): string => {
  const day = Math.floor(now() / DAY_MS) * DAY_MS;
  return `Contact: ${house?.mailbox === undefined ? `${origin()}/` : `mailto:${house.mailbox}`}
Expires: ${iso(day + SECURITY_DAYS * DAY_MS)}
Preferred-Languages: en, de
Canonical: ${origin()}/.well-known/security.txt
`;
};

const TEXT = 'text/plain; charset=utf-8';

/** What programs ask every site for. */
const siteRoutes = (scope: FastifyInstance, app: App): void => {
  scope.get('/robots.txt', (_request, reply) => sendPublic(reply, TEXT, ROBOTS));
  scope.get('/.well-known/security.txt', (_request, reply) =>
    sendPublic(reply, TEXT, securityText(app)),
  );
  scope.get('/favicon.ico', (_request, reply) =>
    sendTagged(reply, ASSETS['mark.svg'], 'public, max-age=86400'),
  );
};

const assetRoutes = (scope: FastifyInstance): void => {
  for (const [name, asset] of Object.entries({ ...ASSETS, ...PICTURES }))
    scope.get<{ Querystring: { v?: unknown } }>(
      `/assets/${name}`,
      COMPRESSED,
      async (request, reply) =>
        sendTagged(reply, asset, request.query.v === asset.digest ? FOR_GOOD : 'no-cache'),
    );
};
