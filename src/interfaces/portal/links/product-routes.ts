import type { FastifyInstance, FastifyReply } from 'fastify';
import type { ProductSearch } from '#src/ports/catalog.ts';
import { notFoundPage } from '../layout/error-pages.ts';
import { LINK_HEADERS, PUBLIC_PAGE } from '../layout/headers.ts';
import { sendPage } from '../layout/layout.ts';
import type { PortalDeps } from '../portal-deps.ts';
import type { Crumb, Listing } from './product-pages.ts';
import { categoryHref, listingPage, productPage, withdrawnPage } from './product-pages.ts';

const PAGE_PRODUCTS = 24;
const WORDS_CHARS_MAX = 200;

type ByPage = { Querystring: { page?: unknown; q?: unknown } };
type Catalog = PortalDeps['catalog'];

/** Where attributed links lead. */
export const productRoutes = (scope: FastifyInstance, { catalog }: PortalDeps): void => {
  scope.get<{ Params: { product_id: string } }>('/p/:product_id', async ({ params }, reply) => {
    const { product_id } = params;
    const product = catalog.byId([product_id]).get(product_id);
    const withdrawn = product ? undefined : catalog.withdrawn([product_id]).get(product_id);
    if (withdrawn) {
      const { category } = withdrawn.product;
      const page = withdrawnPage(withdrawn.product, crumbsOf(catalog, category));
      return sendPage(reply.headers(LINK_HEADERS), 410, page);
    }
    if (!product) return notFoundPage(reply, 'This product is not offered, or not any more.');
    const crumbs = crumbsOf(catalog, product.category);
    return sendPage(reply.headers(PUBLIC_PAGE), 200, productPage(product, crumbs));
  });

  scope.get<ByPage & { Params: { category: string } }>('/c/:category', async (request, reply) => {
    const { category } = request.params;
    if (!catalog.hasCategory(category))
      return notFoundPage(reply, 'There is no such category, or no product in it any more.');
    const name = category.split(' > ').at(-1) ?? category;
    return sendListing(catalog, reply, {
      query: { category },
      page: pageIn(request.query.page),
      view: {
        heading: name,
        crumbs: crumbsOf(catalog, category).slice(0, -1),
        words: '',
        href: (page) => `${categoryHref(category)}?page=${page}`,
      },
    });
  });

  scope.get<ByPage>('/s', async (request, reply) => {
    const words = wordsIn(request.query.q);
    reply.header('x-robots-tag', 'noindex');
    return sendListing(catalog, reply, {
      query: words === '' ? {} : { q: words },
      page: pageIn(request.query.page),
      view: {
        heading: words === '' ? 'Products' : `Products for “${words}”`,
        crumbs: [],
        words,
        href: (page) => `/s?${new URLSearchParams({ q: words, page: String(page) })}`,
      },
    });
  });
};

type Asked = {
  query: Pick<ProductSearch, 'q' | 'category'>;
  page: number;
  view: Pick<Listing, 'heading' | 'crumbs' | 'words' | 'href'>;
};

const sendListing = (
  catalog: Catalog,
  reply: FastifyReply,
  { query, page: asked, view }: Asked,
): Promise<FastifyReply> => {
  const find = (page: number) =>
    catalog.search({
      ...query,
      sort: 'relevance',
      limit: PAGE_PRODUCTS,
      offset: (page - 1) * PAGE_PRODUCTS,
      facets: [],
    });
  const first = find(asked);
  const pages = Math.max(1, Math.ceil(first.total / PAGE_PRODUCTS));
  // A page beyond the last one: products have left since the link to it was made.
  const page = Math.min(asked, pages);
  const hits = page === asked ? first : find(page);
  return sendPage(reply.headers(PUBLIC_PAGE), 200, listingPage({ ...view, hits, page, pages }));
};

const pageIn = (value: unknown): number => {
  const page = typeof value === 'string' && /^\d{1,6}$/.test(value) ? Number(value) : 1;
  return Math.max(1, page);
};

const wordsIn = (value: unknown): string =>
  typeof value === 'string' ? value.toWellFormed().trim().slice(0, WORDS_CHARS_MAX) : '';

/** `Stationery > Pens` as two steps, each a link where the catalog has a page for it. */
const crumbsOf = (catalog: Catalog, category: string): Crumb[] => {
  const names = category.split(' > ');
  return names.map((name, index) => {
    const path = names.slice(0, index + 1).join(' > ');
    return { name, category: catalog.hasCategory(path) ? path : undefined };
  });
};
