import { z } from 'zod';
import { asOf, hasYear, line, time } from '#contracts/fields.ts';
import type { DeskRole } from '#contracts/scopes.ts';
import { EXAMPLE_AS_OF, EXAMPLE_AT } from '#contracts/desk-operation.ts';

/* Fields that the operations of auditors share. */

/** Events that a page of acts reads at most, so that a filter that matches few answers in time. */
export const ACTS_SCANNED_MAX = 5_000;

export const auditRoles: readonly DeskRole[] = ['auditor', 'owner'];

export const AUDITED_KIND_NAMES = ['link', 'handoff', 'lead', 'outreach', 'agent', 'key'] as const;
export type AuditedKind = (typeof AUDITED_KIND_NAMES)[number];

const MOMENT = /^(?:\d{1,16}|\d{4}-\d\d-\d\d(?:T[\d:.]{5,18}(?:Z|[+-]\d\d:\d\d))?)$/;

/** A moment of the history. A time means the highest position before the owner's first event with a later time. */
export const moment = z
  .string()
  .max(40)
  .refine((text) => MOMENT.test(text) && (/^\d+$/.test(text) || hasYear(text)), {
    error: 'must be a log position, a time like 2026-11-01T09:30:00Z, or a day like 2026-11-01',
  })
  .describe(
    'A log position, a time like 2026-11-01T09:30:00Z, or a day, which means its start in UTC',
  );

export const auditAt = moment.optional().describe('A log position, a time or a day; default: now');

/** The position of an answer, the time of the owner's last event up to it, and the time at which records are shown. */
export const auditAsOf = asOf.extend({
  shown_at: time.describe('Records are shown as of this time, because some end by themselves'),
});
export const AUDIT_AS_OF = { ...EXAMPLE_AS_OF, shown_at: EXAMPLE_AT };

/** Personal data is opened for a reason only. */
export const openingReason = line(500)
  .optional()
  .describe(
    'Why personal data is opened: stored in the log with your token. Without it, personal data is shown as [sealed]. ' +
      'Role auditor only. Do not name a person in it',
  );

export const cause = {
  actor: z.string().describe('An agent, desk:<token>, applicant, buyer, system or visitor'),
  actor_name: z.string().optional().describe('Name that the desk token was issued for'),
  agent_id: z.string().optional(),
  request_id: z.string(),
};

export const AUDIT_OUTCOMES = [
  'done',
  'allowed',
  'denied',
  'refused',
  'failed',
  'replayed',
] as const;

export const auditAct = z
  .object({
    position: z.int(),
    at: time,
    ...cause,
    agent_name: z.string().optional(),
    key_id: z.string().optional(),
    surface: z.string(),
    operation: z.string(),
    type: z.string().describe('Type of the event that has the act'),
    outcome: z
      .enum(AUDIT_OUTCOMES)
      .describe('done: an event of the business; others: an audit record'),
    code: z.string().optional().describe('Problem code of a refusal'),
    record: z.string().optional(),
    asked: z.string().optional().describe('Input of the call, of reads that must name it'),
    count: z.int().optional().describe('Equal calls in one audit record'),
  })
  .meta({ id: 'AuditAct' });
