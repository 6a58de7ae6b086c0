import { z } from 'zod';
import { idempotencyKey, line, ownerId, url } from '../fields.ts';
import { defineDeskOperation, type DeskOperation } from '../operation.ts';
import { APPROVAL_MODES, OUTBOUND_KINDS } from '../records/outbound.ts';
import { DESK_WRITE_PROBLEMS } from './access.ts';

const settings = z
  .object({
    owner_id: z.string(),
    mode: z
      .enum(APPROVAL_MODES)
      .nullable()
      .describe('Who decides: the owner, or staff. null: nobody, so nothing can be proposed'),
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
          .describe('whsec_…, for whoever verifies the signatures; shown to staff when set'),
        disabled: z.string().optional().describe('Why nothing is sent there any more'),
      }),
    ),
    halted: z.string().nullable().describe('Why nothing leaves; null while all is well'),
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
    url: url.optional().describe('Of a webhook, and only of one'),
    receiver_idempotent: z
      .boolean()
      .default(false)
      .describe('The receiver takes each webhook-id once: then an unknown outcome is tried again'),
    rotate_secret: z
      .boolean()
      .default(false)
      .describe('A new webhook secret; the one before signs, too, for 24 hours'),
  })
  .refine(({ adapter, url }) => (adapter === 'webhook') === (url !== undefined), {
    error: 'a webhook has a url, and nothing else has',
    path: ['url'],
  })
  .refine(({ kind, adapter }) => adapter !== 'a2a' || kind === 'agent_notification', {
    error: 'only an agent_notification goes to an agent',
    path: ['adapter'],
  });

export const configureOutreach = defineDeskOperation({
  id: 'configureOutreach',
  kind: 'command',
  roles: ['staff'],
  http: { method: 'POST', path: '/outreach/{owner_id}', status: 200 },
  summary: "Set who approves an owner's outreach, and where it goes",
  guidance:
    'Replaces the settings as a whole and enables every channel again. Requests that are waiting keep the ' +
    'mode they were proposed under, and go only where they were proposed to go.',
  input: z.strictObject({
    idempotency_key: idempotencyKey,
    owner_id: ownerId,
    mode: z.enum(APPROVAL_MODES),
    approvals_required: z.int().min(1).max(2).default(1),
    channels: z
      .array(channel)
      .min(1)
      .max(OUTBOUND_KINDS.length)
      .refine((list) => new Set(list.map(({ kind }) => kind)).size === list.length, {
        error: 'at most one channel of each kind',
      }),
  }),
  output: settings,
  problems: DESK_WRITE_PROBLEMS,
  examples: [
    {
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
  ],
});

export const getOutreach = defineDeskOperation({
  id: 'getOutreach',
  kind: 'query',
  roles: ['owner', 'staff', 'auditor', 'operator'],
  http: { method: 'GET', path: '/outreach/{owner_id}', status: 200 },
  summary: "Who approves an owner's outreach, where it goes, and whether it is halted",
  guidance: 'Secrets are not shown here.',
  input: z.strictObject({ owner_id: ownerId }),
  output: settings,
  problems: ['role_missing', 'parameter_invalid', 'resource_not_found'],
  examples: [{ name: 'an owner', input: { owner_id: 'acme' }, output: settingsExample }],
});

const halt = z.object({ owner_id: z.string().nullable(), halted: z.string().nullable() });

const turn = <const Id extends string>(
  id: Id,
  of: Pick<DeskOperation, 'roles' | 'summary' | 'guidance'> & { path: string },
) =>
  defineDeskOperation({
    id,
    kind: 'command',
    roles: of.roles,
    http: { method: 'POST', path: of.path, status: 200 },
    summary: of.summary,
    guidance: of.guidance,
    input: z.strictObject({
      idempotency_key: idempotencyKey,
      owner_id: ownerId.optional().describe('Left out: everybody. An owner names itself'),
      reason: line(500),
    }),
    output: halt,
    problems: DESK_WRITE_PROBLEMS,
    examples: [
      {
        name: 'one owner',
        input: { idempotency_key: 'stop-acme', owner_id: 'acme', reason: 'Wrong campaign' },
        output: { owner_id: 'acme', halted: id === 'haltOutreach' ? 'Wrong campaign' : null },
      },
    ],
  });

export const haltOutreach = turn('haltOutreach', {
  roles: ['owner', 'staff', 'operator'],
  path: '/outreach-halt',
  summary: 'Stop all outreach at once',
  guidance:
    'From here nothing is proposed, approved or sent. What is being sent at this moment is not called back.',
});

export const resumeOutreach = turn('resumeOutreach', {
  roles: ['staff', 'operator'],
  path: '/outreach-resume',
  summary: 'Let outreach go on',
  guidance: 'What was approved and is still in time is sent.',
});
