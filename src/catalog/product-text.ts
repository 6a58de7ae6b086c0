import { productRecord as contract } from '#contracts/catalog/product.records.ts';
import type { CatalogProduct, ProductView } from '#src/ports/catalog.ts';
import { renderProduct, tierAt } from './render-product.ts';

/** A product as JSON, cut where the price depends on the quantity of the query. */
export type ProductText = {
  before: string;
  after: string;
  of: Pick<CatalogProduct, 'moq' | 'price_tiers'>;
};

// The quotes prevent a match inside a text of the product.
const QUANTITY = '"price_at_quantity":{"quantity":';
const AMOUNT = ',"unit_price":{"amount":';
const CURRENCY = ',"currency":';

/** Memory for the objects and their headers. */
const OVERHEAD_BYTES = 400;

/** One such character makes every character of a text take two bytes. */
const TWO_BYTES = /[^\0-\xff]/;

/** Renders and checks a product once for all searches that find it. */
export const PRODUCT_TEXT: ProductView<ProductText> = {
  show(product) {
    const rendered = renderProduct(product);
    const { error } = contract.safeParse(rendered);
    if (error) throw new Error(`${product.product_id} is outside its contract: ${error.message}`);
    const text = JSON.stringify(rendered);
    const quantity = text.indexOf(QUANTITY) + QUANTITY.length;
    return {
      before: text.slice(0, quantity),
      after: text.slice(text.indexOf(CURRENCY, quantity)),
      of: { moq: product.moq, price_tiers: product.price_tiers },
    };
  },
  bytes: ({ before, after }) => {
    const chars = before.length + after.length;
    return OVERHEAD_BYTES + (TWO_BYTES.test(before) || TWO_BYTES.test(after) ? 2 * chars : chars);
  },
};

/** Builds the JSON of `renderProduct` for a quantity that is a whole number. */
export const productJson = ({ before, after, of }: ProductText, atQuantity = of.moq): string =>
  before + String(atQuantity) + AMOUNT + String(tierAt(of, atQuantity).unit_price) + after;
