import { z } from 'zod';
import { deskCommand, deskQuery } from '#contracts/desk-operation.ts';
import { line, ownerId, url } from '#contracts/fields.ts';
import type { DeskOperation } from '#contracts/operation.ts';
import { APPROVAL_MODES, OUTBOUND_KINDS } from './outbound.records.ts';

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
        kind: z.enum(OUTBOUND_KINDS),
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
  halted: null,
  halted_for_everybody: null,
} as const;

const channel = z
  .strictObject({
    kind: z.enum(OUTBOUND_KINDS),
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

export const configureOutreach = deskCommand({
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
      .max(OUTBOUND_KINDS.length)
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

export const getOutreach = deskQuery({
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
}: Pick<DeskOperation, 'roles' | 'summary' | 'guidance'> & {
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

export const haltOutreach = control({
  roles: ['owner', 'staff', 'operator'],
  path: '/outreach-halt',
  summary: 'Halt all outreach immediately',
  guidance:
    'Until outreach is resumed, nothing is proposed, approved or sent. What is being sent at this moment cannot be ' +
    'recalled. Without owner_id, mail also waits.',
  halted: 'Wrong campaign',
});

export const resumeOutreach = control({
  roles: ['staff', 'operator'],
  path: '/outreach-resume',
  summary: 'Resume outreach',
  guidance: 'Approved requests that have not expired are sent.',
  halted: null,
});

export const outreachDeskOperations = {
  configureOutreach,
  getOutreach,
  haltOutreach,
  resumeOutreach,
};
