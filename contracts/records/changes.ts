/** What changed of an owner's records, for its agents and at the desk. */
import { z } from 'zod';
import { EXAMPLE_AS_OF, EXAMPLE_AT, deskQuery } from '#contracts/desk-operation.ts';
import { handoffExample } from '#contracts/examples/records.ts';
import { asOf, cursor, limit, ownerSpace, page, pageMark, time } from '#contracts/fields.ts';
import { defineToolOperation } from '#contracts/operation.ts';
import { PAGE_PROBLEMS } from '#contracts/problems.ts';
import { OUTBOUND_SCOPES } from '#contracts/scopes.ts';

const CHANGE_KINDS = ['link', 'handoff', 'rfq', 'lead', 'outreach', 'access'] as const;

export type ChangeKind = (typeof CHANGE_KINDS)[number];

const change = z
  .object({
    id: z.string().describe('Of an RFQ, the id of its handoff; of access, that of the agent'),
    kind: z.enum(CHANGE_KINDS),
    from: z.string().nullable().describe('State before; null for a new record'),
    to: z.string().describe('State after; the same one if something else of the record changed'),
    position: z.int(),
    at: time,
  })
  .meta({ id: 'Change' });

export type Change = z.infer<typeof change>;

const example: Change = {
  id: handoffExample.id,
  kind: 'handoff',
  from: 'awaiting_buyer',
  to: 'in_review',
  position: 3118,
  at: EXAMPLE_AT,
};

const after = pageMark(z.int().min(0)).optional();
/** An event can change a handoff and its RFQ. */
const positions = limit.describe('Positions on the page; one can have two changes');

export const listChanges = defineToolOperation({
  kind: 'query',
  scope: ['links:write', 'handoffs:write', ...OUTBOUND_SCOPES, 'leads:read'],
  summary: "List what changed of the owner's records, oldest first",
  guidance:
    'Keep next_cursor: the next call continues there, and repeats nothing. The cursor does not expire. Shows the kinds that the ' +
    "scopes read, and of access this agent's own. An end by expires_at alone is no change.",
  brief:
    'Keep next_cursor: the next call continues there, and repeats nothing. An end by expires_at alone is no change.',
  next: 'getRecord shows one.',
  input: z.strictObject({
    after: after.describe('Begins after this log position, for example an as_of; default: 0'),
    limit: positions,
    cursor: cursor.optional(),
  }),
  output: z.object({ data: z.array(change), page, as_of: asOf }),
  problems: ['scope_missing', 'parameter_invalid', ...PAGE_PROBLEMS],
  examples: [
    {
      name: 'since a position',
      input: { after: 3110 },
      output: {
        data: [example],
        page: { next_cursor: 'WzMxMjAsMTc5…', has_more: false },
        as_of: EXAMPLE_AS_OF,
      },
    },
  ],
});

const listOwnerChanges = deskQuery({
  roles: ['owner', 'staff', 'auditor'],
  path: '/changes',
  summary: "List what changed of an owner's records, oldest first, as the states that agents see",
  guidance: 'Read on with next_after, also later: nothing is repeated or left out.',
  fields: {
    owner_id: ownerSpace,
    after: after.describe('Begins after this log position; default: 0'),
    limit: positions,
  },
  output: z.object({
    data: z.array(change),
    next_after: z.int(),
    has_more: z.boolean(),
    as_of: asOf,
  }),
  example: {
    name: 'of acme',
    input: { owner_id: 'acme', after: 3110 },
    output: { data: [example], next_after: 3120, has_more: false, as_of: EXAMPLE_AS_OF },
  },
});

export const changesDeskOperations = { listOwnerChanges };
