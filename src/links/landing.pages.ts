/** Routes of the landing pages of links. */
import type { FastifyInstance, FastifyReply } from 'fastify';
import { LIMITS } from '#contracts/limits.ts';
import { ATTRIBUTION_PARAMETER, VIA_PARAMETER } from '#contracts/links/attribution-token.ts';
import type { App } from '#src/registries/app.ts';
import { present } from '#src/shared/present.ts';
import { sendRefusal } from '#src/web/error-pages.ts';
import { ATTRIBUTED_PAGE, LINK_HEADERS, PUBLIC_PAGE, sendPage } from '#src/web/layout.ts';
import { redirectTo, firstOf, codeIn, type SentValue } from '#src/web/http.ts';
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
  categoryPath,
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

type Pages = {
  scope: FastifyInstance;
  app: App;
  /** What a page is made of besides its products. */
  sourceFor(promotion: Promotion | undefined, query: Query): PageSource;
};

/** The pages that attributed links lead to. */
export const productRoutes = (scope: FastifyInstance, app: App, options: PictureOptions): void => {
  const sourceFor = (promotion: Promotion | undefined, query: Query): PageSource => {
    const kept = promotion ? keptOf(promotion, query) : [];
    const source = { promotion, lines: [], kept, origin: app.origin(), ...options };
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
      if (!viewed.ok) return sendRefusal(reply, viewed);
      const { product, withdrawn, crumbs, promotion } = viewed.value;
      const source = sourceFor(promotion, query);
      if (withdrawn)
        return sendPage(reply.headers(LINK_HEADERS), 410, withdrawnPage(product, crumbs, source));
      const entered = firstOf(query['quantity']);
      if (entered === undefined)
        return sendPage(
          reply.headers(headersFor(query)),
          200,
          productPage(product, { crumbs, source }),
        );
      const added = linesWith(source.lines, product.product_id, entered);
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

const listingRoutes = ({ scope, app, sourceFor }: Pages): void => {
  const { visitors } = app;
  const sendListing = (
    { query }: { query: Query },
    reply: FastifyReply,
    view: Omit<ListingView, 'source'>,
  ): Promise<FastifyReply> => {
    const source = sourceFor(view.promotion, query);
    const page = listingPage({ ...view, source });
    return sendPage(reply.headers(headersFor(query)), 200, page);
  };

  scope.get<ByPage & { Params: { category: string } }>('/c/:category', async (request, reply) => {
    const listed = await visitors.perform('viewCategory', {
      ...admitVisitor(app, request, 'viewCategory'),
      input: { ...request.params, ...sourceIn(request.query), page: pageIn(request.query['page']) },
    });
    if (!listed.ok) return sendRefusal(reply, listed);
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
    const words = wordsIn(request.query['q']);
    reply.header('x-robots-tag', 'noindex');
    const listed = await visitors.perform('viewSearch', {
      ...admitVisitor(app, request, 'viewSearch'),
      input: { words, ...sourceIn(request.query), page: pageIn(request.query['page']) },
    });
    if (!listed.ok) return sendRefusal(reply, listed);
    return sendListing(request, reply, {
      ...listed.value,
      heading: words === '' ? 'Products' : `Products for “${words}”`,
      words,
      path: `/s?q=${encodeURIComponent(words)}`,
    });
  });
};

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
    const whole = sourceFor(promotion, query);
    const offered = lines.filter(({ product_id }) => !missing.includes(product_id));
    const source = missing.length > 0 ? withLines(whole, offered) : whole;
    return sendPage(reply.headers(LINK_HEADERS), 200, listPage(viewed.value, source));
  });
};

/** The list with this quantity of the product, or why it cannot be added. */
const linesWith = (
  lines: PageSource['lines'],
  product_id: string,
  entered: string,
): PageSource['lines'] | string => {
  const quantity = quantityIn(entered);
  if (quantity === undefined) return 'Enter a whole number from 1 to 100,000,000.';
  const added = withLine(lines, { product_id, quantity });
  return added ?? `A list has at most ${LIMITS.LIST_LINES_MAX} products. Review this one first.`;
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

const headersFor = (query: Query) =>
  query[ATTRIBUTION_PARAMETER] === undefined && query[LIST_PARAMETER] === undefined
    ? PUBLIC_PAGE
    : ATTRIBUTED_PAGE;

const pageIn = (sent: SentValue): number => {
  const text = firstOf(sent) ?? '';
  return /^\d{1,6}$/.test(text) ? Math.max(1, Number(text)) : 1;
};

/** The words of a search, as they are searched for. */
export const wordsIn = (sent: SentValue): string =>
  (firstOf(sent) ?? '').toWellFormed().trim().slice(0, WORDS_CHARS_MAX);
