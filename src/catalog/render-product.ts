import type { Product } from '#contracts/catalog/product.records.ts';
import type { CatalogProduct } from '#src/ports/catalog.ts';
import { present } from '#src/shared/present.ts';
import { iso } from '#src/shared/time.ts';

/** The tier that applies at `quantity`, or the first one below its quantity. */
export const tierAt = (product: Pick<CatalogProduct, 'price_tiers'>, quantity: number) => {
  const [first] = product.price_tiers;
  if (!first) throw new Error('a product without a price was published');
  return product.price_tiers.findLast((tier) => tier.min_quantity <= quantity) ?? first;
};

export const renderProduct = (product: CatalogProduct, atQuantity?: number): Product => {
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
    },
    ...present({ certifications: product.certifications }),
    status: 'published',
    revision: product.revision,
    updated_at: iso(product.updated_at),
  };
};
