import { z } from 'zod';
import { defineVisitorOperation, registryOf } from '../operation.ts';

/* The operations without a credential: following a short link, and reading the pages that links lead to. */

const code = z.string();
const page = z.int().min(1);
/** The token or the code of the link that led to the page; others are ignored. */
const source = { attribution: z.string().optional(), via: z.string().optional() };
const problems = ['resource_not_found'] as const;

/** One page of products. What else the page shows is not part of the contract. */
const listing = z.looseObject({ pages: z.int(), page: z.int() });

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

/** Answers the URL of an existing short link, for its QR code. Records no visit. */
const locateLink = defineVisitorOperation({
  kind: 'query',
  input: z.strictObject({ code }),
  output: z.object({ code: z.string(), url: z.string() }),
  problems,
});

const viewProduct = defineVisitorOperation({
  kind: 'query',
  input: z.strictObject({ product_id: z.string(), ...source }),
  output: z.looseObject({ withdrawn: z.boolean() }),
  problems,
});

const viewCategory = defineVisitorOperation({
  kind: 'query',
  input: z.strictObject({ category: z.string(), page, ...source }),
  output: listing,
  problems,
});

const viewSearch = defineVisitorOperation({
  kind: 'query',
  input: z.strictObject({ words: z.string(), page, ...source }),
  output: listing,
  problems,
});

/** Shows a list that the address has, priced. Changes nothing. */
const viewList = defineVisitorOperation({
  kind: 'query',
  input: z.strictObject({
    lines: z.array(z.strictObject({ product_id: z.string(), quantity: z.int() })),
    ...source,
  }),
  output: z.looseObject({ once: z.string() }),
  problems: [],
});

export const visitorOperations = registryOf({
  visitLink,
  locateLink,
  viewProduct,
  viewCategory,
  viewSearch,
  viewList,
});

export type VisitorOperations = typeof visitorOperations;
