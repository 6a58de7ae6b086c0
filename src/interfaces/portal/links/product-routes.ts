import type { FastifyInstance, FastifyReply } from 'fastify';
import { ATTRIBUTION_PARAMETER } from '#contracts/attribution-token.ts';
import type { App } from '#src/app/app.ts';
import type { Listing } from '#src/app/catalog/view-products.ts';
import type { Outcome } from '#src/app/pipeline/outcome.ts';
import { sendRefusal } from '../layout/error-pages.ts';
import { ATTRIBUTED_PAGE, LINK_HEADERS, PUBLIC_PAGE } from '../layout/headers.ts';
import { sendPage } from '../layout/layout.ts';
import type { ListingView } from './product-pages.ts';
import { categoryHref, listingPage, productPage, withdrawnPage } from './product-pages.ts';
import { admitVisitor, firstOf, type SentValue } from './visitor.ts';

const WORDS_CHARS_MAX = 200;

type Query = { page?: SentValue; q?: SentValue; [ATTRIBUTION_PARAMETER]?: SentValue };
type ByPage = { Querystring: Query };

/** The pages that attributed links lead to. */
export const productRoutes = (scope: FastifyInstance, app: App): void => {
  const { visitors } = app;
  scope.get<ByPage & { Params: { product_id: string } }>(
    '/p/:product_id',
    async (request, reply) => {
      const { product_id } = request.params;
      const viewed = await visitors.perform(
        admitVisitor(app, request, 'viewProduct'),
        'viewProduct',
        { input: { product_id } },
      );
      if (!viewed.ok) return sendRefusal(reply, viewed);
      const { product, withdrawn, crumbs } = viewed.value;
      return withdrawn
        ? sendPage(reply.headers(LINK_HEADERS), 410, withdrawnPage(product, crumbs))
        : sendPage(reply.headers(headersFor(request.query)), 200, productPage(product, crumbs));
    },
  );

  scope.get<ByPage & { Params: { category: string } }>('/c/:category', async (request, reply) => {
    const { category } = request.params;
    const input = { category, page: pageIn(request.query.page) };
    const listed = await visitors.perform(
      admitVisitor(app, request, 'viewCategory'),
      'viewCategory',
      { input },
    );
    return sendListing(reply.headers(headersFor(request.query)), listed, {
      heading: category.split(' > ').at(-1) ?? category,
      words: '',
      href: (page) => `${categoryHref(category)}?page=${page}`,
    });
  });

  scope.get<ByPage>('/s', async (request, reply) => {
    const words = wordsIn(request.query.q);
    reply.header('x-robots-tag', 'noindex');
    const input = { words, page: pageIn(request.query.page) };
    const listed = await visitors.perform(admitVisitor(app, request, 'viewSearch'), 'viewSearch', {
      input,
    });
    return sendListing(reply.headers(headersFor(request.query)), listed, {
      heading: words === '' ? 'Products' : `Products for “${words}”`,
      words,
      href: (page) => `/s?${new URLSearchParams({ q: words, page: String(page) })}`,
    });
  });
};

const headersFor = (query: Query) =>
  query[ATTRIBUTION_PARAMETER] === undefined ? PUBLIC_PAGE : ATTRIBUTED_PAGE;

const sendListing = (
  reply: FastifyReply,
  listed: Outcome<Listing>,
  view: Pick<ListingView, 'heading' | 'words' | 'href'>,
): Promise<FastifyReply> =>
  listed.ok
    ? sendPage(reply, 200, listingPage({ ...view, ...listed.value }))
    : sendRefusal(reply, listed);

const pageIn = (sent: SentValue): number => {
  const text = firstOf(sent) ?? '';
  return /^\d{1,6}$/.test(text) ? Math.max(1, Number(text)) : 1;
};

const wordsIn = (sent: SentValue): string =>
  (firstOf(sent) ?? '').toWellFormed().trim().slice(0, WORDS_CHARS_MAX);
