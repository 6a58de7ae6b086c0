/** Parts of landing pages: the product, the promoter, and the list in the address. */
import { html } from 'hono/html';
import { LINK_DISCLOSURE } from '#contracts/boundaries.ts';
import { LIMITS } from '#contracts/limits.ts';
import { isTestSpace } from '#contracts/spaces.ts';
import type { CatalogProduct } from '#src/ports/catalog.ts';
import { HOUSE_LOCALE, type Writer, writerFor } from '#src/shared/money.ts';
import { iso } from '#src/shared/time.ts';
import {
  type Html,
  notice,
  plural,
  facts,
  type Faults,
  faultSummary,
  field,
  NO_FAULTS,
  ownPicture,
  type Page,
  pager,
} from '#src/web/layout.ts';
import { codeIn, type SentValue, withoutTail } from '#src/web/http.ts';
import { type Parameter, withParameter, type Promotion } from './links.ts';
import type { Crumb, Listing } from './visitors.ts';

/** More would not fit into an address. */
const TOKENS_MAX = 4;
const TOKEN = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/** The attribution tokens that are sent, in their order, without what has another form. */
export const tokensIn = (sent: SentValue): string[] =>
  [sent ?? []]
    .flat()
    .slice(0, TOKENS_MAX)
    .map(withoutTail)
    .filter((token) => TOKEN.test(token));

/**
 * A line of the list that a visitor puts together. The list is in the address of landing pages; the log does not
 * contain it yet.
 */
type ListLine = { product_id: string; quantity: number };

/** The query parameter of the list: `id~quantity` joined by dots, the ids without their prefix. */
export const LIST_PARAMETER = 'list';

const PREFIX = 'prd_';
const LINE = /^([0-9a-z]{24})~([1-9]\d{0,8})$/;
const QUANTITY = /^[1-9]\d{0,8}$/;
const QUANTITY_MAX = 100_000_000;

export const quantityIn = (text: string): number | undefined => {
  const quantity = QUANTITY.test(text.trim()) ? Number(text) : Number.POSITIVE_INFINITY;
  return quantity <= QUANTITY_MAX ? quantity : undefined;
};

/** Reads the list of an address, with one line for each product. Leaves out what is malformed or beyond the limit. */
export const linesIn = (sent: SentValue): readonly ListLine[] => {
  const quantities = new Map<string, number>();
  for (const part of (codeIn(sent) ?? '').split('.')) {
    const [, id, digits = ''] = LINE.exec(part) ?? [];
    const quantity = quantityIn(digits);
    if (id !== undefined && quantity !== undefined) quantities.set(PREFIX + id, quantity);
  }
  return [...quantities]
    .map(([product_id, quantity]) => ({ product_id, quantity }))
    .slice(0, LIMITS.LIST_LINES_MAX);
};

export const listValue = (lines: readonly ListLine[]): string =>
  lines
    .map(({ product_id, quantity }) => `${product_id.slice(PREFIX.length)}~${quantity}`)
    .join('.');

/** The list with a line of this product, in the place of an earlier one; undefined beyond the limit. */
export const withLine = (
  lines: readonly ListLine[],
  line: ListLine,
): readonly ListLine[] | undefined => {
  const others = lines.filter(({ product_id }) => product_id !== line.product_id);
  return others.length < LIMITS.LIST_LINES_MAX ? [...others, line] : undefined;
};

/** What landing pages have in common, whichever products they show. */
export type PageSource = {
  promotion: Promotion | undefined;
  /** The list in the address. */
  lines: readonly ListLine[];
  /** Parameters of the address that the links of the page keep. */
  kept: readonly Parameter[];
  /** The public origin, without a slash at the end. */
  origin: string;
  /** Origins of other servers whose pictures are shown. */
  imageOrigins: readonly string[];
};

/** The same source with another list. */
export const withLines = (source: PageSource, lines: PageSource['lines']): PageSource => ({
  ...source,
  lines,
  kept: [
    ...source.kept.filter(([name]) => name !== LIST_PARAMETER),
    ...(lines.length > 0 ? [[LIST_PARAMETER, listValue(lines)] as const] : []),
  ],
});

/** A path of this service with the parameters that the links of the page keep. */
export const keeping = (path: string, { kept }: Pick<PageSource, 'kept'>): string =>
  kept.reduce(withParameter, path);

/** The same parameters as fields of a form. */
export const keptFields = ({ kept }: Pick<PageSource, 'kept'>): Html =>
  html`${kept.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}`;

/** The address of a product's picture, if it may be shown. */
export const pictureOf = (
  url: string | undefined,
  { imageOrigins }: Pick<PageSource, 'imageOrigins'>,
): string | undefined => {
  if (url === undefined) return undefined;
  return imageOrigins.includes(URL.parse(url)?.origin ?? '') ? url : ownPicture(url);
};

/** The way to the list in the address; nothing if it is empty. */
const listLink = (source: Pick<PageSource, 'kept' | 'lines'>): Html | '' =>
  source.lines.length === 0
    ? ''
    : html`<p><a href="${keeping('/list', source)}">Your list: ${source.lines.length}
${plural(source.lines.length, 'product', 'products')}</a></p>`;

export const promotionNotice = ({ promotion }: Pick<PageSource, 'promotion'>): Html | '' =>
  promotion
    ? html`${
        isTestSpace(promotion.ownerId) && notice('warn', html`<p>This is a test link.</p>`)
      }<p class="promise" id="promotion">Promoted by <strong>${promotion.promoter}</strong>,
with the software agent ${promotion.agentName}. ${LINK_DISCLOSURE}</p>`
    : '';

const STOCK = { in_stock: 'In stock', low: 'Low stock', out_of_stock: 'Out of stock' } as const;

const INDICATIVE =
  'Prices are indicative, and stock is a signal. Staff control both; nothing here is an offer.';

type ProductView = {
  crumbs: readonly Crumb[];
  source: PageSource;
  /** A quantity that was refused, and why. */
  entered?: string;
  faults?: Faults;
};

/** The page of a published product, with a form that adds it to the visitor's list. */
export const productPage = (
  product: CatalogProduct,
  { crumbs, source, entered = String(product.moq), faults = NO_FAULTS }: ProductView,
): Page => {
  const writer = writerFor(HOUSE_LOCALE);
  // Feeds without descriptions often repeat the title.
  const describes = product.description.toLowerCase() !== product.title.toLowerCase();
  const { brand, origin_country, ship_from, certifications } = product;
  const image = pictureOf(product.image_url, source);
  return {
    title: product.title,
    card: {
      description: describes ? product.description : `${priceOf(product, writer)}. ${INDICATIVE}`,
      url: source.promotion?.shortUrl ?? `${source.origin}/p/${product.product_id}`,
      image: image && new URL(image, source.origin).href,
    },
    main: html`<article class="product">${trail(crumbs, source)}
<header class="head"><h1>${product.title}</h1>
<p class="quiet">SKU <span class="sku">${product.sku}</span>
${brand && html`· ${brand}`}</p>${promotionNotice(source)}${listLink(source)}</header>
${faultSummary('Please check the quantity; the list is as it was', faults)}
${image && html`<img class="picture" src="${image}" alt="" referrerpolicy="no-referrer">`}
${describes && html`<p class="lede description">${product.description}</p>`}
${facts([
  ['Smallest quantity', writer.count(product.moq)],
  ['In steps of', writer.count(product.increment)],
  ['Stock', stockOf(product, writer)],
  ...(ship_from ? [['Ships from', ship_from] as const] : []),
  ['Days to dispatch', leadTimeOf(product, writer)],
  ...(origin_country ? [['Made in', origin_country] as const] : []),
  ...(certifications?.length ? [['Certified', certifications.join(', ')] as const] : []),
])}
<section aria-labelledby="prices"><h2 id="prices">Prices</h2>${tiers(product, writer)}
<p class="quiet">${INDICATIVE}</p></section>
<section aria-labelledby="add"><h2 id="add">Ask for a quotation</h2>
<form action="/p/${product.product_id}" method="get" class="card">${keptFields(source)}
${field({
  name: 'quantity',
  label: 'Quantity',
  value: entered,
  autocomplete: 'off',
  maxlength: 9,
  required: true,
  hint: `At least ${writer.count(product.moq)}, in steps of ${writer.count(product.increment)}.`,
  faults,
})}
<button type="submit">Add to my list</button></form>
<p class="quiet">The list is in the address of the page until you review it. You alone send it.</p></section>
</article>`,
  };
};

/** The page of a withdrawn product, with links to similar ones. `crumbs` end with its category. */
export const withdrawnPage = (
  { title, sku }: CatalogProduct,
  crumbs: readonly Crumb[],
  source: PageSource,
): Page => {
  const offered = crumbs.findLast(({ category }) => category !== undefined);
  return {
    title: `${title}, no longer offered`,
    main: html`<article class="product">${trail(crumbs, source)}
<header class="head"><h1>${title}</h1>
<p class="quiet">SKU <span class="sku">${sku}</span></p></header>
<p class="lede">This product is no longer offered.</p>
${
  offered?.category !== undefined &&
  html`<p><a href="${keeping(categoryPath(offered.category), source)}">What is still offered in ${offered.name}</a></p>`
}
${searchForm('', source)}
</article>`,
  };
};

const stockOf = ({ stock }: CatalogProduct, writer: Writer): Html => {
  const { level, available_quantity, as_of } = stock;
  const seen = available_quantity ? html`, ${writer.count(available_quantity)}` : '';
  return html`${STOCK[level]}${seen} <small>as seen on
<time datetime="${iso(as_of)}">${writer.day(as_of)}</time></small>`;
};

const leadTimeOf = ({ lead_time_days }: CatalogProduct, writer: Writer): string =>
  lead_time_days === undefined ? 'On request' : writer.count(lead_time_days);

const tiers = ({ price_tiers, currency }: CatalogProduct, writer: Writer): Html =>
  html`<table class="tiers"><thead><tr><th scope="col">From quantity</th>
<th scope="col" class="num">Unit price</th></tr></thead><tbody>${price_tiers.map(
    ({ min_quantity, unit_price }) => html`<tr><th scope="row">${writer.count(min_quantity)}</th>
<td class="num">${writer.money(unit_price, currency)}</td></tr>`,
  )}</tbody></table>`;

const trail = (crumbs: readonly Crumb[], source: PageSource): Html =>
  html`<nav class="trail" aria-label="Where this is"><a href="${keeping('/s', source)}">Products</a>${crumbs.map(
    ({ name, category }) =>
      html` <span aria-hidden="true">/</span> ${
        category === undefined
          ? name
          : html`<a href="${keeping(categoryPath(category), source)}">${name}</a>`
      }`,
  )}</nav>`;

export const categoryPath = (category: string): string => `/c/${encodeURIComponent(category)}`;

export type ListingView = Listing & {
  heading: string;
  words: string;
  /** Path and query of the first page. */
  path: string;
  source: PageSource;
};

export const listingPage = (listing: ListingView): Page => {
  const { heading, crumbs, words, hits, page, pages, path, source } = listing;
  const writer = writerFor(HOUSE_LOCALE);
  const href = (number: number) => keeping(withParameter(path, ['page', String(number)]), source);
  const summary = `${writer.count(hits.total)} ${plural(hits.total, 'product', 'products')}. ${INDICATIVE}`;
  return {
    title: page > 1 ? `${heading}, page ${page}` : heading,
    card: {
      description: summary,
      url: source.promotion?.shortUrl ?? source.origin + path,
      image: hits.products
        .flatMap(({ image_url }) => pictureOf(image_url, source) ?? [])
        .map((image) => new URL(image, source.origin).href)[0],
    },
    main: html`${crumbs.length > 0 && trail(crumbs, source)}
<header class="head"><h1>${heading}</h1>
<p class="quiet">${summary}</p>${promotionNotice(source)}${listLink(source)}${searchForm(words, source)}</header>
${hits.total === 0 && html`<p class="lede">Nothing matches. Try fewer or other words.</p>`}
${hits.relaxed && html`<p>No product matches all words. Left out: ${hits.relaxed.join(', ')}.</p>`}
<ul class="results">${hits.products.map((product) => productResult(product, { writer, source }))}</ul>
${pager(page, pages, href)}`,
  };
};

export const searchForm = (words: string, source: Pick<PageSource, 'kept'> = { kept: [] }): Html =>
  html`<form action="/s" method="get" role="search" class="search">
<label for="q">Search products</label>
<input id="q" name="q" type="search" value="${words}" maxlength="200" autocomplete="off">
${keptFields(source)}<button type="submit">Search</button></form>`;

/** The lowest price, like `from £1.99`. */
const priceOf = ({ price_tiers, currency }: CatalogProduct, writer: Writer): string => {
  const lowest = Math.min(...price_tiers.map(({ unit_price }) => unit_price));
  return `${price_tiers.length > 1 ? 'from ' : ''}${writer.money(lowest, currency)}`;
};

type Result = {
  writer: Writer;
  source: Pick<PageSource, 'kept' | 'imageOrigins'>;
  /** What can be done with the product on a page of a form, which the product's page must not replace. */
  act?: Html;
};

export const productResult = (product: CatalogProduct, { writer, source, act }: Result): Html => {
  const { product_id, title, sku, category, currency, price_tiers, moq, increment } = product;
  const image = pictureOf(product.image_url, source);
  const prices = price_tiers.map(
    ({ min_quantity, unit_price }) =>
      `${writer.count(min_quantity)}+ ${writer.money(unit_price, currency)}`,
  );
  return html`<li${image && html` class="pictured"`}>
${image && html`<img src="${image}" alt="" loading="lazy" referrerpolicy="no-referrer">`}
<a href="${keeping(`/p/${product_id}`, source)}"${act && html` target="_blank" rel="noopener"`}>${title}</a>
<span class="price">${priceOf(product, writer)}</span>
<span class="quiet"><span class="sku">${sku}</span> · ${category}</span>
<span class="quiet stock">${STOCK[product.stock.level]}</span>
<span class="quiet terms">${prices.length > 1 && `${prices.join(' · ')} · `}at least
${writer.count(moq)}, in steps of ${writer.count(increment)} · days to dispatch:
${leadTimeOf(product, writer).toLowerCase()}</span>${act}</li>`;
};
