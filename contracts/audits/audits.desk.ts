import { z } from 'zod';
import { deskQuery } from '#contracts/desk-operation.ts';
import { before, limit, nextBefore, ownerSpace, time } from '#contracts/fields.ts';
import { getPerformance } from '#contracts/performance/get-performance.ts';
import {
  AUDIT_AS_OF,
  auditAsOf,
  auditAt,
  AUDITED_KIND_NAMES,
  auditRoles,
  cause,
  moment,
  openingReason,
} from './audit-fields.ts';

/* What auditors read: an owner's records and numbers at any position of the log, and their changes. */

const auditedRecord = z
  .object({
    kind: z.enum(AUDITED_KIND_NAMES),
    id: z.string(),
    name: z.string().describe('Title, company, campaign or external id, as its kind has one'),
    status: z.string(),
    agent_id: z.string().optional(),
    agent_name: z.string().optional(),
    record: z.record(z.string(), z.unknown()).describe('The record as its own operations show it'),
  })
  .meta({ id: 'AuditedRecord' });

const performance = getPerformance.output;

const STATE_KINDS = [...AUDITED_KIND_NAMES, 'performance'] as const;

export const auditState = deskQuery({
  roles: auditRoles,
  path: '/audit/state',
  auditsInput: true,
  summary: "Show an owner's records and numbers as they were at a position or a time",
  guidance:
    "Folds the owner's events from the log; it does not read the read models. A time means the highest position " +
    "before the owner's first event with a later time. Records are listed newest first; read the next page with " +
    'next_before and the same at. The numbers are the 30 days before, by day; auditPerformance shows others. ' +
    'Personal data is shown as [sealed], or as [erased] after an erasure.',
  fields: {
    owner_id: ownerSpace,
    at: auditAt,
    kind: z
      .array(z.enum(STATE_KINDS))
      .min(1)
      .max(STATE_KINDS.length)
      .optional()
      .describe('Kinds of record; default: all'),
    reason: openingReason,
    before,
    limit,
  },
  output: z.object({
    data: z.array(auditedRecord),
    performance: performance
      .pick({ data: true, totals: true, period: true })
      .optional()
      .describe('On the first page only'),
    next_before: nextBefore,
    as_of: auditAsOf,
  }),
  example: {
    name: 'on a day',
    input: { owner_id: 'acme', at: '2026-11-20', kind: ['link'] },
    output: { data: [], next_before: null, as_of: AUDIT_AS_OF },
  },
});

const { as_of: _position, ...performanceFields } = getPerformance.input.shape;

export const auditPerformance = deskQuery({
  roles: auditRoles,
  path: '/audit/performance',
  auditsInput: true,
  summary: "Count an owner's performance from the log as it was at a position or a time",
  guidance:
    "Counts the owner's events from the log itself, with the same fields and rules as getPerformance. to is the day " +
    'of the position unless it is sent.',
  problems: [
    'role_missing',
    'parameter_invalid',
    'resource_not_found',
    'cursor_invalid',
    'cursor_expired',
    'read_model_rebuilding',
  ],
  fields: { owner_id: ownerSpace, at: auditAt, ...performanceFields },
  output: performance.extend({ as_of: auditAsOf }),
  example: {
    name: 'by campaign',
    input: { owner_id: 'acme', at: '2026-11-20', group_by: ['campaign'] },
    output: {
      ...(getPerformance.examples[0]?.output as object),
      as_of: AUDIT_AS_OF,
    },
  },
});

const change = z
  .object({
    position: z.int(),
    at: time,
    change: z.enum(['made', 'moved', 'amended', 'ended']),
    kind: z.enum(AUDITED_KIND_NAMES),
    id: z.string(),
    name: z.string(),
    from: z.string().nullable().describe('Status before; null for a new record'),
    to: z.string(),
    type: z.string().describe('Type of the event'),
    ...cause,
    agent_name: z.string().optional(),
  })
  .meta({ id: 'AuditChange' });

const numberChange = z
  .object({
    day: z.string().describe('Day in UTC'),
    metric: z.string(),
    from: z.int(),
    to: z.int(),
    currency: z.string().optional().describe('Of an amount in minor units'),
    position: z.int().describe('Last event between the two positions that counts on this day'),
    ...cause,
  })
  .meta({ id: 'AuditNumberChange' });

const moments = {
  owner_id: ownerSpace,
  from: moment.describe('A log position, a time or a day: the earlier state'),
  to: moment.optional().describe('A log position, a time or a day: the later state; default: now'),
};

export const auditDiff = deskQuery({
  roles: auditRoles,
  path: '/audit/diff',
  auditsInput: true,
  summary:
    'List what changed between two positions or times: records and numbers, each with who changed it',
  guidance:
    'Changes are in order of position. Read the next page with after = next_after and the same from and to, until ' +
    'it is null; numbers are on the first page. amended means that the record changed and its status did not.',
  fields: {
    ...moments,
    after: z.int().min(1).optional().describe('next_after of the previous page'),
    limit,
  },
  output: z.object({
    changes: z.array(change),
    numbers: z.array(numberChange),
    next_after: z.int().nullable().describe('null on the last page'),
    from: auditAsOf,
    to: auditAsOf,
  }),
  example: {
    name: 'since a day',
    input: { owner_id: 'acme', from: '2026-11-01' },
    output: {
      changes: [],
      numbers: [],
      next_after: null,
      from: AUDIT_AS_OF,
      to: AUDIT_AS_OF,
    },
  },
});

export const auditProgress = deskQuery({
  roles: auditRoles,
  path: '/audit/progress',
  summary: "Show how far a running audit has read an owner's history",
  guidance:
    'The state, the performance and the changes of an owner are folded from all its events, which takes seconds for a ' +
    'million. reading is null while no audit of the owner reads events.',
  fields: { owner_id: ownerSpace },
  output: z.object({
    reading: z
      .object({ position: z.int(), up_to: z.int().describe('The last position that it will read') })
      .nullable(),
  }),
  example: {
    name: 'of acme',
    input: { owner_id: 'acme' },
    output: { reading: { position: 1200, up_to: 3120 } },
  },
});

export const auditDeskOperations = { auditDiff, auditPerformance, auditProgress, auditState };
