/** The catalog for staff: found by words, SKU or GTIN, each product whole, and its withdrawal. */
import type { FastifyInstance } from 'fastify';
import { html } from 'hono/html';
import { beginningOf } from '#contracts/texts.ts';
import { type Answer, reader, writer } from '#src/owners/owner-frame.pages.ts';
import { deskPage } from '#src/records/desk-frame.pages.ts';
import type { App } from '#src/registries/app.ts';
import { done, isRefusal, type Outcome } from '#src/shared/outcome.ts';
import { serveActs, type PageRequest } from '#src/web/acts.ts';
import { facts, type Html, notice, type Page, pager } from '#src/web/layout.ts';
import {
  actForm,
  ageOf,
  badge,
  type Content,
  dataTable,
  findForm,
  type FormState,
  hrefWith,
  timeOf,
} from '#src/web/parts.ts';
import { acceptPeople } from '#src/web/person-admission.ts';

type Product = Answer<'readProduct'>;
type Listed = Answer<'listProducts'>;

const PAGE_ROWS = 50;
const TEXT_CHARS = 200;

const LEVELS: Readonly<Record<Product['stock']['level'], Html>> = {
  in_stock: badge('in stock', 'good'),
  low: badge('low', 'warn'),
  out_of_stock: badge('out of stock', 'bad'),
};

type Money = { amount: number; currency: string };
const moneyOf = ({ amount, currency }: Money): string => writer.money(amount, currency);

/** What is left, and how long ago that was known. */
const stockText = ({ stock }: Pick<Product, 'stock'>, now: number): Html => {
  const { level, available_quantity, as_of, stale } = stock;
  return html`${LEVELS[level]}${available_quantity !== null && html` ${writer.count(available_quantity)}`}
<span class="hint">${stale === true && 'old: '}${ageOf(as_of, now)} ago</span>`;
};

const productPath = (id: string): string => `/desk/catalog/${id}`;

const productRow = (product: Listed['data'][number], now: number): Content[] => {
  const { id, sku, title, category, price_tiers, order_rule, updated_at } = product;
  const [first] = price_tiers;
  return [
    html`<a href="${productPath(id)}" data-item><bdi>${title}</bdi></a><span class="hint sku">${sku}</span>`,
    html`<bdi>${category}</bdi>`,
    first ? moneyOf(first.unit_price) : '',
    writer.count(order_rule.moq),
    stockText(product, now),
    html`${ageOf(updated_at, now)} ago`,
  ];
};

const COLUMNS = [
  { head: 'Product' },
  { head: 'Category' },
  { head: 'Price', isNumber: true },
  { head: 'Minimum', isNumber: true },
  { head: 'Stock' },
  { head: 'Changed' },
];

const searchForm = (text: string): Html =>
  findForm('/desk/catalog', {
    what: 'Catalog',
    label: 'Words, SKU or GTIN',
    field: ['text', text],
    maxlength: TEXT_CHARS,
    beside: html` <a href="/desk/catalog/import">Import a feed</a>`,
  });

const nothing = (text: string): Content =>
  text === ''
    ? html`The catalog is empty. <a href="/desk/catalog/import">Import a feed.</a>`
    : html`No product for sale has <q>${text}</q>. <a href="/desk/catalog">See all products.</a>`;

/** A withdrawn product has no words any more, but its SKU still names it. */
const withdrawnNotice = ({ id, title, sku }: Product): Html =>
  notice(
    'warn',
    html`<p><a href="${productPath(id)}"><bdi>${title}</bdi></a> (<span class="sku">${sku}</span>) was withdrawn.</p>`,
  );

const showCatalog = async ({ app, person, query }: PageRequest): Promise<Outcome<Page>> => {
  const text = beginningOf((query['text'] ?? '').trim(), TEXT_CHARS);
  const page = Math.max(1, Math.trunc(Number(query['page'])) || 1);
  const read = reader(app, person);
  const input = { skip: (page - 1) * PAGE_ROWS, limit: PAGE_ROWS, ...(text !== '' && { text }) };
  const listed = await read('listProducts', input);
  if (isRefusal(listed)) return listed;
  const { data, total, relaxed } = listed.value;
  const named = text === '' ? undefined : await read('readProduct', { product: text });
  const now = app.now();
  const title = text === '' ? 'Catalog' : `Catalog: ${text}`;
  return done(
    deskPage({
      you: person.you,
      tab: '/desk/catalog',
      title,
      main: html`${searchForm(text)}${named?.ok && named.value.status === 'withdrawn' && withdrawnNotice(named.value)}${
        relaxed &&
        notice('calm', html`<p>No product has all words. Left out: ${relaxed.join(', ')}.</p>`)
      }${dataTable(
        `${writer.count(total)} for sale, ${text === '' ? 'last changed' : 'best match'} first`,
        COLUMNS,
        {
          rows: data.map((product) => productRow(product, now)),
          empty: nothing(text),
        },
      )}${pager(page, Math.ceil(total / PAGE_ROWS), (other) =>
        hrefWith('/desk/catalog', { text, page: other === 1 ? undefined : String(other) }),
      )}`,
    }),
  );
};

const optional = (name: string, value: string | undefined): (readonly [string, string])[] =>
  value === undefined ? [] : [[name, value]];

const productFacts = (product: Product, now: number): Html => {
  const { order_rule, stock, lead_time_days, certifications, source_updated_at } = product;
  return facts([
    [
      'State',
      product.status === 'published' ? badge('for sale', 'good') : badge('withdrawn', 'bad'),
    ],
    ['SKU', html`<span class="sku">${product.sku}</span>`],
    ['Category', product.category],
    ['Stock', stockText({ stock }, now)],
    ['Stock seen', timeOf(stock.as_of)],
    [
      'Minimum order',
      `${writer.count(order_rule.moq)}, in steps of ${writer.count(order_rule.increment)}`,
    ],
    ...optional('Brand', product.brand),
    ...optional('GTIN', product.gtin),
    ...optional('MPN', product.mpn),
    ...optional('Made in', product.origin_country && writer.country(product.origin_country)),
    ...optional('Sent from', product.ship_from && writer.country(product.ship_from)),
    ...optional(
      'Days to dispatch',
      lead_time_days === undefined ? undefined : String(lead_time_days),
    ),
    ...optional('Certifications', certifications?.join(', ')),
    ...optional('Feed', product.source),
    ...(source_updated_at === undefined
      ? []
      : ([['Changed in the feed', timeOf(source_updated_at)]] as const)),
    ['Published', timeOf(product.published_at)],
    ['Changed', timeOf(product.updated_at)],
    ['Revision', String(product.revision)],
    ...(product.image_url === undefined
      ? []
      : [['Picture', html`<span class="sku">${product.image_url}</span>`] as const]),
  ]);
};

const tiersTable = ({ price_tiers }: Product): Html =>
  html`<section><h2>Prices</h2>${dataTable(
    'Indicative, for each piece',
    [{ head: 'From' }, { head: 'Price', isNumber: true }],
    {
      rows: price_tiers.map(({ min_quantity, unit_price }) => [
        `${writer.count(min_quantity)} pieces`,
        moneyOf(unit_price),
      ]),
      empty: 'There is no price.',
    },
  )}</section>`;

const showProduct = async (
  { app, person, params }: PageRequest,
  form: FormState,
): Promise<Outcome<Page>> => {
  const { id = '' } = params;
  const read = await reader(app, person)('readProduct', { product: id });
  if (isRefusal(read)) return read;
  const product = read.value;
  const { you } = person;
  const isForSale = product.status === 'published';
  return done(
    deskPage({
      you,
      tab: '/desk/catalog',
      title: product.title,
      above: html`<a href="/desk/catalog">Catalog</a> · <a href="${new URL(product.page_url).pathname}">its page for buyers</a> ·
<a href="${hrefWith('/desk/catalog', { text: product.category })}">its category</a>`,
      form,
      main: html`${
        !isForSale &&
        notice(
          'warn',
          html`<p>Withdrawn: <q dir="auto">${product.reason}</q> An import with its SKU publishes it again.</p>`,
        )
      }${productFacts(product, app.now())}
${
  isForSale &&
  actForm(
    you,
    { path: productPath(id), state: form },
    {
      name: 'withdraw',
      title: 'Withdraw it from the catalog',
      text: 'Links and lists that name it stay. Buyers who have it in a list see that it was withdrawn, and the reason.',
      hidden: { sku: product.sku },
      fields: [{ name: 'reason', label: 'Reason', hint: 'Buyers read it', required: true }],
      button: 'Withdraw it',
      isDangerous: true,
    },
  )
}${tiersTable(product)}${
  product.description !== '' &&
  html`<section><h2>Description</h2><p class="message" dir="auto">${product.description}</p></section>`
}`,
    }),
  );
};

/** Serves `/desk/catalog`. */
export const catalogRoutes = async (scope: FastifyInstance, app: App): Promise<void> => {
  await acceptPeople(scope, app);
  serveActs(scope, app, {
    path: '/desk/catalog',
    acts: {},
    show: showCatalog,
  });
  serveActs(scope, app, {
    path: '/desk/catalog/:id',
    acts: {
      withdraw: {
        operation: 'withdrawProduct',
        input: ({ sku, reason }) => ({ sku, reason }),
        done: 'The product is withdrawn.',
      },
    },
    show: showProduct,
  });
};
