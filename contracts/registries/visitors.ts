/** The operations of visitors. */
import { z } from 'zod';
import { defineVisitorOperation, registryOf } from '#contracts/operation.ts';

/* The operations without a credential: following a short link, and reading the pages that links lead to. */

const code = z.string();
const page = z.int().min(1);
/** The token or the code of the link that led to the page; others are ignored. */
const source = { attribution: z.string().optional(), via: z.string().optional() };

/** One page of products. What else the page shows is not part of the contract. */
const listing = z.looseObject({ pages: z.int(), page: z.int() });

const view = <Fields extends z.ZodRawShape, Output extends z.ZodType>(
  fields: Fields,
  output: Output,
) =>
  defineVisitorOperation({
    kind: 'query',
    input: z.strictObject(fields),
    output,
    problems: ['resource_not_found'],
  });

/** Follows a short link: records the visit, then answers its target. */
const visitLink = defineVisitorOperation({
  kind: 'query',
  input: z.strictObject({
    code,
    method: z.string(),
    address: z.string(),
    user_agent: z.string().optional(),
    purpose: z.string().optional(),
    /** Sec-Fetch-Dest; absent if the client does not send it. */
    dest: z.string().optional(),
    referrer: z.string().optional(),
    country: z.string().optional(),
    via_qr: z.boolean(),
  }),
  output: z.object({
    /** Absent if the link has expired or is disabled, and its owner has no fallback. */
    target: z.string().optional(),
  }),
  problems: ['resource_not_found', 'storage_unavailable', 'storage_full', 'log_replaced'],
  writes: ['VisitRecorded', 'VisitsSummed'],
});

export const visitorOperations = registryOf({
  visitLink,
  /** Answers the URL of an existing short link, for its QR code. Records no visit. */
  locateLink: view({ code }, z.object({ code, url: z.string() })),
  viewProduct: view(
    { product_id: z.string(), ...source },
    z.looseObject({ withdrawn: z.boolean() }),
  ),
  viewCategory: view({ category: z.string(), page, ...source }, listing),
  viewSearch: view({ words: z.string(), page, ...source }, listing),
  /** Shows a list that the address has, priced. Changes nothing. */
  viewList: view(
    {
      lines: z.array(z.strictObject({ product_id: z.string(), quantity: z.int() })),
      ...source,
    },
    z.looseObject({ once: z.string() }),
  ),
});

export type VisitorOperations = typeof visitorOperations;
