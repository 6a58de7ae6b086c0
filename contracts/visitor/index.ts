import { z } from 'zod';
import { defineVisitorOperation } from '../operation.ts';

/*
 * What anybody can do without a credential: follow a short link, and look at the pages that links lead to.
 */

const code = z.string();
const page = z.int().min(1);
const problems = ['resource_not_found'] as const;

/** Products of one page, and what surrounds them. What the page shows beyond this is no contract. */
const listing = z.looseObject({ pages: z.int(), page: z.int() });

/** Follows a short link: records the visit, then answers where to go. */
const visitLink = defineVisitorOperation({
  id: 'visitLink',
  input: z.strictObject({
    code,
    method: z.string(),
    address: z.string(),
    user_agent: z.string().optional(),
    purpose: z.string().optional(),
    /** What a browser wants it for; absent where it does not say. */
    dest: z.string().optional(),
    referrer: z.string().optional(),
    country: z.string().optional(),
    via_qr: z.boolean(),
  }),
  output: z.object({
    /** Absent when the link leads nowhere any more. */
    target: z.string().optional(),
  }),
  problems: ['resource_not_found', 'storage_unavailable', 'storage_full'],
  writes: ['VisitRecorded'],
});

/** Answers the address of an existing short link, for a picture of it. Records no visit. */
const locateLink = defineVisitorOperation({
  id: 'locateLink',
  input: z.strictObject({ code }),
  output: z.object({ code: z.string(), url: z.string() }),
  problems,
});

const viewProduct = defineVisitorOperation({
  id: 'viewProduct',
  input: z.strictObject({ product_id: z.string() }),
  output: z.looseObject({ withdrawn: z.boolean() }),
  problems,
});

const viewCategory = defineVisitorOperation({
  id: 'viewCategory',
  input: z.strictObject({ category: z.string(), page }),
  output: listing,
  problems,
});

const viewSearch = defineVisitorOperation({
  id: 'viewSearch',
  input: z.strictObject({ words: z.string(), page }),
  output: listing,
  problems,
});

/** Everything that anybody can do. */
export const visitorOperations = {
  visitLink,
  locateLink,
  viewProduct,
  viewCategory,
  viewSearch,
} as const;

export type VisitorOperations = typeof visitorOperations;
