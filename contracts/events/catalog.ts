import { z } from 'zod';

// The stored format: these names and shapes are in every log. Never rename; only add optional fields.

/** A product as published: amounts in minor units, tiers ascending by min_quantity. */
export const publishedProduct = z.object({
  product_id: z.string(),
  sku: z.string(),
  title: z.string(),
  description: z.string(),
  brand: z.string().optional(),
  gtin: z.string().optional(),
  mpn: z.string().optional(),
  category: z.string(),
  image_url: z.string().optional(),
  origin_country: z.string().optional(),
  ship_from: z.string().optional(),
  lead_time_days: z.number().optional(),
  currency: z.string(),
  moq: z.number(),
  increment: z.number(),
  price_tiers: z.array(z.object({ min_quantity: z.number(), unit_price: z.number() })),
  certifications: z.array(z.string()).optional(),
  source_updated_at: z.string().optional(),
});

export const stockLevel = z.object({
  level: z.enum(['in_stock', 'low', 'out_of_stock']),
  available_quantity: z.number().nullable(),
});

export const ProductPublished = z.object({ product: publishedProduct, stock: stockLevel });
export const ProductRevised = z.object({ product: publishedProduct, stock: stockLevel });
export const ProductStockObserved = z.object({ product_id: z.string(), stock: stockLevel });
export const ProductWithdrawn = z.object({ product_id: z.string(), reason: z.string() });
