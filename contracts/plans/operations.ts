/** Operations of staff on their own work: assignments, notes, next steps, and the lists of what waits. */
import { z } from 'zod';
import { agentRecord, lastRequest } from '#contracts/access/records.ts';
import { deskQuery, EXAMPLE_AT, recordCommands, EXAMPLE_AS_OF } from '#contracts/desk-operation.ts';
import { leadExample, handoffExample } from '#contracts/examples/records.ts';
import {
  encrypted,
  staffIdentity,
  ownerSpace,
  time,
  asOf,
  before,
  id,
  limit,
  nextBefore,
  pageMark,
} from '#contracts/fields.ts';
import type { DeskRole } from '#contracts/scopes.ts';

/* What staff plan for a lead, an RFQ or a request for access. */

const RECORD = {
  record_id: z
    .string()
    .regex(/^(led|hnd|agt)_[0-9a-z]{24}$/, { error: 'must be a lead, handoff or agent id' })
    .describe('A lead, the handoff of an RFQ, or the agent of a request for access'),
  owner_id: ownerSpace.optional().describe('Owner of the record, if known'),
};
const person = staffIdentity.line(200).describe('Id or name of a person of the role staff');

const planSummary = z.object({
  record_id: z.string(),
  owner_id: z.string(),
  assigned_to: z.string().optional(),
  due_at: time.optional().describe('When the next step is due'),
  notes: z.int().describe('Number of notes'),
});

const EXAMPLE = { record_id: leadExample.id, owner_id: 'acme' };
const PERSON = 'ben@tributary.example';
const SEALED =
  'Encrypted with the personal data of the record, and erased with it. A request for access has no text, because it is ' +
  'never erased';

const planCommand = recordCommands({
  path: '/plans/{record_id}',
  roles: ['staff'],
  fields: RECORD,
  output: planSummary,
  example: { input: EXAMPLE, output: { ...EXAMPLE, notes: 0 } },
});

const assignRecord = planCommand({
  verb: 'assign',
  summary: 'Assign a lead, an RFQ or a request for access to a person',
  guidance:
    'Without person it is assigned to no person any more. Lists filter by assigned_to, the id of the person.',
  fields: { person: person.optional() },
  input: { person: PERSON },
  output: { assigned_to: PERSON },
});

const addNote = planCommand({
  verb: 'notes',
  summary: 'Add a note to a lead or an RFQ',
  guidance: `readPlan shows it. ${SEALED}.`,
  fields: { note: encrypted.text(2_000).describe(SEALED) },
  input: { note: 'Asked for samples by telephone' },
  output: { notes: 1 },
});

const planNextStep = planCommand({
  verb: 'next-step',
  summary: 'Set the next step of a lead, an RFQ or a request for access',
  guidance: 'Replaces the step before. Lists filter by due_by.',
  fields: {
    due_at: time.describe('When it is due'),
    step: encrypted.line(500).optional().describe(SEALED),
  },
  input: { due_at: EXAMPLE_AT, step: 'Call about the samples' },
  output: { due_at: EXAMPLE_AT },
});

const endNextStep = planCommand({
  verb: 'next-step/done',
  summary: 'Record that the next step is done, or dropped',
  guidance:
    'Changes nothing if there is none. A record for which nothing was ever planned is refused.',
  fields: {},
});

const readPlan = deskQuery({
  roles: ['staff'],
  readsPersonalData: true,
  path: '/plans/{record_id}',
  summary: 'Read what staff plan for a record, with its notes',
  guidance: 'Staff only. Notes are newest first. Each read is audited.',
  fields: RECORD,
  output: z.object({
    record_id: z.string(),
    owner_id: z.string(),
    assigned_to: z.string().optional(),
    assigned_name: z.string().optional(),
    next_step: z.object({ due_at: time, step: z.string().optional() }).optional(),
    notes: z.array(
      z.object({ note: z.string(), by: z.string(), by_name: z.string().optional(), at: time }),
    ),
  }),
  example: {
    name: 'of a lead',
    input: EXAMPLE,
    output: {
      ...EXAMPLE,
      assigned_to: PERSON,
      next_step: { due_at: EXAMPLE_AT, step: 'Call about the samples' },
      notes: [{ note: 'Asked for samples by telephone', by: 'desk:d1B2c3D4e5F6', at: EXAMPLE_AT }],
    },
  },
});

/* What waits for staff, over all owners. */

/** What staff plan for a record, as readPlan shows it; only staff and auditors see it. */
export const planned = {
  assigned_to: z.string().optional(),
  due_at: time.optional().describe('When the next step is due'),
};

/** Defines a list over all owners. `what`: the records, for descriptions; `began`: when each began. */
export const inboxList = <Row extends z.ZodType, Fields extends z.ZodRawShape>({
  what,
  began,
  row,
  fields,
  example,
  ...operation
}: {
  path: string;
  summary: string;
  guidance: string;
  roles?: readonly DeskRole[];
  readsPersonalData?: boolean;
  what: string;
  began: string;
  row: Row;
  fields: Fields;
  /** The only row of the example. */
  example: unknown;
}) =>
  deskQuery({
    roles: ['owner', 'staff', 'auditor'],
    ...operation,
    guidance:
      `${operation.guidance} Newest first: read the next page with next_before until it is null. Oldest first: begin ` +
      'with after=0, and read the next page with next_after until it is null. A page can be empty and not the last.',
    fields: {
      owner_id: ownerSpace.optional().describe(`${what} of this promoter only`),
      agent_id: id('agt').optional().describe(`${what} through this agent only`),
      from: time.optional().describe(`${what} ${began} at this time or later`),
      to: time.optional().describe(`${what} ${began} at this time or earlier`),
      assigned_to: staffIdentity
        .line(200)
        .optional()
        .describe(`${what} assigned to this person only; for staff`),
      due_by: time
        .optional()
        .describe(`${what} whose next step is due at this time or earlier; for staff`),
      ...fields,
      before,
      after: pageMark(z.int().min(0)).optional().describe('0, or next_after of the previous page'),
      limit,
    },
    output: z.object({
      data: z.array(row),
      next_before: nextBefore,
      next_after: nextBefore,
      as_of: asOf,
    }),
    example: {
      name: 'the newest',
      input: { limit: 1 },
      output: { data: [example], next_before: 2951, next_after: null, as_of: EXAMPLE_AS_OF },
    },
  });

const accessRequest = z.object({
  agent_id: id('agt'),
  owner_id: z.string(),
  name: z.string(),
  purpose: z.string(),
  ...lastRequest.shape,
  agent_status: agentRecord.shape.status,
  application_id: z
    .string()
    .optional()
    .describe('The public application that asked; its mailbox is confirmed, and its owner is new'),
  granted_scopes: agentRecord.shape.granted_scopes.describe(
    'What the agent has now, whatever was requested',
  ),
  ...planned,
});

const listAccessRequests = inboxList({
  path: '/access-requests',
  summary: 'List the requests for access of all owners',
  guidance:
    'The last request of each agent, with what was asked and what is granted. approveAccess and denyAccess decide on one.',
  what: 'Requests',
  began: 'made',
  row: accessRequest,
  fields: {
    state: lastRequest.shape.outcome.optional().describe('Requests with this outcome only'),
  },
  example: {
    agent_id: handoffExample.agent_id,
    owner_id: 'acme',
    name: 'Newsletter agent',
    purpose: 'Finds giftware for our monthly letter',
    scopes: ['products:read', 'links:write'],
    requested_at: EXAMPLE_AT,
    outcome: 'pending',
    agent_status: 'requested',
    granted_scopes: [],
  },
});

export const plansDeskOperations = {
  addNote,
  assignRecord,
  endNextStep,
  listAccessRequests,
  planNextStep,
  readPlan,
};
