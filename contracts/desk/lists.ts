import { z } from 'zod';
import { handoffExample, linkExample } from '../examples/records.ts';
import { asOf, before, limit, nextBefore, ownerSpace } from '../fields.ts';
import { defineDeskOperation } from '../operation.ts';
import { handoff } from '../records/handoff.ts';
import { link } from '../records/link.ts';

const AS_OF = { position: 3120, at: '2026-11-20T09:30:00.000Z' };

const roles = ['owner', 'staff', 'auditor'] as const;
const problems = ['role_missing', 'parameter_invalid', 'resource_not_found'] as const;

export const listLinks = defineDeskOperation({
  id: 'listLinks',
  kind: 'query',
  roles,
  http: { method: 'GET', path: '/links', status: 200 },
  summary: "An owner's links, newest first",
  guidance: 'Follow next_before while it is not null.',
  input: z.strictObject({ owner_id: ownerSpace, before, limit }),
  output: z.object({ data: z.array(link), next_before: nextBefore, as_of: asOf }),
  problems,
  examples: [
    {
      name: 'of acme',
      input: { owner_id: 'acme' },
      output: { data: [linkExample], next_before: null, as_of: AS_OF },
    },
  ],
});

/** What the desk sees of a handoff: the review link is the buyer's alone. */
const deskHandoff = handoff.omit({ review_url: true, line_items: true }).extend({ lines: z.int() });

const { review_url: _forTheBuyer, line_items: lines, ...shown } = handoffExample;

export const listHandoffs = defineDeskOperation({
  id: 'listHandoffs',
  kind: 'query',
  roles,
  http: { method: 'GET', path: '/handoffs', status: 200 },
  summary: "An owner's handoffs, newest first, without their review links",
  guidance: 'Follow next_before while it is not null.',
  input: z.strictObject({ owner_id: ownerSpace, before, limit }),
  output: z.object({ data: z.array(deskHandoff), next_before: nextBefore, as_of: asOf }),
  problems,
  examples: [
    {
      name: 'of acme',
      input: { owner_id: 'acme' },
      output: { data: [{ ...shown, lines: lines.length }], next_before: null, as_of: AS_OF },
    },
  ],
});

export const listHistory = defineDeskOperation({
  id: 'listHistory',
  kind: 'query',
  roles,
  http: { method: 'GET', path: '/history', status: 200 },
  summary: "An owner's events, newest first: what, when and where; readEvents shows them whole",
  guidance:
    'as_of=<position> answers as the log stood then. Follow next_before while it is not null.',
  input: z.strictObject({
    owner_id: ownerSpace,
    as_of: z.int().min(0).optional().describe('A log position'),
    before,
    limit,
  }),
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
  problems,
  examples: [
    {
      name: 'of acme',
      input: { owner_id: 'acme', limit: 1 },
      output: {
        data: [
          {
            position: 3120,
            at: '2026-11-20T09:30:00.000Z',
            type: 'LinkCreated',
            stream: 'acme-link_1a2b3c4d5e6f7g8h9j0k1m2n',
            revision: 0,
          },
        ],
        next_before: 3120,
        as_of: AS_OF,
      },
    },
  ],
});
