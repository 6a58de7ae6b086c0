/** Operations of agents on the records of their owner, of all kinds. */
import { z } from 'zod';
import { deskQuery, EXAMPLE_AS_OF } from '#contracts/desk-operation.ts';
import { linkExample, productExample } from '#contracts/examples/records.ts';
import {
  asOf,
  campaign,
  cursor,
  id,
  idempotencyKey,
  limit,
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
import { PAGE_PROBLEMS, TOKEN_PROBLEMS, WRITE_PROBLEMS } from '#contracts/problems.ts';
import { OUTBOUND_SCOPES } from '#contracts/scopes.ts';
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
