import type { EventData } from '#contracts/registries/events.ts';
import type { InputFault } from '#contracts/problems.ts';
import type { Warning } from '#contracts/handoffs/handoff.records.ts';
import type { Catalog, CatalogProduct } from '#src/ports/catalog.ts';
import { tierAt } from './render-product.ts';

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
  ];
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
    quantity: line.quantity,
    unit_price: tier.unit_price,
    tier_min_quantity: tier.min_quantity,
    currency: product.currency,
    ...(warnings.length > 0 && { warnings }),
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
