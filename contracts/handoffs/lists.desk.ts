import { z } from 'zod';
import { deskList, deskQuery, EXAMPLE_AS_OF, EXAMPLE_AT } from '#contracts/desk-operation.ts';
import { handoffExample, linkExample } from '#contracts/examples/records.ts';
import { asOf, before, limit, nextBefore, ownerSpace } from '#contracts/fields.ts';
import { linkRecord } from '#contracts/links/link.records.ts';
import { handoffRecord } from './handoff.records.ts';

export const listLinks = deskList({
  path: '/links',
  summary: "List an owner's links, newest first",
  row: linkRecord,
  example: linkExample,
});

/** A handoff as the desk sees it: the review link belongs to the buyer alone. */
const deskHandoff = handoffRecord.omit({ review_url: true, line_items: true }).extend({
  lines: z.int(),
  made_by_buyer: z.literal(true).optional().describe('The buyer made the list on landing pages'),
});

const { review_url: _secret, line_items: lines, ...shown } = handoffExample;

export const listHandoffs = deskList({
  path: '/handoffs',
  summary: "List an owner's handoffs, newest first, without their review links",
  row: deskHandoff,
  example: { ...shown, lines: lines.length },
});

export const listHistory = deskQuery({
  roles: ['owner', 'staff', 'auditor'],
  path: '/history',
  summary:
    "List an owner's events, newest first: type, time and stream; readEvents shows their data",
  guidance:
    'as_of=<position> answers with the log as it was at that position. Read the next page with next_before until ' +
    'it is null.',
  fields: {
    owner_id: ownerSpace,
    as_of: z.int().min(0).optional().describe('A log position'),
    before,
    limit,
  },
  output: z.object({
    data: z.array(
      z.object({
        position: z.int(),
        at: z.string(),
        type: z.string(),
        stream: z.string(),
        revision: z.int(),
      }),
    ),
    next_before: nextBefore,
    as_of: asOf,
  }),
  example: {
    name: 'of acme',
    input: { owner_id: 'acme', limit: 1 },
    output: {
      data: [
        {
          position: 3120,
          at: EXAMPLE_AT,
          type: 'LinkCreated',
          stream: 'acme-link_1a2b3c4d5e6f7g8h9j0k1m2n',
          revision: 0,
        },
      ],
      next_before: 3120,
      as_of: EXAMPLE_AS_OF,
    },
  },
});

export const listsDeskOperations = { listHandoffs, listHistory, listLinks };
