/** Operations on outreach: of agents who propose it, of staff who approve it, and of those who control its channels. */
import { z } from 'zod';
import {
  deskCommand,
  deskQuery,
  EXAMPLE_AS_OF,
  EXAMPLE_AT,
  recordCommands,
} from '#contracts/desk-operation.ts';
import { linkPostExample, notificationExample, postExample } from '#contracts/examples/records.ts';
import {
  encrypted,
  httpsUrl,
  money,
  externalId,
  id,
  idempotencyKey,
  identifier,
  line,
  text,
  time,
  ownerId,
  url,
  asOf,
  before,
  limit,
  nextBefore,
  ownerSpace,
} from '#contracts/fields.ts';
import { LIMITS } from '#contracts/limits.ts';
import {
  defineToolOperation,
  type ToolOperation,
  type DeskOperation,
} from '#contracts/operation.ts';
import { WRITE_PROBLEMS } from '#contracts/problems.ts';
import { OUTBOUND_SCOPES } from '#contracts/scopes.ts';
import {
  MESSAGE_CHANNELS,
  NETWORKS,
  outboundRecord,
  APPROVAL_MODES,
  CHANNEL_KINDS,
  OUTBOUND_STATUSES,
} from './records.ts';

/** A name of an account or a recipient; an address would be personal data in the log. */
const reference = (what: string) => identifier(128).describe(`${what}, never an address`);

const TEXT_CHARS_MAX = 8_000;
/** A post is shorter than what else is sent. */
export const POST_CHARS_MAX = 5_000;

const exactText = (max: number) =>
  text(max).describe('The exact text that people approve and that is sent');
const subject = line(200).optional().describe('Subject line');

const outboundId = id('out').describe('Id of the outreach request');

const common = {
  idempotency_key: idempotencyKey,
  link_ids: z
    .array(id('lnk'))
    .max(LIMITS.OUTREACH_LINKS_MAX)
    .default([])
    .describe('Ids of your links whose short_url is in the text'),
  not_before: time.optional().describe('Earliest time of sending'),
  not_after: time
    .optional()
    .describe(
      `Time of expiry; default: ${LIMITS.OUTREACH_DAYS_DEFAULT} days from now, at most ${LIMITS.OUTREACH_DAYS_MAX}`,
    ),
  external_id: externalId.optional(),
  revises: id('out')
    .optional()
    .describe('A request of the same kind that this one replaces: new content needs new approval'),
};

const proposal = <Fields extends z.ZodRawShape>({
  fields,
  ...operation
}: Pick<ToolOperation, 'scope' | 'summary' | 'examples'> & { fields: Fields }) =>
  defineToolOperation({
    ...operation,
    kind: 'command',
    openWorld: true,
    writes: ['OutboundProposed', 'OutboundRevised', 'RequestBound'],
    guidance:
      'Only proposes: nothing is sent until people of the owner have approved exactly this text. A text with a link ' +
      'must have a disclosure: that of the link record, "Promotional link" or #ad.',
    brief:
      'Only proposes: people of the owner approve exactly this text, or nothing is sent. A text with a link must have ' +
      'the disclosure of the link record, "Promotional link" or #ad.',
    next: 'getOutboundRequest shows the decision; if changes are requested, send the new text with revises.',
    input: z.strictObject({ ...common, ...fields }),
    output: outboundRecord,
    problems: [
      ...WRITE_PROBLEMS,
      'scope_missing',
      'resource_not_found',
      'approver_missing',
      'outreach_halted',
      'channel_not_verified',
      'disclosure_missing',
      'state_conflict',
    ],
  });

const examplePost = { network: 'mastodon', account_ref: 'shop-account' };

const requestSocialPost = proposal({
  scope: 'social:write',
  summary: 'Propose a social post for approval',
  fields: {
    network: z.enum(NETWORKS).describe('The social network'),
    account_ref: reference("The owner's name for the account: people check it"),
    text: exactText(POST_CHARS_MAX),
  },
  examples: [
    {
      name: 'a post',
      input: {
        idempotency_key: 'spring-sale:KIT-101:post',
        ...examplePost,
        text: postExample.content.text,
      },
      output: postExample,
    },
    {
      name: 'a post with a link and its disclosure',
      after: 'createLink',
      input: {
        idempotency_key: 'spring-sale:KIT-101:link-post',
        ...examplePost,
        text: linkPostExample.content.text,
        link_ids: linkPostExample.content.link_ids,
      },
      output: linkPostExample,
    },
  ],
});

const exampleMail = {
  subject: 'Stoneware mugs in stock',
  text: 'Stoneware mugs are back in stock. Reply for a list.',
};
const exampleList = { channel: 'email', recipient_ref: 'list:cafe-owners' };

const requestMessage = proposal({
  scope: 'messages:write',
  summary: 'Propose a message for approval',
  fields: {
    channel: z.enum(MESSAGE_CHANNELS).describe('How the message is sent'),
    recipient_ref: reference(
      "A lead's id or external_id, refused if its person refuses contact; or the owner's name for a list or recipient",
    ),
    subject,
    text: exactText(TEXT_CHARS_MAX),
  },
  examples: [
    {
      name: 'to a list',
      input: { idempotency_key: 'spring-sale:cafes:mail', ...exampleList, ...exampleMail },
      output: {
        ...postExample,
        kind: 'message',
        target: exampleList,
        content: { ...exampleMail, link_ids: [] },
      },
    },
  ],
});

const requestAgentNotification = proposal({
  scope: 'agents:notify',
  summary: 'Propose a notification to another agent for approval',
  fields: {
    agent_card_url: httpsUrl.describe('https URL of the A2A card of the agent to notify'),
    text: exactText(TEXT_CHARS_MAX),
  },
  examples: [
    {
      name: 'a partner',
      input: {
        idempotency_key: 'spring-sale:partner:note',
        agent_card_url: notificationExample.target.agent_card_url,
        text: notificationExample.content.text,
      },
      output: notificationExample,
    },
  ],
});

const getOutboundRequest = defineToolOperation({
  kind: 'query',
  scope: OUTBOUND_SCOPES,
  summary: 'Read an outreach request: its approval and its outcome',
  guidance:
    'confirmed: the receiver acknowledged it. outcome_unknown: it may have been sent; do not propose it again ' +
    'before a person has checked.',
  next: 'while it waits for approval, call again later; only people can approve.',
  input: z.strictObject({ outbound_id: outboundId }),
  output: outboundRecord,
  problems: ['scope_missing', 'parameter_invalid', 'resource_not_found'],
  examples: [
    {
      name: 'a post that waits for approval',
      after: 'requestSocialPost',
      input: { outbound_id: postExample.id },
      output: postExample,
    },
  ],
});

const cancelOutboundRequest = defineToolOperation({
  kind: 'command',
  writes: ['OutboundCanceled', 'RequestBound'],
  scope: OUTBOUND_SCOPES,
  summary: 'Cancel an outreach request that has not been sent',
  guidance: 'Possible until it is dispatched; after that it cannot be recalled.',
  next: 'propose a new request to send another text.',
  // It ends the request and its approvals.
  destructive: true,
  input: z.strictObject({
    idempotency_key: idempotencyKey,
    outbound_id: outboundId,
    reason: line(500).optional().describe('Reason, shown to the people who decide'),
  }),
  output: outboundRecord,
  problems: [...WRITE_PROBLEMS, 'scope_missing', 'resource_not_found', 'state_conflict'],
  examples: [
    {
      name: 'a post that is no longer needed',
      after: 'requestSocialPost',
      input: { idempotency_key: 'spring-sale:KIT-101:stop', outbound_id: postExample.id },
      output: { ...postExample, status: 'canceled', version: 1 },
    },
  ],
});

export const outreachAgentOperations = {
  cancelOutboundRequest,
  getOutboundRequest,
  requestAgentNotification,
  requestMessage,
  requestSocialPost,
};

const settings = z
  .object({
    owner_id: z.string(),
    mode: z
      .enum(APPROVAL_MODES)
      .nullable()
      .describe(
        'Who approves: the owner, or staff. null: there is no approver, so nothing can be proposed',
      ),
    approvals_required: z.int().nullable(),
    channels: z.array(
      z.object({
        kind: z.enum(CHANNEL_KINDS),
        adapter: z.enum(['file', 'webhook', 'a2a']),
        url: z.string().optional(),
        receiver_idempotent: z.boolean(),
        webhook_secret: z
          .string()
          .optional()
          .describe(
            'whsec_…, with which the receiver verifies signatures; shown to staff when it is set',
          ),
        disabled: z.string().optional().describe('Why the channel was disabled'),
      }),
    ),
    automatic_deliveries_per_day: z
      .int()
      .describe('Review links that are delivered without an approval; the owner sets it'),
    halted: z.string().nullable().describe('Why outreach is halted; null if it is not'),
    halted_for_everybody: z.string().nullable(),
  })
  .meta({ id: 'OutreachSettings' });

const settingsExample = {
  owner_id: 'acme',
  mode: 'owner_controlled',
  approvals_required: 1,
  channels: [
    { kind: 'social_post', adapter: 'file', receiver_idempotent: true },
    { kind: 'message', adapter: 'file', receiver_idempotent: true },
  ],
  automatic_deliveries_per_day: 0,
  halted: null,
  halted_for_everybody: null,
} as const;

const channel = z
  .strictObject({
    kind: z.enum(CHANNEL_KINDS),
    adapter: z
      .enum(['file', 'webhook', 'a2a'])
      .describe('file: the outbox directory. a2a: the agent whose card the request names'),
    url: url
      .optional()
      .describe('URL of the webhook; required for the adapter webhook, refused for others'),
    receiver_idempotent: z
      .boolean()
      .default(false)
      .describe(
        'The receiver handles each webhook-id once, so that an unknown outcome can be retried',
      ),
    rotate_secret: z
      .boolean()
      .default(false)
      .describe('Create a new webhook secret; the old secret also signs for 24 hours'),
  })
  .refine(({ adapter, url }) => (adapter === 'webhook') === (url !== undefined), {
    error: 'is required for the adapter webhook, and not allowed for others',
    path: ['url'],
  })
  .refine(({ kind, adapter }) => adapter !== 'a2a' || kind === 'agent_notification', {
    error: 'a2a is allowed for agent_notification only',
    path: ['adapter'],
  });

const configureOutreach = deskCommand({
  isSensitive: true,
  roles: ['staff'],
  path: '/outreach/{owner_id}',
  summary: "Set who approves an owner's outreach, and where it is sent",
  guidance:
    'Replaces all settings and enables every channel again. Pending requests keep the mode and the channel under ' +
    'which they were proposed.',
  fields: {
    owner_id: ownerId,
    mode: z.enum(APPROVAL_MODES).describe('Who approves: the owner, or staff'),
    approvals_required: z
      .int()
      .min(1)
      .max(2)
      .default(1)
      .describe('Number of people who must approve'),
    channels: z
      .array(channel)
      .min(1)
      .max(CHANNEL_KINDS.length)
      .refine((list) => new Set(list.map(({ kind }) => kind)).size === list.length, {
        error: 'at most one channel of each kind',
      }),
  },
  output: settings,
  example: {
    name: 'the outbox, approved by the owner',
    input: {
      idempotency_key: 'acme-outreach',
      owner_id: 'acme',
      mode: 'owner_controlled',
      channels: [
        { kind: 'social_post', adapter: 'file' },
        { kind: 'message', adapter: 'file' },
      ],
    },
    output: settingsExample,
  },
});

const getOutreach = deskQuery({
  roles: ['owner', 'staff', 'auditor', 'operator'],
  path: '/outreach/{owner_id}',
  summary: "Show who approves an owner's outreach, where it is sent, and whether it is halted",
  guidance: 'Secrets are not shown here.',
  fields: { owner_id: ownerId },
  output: settings,
  example: { name: 'an owner', input: { owner_id: 'acme' }, output: settingsExample },
});

/** Defines the halting or the resuming of outreach. */
const control = ({
  halted,
  ...operation
}: Pick<DeskOperation, 'roles' | 'summary' | 'guidance' | 'destructive'> & {
  path: string;
  /** The reason that is in force afterwards. */
  halted: string | null;
}) =>
  deskCommand({
    ...operation,
    fields: {
      owner_id: ownerId
        .optional()
        .describe('If it is left out, the command is for all owners; an owner must name itself'),
      reason: line(500).describe('Shown to people who ask why'),
    },
    output: z.object({ owner_id: z.string().nullable(), halted: z.string().nullable() }),
    example: {
      name: 'one owner',
      input: { idempotency_key: 'stop-acme', owner_id: 'acme', reason: 'Wrong campaign' },
      output: { owner_id: 'acme', halted },
    },
  });

const haltOutreach = control({
  destructive: true,
  roles: ['owner', 'staff', 'operator'],
  path: '/outreach-halt',
  summary: 'Halt all outreach immediately',
  guidance:
    'Until outreach is resumed, nothing is proposed, approved or sent. What is being sent at this moment cannot be ' +
    'recalled. Without owner_id, mail also waits.',
  halted: 'Wrong campaign',
});

const resumeOutreach = control({
  roles: ['staff', 'operator'],
  path: '/outreach-resume',
  summary: 'Resume outreach',
  guidance: 'Approved requests that have not expired are sent.',
  halted: null,
});

const setAutomaticDelivery = deskCommand({
  isSensitive: true,
  roles: ['owner'],
  path: '/outreach/{owner_id}/automatic-delivery',
  summary: 'Set how many review links are delivered a day without an approval',
  guidance:
    'Only in owner_controlled mode, and only to the mailbox of a lead that staff accepted and whose basis is consent. ' +
    '0, as at the beginning: each delivery needs an approval.',
  fields: {
    owner_id: ownerId,
    per_day: z
      .int()
      .min(0)
      .max(LIMITS.AUTOMATIC_DELIVERIES_PER_DAY_MAX)
      .describe('In a day of UTC'),
  },
  output: settings,
  example: {
    name: 'ten a day',
    input: { idempotency_key: 'acme-delivery', owner_id: 'acme', per_day: 10 },
    output: { ...settingsExample, automatic_deliveries_per_day: 10 },
  },
});

export const outreachDeskOperations = {
  configureOutreach,
  getOutreach,
  haltOutreach,
  resumeOutreach,
  setAutomaticDelivery,
};

const request = {
  outbound_id: id('out'),
  owner_id: ownerSpace.optional().describe('Owner of the request, if known'),
};
const PATH = '/approvals/{outbound_id}';

const approval = z
  .object({
    request: outboundRecord,
    proposed: z
      .object({
        by: z.string().describe('The agent, or the person who edited the text: desk:per_…'),
        by_name: z.string().optional().describe('Name of the person'),
        at: time,
      })
      .describe('Who wrote the present content'),
    delivery: z
      .object({
        recipient: z.string().describe('Personal data: the address that the agent named'),
        title: z.string(),
        note_to_buyer: z.string().optional(),
        lines: z.int(),
        indicative_totals: z.array(money),
        how_asked: z
          .array(z.string())
          .describe('How the buyer asked for it, by those who approved'),
      })
      .optional()
      .describe('Of a delivery: who gets the letter, and the list behind its link'),
    recipient_fault: z
      .string()
      .optional()
      .describe(
        'Why it cannot be approved or should not be: the recipient, or the list of a delivery',
      ),
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

const listApprovals = deskQuery({
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

const showApproval = deskQuery({
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
      proposed: { by: postExample.agent_id, at: EXAMPLE_AT },
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

const approveOutbound = decide({
  isSensitive: true,
  verb: 'approve',
  summary: 'Approve exactly this content',
  guidance:
    'In owner_controlled mode the owner decides, in admin_approved mode staff. If two approvals are required, ' +
    'they must come from two people, neither of whom issued the token of the other. In admin_approved mode the person ' +
    "who issued the agent's key cannot approve. A delivery of a review link is approved by the owner or by staff, who " +
    'state how the buyer asked for it. Any later change of the content needs a new approval.',
  fields: {
    content_sha256,
    note: line(500).optional().describe('Stored with the decision'),
    how_asked: encrypted
      .line(500)
      .optional()
      .describe('Required for a delivery: how the buyer asked for the list. Agents never see it'),
  },
  input: exampleContent,
  output: { status: 'approved' },
});

const refuseOutbound = decide({
  destructive: true,
  verb: 'refuse',
  summary: 'Refuse an outreach request; this is final',
  guidance: 'The agent can read the reason.',
  fields: { content_sha256, reason },
  input: { ...exampleContent, reason: 'Not our tone' },
  output: { status: 'rejected' },
});

const requestOutboundChanges = decide({
  verb: 'request-changes',
  summary: 'Send an outreach request back to the agent',
  guidance: 'The agent may send new content, which needs a new decision.',
  fields: { content_sha256, reason },
  input: { ...exampleContent, reason: 'Name the price' },
  output: { status: 'changes_requested' },
});

const reviseOutbound = decide({
  roles: ['owner'],
  verb: 'revise',
  summary: 'Edit the text of an outreach request before it is sent',
  guidance:
    'The person who edits it proposes the new text: another person approves it, and decisions on the old text no longer count. ' +
    'A text with a link must have its disclosure. A subject that is left out is removed; a link that is no longer in the ' +
    'text is not counted for it.',
  problems: ['approver_missing', 'channel_not_verified', 'disclosure_missing'],
  fields: { content_sha256, subject, text: exactText(TEXT_CHARS_MAX) },
  input: { ...exampleContent, text: 'Mugs are back in stock: six for £11.94.' },
  output: { revision: 2 },
});

const cancelOutbound = decide({
  destructive: true,
  verb: 'cancel',
  summary: 'Cancel an outreach request that has not been sent',
  guidance: 'Possible until the request is dispatched.',
  fields: { reason },
  input: { reason: 'Campaign over' },
  output: { status: 'canceled' },
});

const observeOutbound = decide({
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
  reviseOutbound,
  showApproval,
};
