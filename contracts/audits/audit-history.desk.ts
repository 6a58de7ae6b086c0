import { z } from 'zod';
import { deskQuery, EXAMPLE_AS_OF } from '#contracts/desk-operation.ts';
import { asOf, before, id, limit, line, nextBefore, ownerSpace, time } from '#contracts/fields.ts';
import {
  ACTS_SCANNED_MAX,
  AUDIT_OUTCOMES,
  auditAct,
  auditRoles,
  cause,
  moment,
} from './audit-fields.ts';

/* What happened: the acts and refusals of an owner, and the chain of one of them. */

export const auditHistory = deskQuery({
  roles: auditRoles,
  path: '/audit/history',
  auditsInput: true,
  summary:
    "List the acts and refusals in an owner's history, newest first: who, how, what, outcome and request",
  guidance:
    'An event of the business is one act; an audit record has one act for each kind of call. Reads and refusals of ' +
    'people at the desk belong to no owner: they are in the history of the owner desk, which only auditors read. ' +
    `A page reads at most ${ACTS_SCANNED_MAX} events, so with filters it can have few acts or none: read on with ` +
    'next_before until it is null. A page ends after a whole event.',
  fields: {
    owner_id: ownerSpace,
    from: moment.optional().describe('A log position, a time or a day: only later acts'),
    to: moment.optional().describe('A log position, a time or a day: no later acts'),
    agent_id: id('agt').optional(),
    actor: line(100)
      .regex(/^(?:agt_|desk:|(?:applicant|buyer|system|visitor)$)/, {
        error: 'must be the id of an agent, desk:<token>, applicant, buyer, system or visitor',
      })
      .optional()
      .describe('An agent, desk:<token>, applicant, buyer, system or visitor'),
    kind: line(64).optional().describe('Type of event or operation'),
    outcome: z.enum(AUDIT_OUTCOMES).optional(),
    record: line(100).optional().describe('Id of a record'),
    key_id: line(100).optional().describe('Id of an API key'),
    request_id: line(100).optional(),
    before,
    limit,
  },
  output: z.object({ data: z.array(auditAct), next_before: nextBefore, as_of: asOf }),
  example: {
    name: 'refusals',
    input: { owner_id: 'acme', outcome: 'denied' },
    output: { data: [], next_before: null, as_of: EXAMPLE_AS_OF },
  },
});

const touched = z.object({
  read_model: z.string(),
  scope: z.string(),
  key: z.string(),
  change: z
    .enum(['made', 'changed', 'removed', 'added_to', 'unchanged'])
    .describe('added_to: a row that many records share, such as a list of facts'),
  members: z.array(z.string()).optional().describe('Members of the row that changed'),
});

const traced = z
  .object({
    relation: z
      .enum(['cause', 'subject', 'effect'])
      .describe('cause: it led to the subject; effect: it followed from it'),
    position: z.int(),
    at: time,
    type: z.string(),
    stream: z.string(),
    record: z.string().optional(),
    ...cause,
    key_id: z.string().optional(),
    surface: z.string(),
    operation: z.string(),
    data: z
      .record(z.string(), z.unknown())
      .describe('Data of the event; personal data is encrypted'),
    rows: z.array(touched),
  })
  .meta({ id: 'AuditTraced' });

export const auditTrace = deskQuery({
  roles: auditRoles,
  path: '/audit/trace/{id}',
  auditsInput: true,
  summary:
    'Show the chain of a record or a request: what led to it, what it wrote and what followed',
  guidance:
    'id is the id of a link, handoff, lead or outreach request, or the Request-Id of an answer. rows names the rows ' +
    'of read models that each event changed. answer is what a retry with the same idempotency key is answered, ' +
    'without personal data and review link.',
  fields: {
    id: line(100).describe('Id of a record or of a request'),
    owner_id: ownerSpace
      .optional()
      .describe('Owner of the record, if known: the search is shorter'),
  },
  output: z.object({
    id: z.string(),
    owner_id: z.string(),
    events: z.array(traced),
    audited: z.array(auditAct).describe('Audit records of the request'),
    answer: z
      .object({ operation: z.string(), value: z.record(z.string(), z.unknown()) })
      .optional(),
    more: z.boolean().describe('Whether there are more events than are shown'),
  }),
  example: {
    name: 'of a lead',
    input: { id: 'led_3c4d5e6f7g8h9j0k1m2n3p4q', owner_id: 'acme' },
    output: {
      id: 'led_3c4d5e6f7g8h9j0k1m2n3p4q',
      owner_id: 'acme',
      events: [],
      audited: [],
      more: false,
    },
  },
});

export const auditHistoryDeskOperations = { auditHistory, auditTrace };
