/** Operations on the profiles of owners, at the desk and for the holder of a link to a mailbox. */
import { z } from 'zod';
import { deskQuery, EXAMPLE_AS_OF, EXAMPLE_AT, recordCommands } from '#contracts/desk-operation.ts';
import {
  asOf,
  before,
  encrypted,
  limit,
  line,
  nextBefore,
  ownerId,
  time,
} from '#contracts/fields.ts';
import { holderActs, holderView, LINK_PROBLEMS } from '#contracts/holder-operation.ts';
import { LIMITS } from '#contracts/limits.ts';
import { linkRecord, target } from '#contracts/links/records.ts';
import { mailbox } from '#contracts/mailbox.ts';

const recordAnswers = z.enum(['on', 'off']);

/* Who an owner is, and the mailbox that gets the notices to the owner. */

const profile = {
  name: encrypted.line(200).describe('Name of the person or company'),
  postal_address: encrypted.text(500).describe('Postal address, with line breaks'),
  mailbox: mailbox.describe('Where notices to the owner are sent, once it is confirmed'),
  attribution_days: z
    .int()
    .min(1)
    .max(LIMITS.ATTRIBUTION_DAYS_MAX)
    .optional()
    .describe(`How long clicks from now on are attributed. Default: ${LIMITS.ATTRIBUTION_DAYS}`),
  stale_stock_days: z
    .int()
    .min(1)
    .max(LIMITS.STOCK_STALE_DAYS_MAX)
    .optional()
    .describe(
      `After how many days agents of the owner see stock as stale. Default: ${LIMITS.STOCK_STALE_DAYS}`,
    ),
  fallback: target
    .optional()
    .describe(
      'Where links without an expired_target lead when they have expired or their product is withdrawn, and all ' +
        'disabled links. Default: nowhere; for a withdrawn product, its page',
    ),
  record_answers: recordAnswers
    .optional()
    .describe(
      'Whether the hash of each answer with performance or leads is recorded, so that auditReplay can answer again. ' +
        'Stays as it is if it is left out; off at first',
    ),
};
const exampleProfile = {
  name: 'Acme Promotions Ltd',
  postal_address: '1 High Street\nLondon',
  mailbox: 'office@acme.example',
  attribution_days: 60,
  stale_stock_days: 14,
  fallback: { kind: 'category', ref: 'Gifts' },
};

/** What a change answers: nothing about a person, because a retry gets it again after a removal. */
const changed = z.object({
  owner_id: z.string(),
  mailbox_confirmed: z.boolean(),
  updated_at: time,
});

const ownerCommand = recordCommands({
  path: '/owners/{owner_id}',
  roles: ['staff'],
  fields: { owner_id: ownerId },
  output: changed,
  example: {
    input: { owner_id: 'acme' },
    output: { owner_id: 'acme', mailbox_confirmed: false, updated_at: EXAMPLE_AT },
  },
});

export const setOwnerProfile = ownerCommand({
  roles: ['owner', 'staff'],
  verb: 'profile',
  summary: "Set an owner's name, postal address, mailbox and settings for all links",
  guidance:
    'Replaces the profile. A mailbox that is not confirmed gets a link to confirm it, which works for ' +
    `${LIMITS.MAILED_LINK_DAYS} days and ends with the next change of the profile. Notices are sent to a confirmed mailbox ` +
    'only: the decision on a request for access. They never contain a contact of a buyer. A field that is left out has its default again, except record_answers; ' +
    'attribution_days is set by staff, and an owner leaves it as it is.',
  problems: ['link_target_invalid'],
  fields: profile,
  name: 'a company',
  input: exampleProfile,
});

const readOwnerProfile = deskQuery({
  roles: ['owner', 'staff'],
  readsPersonalData: true,
  path: '/owners/{owner_id}/profile',
  summary: "Read an owner's profile",
  guidance: 'mailbox_confirmed_at is missing until the mailbox is confirmed.',
  fields: { owner_id: ownerId },
  output: z.object({
    owner_id: z.string(),
    name: z.string(),
    postal_address: z.string(),
    mailbox: z.string(),
    mailbox_confirmed_at: time.optional(),
    attribution_days: z.int(),
    stale_stock_days: z.int(),
    fallback: linkRecord.shape.target.optional(),
    record_answers: recordAnswers,
    updated_at: time,
  }),
  example: {
    name: 'a company',
    input: { owner_id: 'acme' },
    output: { owner_id: 'acme', ...exampleProfile, record_answers: 'off', updated_at: EXAMPLE_AT },
  },
});

const confirmOwnerMailbox = ownerCommand({
  verb: 'mailbox/confirm',
  summary: "Record that the mailbox of an owner's profile belongs to the owner",
  guidance:
    'For a mailbox whose holder cannot open the mailed link. Name the mailbox that you have checked: a mailbox other than that of the profile is refused.',
  fields: {
    mailbox: mailbox.describe('The mailbox that was checked'),
    reason: encrypted.line(500).describe('How you know that it is the mailbox of the owner'),
  },
  name: 'a call',
  input: { mailbox: exampleProfile.mailbox, reason: 'It is in the signed contract' },
  output: { mailbox_confirmed: true },
});

const removeOwnerProfile = ownerCommand({
  destructive: true,
  verb: 'profile/remove',
  summary: "Remove an owner's profile and destroy the key of its texts",
  guidance:
    'No notice is sent to the owner any more, and none that is queued. Recorded answers can no longer be made again.',
  fields: {
    reason: line(500).describe('Stays in the log as it is: name no person'),
  },
  name: 'a former promoter',
  input: { reason: 'The contract ended' },
});

/** Agents of each promoter in a list. */
export const LISTED_AGENTS_MAX = 10;

const listOwners = deskQuery({
  roles: ['staff'],
  readsPersonalData: true,
  path: '/owners',
  summary: 'List promoters with profile name, agents and last activity, newest first',
  guidance:
    `With at most ${LISTED_AGENTS_MAX} agents each, newest first; listAgents has the rest. Each call is recorded, because a ` +
    'profile can be of a person. Read the next page with next_before until it is null.',
  fields: { before, limit },
  output: z.object({
    data: z.array(
      z.object({
        owner_id: z.string(),
        name: z.string().optional().describe('Of the profile'),
        mailbox_confirmed: z.boolean(),
        agents: z.array(z.object({ id: z.string(), name: z.string(), status: z.string() })),
        more_agents: z.boolean(),
        last_activity_at: time.nullable(),
      }),
    ),
    next_before: nextBefore,
    as_of: asOf,
  }),
  example: {
    name: 'one promoter',
    input: {},
    output: {
      data: [
        {
          owner_id: 'acme',
          name: exampleProfile.name,
          mailbox_confirmed: true,
          agents: [
            { id: 'agt_4d5e6f7g8h9j0k1m2n3p4q5r', name: 'Newsletter agent', status: 'approved' },
          ],
          more_agents: false,
          last_activity_at: EXAMPLE_AT,
        },
      ],
      next_before: null,
      as_of: EXAMPLE_AS_OF,
    },
  },
});

export const ownersDeskOperations = {
  confirmOwnerMailbox,
  listOwners,
  readOwnerProfile,
  removeOwnerProfile,
  setOwnerProfile,
};

/*
 * What the holder of the mailbox of an owner does. The link in a message to the mailbox is the credential. No interface of
 * agents or of the desk offers these operations.
 */

const mailboxToConfirm = z.looseObject({ ownerId: z.string(), mailbox: z.string() });
const act = holderActs([...LINK_PROBLEMS, 'state_conflict']);

export const ownerMailboxOperations = {
  /** Shows what the link confirms. Changes nothing. */
  readOwnMailbox: holderView({}, mailboxToConfirm),
  /** Confirms the mailbox of the profile for which the link was mailed. */
  confirmOwnMailbox: act({}, mailboxToConfirm, ['OwnerMailboxConfirmed']),
  /** Removes an unconfirmed profile that was set with the mailbox of another person. */
  disownMailbox: act({}, mailboxToConfirm, ['OwnerProfileRemoved', 'MailboxBlocked']),
};
