import { z } from 'zod';
import { idempotencyKey, line, ownerSpace } from '../fields.ts';
import { defineDeskOperation } from '../operation.ts';
import { DESK_WRITE_PROBLEMS } from './access.ts';

const event = z
  .object({
    position: z.int(),
    stream: z.string(),
    revision: z.int(),
    id: z.string(),
    type: z.string(),
    at: z.string(),
    data: z.record(z.string(), z.unknown()),
    meta: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'Event' });

export const readEvents = defineDeskOperation({
  id: 'readEvents',
  kind: 'query',
  roles: ['owner', 'staff', 'auditor', 'operator'],
  http: { method: 'GET', path: '/events', status: 200 },
  summary: "Events of a stream, of an owner's history, or of the whole log",
  guidance:
    'Name stream or owner_id, or neither. An owner reads only its own. Positions rise; after is exclusive, up_to is not.',
  input: z.strictObject({
    stream: line(300).optional(),
    owner_id: ownerSpace.optional(),
    after: z.int().min(0).default(0),
    up_to: z.int().min(0).optional(),
    limit: z.int().min(1).max(1_000).default(100),
    last: z
      .int()
      .min(1)
      .max(1_000)
      .optional()
      .describe('Of what is asked for the newest so many only'),
  }),
  output: z.object({ data: z.array(event), head: z.int(), more: z.boolean() }),
  problems: ['role_missing', 'parameter_invalid', 'resource_not_found'],
  examples: [
    { name: 'an owner', input: { owner_id: 'acme' }, output: { data: [], head: 0, more: false } },
  ],
});

const status = z
  .object({
    name: z.string(),
    version: z.int(),
    space: z.string(),
    checkpoint: z.int(),
    lag_events: z.int().describe('Not folded yet; counted up to 500, beyond that an estimate'),
    parked: z.array(
      z.object({
        partition: z.int(),
        position: z.int(),
        stream: z.string().describe('Of the event that could not be folded'),
        reason: z.string(),
      }),
    ),
    rebuilding: z.object({ space: z.string(), position: z.int(), head: z.int() }).optional(),
    last_rebuild: z
      .object({ state: z.enum(['running', 'done', 'failed']), failure: z.string().optional() })
      .optional()
      .describe('Of this process'),
  })
  .meta({ id: 'ProjectionStatus' });

const exampleStatus = {
  name: 'leads',
  version: 1,
  space: 'leads@1.1',
  checkpoint: 3120,
  lag_events: 0,
  parked: [],
};

export const listProjections = defineDeskOperation({
  id: 'listProjections',
  kind: 'query',
  roles: ['operator', 'auditor', 'staff'],
  http: { method: 'GET', path: '/projections', status: 200 },
  summary: 'Every read model: where it stands, how far behind, what is parked',
  guidance:
    'Rows of a parked partition are shown to nobody: reads of them answer read_model_rebuilding; the others go on. It ' +
    'needs a version that takes the event, and whose start tries again.',
  input: z.strictObject({}),
  output: z.object({ head: z.int(), data: z.array(status) }),
  problems: ['role_missing', 'parameter_invalid'],
  examples: [{ name: 'all', input: {}, output: { head: 3120, data: [exampleStatus] } }],
});

const name = z.string().regex(/^[a-z-]{1,40}$/, { error: 'must be the name of a projection' });

export const rebuildProjection = defineDeskOperation({
  id: 'rebuildProjection',
  kind: 'command',
  roles: ['operator'],
  http: { method: 'POST', path: '/projections/{name}/rebuild', status: 200 },
  summary: 'Fill a read model afresh beside the live one, and switch',
  guidance:
    'Answers when it has started; listProjections shows how far it is. Readers notice nothing. Another ' +
    'rebuild needs another key.',
  input: z.strictObject({ idempotency_key: idempotencyKey, name }),
  output: z.object({ name: z.string(), started: z.boolean(), head: z.int() }),
  problems: DESK_WRITE_PROBLEMS,
  examples: [
    {
      name: 'leads',
      input: { idempotency_key: 'rebuild-1', name: 'leads' },
      output: { name: 'leads', started: true, head: 3120 },
    },
  ],
});

export const verifyProjection = defineDeskOperation({
  id: 'verifyProjection',
  kind: 'query',
  roles: ['operator', 'auditor'],
  http: { method: 'GET', path: '/projections/{name}/verify', status: 200 },
  summary: 'Compare the live rows with a fresh fold of the log, digest by digest',
  guidance: 'Starts the comparison, or shows how far the running one is, until done is true.',
  input: z.strictObject({
    name,
    run: line(64).describe('Your name for this run; ask again with it'),
  }),
  output: z.object({
    name: z.string(),
    done: z.boolean(),
    position: z.int(),
    head: z.int(),
    rows: z.int(),
    mismatches: z.array(z.object({ partition: z.int(), detail: z.string() })),
    failure: z.string().optional(),
  }),
  problems: ['role_missing', 'parameter_invalid', 'resource_not_found'],
  examples: [
    {
      name: 'leads',
      input: { name: 'leads', run: 'nightly' },
      output: { name: 'leads', done: true, position: 3120, head: 3120, rows: 204, mismatches: [] },
    },
  ],
});
