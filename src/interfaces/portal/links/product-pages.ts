import { html } from 'hono/html';
import type { Crumb, Listing } from '#src/app/catalog/view-products.ts';
import { visibleTitle } from '#src/app/outreach/visible.ts';
import type { CatalogProduct } from '#src/ports/catalog.ts';
import { iso } from '#src/app/shared/time.ts';
import type { Html, Page } from '../layout/layout.ts';
import { HOUSE_LOCALE, type Writer, writerFor } from '../layout/money.ts';
import { facts, pager, plural } from '../layout/parts.ts';

const STOCK = { in_stock: 'In stock', low: 'Low stock', out_of_stock: 'Out of stock' } as const;

const INDICATIVE =
  'Prices are indicative, and stock is a signal. Staff control both; nothing here is an offer.';

/** The page of a published product. */
export const productPage = (product: CatalogProduct, crumbs: readonly Crumb[]): Page => {
  const writer = writerFor(HOUSE_LOCALE);
  // Feeds without descriptions often repeat the title.
  const describes = product.description.toLowerCase() !== product.title.toLowerCase();
  const { brand, origin_country, ship_from, lead_time_days, certifications } = product;
  return {
    title: product.title,
    main: html`<article class="product">${trail(crumbs)}
<header class="head"><h1>${visibleTitle(product.title)}</h1>
<p class="quiet">SKU <span class="sku">${product.sku}</span>
${brand && html`· ${brand}`}</p></header>
${describes && html`<p class="lede description">${product.description}</p>`}
${facts([
  ['Smallest quantity', writer.count(product.moq)],
  ['In steps of', writer.count(product.increment)],
  ['Stock', stockOf(product, writer)],
  ...(ship_from ? [['Ships from', ship_from] as const] : []),
  ...(lead_time_days === undefined
    ? []
    : [['Days to dispatch', writer.count(lead_time_days)] as const]),
  ...(origin_country ? [['Made in', origin_country] as const] : []),
  ...(certifications?.length ? [['Certified', certifications.join(', ')] as const] : []),
])}
<section aria-labelledby="prices"><h2 id="prices">Prices</h2>${tiers(product, writer)}
<p class="quiet">${INDICATIVE}</p></section>
<p>To buy, ask the promoter who sent you here for a list: you review it, and you alone send it.</p>
</article>`,
  };
};

/** The page of a withdrawn product, with links to similar ones. `crumbs` end with its category. */
export const withdrawnPage = ({ title, sku }: CatalogProduct, crumbs: readonly Crumb[]): Page => {
  const offered = crumbs.findLast(({ category }) => category !== undefined);
  return {
    title: `${title}, no longer offered`,
    main: html`<article class="product">${trail(crumbs)}
<header class="head"><h1>${title}</h1>
<p class="quiet">SKU <span class="sku">${sku}</span></p></header>
<p class="lede">This product is no longer offered.</p>
${
  offered?.category !== undefined &&
  html`<p><a href="${categoryHref(offered.category)}">What is still offered in ${offered.name}</a></p>`
}
${searchForm('')}
</article>`,
  };
};

const stockOf = ({ stock }: CatalogProduct, writer: Writer): Html => {
  const { level, available_quantity, as_of } = stock;
  const seen = available_quantity ? html`, ${writer.count(available_quantity)}` : '';
  return html`${STOCK[level]}${seen} <small>as seen on
<time datetime="${iso(as_of)}">${writer.day(as_of)}</time></small>`;
};

const tiers = ({ price_tiers, currency }: CatalogProduct, writer: Writer): Html =>
  html`<table class="tiers"><thead><tr><th scope="col">From quantity</th>
<th scope="col" class="num">Unit price</th></tr></thead><tbody>${price_tiers.map(
    ({ min_quantity, unit_price }) => html`<tr><th scope="row">${writer.count(min_quantity)}</th>
<td class="num">${writer.money(unit_price, currency)}</td></tr>`,
  )}</tbody></table>`;

const trail = (crumbs: readonly Crumb[]): Html =>
  html`<nav class="trail" aria-label="Where this is"><a href="/s">Products</a>${crumbs.map(
    ({ name, category }) =>
      html` <span aria-hidden="true">/</span> ${
        category === undefined ? name : html`<a href="${categoryHref(category)}">${name}</a>`
      }`,
  )}</nav>`;

export const categoryHref = (category: string): string => `/c/${encodeURIComponent(category)}`;

export type ListingView = Listing & {
  heading: string;
  words: string;
  href(page: number): string;
};

/** A page of the products of a category or search. */
export const listingPage = (listing: ListingView): Page => {
  const { heading, crumbs, words, hits, page, pages, href } = listing;
  const writer = writerFor(HOUSE_LOCALE);
  return {
    title: page > 1 ? `${heading}, page ${page}` : heading,
    main: html`${crumbs.length > 0 && trail(crumbs)}
<header class="head"><h1>${heading}</h1>
<p class="quiet">${writer.count(hits.total)} ${plural(hits.total, 'product', 'products')}.
${INDICATIVE}</p>${searchForm(words)}</header>
${hits.total === 0 && html`<p class="lede">Nothing matches. Try fewer or other words.</p>`}
<ul class="results">${hits.products.map((product) => result(product, writer))}</ul>
${pager(page, pages, href)}`,
  };
};

export const searchForm = (words: string): Html =>
  html`<form action="/s" method="get" role="search" class="search">
<label for="q">Search products</label>
<input id="q" name="q" type="search" value="${words}" maxlength="200" autocomplete="off">
<button type="submit">Search</button></form>`;

const result = (product: CatalogProduct, writer: Writer): Html => {
  const lowest = Math.min(...product.price_tiers.map(({ unit_price }) => unit_price));
  const least = product.moq > 1 ? ` · at least ${writer.count(product.moq)}` : '';
  const from = product.price_tiers.length > 1 ? 'from ' : '';
  return html`<li><a href="/p/${product.product_id}">${visibleTitle(product.title)}</a>
<span class="quiet"><span class="sku">${product.sku}</span> · ${product.category}</span>
<span class="price">${from}${writer.money(lowest, product.currency)}</span>
<span class="quiet">${STOCK[product.stock.level]}${least}</span></li>`;
};
