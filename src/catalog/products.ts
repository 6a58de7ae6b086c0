/** Products as answers show them, prices of lines, and the targets of links. */
import type { z } from 'zod';
import { type Product, productRecord as contract } from '#contracts/catalog/records.ts';
import { LIMITS } from '#contracts/limits.ts';
import type { Warning } from '#contracts/handoffs/records.ts';
import type { target } from '#contracts/links/records.ts';
import type { InputFault } from '#contracts/problems.ts';
import type { EventData } from '#contracts/registries/events.ts';
import type { Deps } from '#src/calls/handlers.ts';
import type { OwnerSettings } from '#src/owners/profile.decider.ts';
import type { CatalogProduct, ProductView, Catalog } from '#src/ports/catalog.ts';
import { type Refusal, refuse } from '#src/shared/outcome.ts';
import { present } from '#src/shared/json.ts';
import { DAY_MS, iso } from '#src/shared/time.ts';

/** The tier that applies at `quantity`, or the first one below its quantity. */
const tierAt = (product: Pick<CatalogProduct, 'price_tiers'>, quantity: number) => {
  const [first] = product.price_tiers;
  if (!first) throw new Error('a product without a price was published');
  return product.price_tiers.findLast((tier) => tier.min_quantity <= quantity) ?? first;
};

/** How a product is shown: prices at which quantity, and stock of before which time as stale. */
export type ProductShowing = { atQuantity?: number | undefined; staleBefore: number };

/** Returns the time before which the stock that an owner's agents see is stale. */
export const staleBefore = (settings: OwnerSettings | undefined, at: number): number =>
  at - (settings?.stale_stock_days ?? LIMITS.STOCK_STALE_DAYS) * DAY_MS;

export const renderProduct = (
  product: CatalogProduct,
  { atQuantity, staleBefore: fresh }: ProductShowing,
): Product => {
  const { currency } = product;
  const quantity = atQuantity ?? product.moq;
  const { brand, gtin, mpn, image_url, origin_country, ship_from, lead_time_days } = product;
  return {
    id: product.product_id,
    sku: product.sku,
    title: product.title,
    description: product.description,
    ...present({ brand, gtin, mpn }),
    category: product.category,
    ...present({ image_url, origin_country, ship_from, lead_time_days }),
    order_rule: { moq: product.moq, increment: product.increment },
    price_tiers: product.price_tiers.map(({ min_quantity, unit_price }) => ({
      min_quantity,
      unit_price: { amount: unit_price, currency },
    })),
    price_at_quantity: {
      quantity,
      unit_price: { amount: tierAt(product, quantity).unit_price, currency },
    },
    price_status: 'indicative',
    stock: {
      level: product.stock.level,
      available_quantity: product.stock.available_quantity,
      as_of: iso(product.stock.as_of),
      ...(product.stock.as_of < fresh && { stale: true as const }),
    },
    ...present({ certifications: product.certifications }),
    status: 'published',
    revision: product.revision,
    updated_at: iso(product.updated_at),
  };
};

/** A product as JSON, cut where the price depends on the quantity of the query, and where the stock can be stale. */
type ProductText = {
  before: string;
  /** From the currency of the price to the age of the stock. */
  between: string;
  after: string;
  of: Pick<CatalogProduct, 'moq' | 'price_tiers'> & { stockAt: number };
};

// The quotes prevent a match inside a text of the product.
const QUANTITY = '"price_at_quantity":{"quantity":';
const AMOUNT = ',"unit_price":{"amount":';
const CURRENCY = ',"currency":';
const AS_OF = /"as_of":"[^"]*"/g;
const STALE = ',"stale":true';

/** Memory for the objects and their headers. */
const OVERHEAD_BYTES = 400;

/** One such character makes every character of a text take two bytes. */
const TWO_BYTES = /[^\0-\xff]/;

/** Renders and checks a product once for all searches that find it. */
export const PRODUCT_TEXT: ProductView<ProductText> = {
  show(product) {
    const rendered = renderProduct(product, { staleBefore: 0 });
    const { error } = contract.safeParse(rendered);
    if (error) throw new Error(`${product.product_id} is outside its contract: ${error.message}`);
    const text = JSON.stringify(rendered);
    const quantity = text.indexOf(QUANTITY) + QUANTITY.length;
    const currency = text.indexOf(CURRENCY, quantity);
    AS_OF.lastIndex = currency;
    AS_OF.test(text);
    return {
      before: text.slice(0, quantity),
      between: text.slice(currency, AS_OF.lastIndex),
      after: text.slice(AS_OF.lastIndex),
      of: {
        moq: product.moq,
        price_tiers: product.price_tiers,
        stockAt: product.stock.as_of,
      },
    };
  },
  bytes: ({ before, between, after }) => {
    const chars = before.length + between.length + after.length;
    return OVERHEAD_BYTES + (TWO_BYTES.test(before) || TWO_BYTES.test(after) ? 2 * chars : chars);
  },
};

/** Builds the JSON of `renderProduct`, for a quantity that is a whole number. */
export const productJson = (
  { before, between, after, of }: ProductText,
  { atQuantity = of.moq, staleBefore: fresh }: ProductShowing,
): string => {
  const price = String(atQuantity) + AMOUNT + String(tierAt(of, atQuantity).unit_price);
  return before + price + between + (of.stockAt < fresh ? STALE : '') + after;
};

type StoredLine = EventData<'HandoffCreated'>['lines'][number];
type RequestedLine = {
  product_id?: string | undefined;
  sku?: string | undefined;
  quantity: number;
};

const warningsFor = (product: CatalogProduct, quantity: number, inList: number): Warning[] => {
  const { available_quantity, level } = product.stock;
  const stock = level === 'out_of_stock' ? 0 : available_quantity;
  return [
    ...(quantity < product.moq ? (['below_moq'] as const) : []),
    ...(quantity % product.increment !== 0 ? (['off_increment'] as const) : []),
    ...(stock !== null && stock < inList ? (['stock_below_quantity'] as const) : []),
    ...(tierAt(product, quantity).unit_price === 0 ? (['free'] as const) : []),
  ];
};

/**
 * What the quantity of a line is compared with, and the nearest quantities that bring no warning: multiples of the
 * increment from the minimum on, within the stock that the other lines of the product leave.
 */
export const quantityRule = (product: CatalogProduct, quantity: number, inList: number) => {
  const { moq, increment, stock, price_tiers } = product;
  const available = stock.level === 'out_of_stock' ? 0 : stock.available_quantity;
  const least = Math.ceil(moq / increment) * increment;
  const most = available === null ? Infinity : available - (inList - quantity);
  const highest = Math.floor(Math.min(quantity - 1, most) / increment) * increment;
  const above = Math.max(least, (Math.floor(quantity / increment) + 1) * increment);
  const tier = price_tiers.find(
    ({ min_quantity }) => min_quantity > Math.max(quantity, least),
  )?.min_quantity;
  const nextTier = tier && Math.max(least, Math.ceil(tier / increment) * increment);
  return {
    moq,
    increment,
    ...(available !== null && { available }),
    ...(inList !== quantity && { in_list: inList }),
    ...(highest >= least && { below: highest }),
    ...(above <= most && { above }),
    ...(nextTier !== undefined && nextTier <= most && { next_tier: nextTier }),
  };
};

/** The quantity of each product in a list, by product id. Lines can share a product, and then its stock. */
export const quantitiesIn = (
  lines: Iterable<{ product_id: string; quantity: number }>,
): ReadonlyMap<string, number> => {
  const quantities = new Map<string, number>();
  for (const { product_id, quantity } of lines)
    quantities.set(product_id, (quantities.get(product_id) ?? 0) + quantity);
  return quantities;
};

/**
 * Makes a line with the revision and the price that the product has in the catalog now. `inList` contains the
 * quantities of the whole list.
 */
export const priceLine = (
  product: CatalogProduct,
  line: { line_id: string; quantity: number },
  inList: ReadonlyMap<string, number>,
): StoredLine => {
  const tier = tierAt(product, line.quantity);
  const ofProduct = inList.get(product.product_id) ?? line.quantity;
  const warnings = warningsFor(product, line.quantity, ofProduct);
  return {
    line_id: line.line_id,
    product_id: product.product_id,
    sku: product.sku,
    title: product.title,
    product_revision: product.revision,
    category: product.category,
    quantity: line.quantity,
    unit_price: tier.unit_price,
    tier_min_quantity: tier.min_quantity,
    currency: product.currency,
    ...(warnings.length > 0 && { warnings, rule: quantityRule(product, line.quantity, ofProduct) }),
  };
};

/** The id of a line, from its index in the list as it was created. It never changes. */
export const lineIdAt = (index: number): string => String(index + 1);

/** Names a code in a fault. Other texts can be personal data and are not repeated. */
const named = (name: string, value = ''): string =>
  /^[\w./-]+$/.test(value) ? `the ${name} "${value}"` : `this ${name}`;

/** Prices every line, or reports each line whose product is not published. */
export const priceLines = (
  catalog: Catalog,
  requested: readonly RequestedLine[],
): { lines: StoredLine[] } | { faults: InputFault[] } => {
  const byId = catalog.byId(requested.flatMap(({ product_id }) => product_id ?? []));
  const bySku = catalog.bySku(requested.flatMap(({ sku }) => sku ?? []));
  const priced: {
    product: CatalogProduct;
    line: { line_id: string; quantity: number };
  }[] = [];
  const faults: InputFault[] = [];
  for (const [index, { product_id, sku, quantity }] of requested.entries()) {
    const product = product_id === undefined ? bySku.get(sku ?? '') : byId.get(product_id);
    if (product) priced.push({ product, line: { line_id: lineIdAt(index), quantity } });
    else {
      const [name, value] = product_id === undefined ? ['sku', sku] : ['product_id', product_id];
      faults.push({
        pointer: `/line_items/${index}/${name}`,
        code: 'not_published',
        detail: `no published product has ${named(name, value)}`,
      });
    }
  }
  if (faults.length > 0) return { faults };
  const inList = quantitiesIn(
    priced.map(({ product, line }) => ({ ...line, product_id: product.product_id })),
  );
  return { lines: priced.map(({ product, line }) => priceLine(product, line, inList)) };
};

/** Sums the lines per currency. */
export const totalsOf = (lines: readonly StoredLine[]): { amount: number; currency: string }[] => {
  const totals = new Map<string, number>();
  for (const { currency, quantity, unit_price } of lines)
    totals.set(currency, (totals.get(currency) ?? 0) + quantity * unit_price);
  return [...totals].map(([currency, amount]) => ({ amount, currency }));
};

type Target = EventData<'LinkCreated'>['target'];

/** A page of this service, and the dimensions of links to it. */
type Destination = {
  target: Target;
  /** Title of the product. */
  name?: string;
  url: string;
  dims: { product_id?: string; category?: string };
};

/** Returns the path of the page that shows a target. */
export const pathOfTarget = ({ kind, ref }: Target): string => {
  if (kind === 'product') return `/p/${ref}`;
  return kind === 'category' ? `/c/${encodeURIComponent(ref)}` : `/s?q=${encodeURIComponent(ref)}`;
};

/** Resolves a target to a page of this service, so that no link is an open redirect. */
export const resolveTarget = (
  deps: Pick<Deps, 'catalog' | 'origin'>,
  entered: z.output<typeof target>,
  pointer: string,
): Destination | Refusal => {
  const { catalog } = deps;
  const { kind, ref } = entered;
  const to = (found: Target, dims: Destination['dims']): Destination => ({
    target: found,
    url: deps.origin() + pathOfTarget(found),
    dims,
  });
  switch (kind) {
    case 'product': {
      const product = catalog.byId([ref]).get(ref) ?? catalog.bySku([ref]).get(ref);
      if (!product) return noTarget(pointer, 'no published product has this id or sku');
      const { product_id, category, title: name } = product;
      return { ...to({ kind, ref: product_id }, { product_id, category }), name };
    }
    case 'category': {
      const category = catalog.categoryNamed(ref);
      return category === undefined
        ? noTarget(pointer, 'the catalog has no such category')
        : to({ kind, ref: category }, { category });
    }
    case 'search':
      return to(entered, {});
  }
};

const noTarget = (pointer: string, detail: string): Refusal =>
  refuse('link_target_invalid', 'The link would lead nowhere.', {
    errors: [{ pointer: `${pointer}/ref`, code: 'not_published', detail }],
  });
