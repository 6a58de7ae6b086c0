/** Operations of operators on read models, and of agents that read a record as a resource. */
import { z } from 'zod';
import { deskCommand, deskQuery, recordCommands } from '#contracts/desk-operation.ts';
import { line, ownerSpace } from '#contracts/fields.ts';
import { defineToolOperation } from '#contracts/operation.ts';
import { TOKEN_PROBLEMS } from '#contracts/problems.ts';

const status = z
  .object({
    name: z.string(),
    version: z.int(),
    space: z.string(),
    checkpoint: z.int(),
    lag_events: z
      .int()
      .describe('Events that are not folded yet; exact up to 500, an estimate above'),
    parked: z.array(
      z.object({
        partition: z.int(),
        position: z.int(),
        stream: z.string().describe('Stream of the event that could not be folded'),
        reason: z.string(),
      }),
    ),
    skipped: z.int().describe('Events that it is folded without; listParked names them'),
    rebuilding: z
      .object({
        space: z.string(),
        position: z.int(),
        head: z.int(),
        rate: z.number().optional().describe('Positions a second, over the last 10 s'),
        seconds_left: z.number().optional(),
      })
      .optional(),
    held: z
      .string()
      .optional()
      .describe('A build that waits to be switched to or dropped; readHeldBuild compares it'),
    last_rebuild: z
      .object({ state: z.enum(['running', 'done', 'failed']), failure: z.string().optional() })
      .optional()
      .describe('The last rebuild that this process ran'),
  })
  .meta({ id: 'ProjectionStatus' });

const fillLimits = z
  .object({
    paused: z.boolean(),
    events_per_second: z.int().optional().describe('The limit, if there is one'),
  })
  .meta({ id: 'FillLimits' });

const listProjections = deskQuery({
  roles: ['operator', 'auditor', 'staff'],
  path: '/projections',
  summary: 'List every read model: its checkpoint, its lag and its parked partitions',
  guidance:
    'Reads of a parked partition answer read_model_rebuilding; other partitions are not affected. To resolve it, ' +
    'start a version that can fold the event, or skip the event with proposeSkip.',
  fields: {},
  output: z.object({
    head: z.int(),
    unit: z.enum(['events', 'bytes']).describe('What positions of this log count'),
    fills: fillLimits.optional().describe('Only while read models are filled'),
    data: z.array(status),
  }),
  problems: ['role_missing', 'parameter_invalid'],
  example: {
    name: 'all',
    input: {},
    output: {
      head: 3120,
      unit: 'events',
      data: [
        {
          name: 'leads',
          version: 1,
          space: 'leads@1.1',
          checkpoint: 3120,
          lag_events: 0,
          parked: [],
          skipped: 0,
        },
      ],
    },
  },
});

const name = z.string().regex(/^[a-z-]{1,40}$/, { error: 'must be the name of a projection' });

const rowChange = z.object({
  scope: z.string(),
  key: z.string(),
  before: z.string().nullable().describe('The live row as JSON; null if there is none'),
  after: z.string().nullable().describe('The row that is right, or that of the build'),
});

const ownerRows = z.object({
  rows: z.int().describe('Live rows that were compared'),
  replaced: z.int().describe('Rows that differed, with those that were missing or surplus'),
  fields: z.record(z.string(), z.int()).describe('How many rows differed in each member'),
  first: z.array(rowChange).describe('Each row is cut after 2,000 characters'),
  shared: z
    .array(z.object({ scope: z.string(), key: z.string() }))
    .describe('Rows that differ and that events of other owners place as well: not replaced'),
  partitions_not_replaced: z
    .array(z.int())
    .describe('Rows differ still: the partition is parked, or its projector is behind'),
});

const rebuildProjection = deskCommand({
  roles: ['operator'],
  path: '/projections/{name}/rebuild',
  summary: 'Rebuild a read model, or all of them, beside the live one, then switch to it',
  guidance:
    'Answers when the rebuild has started; listProjections shows its progress. Reads are not affected. The name all ' +
    'rebuilds every read model in one reading of the log, and a build that was interrupted continues. Another rebuild needs ' +
    'another idempotency key. hold=true fills one read model and compares it with the live rows, and does not switch: ' +
    'readHeldBuild shows what differs, then switchBuild or dropBuild decide. A build that is held already is filled further ' +
    'and compared again. owner_id replaces the live rows of one owner in one read model where they differ from the events ' +
    'of the owner, and answers when that is done. It does not find a surplus row in a list of all owners, nor a wrong entry ' +
    'of a list: rebuild the read model for these.',
  fields: {
    name,
    hold: z.boolean().optional().describe('Fill and compare one read model, and do not switch'),
    owner_id: ownerSpace.optional().describe('Replace the rows of this owner alone'),
  },
  output: z.object({
    name: z.string(),
    started: z.boolean(),
    head: z.int(),
    owner: ownerRows.optional(),
  }),
  example: {
    name: 'leads',
    input: { idempotency_key: 'rebuild-1', name: 'leads' },
    output: { name: 'leads', started: true, head: 3120 },
  },
});

const readHeldBuild = deskQuery({
  roles: ['operator', 'auditor'],
  path: '/projections/{name}/held',
  auditsInput: true,
  summary: 'Show how the rows of a held build differ from the live ones',
  guidance:
    'Without a comparison, it is still running, or the service has started since: rebuildProjection with hold=true compares ' +
    'again. Live rows and the build are compared as of the same position.',
  fields: { name },
  output: z.object({
    name: z.string(),
    space: z.string(),
    comparison: z
      .object({
        rows: z.int().describe('Live rows that were compared'),
        different: z.int().describe('Rows that differ, with those that one side alone has'),
        only_live: z.int(),
        only_held: z.int(),
        fields: z.record(z.string(), z.int()).describe('How many rows differ in each member'),
        first: z.array(rowChange),
        partitions_not_compared: z
          .array(z.int())
          .describe('An event cannot be folded there, or its projector is behind'),
      })
      .optional(),
  }),
  example: {
    name: 'leads',
    input: { name: 'leads' },
    output: {
      name: 'leads',
      space: 'leads@1.2',
      comparison: {
        rows: 204,
        different: 1,
        only_live: 0,
        only_held: 0,
        fields: { status: 1 },
        first: [
          { scope: 'acme', key: 'led_1', before: '{"status":"new"}', after: '{"status":"won"}' },
        ],
        partitions_not_compared: [],
      },
    },
  },
});

const buildCommand = recordCommands({
  roles: ['operator'],
  path: '/projections/{name}',
  fields: { name },
  output: z.object({ name: z.string(), space: z.string() }),
  example: { input: { name: 'leads' }, output: { name: 'leads', space: 'leads@1.2' } },
});

const switchBuild = buildCommand({
  verb: 'switch',
  summary: 'Make the held build of a read model the live one',
  guidance:
    'The build is first filled up to the head of the log; listProjections shows its progress, and why it was refused if it ' +
    'was. Reads are not affected.',
  fields: {},
});

const dropBuild = buildCommand({
  verb: 'drop',
  summary: 'Drop the held build of a read model',
  guidance: 'The live rows stay as they are.',
  fields: {},
});

const verifyProjection = deskQuery({
  roles: ['operator', 'auditor'],
  path: '/projections/{name}/verify',
  summary: 'Compare the live rows with a new fold of the log, digest by digest',
  guidance: 'Starts the comparison, or shows the progress of the running one, until done is true.',
  fields: { name, run: line(64).describe('Your name for this run; repeat it to see its progress') },
  output: z.object({
    name: z.string(),
    done: z.boolean(),
    position: z.int(),
    head: z.int(),
    rows: z.int(),
    mismatches: z.array(z.object({ partition: z.int(), detail: z.string() })),
    failure: z.string().optional(),
  }),
  example: {
    name: 'leads',
    input: { name: 'leads', run: 'nightly' },
    output: { name: 'leads', done: true, position: 3120, head: 3120, rows: 204, mismatches: [] },
  },
});

const limitFills = deskCommand({
  roles: ['operator'],
  path: '/projections/fills',
  summary: 'Pause, resume or slow the rebuilds and other fills of read models',
  guidance:
    'It acts on the fills of the process that answers, all together, and never on how the live read models follow the log. ' +
    'What is not given stays. It ends with the last fill, and is refused while nothing is being filled.',
  fields: {
    paused: z.boolean().optional(),
    events_per_second: z
      .int()
      .min(0)
      .max(9_999_999)
      .optional()
      .describe('The most that all fills fold together; 0 removes the limit'),
  },
  output: fillLimits,
  example: {
    name: 'slow',
    input: { idempotency_key: 'slow-1', events_per_second: 5_000 },
    output: { paused: false, events_per_second: 5_000 },
  },
});

export const projectionDeskOperations = {
  listProjections,
  rebuildProjection,
  readHeldBuild,
  switchBuild,
  dropBuild,
  limitFills,
  verifyProjection,
};

const RECORD_KINDS = ['link', 'handoff', 'lead', 'outreach', 'product'] as const;

/** One record, as an MCP resource. Its scope depends on the kind of record. */
export const readRecord = defineToolOperation({
  kind: 'query',
  scope: null,
  summary: 'Read one record by its id',
  guidance: 'The resource templates list the kinds of records.',
  input: z.strictObject({
    kind: z.enum(RECORD_KINDS),
    id: z.string(),
  }),
  output: z.looseObject({ id: z.string() }),
  problems: ['scope_missing', 'resource_not_found', ...TOKEN_PROBLEMS],
  examples: [],
});

/** Values that begin with a text, for an argument of a prompt or of a resource template of MCP. */
export const completeValue = defineToolOperation({
  kind: 'query',
  scope: null,
  summary: 'List the values that begin with a text',
  guidance: 'Prompts and resource templates name their arguments.',
  input: z.strictObject({
    kind: z.enum([...RECORD_KINDS, 'product_ref', 'campaign']),
    value: z.string(),
  }),
  output: z.object({ values: z.array(z.string()), has_more: z.boolean() }),
  problems: ['scope_missing', ...TOKEN_PROBLEMS],
  examples: [],
});
