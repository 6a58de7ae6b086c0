/** Events of products. */
import { z } from 'zod';
import { publishedProduct, stockLevel } from '#contracts/event-fields.ts';

const ProductPublished = z.object({ product: publishedProduct, stock: stockLevel });
const ProductRevised = z.object({ product: publishedProduct, stock: stockLevel });
const ProductStockObserved = z.object({ product_id: z.string(), stock: stockLevel });
const ProductWithdrawn = z.object({ product_id: z.string(), reason: z.string() });

export const catalogEvents = {
  ProductPublished,
  ProductRevised,
  ProductStockObserved,
  ProductWithdrawn,
};
