import { z } from 'zod';
import { publishedProduct, stockLevel } from '#contracts/event-fields.ts';

export const ProductPublished = z.object({ product: publishedProduct, stock: stockLevel });
export const ProductRevised = z.object({ product: publishedProduct, stock: stockLevel });
export const ProductStockObserved = z.object({ product_id: z.string(), stock: stockLevel });
export const ProductWithdrawn = z.object({ product_id: z.string(), reason: z.string() });

export const catalogEvents = {
  ProductPublished,
  ProductRevised,
  ProductStockObserved,
  ProductWithdrawn,
};
