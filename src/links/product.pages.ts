/** Parts of landing pages: the product, the promoter, and the list in the address. */
import { html } from 'hono/html';
import { LIMITS } from '#contracts/limits.ts';
import { isTestSpace } from '#contracts/spaces.ts';
import type { CatalogProduct } from '#src/ports/catalog.ts';
import type { Writer } from '#src/shared/money.ts';
import { iso } from '#src/shared/time.ts';
import {
  type Html,
  notice,
  facts,
  type Faults,
  faultSummary,
  field,
  NO_FAULTS,
  ownPicture,
  type Page,
  pager,
  rich,
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
  writer: Writer;
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
const listLink = (source: PageSource): Html | '' =>
  source.lines.length === 0
    ? ''
    : html`<p><a href="${keeping('/list', source)}">${source.writer.say('your_list', {
        count: source.lines.length,
      })}</a></p>`;

export const promotionNotice = ({
  promotion,
  writer,
}: Pick<PageSource, 'promotion' | 'writer'>): Html | '' =>
  promotion
    ? html`${
        isTestSpace(promotion.ownerId) &&
        notice('warn', html`<p>${writer.say('promotion_test')}</p>`)
      }<p class="promise" id="promotion">${rich(writer, 'promotion', {
        promoter: promotion.promoter,
        agent: promotion.agentName,
      })} ${writer.say('link_disclosure')}</p>`
    : '';

/** The links of a page's header, which keep the list in the address. */
export const shopNav = (source: Pick<PageSource, 'kept'>): NonNullable<Page['nav']> => ({
  href: (path) => keeping(path, source),
});

type ProductView = {
  crumbs: readonly Crumb[];
  source: PageSource;
  /** A quantity that was refused, and why. */
  entered?: string;
  faults?: Faults;
};

export const categoryPath = (category: string): string => `/c/${encodeURIComponent(category)}`;

/** The page of a published product, with a form that adds it to the visitor's list. */
export const productPage = (
  product: CatalogProduct,
  { crumbs, source, entered = String(product.moq), faults = NO_FAULTS }: ProductView,
): Page => {
  const { writer } = source;
  const { say, count, country } = writer;
  // Feeds without descriptions often repeat the title.
  const describes = product.description.toLowerCase() !== product.title.toLowerCase();
  const { brand, origin_country, ship_from, certifications } = product;
  const image = pictureOf(product.image_url, source);
  const steps = { least: count(product.moq), step: count(product.increment) };
  return {
    title: product.title,
    locale: writer.locale,
    nav: shopNav(source),
    card: {
      description: describes
        ? product.description
        : `${priceOf(product, writer)}. ${say('indicative')}`,
      url: source.promotion?.shortUrl ?? `${source.origin}/p/${product.product_id}`,
      image: image && new URL(image, source.origin).href,
    },
    main: html`<article class="product">${trail(crumbs, source)}
<header class="head"><h1>${product.title}</h1>
<p class="quiet">SKU <span class="sku">${product.sku}</span>
${brand && html`· ${brand}`}</p>${promotionNotice(source)}${listLink(source)}</header>
${faultSummary(say('product_faults'), faults)}
${image && html`<img class="picture" src="${image}" alt="" referrerpolicy="no-referrer">`}
${describes && html`<p class="lede description">${product.description}</p>`}
${facts([
  [say('product_least'), count(product.moq)],
  [say('product_steps'), count(product.increment)],
  [say('product_stock'), stockOf(product, writer)],
  ...(ship_from ? [[say('product_ships_from'), country(ship_from)] as const] : []),
  [say('product_dispatch'), leadTimeOf(product, writer)],
  ...(origin_country ? [[say('product_made_in'), country(origin_country)] as const] : []),
  ...(certifications?.length
    ? [[say('product_certified'), certifications.join(', ')] as const]
    : []),
])}
<section aria-labelledby="prices"><h2 id="prices">${say('product_prices')}</h2>${tiers(product, writer)}
<p class="quiet">${say('indicative')}</p></section>
<section aria-labelledby="add"><h2 id="add">${say('ask_for_quotation')}</h2>
<form action="/p/${product.product_id}" method="get" class="card">${keptFields(source)}
${field({
  name: 'quantity',
  label: say('quantity'),
  value: entered,
  autocomplete: 'off',
  maxlength: 9,
  required: true,
  hint: say('product_quantity_hint', steps),
  faults,
  writer,
})}
<button type="submit">${say('add_to_list')}</button></form>
<p class="quiet">${say('product_list_hint')}</p></section>
</article>`,
  };
};

/** The page of a withdrawn product, with links to similar ones. `crumbs` end with its category. */
export const withdrawnPage = (
  { title, sku }: CatalogProduct,
  crumbs: readonly Crumb[],
  source: PageSource,
): Page => {
  const { say, locale } = source.writer;
  const offered = crumbs.findLast(({ category }) => category !== undefined);
  return {
    title: say('withdrawn_title', { title }),
    locale,
    nav: shopNav(source),
    main: html`<article class="product">${trail(crumbs, source)}
<header class="head"><h1>${title}</h1>
<p class="quiet">SKU <span class="sku">${sku}</span></p></header>
<p class="lede">${say('withdrawn_text')}</p>
${
  offered?.category !== undefined &&
  html`<p><a href="${keeping(categoryPath(offered.category), source)}">${say('withdrawn_category', { category: offered.name })}</a></p>`
}
${searchForm('', source)}
</article>`,
  };
};

/** The page in place of a product or a category that is not there, with ways to others. */
export const lostPage = (what: 'product' | 'category', source: PageSource): Page => {
  const { say, locale } = source.writer;
  return {
    title: say('lost'),
    locale,
    nav: shopNav(source),
    main: html`<section class="lone"><p class="eyebrow">404</p><h1>${say('lost')}</h1>
<p class="lede">${say(`lost_${what}`)}</p>
${searchForm('', source)}
<p><a href="${keeping('/c', source)}">${say('categories')}</a></p></section>`,
  };
};

const stockOf = ({ stock }: CatalogProduct, writer: Writer): Html => {
  const { level, available_quantity, as_of } = stock;
  const seen = available_quantity ? html`, ${writer.count(available_quantity)}` : '';
  const day = html`<time datetime="${iso(as_of)}">${writer.day(as_of)}</time>`;
  return html`${writer.say(`stock_${level}`)}${seen} <small>${rich(writer, 'stock_seen', { day })}</small>`;
};

const leadTimeOf = ({ lead_time_days }: CatalogProduct, { say, count }: Writer): string =>
  lead_time_days === undefined ? say('on_request') : count(lead_time_days);

const tiers = ({ price_tiers, currency }: CatalogProduct, { say, count, money }: Writer): Html =>
  html`<table class="tiers"><thead><tr><th scope="col">${say('from_quantity')}</th>
<th scope="col" class="num">${say('unit_price')}</th></tr></thead><tbody>${price_tiers.map(
    ({ min_quantity, unit_price }) => html`<tr><th scope="row">${count(min_quantity)}</th>
<td class="num">${money(unit_price, currency)}</td></tr>`,
  )}</tbody></table>`;

const trail = (crumbs: readonly Crumb[], source: PageSource): Html =>
  html`<nav class="trail" aria-label="${source.writer.say('trail')}"><a href="${keeping('/s', source)}">${source.writer.say('frame_products')}</a>${crumbs.map(
    ({ name, category }) =>
      html` <span aria-hidden="true">/</span> ${
        category === undefined
          ? name
          : html`<a href="${keeping(categoryPath(category), source)}">${name}</a>`
      }`,
  )}</nav>`;

export type ListingView = Listing & {
  heading: string;
  words: string;
  /** The path of the page. */
  path: string;
  /** What the listing is filtered by, and its order, by parameter; the words of a search are among them. */
  chosen: ReadonlyMap<string, string>;
  source: PageSource;
};

/** Facets of a listing, with the parameter that each filters by. */
const FILTERS = {
  category: 'category',
  brand: 'brand',
  certifications: 'certification',
  ship_from: 'ship_from',
  origin: 'origin',
  lead_time: 'lead_time_max_days',
} as const;

/** Orders that visitors can choose. */
export const SORTS = ['relevance', 'price', 'moq', 'lead_time', 'updated'] as const;

/** The address of a listing with other values of its parameters; an undefined one is left out. */
const listingHref = (
  { path, chosen, source }: ListingView,
  changes: Readonly<Record<string, string | undefined>>,
): string => {
  const parameters = new Map([...chosen, ...Object.entries(changes)]);
  return keeping(
    [...parameters].reduce(
      (address, [name, value]) =>
        value === undefined ? address : withParameter(address, [name, encodeURIComponent(value)]),
      path,
    ),
    source,
  );
};

const valueText = (field: keyof typeof FILTERS, value: string, writer: Writer): string => {
  if (field === 'ship_from' || field === 'origin') return writer.country(value);
  if (field === 'lead_time') return writer.say('filter_days', { count: Number(value) });
  return value;
};

/** The filters of a listing as links: those that are chosen, each with a way to be without it, and the values of the others. */
const filterLinks = (view: ListingView): Html => {
  const { hits, chosen, source } = view;
  const { writer } = source;
  const { say, count } = writer;
  const fields = Object.keys(FILTERS) as (keyof typeof FILTERS)[];
  const active = fields.flatMap((field) => {
    const value = chosen.get(FILTERS[field]);
    return value === undefined ? [] : [{ field, value }];
  });
  const open = hits.facets.flatMap(({ field: name, values }) => {
    const field = fields.find((one) => one === name);
    return field && values.length > 1 && !chosen.has(FILTERS[field]) ? [{ field, values }] : [];
  });
  return html`${
    active.length > 0 &&
    html`<ul class="chosen" aria-label="${say('filter_chosen')}">${active.map(
      ({ field, value }) =>
        html`<li><a href="${listingHref(view, { [FILTERS[field]]: undefined })}" aria-label="${say(
          'filter_remove',
          { filter: valueText(field, value, writer) },
        )}">${valueText(field, value, writer)} <span aria-hidden="true">×</span></a></li>`,
    )}</ul>`
  }
${
  open.length > 0 &&
  html`<details class="filters"><summary>${say('filters')}</summary><div class="people">${open.map(
    ({ field, values }) => html`<section><h2>${say(`filter_${field}`)}</h2>
<ul class="links">${values.map(
      ({ value, count: products }) =>
        html`<li><a href="${listingHref(view, { [FILTERS[field]]: value })}" rel="nofollow">${valueText(field, value, writer)}</a>
<span class="quiet">${count(products)}</span></li>`,
    )}</ul></section>`,
  )}</div></details>`
}
<p class="sorts">${say('sort')} ${SORTS.map((sort) =>
    (chosen.get('sort') ?? 'relevance') === sort
      ? html`<strong aria-current="true">${say(`sort_${sort}`)}</strong> `
      : html`<a href="${listingHref(view, { sort })}" rel="nofollow">${say(`sort_${sort}`)}</a> `,
  )}</p>`;
};

export const listingPage = (listing: ListingView): Page => {
  const { heading, crumbs, words, hits, page, pages, path, source } = listing;
  const { writer } = source;
  const { say, count } = writer;
  const href = (number: number) => listingHref(listing, { page: String(number) });
  const found = say('product_count', { count: hits.total });
  return {
    title: page > 1 ? say('heading_page', { heading, page: count(page) }) : heading,
    locale: writer.locale,
    nav: shopNav(source),
    card: {
      description: `${found}. ${say('indicative')}`,
      url:
        source.promotion?.shortUrl ??
        source.origin + path + (words === '' ? '' : `?q=${encodeURIComponent(words)}`),
      image: hits.products
        .flatMap(({ image_url }) => pictureOf(image_url, source) ?? [])
        .map((image) => new URL(image, source.origin).href)[0],
    },
    main: html`${crumbs.length > 0 && trail(crumbs, source)}
<header class="head"><h1>${heading}</h1>
<p class="quiet">${found}. ${say('indicative')}</p>${promotionNotice(source)}${listLink(source)}${searchForm(words, source)}</header>
${hits.total === 0 && html`<p class="lede">${say('nothing_matches')} <a href="${keeping('/c', source)}">${say('categories')}</a></p>`}
${hits.relaxed && html`<p>${say('words_left_out', { words: hits.relaxed.join(', ') })}</p>`}
${filterLinks(listing)}
<ul class="results">${hits.products.map((product) => productResult(product, { writer, source }))}</ul>
${pager(page, pages, href, writer)}`,
  };
};

/** All categories that products have, each with the number of its products. */
export const categoriesPage = ({ hits }: Listing, source: PageSource): Page => {
  const { say, locale, count } = source.writer;
  const { values = [] } = hits.facets.find(({ field }) => field === 'category') ?? {};
  return {
    title: say('categories'),
    locale,
    nav: shopNav(source),
    main: html`<header class="head"><h1>${say('categories')}</h1>
<p class="quiet">${say('product_count', { count: hits.total })}</p>${promotionNotice(source)}${searchForm('', source)}</header>
<ul class="links categories">${values.map(
      ({ value, count: products }) =>
        html`<li><a href="${keeping(categoryPath(value), source)}">${value}</a> <span class="quiet">${count(products)}</span></li>`,
    )}</ul>`,
  };
};

export const searchForm = (
  words: string,
  { kept, writer: { say } }: Pick<PageSource, 'kept' | 'writer'>,
): Html =>
  html`<form action="/s" method="get" role="search" class="search">
<label for="q">${say('search_products')}</label>
<input id="q" name="q" type="search" value="${words}" maxlength="200" autocomplete="off">
${keptFields({ kept })}<button type="submit">${say('search')}</button></form>`;

/** The lowest price, like `from £1.99`. */
const priceOf = ({ price_tiers, currency }: CatalogProduct, { money, say }: Writer): string => {
  const lowest = Math.min(...price_tiers.map(({ unit_price }) => unit_price));
  const price = money(lowest, currency);
  return price_tiers.length > 1 ? say('from_price', { price }) : price;
};

type Result = {
  writer: Writer;
  source: Pick<PageSource, 'kept' | 'imageOrigins'>;
  /** What can be done with the product on a page of a form, which the product's page must not replace. */
  act?: Html;
};

export const productResult = (product: CatalogProduct, { writer, source, act }: Result): Html => {
  const { product_id, title, sku, category, currency, price_tiers, moq, increment } = product;
  const { say, count, money } = writer;
  const image = pictureOf(product.image_url, source);
  const prices = price_tiers.map(
    ({ min_quantity, unit_price }) => `${count(min_quantity)}+ ${money(unit_price, currency)}`,
  );
  const terms = say('result_terms', {
    least: count(moq),
    step: count(increment),
    days: leadTimeOf(product, writer).toLowerCase(),
  });
  return html`<li${image && html` class="pictured"`}>
${image && html`<img src="${image}" alt="" loading="lazy" referrerpolicy="no-referrer">`}
<a href="${keeping(`/p/${product_id}`, source)}"${act && html` target="_blank" rel="noopener"`}>${title}</a>
<span class="price">${priceOf(product, writer)}</span>
<span class="quiet"><span class="sku">${sku}</span> · ${category}</span>
<span class="quiet stock">${say(`stock_${product.stock.level}`)}</span>
<span class="quiet terms">${prices.length > 1 && `${prices.join(' · ')} · `}${terms}</span>${act}</li>`;
};
