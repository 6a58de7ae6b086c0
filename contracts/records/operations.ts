/** Operations of agents on the records of their owner, of all kinds. */
import { z } from 'zod';
import { deskQuery, EXAMPLE_AS_OF, EXAMPLE_AT } from '#contracts/desk-operation.ts';
import { handoffExample, linkExample, productExample } from '#contracts/examples/records.ts';
import {
  asOf,
  campaign,
  cursor,
  id,
  idempotencyKey,
  limit,
  money,
  ownerSpace,
  page,
  time,
  unstored,
} from '#contracts/fields.ts';
import { deskHandoff } from '#contracts/handoffs/operations.ts';
import { ownerLead } from '#contracts/leads/operations.ts';
import { deskLink } from '#contracts/links/operations.ts';
import { target } from '#contracts/links/records.ts';
import { defineToolOperation } from '#contracts/operation.ts';
import { inboxList, planned } from '#contracts/plans/operations.ts';
import { PAGE_PROBLEMS, TOKEN_PROBLEMS, WRITE_PROBLEMS } from '#contracts/problems.ts';
import { DESK_ROLE_NAMES, OUTBOUND_SCOPES } from '#contracts/scopes.ts';
import { ID_PREFIXES, LISTED_KINDS, listedRecord, OWN_RECORDS, STATES } from './records.ts';

/** Each kind needs one of them. */
const LISTED_SCOPES = ['links:write', 'handoffs:write', ...OUTBOUND_SCOPES] as const;

export const listRecords = defineToolOperation({
  kind: 'query',
  scope: LISTED_SCOPES,
  summary: "List the owner's links, handoffs or outreach requests, newest first",
  guidance:
    'Needs the scope that writes the kind. Read on with next_cursor while has_more is true; a page can be short. With ' +
    'updated_since, the newest change comes first. Lists that buyers made are not shown.',
  brief:
    'Read on with next_cursor while has_more is true; a page can be short. With updated_since, the newest change comes first.',
  next: 'getRecord shows one whole; listLeads lists leads.',
  input: z.strictObject({
    kind: z.enum(LISTED_KINDS).describe('Kind of record'),
    state: z.enum(STATES).optional().describe('Of this kind'),
    campaign: unstored
      .identifier(64)
      .optional()
      .describe(campaign.description ?? ''),
    external_id: unstored.identifier(128).optional().describe('Your own reference'),
    text: unstored
      .line(100)
      .optional()
      .describe('Beginnings of words in name, campaign, slug or external_id; all must match'),
    updated_since: time.optional().describe('Only what changed at this time or later'),
    limit,
    cursor: cursor.optional(),
  }),
  output: z.object({ data: z.array(listedRecord), page, as_of: asOf }),
  problems: ['scope_missing', 'parameter_invalid', ...PAGE_PROBLEMS],
  examples: [
    {
      name: 'the links of a campaign',
      input: { kind: 'link', campaign: 'spring-sale' },
      output: {
        data: [
          {
            id: linkExample.id,
            name: productExample.title,
            status: 'active',
            agent_id: linkExample.agent_id,
            campaign: 'spring-sale',
            short_url: linkExample.short_url,
            updated_at: linkExample.updated_at,
          },
        ],
        page: { next_cursor: null, has_more: false },
        as_of: EXAMPLE_AS_OF,
      },
    },
  ],
});

const ID = new RegExp(`^(${Object.values(ID_PREFIXES).join('|')})_[0-9a-z]{24}$`);

export const getRecord = defineToolOperation({
  kind: 'query',
  scope: [...LISTED_SCOPES, 'leads:read', 'products:read'],
  summary:
    'Read one link, handoff, lead, outreach request or product whole, with its counts so far',
  guidance: 'Needs the scope that writes the kind, or that reads leads or products.',
  brief: '',
  input: z.strictObject({
    id: z
      .string()
      .regex(ID, { error: 'must be an id like lnk_…, hnd_…, led_…, out_… or prd_…' })
      .describe('lnk_…, hnd_…, led_…, out_… or prd_…'),
  }),
  output: z.union([
    OWN_RECORDS.link,
    OWN_RECORDS.handoff,
    OWN_RECORDS.lead,
    OWN_RECORDS.outreach,
    OWN_RECORDS.product,
  ]),
  shows: z.object({ id: z.string() }),
  problems: ['scope_missing', 'parameter_invalid', 'resource_not_found', ...TOKEN_PROBLEMS],
  examples: [
    {
      name: 'a link',
      after: 'createLink',
      input: { id: linkExample.id },
      output: {
        ...linkExample,
        name: productExample.title,
        counts: { clicks_raw: 3, clicks_valid: 2 },
      },
    },
  ],
});

export const updateLink = defineToolOperation({
  kind: 'command',
  scope: 'links:write',
  destructive: true,
  writes: ['LinkUpdated', 'LinkDisabled', 'OutboundRevised', 'RequestBound'],
  summary: 'Change the target or the end of a link, or stop it; its short_url stays',
  guidance:
    'Waiting outreach with the link needs approval again. Once outreach with it was sent, its target stays.',
  input: z.strictObject({
    idempotency_key: idempotencyKey,
    link_id: id('lnk').describe('Id of a link that this agent created'),
    target: target.optional(),
    expires_at: time.optional(),
    stop: z.boolean().optional().describe('true: it leads nowhere any more, for good'),
  }),
  output: OWN_RECORDS.link,
  problems: [
    ...WRITE_PROBLEMS,
    'scope_missing',
    'link_target_invalid',
    'resource_not_found',
    'state_conflict',
    'read_model_rebuilding',
  ],
  examples: [
    {
      name: 'another target',
      after: 'createLink',
      input: {
        idempotency_key: 'spring-sale:KIT-101:retarget',
        link_id: linkExample.id,
        target: { kind: 'category', ref: 'Kitchen' },
      },
      output: { ...linkExample, target: { kind: 'category', ref: 'Kitchen' }, name: 'Kitchen' },
    },
  ],
});

/* Records as people of their owner read them. */

const readOwnerRecord = deskQuery({
  roles: ['owner', 'staff', 'auditor'],
  path: '/owners/{owner_id}/records/{id}',
  summary: 'Show one link, handoff or lead of an owner',
  guidance:
    'As the lists show it: without contacts and review links. listHistory and readEvents have its history.',
  fields: {
    owner_id: ownerSpace,
    id: z
      .string()
      .regex(/^(?:lnk|hnd|led)_[0-9a-z]{24}$/, {
        error: 'must be an id like lnk_…, hnd_… or led_…',
      })
      .describe('lnk_…, hnd_… or led_…'),
  },
  output: z.object({
    link: deskLink.optional(),
    handoff: deskHandoff.optional(),
    lead: ownerLead.optional(),
  }),
  example: {
    name: 'a link',
    input: { owner_id: 'acme', id: linkExample.id },
    output: { link: { ...linkExample, name: productExample.title } },
  },
});

export const ownerRecordsDeskOperations = { readOwnerRecord };

/* What waits at the desk, and the records that people name. */

export const INBOX_KINDS = ['rfq', 'goods', 'lead', 'access', 'outreach'] as const;
/** What a record waits for. The last three do not wait for the desk. */
export const WAITS_FOR = [
  'second_person',
  'answer',
  'take_up',
  'quotation',
  'outcome',
  'allocation',
  'shipment',
  'decision',
  'next_move',
  'confirmation',
  'buyer',
  'delivery',
] as const;

/** A count says how many there are up to this; above it, that there are more. */
export const COUNTED_UP_TO = 99;

const countInbox = deskQuery({
  path: '/inbox/counts',
  roles: ['staff'],
  summary: 'Count what waits for staff, by kind',
  guidance: `Counts each kind up to ${COUNTED_UP_TO}; a higher number says that there are more. listInbox has the records.`,
  fields: {},
  output: z.object({
    counts: z.object(
      Object.fromEntries(INBOX_KINDS.map((kind) => [kind, z.int()])) as Record<
        (typeof INBOX_KINDS)[number],
        z.ZodInt
      >,
    ),
    as_of: asOf,
  }),
  example: {
    name: 'of all owners',
    input: {},
    output: {
      counts: { rfq: 3, goods: 1, lead: 12, access: 0, outreach: 2 },
      as_of: EXAMPLE_AS_OF,
    },
  },
});

const reference = z
  .string()
  .describe('For people, like R-7H3E-2KQ4-M: derived from the id, and no credential');

const inboxItem = z.object({
  kind: z.enum(INBOX_KINDS),
  record_id: z.string(),
  reference: reference.optional(),
  owner_id: z.string(),
  agent_id: z.string(),
  agent_name: z.string().optional(),
  title: z.string().describe('Title of the list, name of the agent, or kind of outreach'),
  company: z.string().optional(),
  totals: z.array(money),
  since: time,
  state: z.string(),
  waits_for: z.enum(WAITS_FOR),
  ...planned,
  assigned_name: z.string().optional(),
});

const listInbox = inboxList({
  path: '/inbox',
  roles: ['staff'],
  readsPersonalData: true,
  summary: 'List what waits for staff, of all owners and of every kind',
  guidance:
    'RFQs, their questions and goods, leads, requests for access, and outreach that staff approve. readRfq, readLead, ' +
    'listAccessRequests and showApproval have the rest.',
  what: 'Records',
  began: 'begun',
  row: inboxItem,
  fields: {
    kind: z.enum(INBOX_KINDS).optional().describe('Records of this kind only'),
    waits_for: z.enum(WAITS_FOR).optional().describe('Records that wait for this only'),
    with_others: z
      .boolean()
      .default(false)
      .describe('Yes: those that wait for a buyer or a delivery, too'),
  },
  example: {
    kind: 'rfq',
    record_id: handoffExample.id,
    reference: 'R-7H3E-2KQ4-M',
    owner_id: 'acme',
    agent_id: handoffExample.agent_id,
    agent_name: 'Newsletter agent',
    title: handoffExample.title,
    company: 'Corner Shop',
    totals: handoffExample.indicative_totals,
    since: EXAMPLE_AT,
    state: 'confirmed',
    waits_for: 'take_up',
  },
});

export const FOUND_KINDS = ['handoff', 'lead', 'agent', 'owner', 'product'] as const;

const searchDesk = deskQuery({
  path: '/records',
  roles: DESK_ROLE_NAMES,
  readsPersonalData: true,
  summary: 'Find records by what people name them with',
  guidance:
    'By reference, by an id or how it begins, by the name of an agent or a promoter, by SKU; for staff by company and ' +
    'title of the newest records; for the role privacy by mailbox. Two records can share a reference: both are listed.',
  fields: {
    text: unstored
      .line(254)
      .describe('Reference, id, beginning of an id, name, company, title, SKU or mailbox'),
    kind: z.enum(FOUND_KINDS).optional().describe('Records of this kind only'),
    owner_id: ownerSpace.optional().describe('Records of this promoter only'),
    limit,
  },
  output: z.object({
    data: z.array(
      z.object({
        kind: z.enum(FOUND_KINDS),
        id: z.string(),
        reference: reference.optional(),
        owner_id: z.string().optional(),
        name: z.string().optional(),
        by: z.enum(['reference', 'id', 'name', 'company', 'title', 'sku', 'mailbox']),
      }),
    ),
    mistyped: z
      .boolean()
      .optional()
      .describe('true: the text looks like a reference, and its check character does not fit'),
    as_of: asOf,
  }),
  example: {
    name: 'by reference',
    input: { text: 'R-7H3E-2KQ4-M' },
    output: {
      data: [
        {
          kind: 'handoff',
          id: handoffExample.id,
          reference: 'R-7H3E-2KQ4-M',
          owner_id: 'acme',
          by: 'reference',
        },
      ],
      as_of: EXAMPLE_AS_OF,
    },
  },
});

export const recordsDeskOperations = { countInbox, searchDesk, listInbox };
