import { z } from 'zod';
import { id, idempotencyKey, line, money, ownerSpace } from '../fields.ts';
import { defineDeskOperation } from '../operation.ts';
import { DESK_WRITE_PROBLEMS } from './access.ts';

const MOVES = [
  'accepted',
  'rejected',
  'duplicate',
  'contacted',
  'qualified',
  'unqualified',
  'won',
  'lost',
] as const;

const LEAD = 'led_3c4d5e6f7g8h9j0k1m2n3p4q';
const HANDOFF = 'hnd_2b3c4d5e6f7g8h9j0k1m2n3p';
const LINK = 'lnk_1a2b3c4d5e6f7g8h9j0k1m2n';
const state = z.object({ id: z.string(), owner_id: z.string(), state: z.string() });

export const moveLead = defineDeskOperation({
  id: 'moveLead',
  kind: 'command',
  roles: ['staff'],
  http: { method: 'POST', path: '/leads/{lead_id}/move', status: 200 },
  summary: 'Move a lead to its next state',
  guidance:
    'submitted to accepted, rejected or duplicate; accepted to contacted; contacted to qualified or ' +
    'unqualified; rfq_submitted to won or lost. A won lead may carry its value. A lead whose buyer has ' +
    'sent the RFQ of its handoff is rfq_submitted from its acceptance on. One that is rejected, duplicate, ' +
    'unqualified or lost gives its contact free for other leads.',
  input: z.strictObject({
    idempotency_key: idempotencyKey,
    lead_id: id('led'),
    owner_id: ownerSpace,
    to: z.enum(MOVES),
    reason: line(500).optional(),
    value: z.strictObject(money.shape).optional(),
  }),
  output: state,
  problems: DESK_WRITE_PROBLEMS,
  examples: [
    {
      name: 'accepted',
      input: {
        idempotency_key: 'lead-4711-accept',
        lead_id: LEAD,
        owner_id: 'acme',
        to: 'accepted',
      },
      output: { id: LEAD, owner_id: 'acme', state: 'accepted' },
    },
  ],
});

const close = <const Id extends string, Which extends Record<string, z.ZodString>>(
  operation: Id,
  of: {
    /** Names the record. */
    which: Which;
    path: string;
    example: { [Field in keyof Which]: string };
    state: string;
  },
  roles: readonly ('owner' | 'staff')[],
  summary: string,
) =>
  defineDeskOperation({
    id: operation,
    kind: 'command',
    roles,
    http: { method: 'POST', path: of.path, status: 200 },
    summary,
    guidance:
      'Final. The record stays in the history with its reason; that of a handoff is shown to its buyer, ' +
      'and is encrypted with its personal data.',
    input: z.strictObject({
      idempotency_key: idempotencyKey,
      ...of.which,
      owner_id: ownerSpace,
      reason: line(500),
    }),
    output: state,
    problems: DESK_WRITE_PROBLEMS,
    examples: [
      {
        name: of.state,
        input: {
          idempotency_key: 'close-1',
          ...of.example,
          owner_id: 'acme',
          reason: 'Recalled',
        },
        output: { id: Object.values(of.example)[0], owner_id: 'acme', state: of.state },
      },
    ],
  });

export const withdrawHandoff = close(
  'withdrawHandoff',
  {
    which: { handoff_id: id('hnd') },
    path: '/handoffs/{handoff_id}/withdraw',
    example: { handoff_id: HANDOFF },
    state: 'withdrawn',
  },
  ['owner', 'staff'],
  'Withdraw a handoff that the buyer has not answered',
);

export const invalidateHandoff = close(
  'invalidateHandoff',
  {
    which: { handoff_id: id('hnd') },
    path: '/handoffs/{handoff_id}/invalidate',
    example: { handoff_id: HANDOFF },
    state: 'invalidated',
  },
  ['staff'],
  'Invalidate a handoff: a product was withdrawn, or a rule forbids it',
);

export const disableLink = close(
  'disableLink',
  {
    which: { link_id: id('lnk') },
    path: '/links/{link_id}/disable',
    example: { link_id: LINK },
    state: 'disabled',
  },
  ['owner', 'staff'],
  'Disable a link: it leads nowhere from now on',
);

export const eraseSubject = defineDeskOperation({
  id: 'eraseSubject',
  kind: 'command',
  roles: ['operator'],
  http: { method: 'POST', path: '/subjects/{subject}/erase', status: 200 },
  summary: 'Destroy the key of a lead’s or a handoff’s personal data',
  guidance:
    'For ever. The events stay and can still be verified; the personal data in them is noise: contacts, ' +
    'notes and reasons. Early versions stored reasons and the notes of handoffs in clear: those stay in the log, ' +
    'in_clear events of them, and nothing shows them any more. Your own reason is stored as it is: name nobody in it.',
  input: z.strictObject({
    idempotency_key: idempotencyKey,
    subject: z
      .string()
      .regex(/^(led|hnd)_[0-9a-z]{24}$/, { error: 'must be a lead or handoff id' }),
    owner_id: ownerSpace.optional(),
    reason: line(500),
  }),
  output: z.object({
    subject: z.string(),
    key: z.enum(['destroyed', 'never']),
    erased_from: z.array(z.string()),
    in_clear: z
      .int()
      .describe(
        'Older events whose words stay in the log as they were written; nothing shows them',
      ),
  }),
  problems: DESK_WRITE_PROBLEMS,
  examples: [
    {
      name: 'on request',
      input: {
        idempotency_key: 'erase-1',
        subject: LEAD,
        owner_id: 'acme',
        reason: 'Art. 17 request',
      },
      output: {
        subject: LEAD,
        key: 'destroyed',
        erased_from: ['acme-lead_3c4d5e6f7g8h9j0k1m2n3p4q'],
        in_clear: 0,
      },
    },
  ],
});
