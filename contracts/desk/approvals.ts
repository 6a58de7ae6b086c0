import { z } from 'zod';
import { postExample } from '../examples/outbound.ts';
import { asOf, id, idempotencyKey, line, ownerSpace } from '../fields.ts';
import { defineDeskOperation } from '../operation.ts';
import type { ProblemCode } from '../problems.ts';
import { OUTBOUND_STATUSES, outbound } from '../records/outbound.ts';
import { DESK_WRITE_PROBLEMS } from './access.ts';

const which = {
  outbound_id: id('out'),
  owner_id: ownerSpace.optional().describe('Whose it is, where it is known'),
};
const sha256 = z
  .string()
  .regex(/^[0-9a-f]{64}$/, { error: 'must be 64 of 0-9a-f' })
  .describe('content_sha256 of what you have seen: the decision is on exactly that');

const PATH = '/approvals/{outbound_id}';

const approval = z
  .object({
    request: outbound,
    exact: z.object({
      bytes: z.string().describe('What will leave, byte for byte, in UTF-8'),
      bytes_count: z.int(),
      sha256: z.string(),
      shown: z
        .string()
        .describe('The text with everything that a reader cannot see made visible, as ⟨U+200D⟩'),
      hidden: z.array(
        z.object({
          pointer: z.string(),
          offset: z.int().describe('In UTF-16 code units of that field'),
          code_point: z.string(),
        }),
      ),
    }),
  })
  .meta({ id: 'Approval' });

const envelope = '{"content":{"text":"…"},"id":"out_5e6f7g8h9j0k1m2n3p4q5r6s","version":1}';
const approvalExample = {
  request: postExample,
  exact: {
    bytes: envelope,
    bytes_count: Buffer.byteLength(envelope),
    sha256: postExample.content_sha256,
    shown: postExample.content.text,
    hidden: [],
  },
};

export const listApprovals = defineDeskOperation({
  id: 'listApprovals',
  kind: 'query',
  roles: ['owner', 'staff', 'auditor'],
  http: { method: 'GET', path: '/approvals', status: 200 },
  summary: 'Outreach requests, newest first: those that wait for people, or all of an owner',
  guidance:
    'Without status: every request that is not at an end, and those of unknown outcome. With an owner_id ' +
    'and a status, the finished ones, too.',
  input: z.strictObject({
    owner_id: ownerSpace.optional(),
    status: z.enum(OUTBOUND_STATUSES).optional(),
    before: z.int().min(1).optional(),
    limit: z.int().min(1).max(100).default(25),
  }),
  output: z.object({
    data: z.array(outbound),
    next_before: z.int().nullable(),
    as_of: asOf,
  }),
  problems: ['role_missing', 'parameter_invalid', 'resource_not_found'],
  examples: [
    {
      name: 'what waits',
      input: { owner_id: 'acme' },
      output: {
        data: [postExample],
        next_before: null,
        as_of: { position: 3120, at: '2026-11-20T09:30:00.000Z' },
      },
    },
  ],
});

export const showApproval = defineDeskOperation({
  id: 'showApproval',
  kind: 'query',
  roles: ['owner', 'staff', 'auditor'],
  readsPersonalData: true,
  http: { method: 'GET', path: PATH, status: 200 },
  summary: 'One outreach request, with the exact bytes that would leave',
  guidance: 'Approve with the sha256 shown here: it is bound to these bytes and to no others.',
  input: z.strictObject(which),
  output: approval,
  problems: ['role_missing', 'parameter_invalid', 'resource_not_found'],
  examples: [{ name: 'a post', input: { outbound_id: postExample.id }, output: approvalExample }],
});

const DECISION_PROBLEMS = [
  ...DESK_WRITE_PROBLEMS,
  'approval_mismatch',
  'approval_expired',
  'outreach_halted',
] as const satisfies readonly ProblemCode[];

const decide = <const Id extends string, Extra extends z.ZodRawShape>(
  operation: Id,
  of: {
    verb: string;
    summary: string;
    guidance: string;
    extra: Extra;
    said: Record<string, unknown>;
    status: (typeof OUTBOUND_STATUSES)[number];
  },
) =>
  defineDeskOperation({
    id: operation,
    kind: 'command',
    roles: ['owner', 'staff'],
    http: { method: 'POST', path: `${PATH}/${of.verb}`, status: 200 },
    summary: of.summary,
    guidance: of.guidance,
    input: z.strictObject({ idempotency_key: idempotencyKey, ...which, ...of.extra }),
    output: outbound,
    problems: DECISION_PROBLEMS,
    examples: [
      {
        name: of.verb,
        input: { idempotency_key: `post-${of.verb}`, outbound_id: postExample.id, ...of.said },
        output: { ...postExample, status: of.status, version: 1 },
      },
    ],
  });

const reason = line(500).describe('Shown to the agent');
const bound = { content_sha256: postExample.content_sha256 };

export const approveOutbound = decide('approveOutbound', {
  verb: 'approve',
  summary: 'Approve exactly this content',
  guidance:
    'In owner_controlled mode the owner decides, in admin_approved mode staff. Where two are required, ' +
    'two different people. One changed character later needs a new approval.',
  extra: { content_sha256: sha256, note: line(500).optional() },
  said: bound,
  status: 'approved',
});

export const refuseOutbound = decide('refuseOutbound', {
  verb: 'refuse',
  summary: 'Refuse an outreach request for good',
  guidance: 'The agent is told the reason.',
  extra: { content_sha256: sha256, reason },
  said: { ...bound, reason: 'Not our tone' },
  status: 'rejected',
});

export const requestOutboundChanges = decide('requestOutboundChanges', {
  verb: 'request-changes',
  summary: 'Send an outreach request back to the agent',
  guidance: 'The agent may send new content, which is decided on anew.',
  extra: { content_sha256: sha256, reason },
  said: { ...bound, reason: 'Name the price' },
  status: 'changes_requested',
});

export const cancelOutbound = decide('cancelOutbound', {
  verb: 'cancel',
  summary: 'Cancel an outreach request that has not been sent',
  guidance: 'Works until it is dispatched.',
  extra: { reason },
  said: { reason: 'Campaign over' },
  status: 'canceled',
});

export const observeOutbound = decide('observeOutbound', {
  verb: 'observe',
  summary: 'Say what became of a request whose outcome is unknown',
  guidance: 'Somebody has looked at the receiver. Only this ends an unknown outcome.',
  extra: { outcome: z.enum(['confirmed', 'failed']), evidence: line(500) },
  said: { outcome: 'confirmed', evidence: 'The post is there' },
  status: 'confirmed',
});
