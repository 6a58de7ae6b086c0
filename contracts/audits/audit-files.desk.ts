import { z } from 'zod';
import { deskQuery, EXAMPLE_AT } from '#contracts/desk-operation.ts';
import { line, ownerSpace } from '#contracts/fields.ts';
import {
  AUDIT_AS_OF,
  auditAsOf,
  auditAt,
  auditRoles,
  moment,
  openingReason,
} from './audit-fields.ts';

/* What auditors take away: an owner's events as canonical JSON. */

const LINES_MAX = 1_000;

export const auditExport = deskQuery({
  roles: auditRoles,
  path: '/audit/events',
  auditsInput: true,
  summary: "Export an owner's events in canonical JSON (RFC 8785), one a line",
  guidance:
    'Read the next page with after = next_after and the same from and to until it is null. The same range always has ' +
    'the same lines. Personal data is encrypted as in the log; with a reason, opened has its plain text.',
  fields: {
    owner_id: ownerSpace,
    from: moment.optional().describe('A log position, a time or a day: only later events'),
    to: auditAt,
    reason: openingReason,
    after: z.int().min(0).optional().describe('next_after of the previous page'),
    limit: z.int().min(1).max(LINES_MAX).default(LINES_MAX).describe('Lines per page'),
  },
  output: z.object({
    log: z.string().describe('Identity of the log: positions of different logs are not comparable'),
    lines: z.array(z.string()),
    next_after: z.int().nullable(),
    from: auditAsOf,
    to: auditAsOf,
    classifier_version: z.int(),
    people: z
      .record(z.string(), z.string())
      .describe(
        'Names that desk tokens were issued for, by the actor of their events in these lines',
      ),
  }),
  example: {
    name: 'of acme',
    input: { owner_id: 'acme' },
    output: {
      log: '0f1e2d3c',
      lines: [],
      next_after: null,
      from: { position: 0, at: null, shown_at: EXAMPLE_AT },
      to: AUDIT_AS_OF,
      classifier_version: 1,
      people: { 'desk:LWaBGZ33b8yo': 'Ada Lovelace' },
    },
  },
});

export const auditCheck = deskQuery({
  roles: auditRoles,
  path: '/audit/check',
  auditsInput: true,
  summary: 'Compare the live rows of an owner, or of all, byte for byte with a fold of the log',
  guidance:
    'Starts the comparison, or shows the progress of the running one, until done is true. Live rows and their ' +
    'position are read together, so that it holds while the service writes. difference is the first row that differs, ' +
    'with the last event that changed it. sample folds every nth partition of a read model only. Only auditors ' +
    'check all owners.',
  fields: {
    owner_id: ownerSpace.optional().describe('Default: all owners'),
    sample: z.int().min(1).max(64).optional().describe('Check one of so many partitions'),
    run: line(64).describe('Your name for this run; repeat it to see its progress'),
  },
  output: z.object({
    done: z.boolean(),
    position: z.int(),
    head: z.int(),
    rows: z.int(),
    difference: z
      .object({
        read_model: z.string(),
        scope: z.string(),
        key: z.string(),
        position: z.int().describe('Position of the comparison'),
        live: z.string().nullable().describe('The row as JSON; null if there is none'),
        log: z.string().nullable(),
        last_event: z
          .object({ position: z.int(), type: z.string(), stream: z.string() })
          .optional(),
      })
      .optional(),
    failure: z.string().optional(),
  }),
  example: {
    name: 'of acme',
    input: { owner_id: 'acme', run: 'nightly' },
    output: { done: true, position: 3120, head: 3120, rows: 204 },
  },
});

export const auditFilesDeskOperations = { auditCheck, auditExport };
