import { z } from 'zod';
import { leadExample } from '#contracts/examples/records.ts';
import { asOf, cursor, handoffId, limit, line, linkId, page, time } from '#contracts/fields.ts';
import { defineOperation } from '#contracts/operation.ts';
import { PAGE_PROBLEMS } from '#contracts/problems.ts';
import { LEAD_STATES } from '#contracts/moves.ts';
import { leadRecord, leadSource } from './lead.records.ts';

export const listLeads = defineOperation({
  kind: 'query',
  scope: 'leads:read',
  http: { method: 'GET', path: '/leads', status: 200 },
  summary: "List the owner's leads, newest first",
  guidance:
    'Read the next page with next_cursor while has_more is true. With a narrow filter a page may have few rows or ' +
    'none although more follow. Present the Consistency-Token of a write to be sure to see it. The time of a change ' +
    'is that at which its call began, shortly before it is written: to poll for changes, set updated_since to one ' +
    'minute before your previous call.',
  brief:
    'Read the next page with next_cursor while has_more is true; a page may have few rows or none. To poll for changes, ' +
    'set updated_since to one minute before your previous call.',
  next: 'submitLead with the same external_id amends a lead.',
  input: z.strictObject({
    state: z.enum(LEAD_STATES).optional().describe('Only leads in this state'),
    source: leadSource.shape.kind.optional(),
    link_id: linkId.optional(),
    handoff_id: handoffId.optional(),
    external_id: line(128)
      .optional()
      .describe('Your own reference: answers the one lead that has it, or none'),
    created_from: time.optional().describe('Only leads submitted at this time or later'),
    created_to: time.optional().describe('Only leads submitted at this time or earlier'),
    updated_since: time.optional().describe('Only leads changed at this time or later'),
    limit,
    cursor: cursor.optional(),
  }),
  output: z.object({ data: z.array(leadRecord), page, as_of: asOf }),
  problems: ['scope_missing', 'parameter_invalid', ...PAGE_PROBLEMS],
  examples: [
    {
      name: 'leads that staff have not handled yet',
      input: { state: 'submitted', limit: 25 },
      output: {
        data: [leadExample],
        page: { next_cursor: null, has_more: false },
        as_of: { position: 3120, at: '2026-11-20T09:30:00.000Z' },
      },
    },
  ],
});
