/** Operations on the catalog: search of agents, import and withdrawal at the desk. */
import { z } from 'zod';
import { deskCommand, deskQuery, EXAMPLE_AS_OF, EXAMPLE_AT } from '#contracts/desk-operation.ts';
import { productExample } from '#contracts/examples/records.ts';
import {
  asOf,
  category,
  country,
  currency,
  cursor,
  date,
  exempt,
  id,
  identifier,
  limit,
  line,
  list,
  listedCurrency,
  ofProduct,
  page,
  quantity,
  sku,
  time,
  unstored,
  url,
} from '#contracts/fields.ts';
import { LIMITS, PRODUCT_LIMITS } from '#contracts/limits.ts';
import { defineOperation } from '#contracts/operation.ts';
import { PAGE_PROBLEMS } from '#contracts/problems.ts';
import { visibleText } from '#contracts/texts.ts';
import { decoded, plainLine, plainText } from './plain-text.ts';
import {
  deskProduct,
  excluder,
  facet,
  productFieldNames,
  productRecord,
  productRow,
} from './records.ts';

const FACETS = [
  'category',
  'ship_from',
  'brand',
  'origin',
  'stock',
  'certifications',
  'lead_time',
  'price',
] as const;

export const searchProducts = defineOperation({
  kind: 'query',
  scope: 'products:read',
  http: { method: 'GET', path: '/products', status: 200 },
  summary: 'Search published ready-stock products',
  guidance:
    'Every word of q must match the beginning of a word of title, sku, gtin, mpn, category, brand, certifications or ' +
    'description, whatever its case and accents; a word without a match is also tried with one typo (for three letters, ' +
    'only with two letters swapped). Words that no product has are left out. If no product has all others, words of titles ' +
    'and codes are kept first, then those of categories and brands, then the rest, equal ones in the order of q: each as ' +
    'long as a product has it beside those that are kept. relaxed names the words that were left out. Filters are never ' +
    'relaxed: if nothing is left, excluded_by names the ones to change. Prices are indicative, and are compared at ' +
    'at_quantity. If the catalog changes between pages, products that did not change are neither skipped nor repeated; get ' +
    'the changed ones with updated_since afterwards. Use the product ids or skus in createLink and createHandoff.',
  brief:
    'q matches beginnings of words of title, sku, gtin, mpn, category, brand, certifications and description, also with a ' +
    'typo. If no product has all words, relaxed names those left out: unknown ones, then those of descriptions, of ' +
    'categories and brands, of titles. If filters leave nothing, excluded_by names them. Prices are indicative, for ' +
    'at_quantity. Next: createLink or createHandoff with ids or skus.',
  input: z
    .strictObject({
      q: unstored
        .line(200)
        .refine((words) => words === '' || /[\p{L}\p{N}]/u.test(words.normalize('NFKD')), {
          error: 'must contain a letter or a digit',
        })
        .optional()
        .describe('Words, each matched by prefix'),
      fields: list(z.enum(productFieldNames).meta({ id: 'ProductField' }), productFieldNames.length)
        .optional()
        .describe('Only these members of each row'),
      ids: list(id('prd'), LIMITS.SEARCH_IDS_MAX).optional().describe('Only these ids'),
      skus: list(sku, LIMITS.SEARCH_IDS_MAX).optional().describe('Only these stock-keeping units'),
      category: category
        .optional()
        .describe(
          `Name in any case, with its subcategories; facets=category lists up to ${LIMITS.FACET_CATEGORIES_MAX} of them`,
        ),
      brand: ofProduct.line(100).optional().describe('Name of the brand in any case'),
      certifications: list(ofProduct.line(100), PRODUCT_LIMITS.CERTIFICATIONS_MAX)
        .optional()
        .describe('Names in any case; all must apply'),
      origin: country.optional().describe('Country of origin, like GB'),
      ship_from: country.optional().describe('Country of dispatch, like GB'),
      at_quantity: quantity
        .optional()
        .describe(
          'Quantity at which prices are compared; default: the minimum order quantity of each product',
        ),
      price_min: z.int().min(0).optional().describe('Minor units; needs currency'),
      price_max: z.int().min(0).optional().describe('Minor units; needs currency'),
      currency: currency.optional().describe('ISO 4217 code; only products with prices in it'),
      moq_max: quantity.optional().describe('Largest accepted minimum order quantity'),
      min_available: quantity.optional().describe('Smallest accepted stock, as last reported'),
      lead_time_max_days: z
        .int()
        .min(0)
        .max(3_650)
        .optional()
        .describe('Largest accepted number of days to dispatch'),
      updated_since: time.optional().describe('Only products changed at this time or later'),
      sort: z
        .enum(['relevance', 'price', 'moq', 'lead_time', 'updated'])
        .default('relevance')
        .describe('Order of the rows; price sorts by currency first, then by amount'),
      facets: list(z.enum(FACETS).meta({ id: 'Facet' }), FACETS.length)
        .optional()
        .describe(
          'What is counted, by the value that a filter takes: lead_time by at most so many days, price by currency and range',
        ),
      limit,
      cursor: cursor.optional(),
    })
    .meta({ dependentRequired: { price_min: ['currency'], price_max: ['currency'] } }),
  output: z.object({
    data: z.array(productRow),
    page: page.extend({ total: z.int() }),
    relaxed: z
      .array(z.string())
      .optional()
      .describe('Words of q that were left out, because no product has them beside the others'),
    excluded_by: z
      .array(excluder)
      .optional()
      .describe(
        'If total is 0, the filters that exclude everything: each alone if a product is left without it, otherwise together',
      ),
    facets: z.array(facet).optional(),
    as_of: asOf,
  }),
  problems: ['scope_missing', 'parameter_invalid', ...PAGE_PROBLEMS],
  examples: [
    {
      name: 'stoneware mugs sent from the UK, 48 for at most 3 pounds each',
      input: {
        q: 'stoneware mug',
        ship_from: 'GB',
        price_max: 300,
        currency: 'GBP',
        at_quantity: 48,
        facets: ['category'],
        limit: 1,
      },
      output: {
        data: [productExample],
        page: { next_cursor: null, has_more: false, total: 1 },
        facets: [{ field: 'category', values: [{ value: 'Kitchen', count: 1 }], more: 0 }],
        as_of: { position: 3120, at: '2026-11-20T09:30:00.000Z' },
      },
    },
  ],
});

/** A text of one line that comes from a shop, and is read without entities and tags. */
const shopLine = (max: number) =>
  exempt('product', z.string().overwrite(plainLine).min(1).max(max).pipe(ofProduct.line(max)));

/** The identity of a product in a feed, which can have it encoded. */
const shopSku = exempt('product', z.string().overwrite(decoded).pipe(sku));

/** The name of a feed. */
export const source = identifier(PRODUCT_LIMITS.SKU_CHARS_MAX);

const unitPrice = z.int().min(0).max(PRODUCT_LIMITS.PRICE_MAX).describe('Minor units');

const priceTiers = z
  .array(z.strictObject({ min_quantity: quantity, unit_price: unitPrice }))
  .min(1)
  .max(PRODUCT_LIMITS.TIERS_MAX);

/** Each value of a product as a feed or the desk gives it. */
export const productFields = {
  sku: shopSku,
  title: shopLine(PRODUCT_LIMITS.TITLE_CHARS_MAX),
  description: exempt(
    'product',
    z
      .string()
      .overwrite(plainText)
      .max(PRODUCT_LIMITS.DESCRIPTION_CHARS_MAX)
      .pipe(ofProduct.text(PRODUCT_LIMITS.DESCRIPTION_CHARS_MAX).or(z.literal(''))),
  ),
  brand: shopLine(PRODUCT_LIMITS.NAME_CHARS_MAX),
  gtin: exempt(
    'product',
    z
      .string()
      .overwrite(visibleText)
      .regex(/^(?:\d{8}|\d{12,14})$/, { error: 'must be 8, 12, 13 or 14 digits' }),
  ),
  mpn: shopLine(PRODUCT_LIMITS.MPN_CHARS_MAX),
  category: shopLine(PRODUCT_LIMITS.NAME_CHARS_MAX),
  image_url: url,
  origin_country: country,
  ship_from: country,
  lead_time_days: z.int().min(0).max(PRODUCT_LIMITS.LEAD_DAYS_MAX),
  currency: listedCurrency,
  moq: quantity,
  increment: quantity,
  price_tiers: priceTiers,
  certifications: z
    .array(shopLine(PRODUCT_LIMITS.NAME_CHARS_MAX))
    .max(PRODUCT_LIMITS.CERTIFICATIONS_MAX),
  source_updated_at: date.or(time),
} as const;

const removable = <Value extends z.ZodType>(value: Value) => value.nullable().optional();

/** A product of a feed. Strict, because every agent reads what is published. */
export const feedProduct = z.strictObject({
  sku: shopSku,
  title: productFields.title.optional(),
  description: productFields.description.optional(),
  brand: removable(productFields.brand),
  gtin: removable(productFields.gtin),
  mpn: removable(productFields.mpn),
  category: productFields.category.optional(),
  image_url: removable(productFields.image_url),
  origin_country: removable(productFields.origin_country),
  ship_from: removable(productFields.ship_from),
  lead_time_days: removable(productFields.lead_time_days),
  currency: productFields.currency.optional(),
  unit_price: unitPrice
    .optional()
    .describe(
      'Minor units; the price of the minimum order. Without price_tiers it changes that tier alone',
    ),
  moq: productFields.moq.optional(),
  increment: productFields.increment.optional(),
  price_tiers: removable(priceTiers).describe('null: one price for every quantity'),
  certifications: removable(productFields.certifications),
  source_updated_at: removable(productFields.source_updated_at),
});

const LEVELS = ['in_stock', 'low', 'out_of_stock'] as const;

export const feedStock = z.strictObject({
  level: z
    .enum(LEVELS)
    .optional()
    .describe('Without it: by the quantity; below two minimum orders it is low'),
  available_quantity: z
    .int()
    .min(0)
    .max(PRODUCT_LIMITS.STOCK_MAX)
    .nullable()
    .optional()
    .describe('null: unknown'),
});

/** What a feed says of a product: a member that is absent leaves what is stored, null removes it. */
export type ProductChange = {
  product: z.output<typeof feedProduct>;
  stock?: z.output<typeof feedStock> | undefined;
};

/** More than this share of the products of a source end only if it is confirmed, because a feed may be cut off. */
const ENDED_SHARE_MAX = 1 / 5;

/** Whether so many products that are absent from a feed need a confirmation before they end. */
export const needsConfirmation = (ended: number, ofSource: number): boolean =>
  ended > ofSource * ENDED_SHARE_MAX;

const changedValue = z.json().describe('null: none');

const productChange = z.object({
  sku: z.string(),
  change: z.enum(['new', 'changed']),
  currency: z.string().describe('Of its prices, in minor units'),
  fields: z
    .array(z.object({ field: z.string(), before: changedValue, after: changedValue }))
    .describe('What a changed product would have instead'),
});

const importProducts = deskCommand({
  roles: ['staff'],
  path: '/products/import',
  summary: 'Publish or revise products, and end those that a feed no longer has',
  guidance:
    'A member that a product lacks leaves what is stored; null removes it; with replace, what is not given is removed. A ' +
    'new product needs title, currency, unit_price or price_tiers, and stock. A product that breaks a rule is in ' +
    'rejected, with the reason, and all others are imported. An unchanged product appends no event. dry_run writes ' +
    'nothing and answers what would change. ends_absent withdraws the products of the source that are neither in ' +
    'products nor in present: if they are more than a fifth of those of the source, only with confirmed. Send a large ' +
    'feed in parts without ends_absent, then, once it was read to its end, its SKUs in present, sorted by code point, ' +
    'in parts that after and until delimit; repeat a part, with a new key, while has_more is true. To continue an ' +
    'interrupted import, send it again with the same idempotency key: it does not overwrite what others have changed ' +
    'since it began.',
  fields: {
    products: z
      .array(z.strictObject({ product: feedProduct, stock: feedStock.optional() }))
      .max(LIMITS.IMPORT_PRODUCTS_MAX),
    source: source
      .optional()
      .describe(
        'The feed, stored with each product, so that two feeds do not end the products of each other',
      ),
    replace: z.boolean().default(false).describe('Removes what is not given'),
    dry_run: z.boolean().default(false).describe('Writes nothing'),
    allow_free: z.boolean().default(false).describe('Accepts prices of 0'),
    ends_absent: z
      .boolean()
      .default(false)
      .describe(
        'Withdraws the products of the source that the feed no longer has; needs source, except in a dry run',
      ),
    present: z
      .array(sku)
      .max(LIMITS.IMPORT_PRESENT_MAX)
      .optional()
      .describe(
        'SKUs that the feed has elsewhere, also in rows that were rejected; for ends_absent',
      ),
    unchanged_since: z
      .int()
      .min(0)
      .optional()
      .describe(
        'The position of a dry run: what it would change otherwise by now is rejected or stays, so that exactly what was shown is imported',
      ),
    after: sku.optional().describe('ends_absent concerns only SKUs after this one'),
    until: sku.optional().describe('ends_absent concerns only SKUs up to this one'),
    confirmed: z
      .boolean()
      .default(false)
      .describe('Ends more than a fifth of the products of the source'),
  },
  output: z.object({
    read: z.int(),
    new: z.int(),
    changed: z.int(),
    republished: z.int().describe('How many of those changed had been withdrawn'),
    unchanged: z.int(),
    rejected: z.array(
      z.object({
        index: z.int().describe('In products'),
        sku: z.string(),
        field: z.string(),
        detail: z.string(),
      }),
    ),
    changes: z.array(productChange).optional().describe('In a dry run'),
    position: z.int().optional().describe('Of a dry run, for unchanged_since'),
    ended: z.int().optional().describe('With ends_absent; in a dry run, how many would end'),
    of_source: z.int().optional().describe('How many products of the source were for sale'),
    ended_skus: z.array(z.string()).optional().describe(`At most ${LIMITS.IMPORT_PRODUCTS_MAX}`),
    has_more: z.boolean().optional().describe('More products are absent than one call ends'),
  }),
  example: {
    name: 'one product',
    input: {
      idempotency_key: 'feed-2026-11-20:1',
      source: 'main',
      products: [
        {
          product: {
            sku: '22847',
            title: 'Bread Bin Diner Style Ivory',
            category: 'Kitchen',
            currency: 'GBP',
            unit_price: 1695,
          },
          stock: { available_quantity: 97 },
        },
      ],
    },
    output: { read: 1, new: 1, changed: 0, republished: 0, unchanged: 0, rejected: [] },
  },
});

/** Rows that a list of products can skip. */
const SKIPPED_MAX = 100_000;

const listProducts = deskQuery({
  roles: ['staff'],
  path: '/products',
  summary: 'List published products, or those that words, a SKU or a GTIN find',
  guidance:
    'Without text the products that changed last come first. With text the best matches do, as searchProducts finds them ' +
    'for agents; relaxed names the words that no product has.',
  fields: {
    text: unstored.line(200).optional().describe('Words, a SKU or a GTIN, each matched by prefix'),
    skip: z.int().min(0).max(SKIPPED_MAX).default(0).describe('How many products come before'),
    limit,
  },
  output: z.object({
    data: z.array(productRecord),
    total: z.int(),
    relaxed: z.array(z.string()).optional(),
    as_of: asOf,
  }),
  example: {
    name: 'by words',
    input: { text: 'stoneware mug' },
    output: { data: [productExample], total: 1, as_of: EXAMPLE_AS_OF },
  },
});

const readProduct = deskQuery({
  roles: ['staff'],
  path: '/products/{product}',
  summary: 'Show a product whole, also one that was withdrawn, with the feed that it comes from',
  guidance: 'By id or by SKU. page_url is its page for buyers.',
  fields: { product: sku.describe('Id or SKU') },
  output: deskProduct,
  example: {
    name: 'by SKU',
    input: { product: productExample.sku },
    output: {
      ...productExample,
      source: 'main',
      published_at: EXAMPLE_AT,
      page_url: `https://t.example/p/${productExample.id}`,
    },
  },
});

const withdrawProduct = deskCommand({
  destructive: true,
  roles: ['staff'],
  path: '/products/withdraw',
  summary: 'Withdraw a product from the catalog',
  guidance:
    'Links and handoffs that name the product stay. A buyer whose list has the product sees that it was withdrawn, ' +
    'and the reason; the buyer can send the list with the same quantity or less, but not more. An import with the ' +
    'sku publishes the product again.',
  fields: { sku, reason: line(500).describe('Shown to buyers who have it in a handoff') },
  output: z.object({ sku: z.string(), status: z.literal('withdrawn') }),
  example: {
    name: 'discontinued',
    input: { idempotency_key: 'withdraw-22847', sku: '22847', reason: 'Discontinued' },
    output: { sku: '22847', status: 'withdrawn' },
  },
});

export const catalogDeskOperations = {
  importProducts,
  listProducts,
  readProduct,
  withdrawProduct,
};
