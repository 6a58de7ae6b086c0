/** Operations on links: of agents, of people at the desk, and of visitors, who have no credential. */
import { z } from 'zod';
import { linkExample } from '#contracts/examples/records.ts';
import {
  campaign,
  externalId,
  idempotencyKey,
  identifier,
  line,
  metadata,
  recordWarnings,
  time,
  id,
  ownerSpace,
} from '#contracts/fields.ts';
import { LIMITS } from '#contracts/limits.ts';
import {
  defineOperation,
  defineToolOperation,
  defineVisitorOperation,
} from '#contracts/operation.ts';
import { WRITE_PROBLEMS } from '#contracts/problems.ts';
import { channel, linkRecord, target, utm } from './records.ts';
import { deskCommand, recordState, deskList } from '#contracts/desk-operation.ts';

const RESERVED_SLUGS = ['admin', 'api', 'desk', 'docs', 'health', 'help', 'login', 'signin', 'www'];

export const createLink = defineOperation({
  kind: 'command',
  scope: 'links:write',
  writes: ['LinkCreated', 'CodeClaimed'],
  http: { method: 'POST', path: '/links', status: 201 },
  summary: 'Create a link attributed to the promoter',
  guidance:
    'Show the disclosure beside the link. After a time-out, retry with the same idempotency key: the first ' +
    'answer is replayed, and there is still only one link.',
  brief: 'Show the disclosure beside the link.',
  next: 'getPerformance counts its clicks; requestSocialPost proposes a post with it.',
  input: z.strictObject({
    idempotency_key: idempotencyKey,
    target,
    slug: z
      .string()
      .regex(/^[a-z0-9](?:[a-z0-9-]{1,62})[a-z0-9]$/, {
        error: 'must be 3 to 64 characters of a-z, 0-9 and -, with no dash at either end',
      })
      .refine((slug) => !RESERVED_SLUGS.includes(slug), { error: 'is reserved' })
      .refine((slug) => !/^[0-9a-z]{12}$/.test(slug), {
        error: 'must not look like a generated code: 12 letters and digits without a dash',
      })
      .optional()
      .describe(
        'Unique on this service; the first link that uses it keeps it. 3 to 64 of a-z, 0-9 and -',
      ),
    external_id: externalId.optional(),
    campaign: campaign.optional(),
    channel: channel.optional(),
    sub_ids: z
      .array(identifier(64))
      .max(3)
      .optional()
      .describe('Up to three tags of your own; reports can be grouped by each'),
    utm: utm.optional().describe('Added to the destination as utm_… parameters'),
    expires_at: time.optional().describe('Default: never'),
    expired_target: target
      .optional()
      .describe('Target of the link after it has expired or its product was withdrawn'),
    metadata: metadata.optional(),
  }),
  output: linkRecord,
  problems: [...WRITE_PROBLEMS, 'scope_missing', 'slug_taken', 'link_target_invalid'],
  examples: [
    {
      name: 'a product, for a campaign',
      input: {
        idempotency_key: 'spring-sale:KIT-101:link',
        target: { kind: 'product', ref: 'KIT-101' },
        slug: 'spring-mugs',
        campaign: 'spring-sale',
        channel: 'email',
        utm: { source: 'newsletter' },
      },
      output: linkExample,
    },
  ],
});

const { target: _target, ...optional } = createLink.input.pick({
  target: true,
  slug: true,
  external_id: true,
  campaign: true,
  channel: true,
  sub_ids: true,
  expires_at: true,
}).shape;
const asInCreateLink = Object.fromEntries(
  Object.entries(optional).map(([name, schema]) => [name, schema.describe('As in createLink')]),
) as typeof optional;

export const createLinks = defineToolOperation({
  kind: 'command',
  scope: 'links:write',
  writes: ['LinkCreated', 'CodeClaimed', 'RequestBound'],
  summary: `Create up to ${LIMITS.LINKS_PER_CALL_MAX} links with one key`,
  guidance:
    'Answers the id and short_url of each in order, or its problem; a retry repeats the answer. Counts as so many writes.',
  weighs: ({ links }) => (links as unknown[]).length,
  input: z.strictObject({
    idempotency_key: idempotencyKey,
    links: z
      .array(z.strictObject({ target, ...asInCreateLink }))
      .min(1)
      .max(LIMITS.LINKS_PER_CALL_MAX)
      .describe('The links'),
  }),
  output: z.object({
    data: z.array(
      z.object({
        id: id('lnk').optional(),
        short_url: z.string().optional(),
        warnings: recordWarnings.optional(),
        problem: z
          .object({
            code: z.string(),
            detail: z.string(),
            errors: z.array(z.object({ pointer: z.string(), detail: z.string() })).optional(),
          })
          .optional(),
      }),
    ),
  }),
  problems: [...WRITE_PROBLEMS, 'scope_missing'],
  examples: [
    {
      name: 'a product',
      input: {
        idempotency_key: 'spring-sale:links',
        links: [{ target: { kind: 'product', ref: 'KIT-101' }, campaign: 'spring-sale' }],
      },
      output: { data: [{ id: linkExample.id, short_url: linkExample.short_url }] },
    },
  ],
});

const disableLink = deskCommand({
  destructive: true,
  roles: ['owner', 'staff'],
  path: '/links/{link_id}/disable',
  summary: 'Disable a link: requests for it are no longer redirected',
  guidance: 'Final. The link stays in the history with its reason.',
  fields: {
    link_id: id('lnk'),
    owner_id: ownerSpace,
    reason: line(500).describe('Stored in the history of the record'),
  },
  output: recordState,
  example: {
    name: 'disabled',
    input: {
      idempotency_key: 'case-4711',
      link_id: linkExample.id,
      owner_id: 'acme',
      reason: 'Recalled',
    },
    output: { id: linkExample.id, owner_id: 'acme', state: 'disabled' },
  },
});

export const deskLink = linkRecord.extend({
  name: z.string().optional().describe('Title of the product, or the category or search words'),
});

const listLinks = deskList({
  path: '/links',
  summary: "List an owner's links, newest first",
  row: deskLink,
  example: linkExample,
});

export const linksDeskOperations = { disableLink, listLinks };

/* The operations without a credential: following a short link, and reading the pages that links lead to. */

const code = z.string();
const page = z.int().min(1);
/** The token or the code of the link that led to the page; others are ignored. */
const source = { attribution: z.string().optional(), via: z.string().optional() };

/** One page of products. What else the page shows is not part of the contract. */
const listing = z.looseObject({ pages: z.int(), page: z.int() });

/** Filters of a page of products, as a search of agents has them. */
const filters = {
  brand: z.string().optional(),
  certification: z.string().optional(),
  ship_from: z.string().optional(),
  origin: z.string().optional(),
  lead_time_max_days: z.int().optional(),
  sort: z.enum(['relevance', 'price', 'moq', 'lead_time', 'updated']),
};

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

export const visitOperations = {
  visitLink,
  /** Answers the URL of an existing short link, for its QR code. Records no visit. */
  locateLink: view({ code }, z.object({ code, url: z.string() })),
  viewProduct: view(
    { product_id: z.string(), ...source },
    z.looseObject({ withdrawn: z.boolean() }),
  ),
  viewCategory: view({ category: z.string(), page, ...filters, ...source }, listing),
  /** `category`: as a filter of the search. */
  viewSearch: view(
    { words: z.string(), page, category: z.string().optional(), ...filters, ...source },
    listing,
  ),
  /** Shows a list that the address has, priced. Changes nothing. */
  viewList: view(
    {
      lines: z.array(z.strictObject({ product_id: z.string(), quantity: z.int() })),
      ...source,
    },
    z.looseObject({ once: z.string() }),
  ),
};
