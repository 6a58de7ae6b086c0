/** An owner's records as its agents find and read them. */
import { z } from 'zod';
import { productRecord } from '#contracts/catalog/records.ts';
import { HANDOFF_STATUSES, handoffRecord } from '#contracts/handoffs/records.ts';
import { leadRecord } from '#contracts/leads/records.ts';
import { LINK_STATUSES, linkRecord } from '#contracts/links/records.ts';
import { OUTBOUND_STATUSES, outboundRecord } from '#contracts/outreach/records.ts';
import { METRICS } from '#contracts/performance/records.ts';
import { time } from '#contracts/fields.ts';

/** The kinds that are listed, and the states of each. Leads have a list of their own. */
export const LISTED_STATES = {
  link: LINK_STATUSES,
  handoff: HANDOFF_STATUSES,
  outreach: OUTBOUND_STATUSES,
} as const;

export type ListedKind = keyof typeof LISTED_STATES;
export const LISTED_KINDS = Object.keys(LISTED_STATES) as [ListedKind, ...ListedKind[]];

/** The states of all kinds. */
export const STATES = [...new Set(Object.values(LISTED_STATES).flat())];

/** What names a record beside its id, and what it led to so far. */
const NAMED = {
  name: z
    .string()
    .optional()
    .describe('Product of a link, title of a handoff, recipient of outreach'),
};
const COUNTED = {
  counts: z
    .partialRecord(z.enum(METRICS), z.int())
    .optional()
    .describe('What is not 0 in performance; needs performance:read'),
};

/** A line of a list. Each member is one of the whole record, with the same value. */
export const listedRecord = z
  .object({
    id: z.string(),
    ...NAMED,
    status: z.enum(STATES),
    agent_id: z.string(),
    campaign: z.string().optional(),
    external_id: z.string().optional(),
    link_id: z.string().optional(),
    short_url: z.string().optional(),
    expires_at: time.optional(),
    updated_at: time,
  })
  .meta({ id: 'ListedRecord' });

export type ListedRecord = z.infer<typeof listedRecord>;

const { review_url: _secret, ...handoffFields } = handoffRecord.shape;

/**
 * Each kind of record as its owner's agents read it, by a tool and as a resource. Without the link of the buyer, and without
 * the contact of a person.
 */
export const OWN_RECORDS = {
  link: z.object({ ...linkRecord.shape, ...NAMED, ...COUNTED }),
  handoff: z.object({
    ...handoffFields,
    ...NAMED,
    campaign: z.string().optional(),
    buyer: handoffRecord.shape.buyer.omit({ email: true }),
    ...COUNTED,
  }),
  lead: leadRecord.omit({ contact: true, claim_released: true }),
  outreach: outboundRecord.extend({
    ...NAMED,
    campaign: z.string().optional().describe('Of its first link'),
  }),
  product: productRecord,
} as const;

export type RecordKind = keyof typeof OWN_RECORDS;
export type OwnRecord<Kind extends RecordKind = RecordKind> = z.infer<(typeof OWN_RECORDS)[Kind]>;

/** The prefix of the ids of each kind. */
export const ID_PREFIXES = {
  link: 'lnk',
  handoff: 'hnd',
  lead: 'led',
  outreach: 'out',
  product: 'prd',
} as const satisfies Record<RecordKind, string>;
