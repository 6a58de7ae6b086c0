/** Routes of the landing pages of links. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { beginningOf } from '#contracts/texts.ts';
import { LIMITS } from '#contracts/limits.ts';
import { ATTRIBUTION_PARAMETER, VIA_PARAMETER } from '#contracts/links/attribution-token.ts';
import type { App } from '#src/registries/app.ts';
import { writerFor } from '#src/shared/money.ts';
import type { Refusal } from '#src/shared/outcome.ts';
import { present } from '#src/shared/json.ts';
import { sendRefusal } from '#src/web/error-pages.ts';
import { ATTRIBUTED_PAGE, LINK_HEADERS, PUBLIC_PAGE, sendPage } from '#src/web/layout.ts';
import { localeAsked, redirectTo, firstOf, codeIn, type SentValue } from '#src/web/http.ts';
import type { Promotion, Source } from './links.ts';
import { listPage } from './list.pages.ts';
import {
  keeping,
  type PageSource,
  withLines,
  type ListingView,
  LIST_PARAMETER,
  linesIn,
  quantityIn,
  withLine,
  categoriesPage,
  categoryPath,
  lostPage,
  SORTS,
  listingPage,
  productPage,
  withdrawnPage,
  tokensIn,
} from './product.pages.ts';
import { admitVisitor } from './redirect.pages.ts';

export const WORDS_CHARS_MAX = 200;

type Query = Readonly<Record<string, SentValue>>;
type ByPage = { Querystring: Query };

export type PictureOptions = {
  /** Origins of other servers whose pictures pages show. */
  imageOrigins: readonly string[];
};

/** What a page of visitors depends on. */
type Asking = Pick<FastifyRequest<ByPage>, 'query' | 'headers'>;

type Pages = {
  scope: FastifyInstance;
  app: App;
  /** What a page is made of besides its products. */
  sourceFor(promotion: Promotion | undefined, request: Asking): PageSource;
};

/** The pages that attributed links lead to. */
export const productRoutes = (scope: FastifyInstance, app: App, options: PictureOptions): void => {
  const sourceFor: Pages['sourceFor'] = (promotion, { query, headers }) => {
    const kept = promotion ? keptOf(promotion, query) : [];
    const writer = writerFor(localeAsked(headers));
    const source = { promotion, lines: [], kept, origin: app.origin(), writer, ...options };
    return withLines(source, linesIn(query[LIST_PARAMETER]));
  };
  productRoute({ scope, app, sourceFor });
  listingRoutes({ scope, app, sourceFor });
  listRoute({ scope, app, sourceFor });
};

const productRoute = ({ scope, app, sourceFor }: Pages): void => {
  scope.get<ByPage & { Params: { product_id: string } }>(
    '/p/:product_id',
    async (request, reply) => {
      const { params, query } = request;
      const viewed = await app.visitors.perform('viewProduct', {
        ...admitVisitor(app, request, 'viewProduct'),
        input: { ...params, ...sourceIn(query) },
      });
      if (!viewed.ok) return sendLost('product', { request, reply, refused: viewed, sourceFor });
      const { product, withdrawn, crumbs, promotion } = viewed.value;
      const source = sourceFor(promotion, request);
      if (withdrawn)
        return sendPage(reply.headers(LINK_HEADERS), 410, withdrawnPage(product, crumbs, source));
      const entered = firstOf(query['quantity']);
      if (entered === undefined)
        return sendPage(
          reply.headers(headersFor(query)),
          200,
          productPage(product, { crumbs, source }),
        );
      const added = linesWith(source, product.product_id, entered);
      if (typeof added !== 'string')
        return reply
          .headers(LINK_HEADERS)
          .redirect(keeping('/list', withLines(source, added)), 303);
      const faults = new Map([['quantity', added]]);
      const page = productPage(product, { crumbs, source, entered, faults });
      return sendPage(reply.headers(LINK_HEADERS), 422, page);
    },
  );
};

type Shown = Omit<ListingView, 'source' | 'chosen'>;

const listingSender =
  (sourceFor: Pages['sourceFor']) =>
  (request: Asking, reply: FastifyReply, view: Shown): Promise<FastifyReply> => {
    const source = sourceFor(view.promotion, request);
    const { filters, words } = choiceIn(request.query);
    const chosen = new Map([
      ...(view.words === '' ? [] : [['q', words] as const]),
      ...Object.entries(filters).map(([name, value]) => [name, String(value)] as const),
    ]);
    const page = listingPage({ ...view, chosen, source });
    return sendPage(reply.headers(headersFor(request.query)), 200, page);
  };

/** What the address of a listing asks for. */
const listingIn = ({ query }: Asking) => {
  const { filters } = choiceIn(query);
  const sort = filters.sort ?? ('relevance' as const);
  return { ...sourceIn(query), ...filters, sort, page: pageIn(query['page']) };
};

const listingRoutes = ({ scope, app, sourceFor }: Pages): void => {
  const { visitors } = app;
  const sendListing = listingSender(sourceFor);
  scope.get<ByPage>('/c', async (request, reply) => {
    const listed = await visitors.perform('viewSearch', {
      ...admitVisitor(app, request, 'viewSearch'),
      input: { words: '', sort: 'relevance', page: 1, ...sourceIn(request.query) },
    });
    if (!listed.ok) return sendRefusal(reply, listed);
    const page = categoriesPage(listed.value, sourceFor(listed.value.promotion, request));
    return sendPage(reply.headers(headersFor(request.query)), 200, page);
  });

  scope.get<ByPage & { Params: { category: string } }>('/c/:category', async (request, reply) => {
    const { category: _none, ...input } = listingIn(request);
    const listed = await visitors.perform('viewCategory', {
      ...admitVisitor(app, request, 'viewCategory'),
      input: { ...input, ...request.params },
    });
    if (!listed.ok) return sendLost('category', { request, reply, refused: listed, sourceFor });
    const { category } = listed.value;
    if (category !== request.params.category) return redirectTo(reply, categoryPath(category));
    return sendListing(request, reply, {
      ...listed.value,
      heading: category.split(' > ').at(-1) ?? category,
      words: '',
      path: categoryPath(category),
    });
  });

  scope.get<ByPage>('/s', async (request, reply) => {
    const { words } = choiceIn(request.query);
    reply.header('x-robots-tag', 'noindex');
    const listed = await visitors.perform('viewSearch', {
      ...admitVisitor(app, request, 'viewSearch'),
      input: { ...listingIn(request), words },
    });
    if (!listed.ok) return sendRefusal(reply, listed);
    const { say } = writerFor(localeAsked(request.headers));
    return sendListing(request, reply, {
      ...listed.value,
      heading: words === '' ? say('frame_products') : say('products_for', { words }),
      words,
      path: '/s',
    });
  });
};

type Lost = {
  request: Asking;
  reply: FastifyReply;
  refused: Refusal;
  sourceFor: Pages['sourceFor'];
};

/** Answers that there is no such product or category with ways to others, and any other refusal as every page does. */
const sendLost = (
  what: 'product' | 'category',
  { request, reply, refused, sourceFor }: Lost,
): Promise<FastifyReply> =>
  refused.code === 'resource_not_found'
    ? sendPage(reply.headers(LINK_HEADERS), 404, lostPage(what, sourceFor(undefined, request)))
    : sendRefusal(reply, refused);

const listRoute = ({ scope, app, sourceFor }: Pages): void => {
  scope.get<ByPage>('/list', async (request, reply) => {
    const { query } = request;
    const lines = linesIn(query[LIST_PARAMETER]);
    const viewed = await app.visitors.perform('viewList', {
      ...admitVisitor(app, request, 'viewList'),
      input: { lines, ...sourceIn(query) },
    });
    if (!viewed.ok) return sendRefusal(reply, viewed);
    const { missing, promotion } = viewed.value;
    const whole = sourceFor(promotion, request);
    const offered = lines.filter(({ product_id }) => !missing.includes(product_id));
    const source = missing.length > 0 ? withLines(whole, offered) : whole;
    return sendPage(reply.headers(LINK_HEADERS), 200, listPage(viewed.value, source));
  });
};

/** The list with this quantity of the product, or why it cannot be added. */
const linesWith = (
  { lines, writer: { say, count } }: PageSource,
  product_id: string,
  entered: string,
): PageSource['lines'] | string => {
  const quantity = quantityIn(entered);
  if (quantity === undefined) return say('fault_product_quantity');
  const added = withLine(lines, { product_id, quantity });
  return added ?? say('fault_product_list', { most: count(LIMITS.LIST_LINES_MAX) });
};

/** The tokens of the address if the first one is valid, or the code of the link. */
const keptOf = ({ parameter }: Promotion, query: Query): PageSource['kept'] =>
  parameter[0] === ATTRIBUTION_PARAMETER
    ? tokensIn(query[ATTRIBUTION_PARAMETER]).map((token) => [ATTRIBUTION_PARAMETER, token] as const)
    : [parameter];

/** The parameters that name the link; of several values the first one. */
const sourceIn = (query: Query): Source =>
  present({
    attribution: codeIn(query[ATTRIBUTION_PARAMETER]),
    via: codeIn(query[VIA_PARAMETER]),
  });

const headersFor = (query: Query) => ({
  ...(query[ATTRIBUTION_PARAMETER] === undefined && query[LIST_PARAMETER] === undefined
    ? PUBLIC_PAGE
    : ATTRIBUTED_PAGE),
  vary: 'accept-language',
});

/** A text of a filter; undefined if it is none. */
const nameIn = (sent: SentValue): string | undefined => wordsIn(sent) || undefined;

const countryIn = (sent: SentValue): string | undefined =>
  /^[a-z]{2}$/i.exec(wordsIn(sent))?.[0].toUpperCase();

/** The words and the filters of an address; what is malformed is left out. */
const choiceIn = (query: Query) => {
  const days = /^\d{1,4}$/.exec(wordsIn(query['lead_time_max_days']))?.[0];
  return {
    words: wordsIn(query['q']),
    filters: present({
      category: nameIn(query['category']),
      brand: nameIn(query['brand']),
      certification: nameIn(query['certification']),
      ship_from: countryIn(query['ship_from']),
      origin: countryIn(query['origin']),
      lead_time_max_days: days === undefined ? undefined : Number(days),
      sort: SORTS.find((sort) => sort === firstOf(query['sort'])),
    }),
  };
};

const pageIn = (sent: SentValue): number => {
  const text = firstOf(sent) ?? '';
  return /^\d{1,6}$/.test(text) ? Math.max(1, Number(text)) : 1;
};

/** The words of a search, as they are searched for. */
export const wordsIn = (sent: SentValue): string =>
  beginningOf((firstOf(sent) ?? '').toWellFormed().trim(), WORDS_CHARS_MAX);
