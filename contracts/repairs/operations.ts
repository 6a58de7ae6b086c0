/** Operations of operators on events that a read model cannot fold. */
import { z } from 'zod';
import { deskCommand, deskQuery, EXAMPLE_AT } from '#contracts/desk-operation.ts';
import { line, time } from '#contracts/fields.ts';

const readModel = z.string().regex(/^[a-z-]{1,40}$/, { error: 'must be the name of a read model' });
const event = z
  .string()
  .regex(/^(?:[1-9]\d{0,15}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/, {
    error: 'must be the id or the position of an event',
  })
  .describe('Id or position of the event, as listParked shows it');

const ID = '01980f6e-5b7c-7000-8000-000000000001';
const EXAMPLE_EVENT = {
  event_id: ID,
  position: 3118,
  stream: 'acme-lead_3c4d5e6f7g8h9j0k1m2n3p4q',
  type: 'LeadContacted',
};
const REASON = 'Written twice by the import of May';

/** An event of the log, as people find it. */
const named = {
  event_id: z.string(),
  position: z.int(),
  stream: z.string(),
  type: z.string(),
};

const proposed = z.object({
  reason: z.string(),
  by: z.string(),
  by_name: z.string().optional(),
  at: time,
});

const parkedEvent = z
  .object({
    name: z.string().describe('The read model'),
    partition: z.int().describe('Its rows are not shown until the event is folded or skipped'),
    ...named,
    since: time.describe('Time of the event: the rows of the partition are as of then'),
    reason: z.string().describe('Why the event cannot be folded'),
    proposed: proposed
      .optional()
      .describe('The skip that waits for the approval of another person'),
  })
  .meta({ id: 'ParkedEvent' });

const skip = z
  .object({
    name: z.string().describe('The read model'),
    ...named,
    reason: z.string(),
    state: z.enum(['proposed', 'skipped']),
  })
  .meta({ id: 'SkippedEvent' });

const EXAMPLE_PARKED = {
  name: 'leads',
  partition: 17,
  ...EXAMPLE_EVENT,
  since: EXAMPLE_AT,
  reason: 'LeadContacted: the lead does not exist',
};

const listParked = deskQuery({
  roles: ['operator', 'auditor'],
  path: '/projections/parked',
  summary: 'List the events that a read model cannot fold, and those that one is folded without',
  guidance:
    'A parked event stops its partition: reads of these rows answer read_model_rebuilding. Start a version that can fold it, ' +
    'and it is tried again; retryParked tries it now; proposeSkip leaves it out.',
  fields: {},
  output: z.object({ data: z.array(parkedEvent), skipped: z.array(skip) }),
  problems: ['role_missing', 'parameter_invalid'],
  example: { name: 'one', input: {}, output: { data: [EXAMPLE_PARKED], skipped: [] } },
});

const retryParked = deskCommand({
  roles: ['operator'],
  path: '/projections/retry',
  summary: 'Fold parked events again, without a restart',
  guidance:
    'In every process. outcome is folded, parked, or running where the partition still reads the log or another process ' +
    'folds it: listParked shows the end.',
  fields: { name: readModel.optional().describe('One read model; without it all') },
  output: z.object({
    retried: z.array(
      z.object({
        name: z.string(),
        partition: z.int(),
        ...named,
        outcome: z.enum(['folded', 'parked', 'running']),
        reason: z.string().optional().describe('Why it is still parked'),
      }),
    ),
  }),
  example: {
    name: 'of leads',
    input: { idempotency_key: 'retry-1', name: 'leads' },
    output: {
      retried: [{ name: 'leads', partition: 17, ...EXAMPLE_EVENT, outcome: 'folded' }],
    },
  },
});

const SKIPPED = { name: 'leads', ...EXAMPLE_EVENT, reason: REASON };

const proposeSkip = deskCommand({
  roles: ['operator'],
  path: '/projections/{name}/skip',
  summary: 'Propose to fold a read model without a parked event',
  guidance:
    'Nothing changes until another person approves it with approveSkip. The event stays in the log and in all other read ' +
    'models. Its effect is missing in this one for good: a revocation that credentials skips does not revoke.',
  fields: {
    name: readModel,
    event,
    reason: line(500).describe('Stored unencrypted and never erased: do not name a person in it'),
  },
  output: skip,
  example: {
    name: 'of a lead',
    input: { idempotency_key: 'skip-1', name: 'leads', event: ID, reason: REASON },
    output: { ...SKIPPED, state: 'proposed' },
  },
});

const approveSkip = deskCommand({
  isSensitive: true,
  roles: ['operator'],
  path: '/projections/{name}/skip/approve',
  summary: 'Approve the proposed skip of an event as the second person',
  guidance:
    'The parked partition continues after the event by itself, in every process. Rebuilds, comparisons, audits and exported ' +
    'files leave the event out, too. Cannot be undone.',
  fields: { name: readModel, event },
  output: skip,
  problems: ['approver_not_independent'],
  example: {
    name: 'of a lead',
    input: { idempotency_key: 'skip-2', name: 'leads', event: ID },
    output: { ...SKIPPED, state: 'skipped' },
  },
});

export const repairsDeskOperations = { listParked, retryParked, proposeSkip, approveSkip };
