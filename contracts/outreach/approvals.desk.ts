import { z } from 'zod';
import { deskQuery, EXAMPLE_AS_OF, recordCommands } from '#contracts/desk-operation.ts';
import { postExample } from '#contracts/examples/records.ts';
import { asOf, before, id, limit, line, nextBefore, ownerSpace } from '#contracts/fields.ts';
import { OUTBOUND_STATUSES, outboundRecord } from './outbound.records.ts';

const request = {
  outbound_id: id('out'),
  owner_id: ownerSpace.optional().describe('Owner of the request, if known'),
};
const PATH = '/approvals/{outbound_id}';

const approval = z
  .object({
    request: outboundRecord,
    exact: z.object({
      bytes: z.string().describe('The bytes that will be sent, in UTF-8'),
      bytes_count: z.int(),
      sha256: z.string(),
      shown: z
        .string()
        .describe('The text, with each invisible character written as its code point: ⟨U+200D⟩'),
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

export const listApprovals = deskQuery({
  roles: ['owner', 'staff', 'auditor'],
  path: '/approvals',
  summary: 'List outreach requests, newest first: those that wait for people, or all of an owner',
  guidance:
    'Without status: requests that are not finished, and those of unknown outcome. With owner_id and status: ' +
    'also finished requests.',
  fields: {
    owner_id: ownerSpace.optional().describe('Requests of this promoter only'),
    status: z.enum(OUTBOUND_STATUSES).optional().describe('Requests in this state only'),
    before,
    limit,
  },
  output: z.object({ data: z.array(outboundRecord), next_before: nextBefore, as_of: asOf }),
  example: {
    name: 'what waits',
    input: { owner_id: 'acme' },
    output: { data: [postExample], next_before: null, as_of: EXAMPLE_AS_OF },
  },
});

export const showApproval = deskQuery({
  roles: ['owner', 'staff', 'auditor'],
  readsPersonalData: true,
  path: PATH,
  summary: 'Show one outreach request, with the exact bytes that would be sent',
  guidance: 'Approve with the sha256 shown here: the approval is valid for exactly these bytes.',
  fields: request,
  output: approval,
  example: {
    name: 'a post',
    input: { outbound_id: postExample.id },
    output: {
      request: postExample,
      exact: {
        bytes: envelope,
        bytes_count: Buffer.byteLength(envelope),
        sha256: postExample.content_sha256,
        shown: postExample.content.text,
        hidden: [],
      },
    },
  },
});

/** Defines a decision of a person on an outreach request. */
const decide = recordCommands({
  path: PATH,
  roles: ['owner', 'staff'],
  fields: request,
  output: outboundRecord,
  problems: [
    'approval_mismatch',
    'approval_expired',
    'outreach_halted',
    'approver_not_independent',
  ],
  example: {
    input: { outbound_id: postExample.id },
    output: { ...postExample, version: 1 },
  },
});

const content_sha256 = z
  .string()
  .regex(/^[0-9a-f]{64}$/, { error: 'must be 64 of 0-9a-f' })
  .describe(
    'content_sha256 of the content that you have read; the decision is on exactly that content',
  );
const reason = line(500).describe('Shown to the agent');
const exampleContent = { content_sha256: postExample.content_sha256 };

export const approveOutbound = decide({
  verb: 'approve',
  summary: 'Approve exactly this content',
  guidance:
    'In owner_controlled mode the owner decides, in admin_approved mode staff. If two approvals are required, ' +
    'they must come from two people, neither of whom issued the token of the other. In admin_approved mode the person ' +
    "who issued the agent's key cannot approve. Any later change of the content needs a new approval.",
  fields: { content_sha256, note: line(500).optional().describe('Stored with the decision') },
  input: exampleContent,
  output: { status: 'approved' },
});

export const refuseOutbound = decide({
  verb: 'refuse',
  summary: 'Refuse an outreach request; this is final',
  guidance: 'The agent can read the reason.',
  fields: { content_sha256, reason },
  input: { ...exampleContent, reason: 'Not our tone' },
  output: { status: 'rejected' },
});

export const requestOutboundChanges = decide({
  verb: 'request-changes',
  summary: 'Send an outreach request back to the agent',
  guidance: 'The agent may send new content, which needs a new decision.',
  fields: { content_sha256, reason },
  input: { ...exampleContent, reason: 'Name the price' },
  output: { status: 'changes_requested' },
});

export const cancelOutbound = decide({
  verb: 'cancel',
  summary: 'Cancel an outreach request that has not been sent',
  guidance: 'Possible until the request is dispatched.',
  fields: { reason },
  input: { reason: 'Campaign over' },
  output: { status: 'canceled' },
});

export const observeOutbound = decide({
  verb: 'observe',
  summary: 'Record the outcome of a request whose outcome is unknown',
  guidance:
    'Call it after a person has checked with the receiver. Nothing else ends an unknown outcome.',
  fields: {
    outcome: z.enum(['confirmed', 'failed']).describe('What became of the request'),
    evidence: line(500).describe('What was observed, and where'),
  },
  input: { outcome: 'confirmed', evidence: 'The post is there' },
  output: { status: 'confirmed' },
});

export const approvalsDeskOperations = {
  approveOutbound,
  cancelOutbound,
  listApprovals,
  observeOutbound,
  refuseOutbound,
  requestOutboundChanges,
  showApproval,
};
