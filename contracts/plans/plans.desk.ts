/* What staff plan for a lead, an RFQ or a request for access. */
import { z } from 'zod';
import { deskQuery, EXAMPLE_AT, recordCommands } from '#contracts/desk-operation.ts';
import { leadExample } from '#contracts/examples/records.ts';
import { line, ownerSpace, text, time } from '#contracts/fields.ts';

const RECORD = {
  record_id: z
    .string()
    .regex(/^(led|hnd|agt)_[0-9a-z]{24}$/, { error: 'must be a lead, handoff or agent id' })
    .describe('A lead, the handoff of an RFQ, or the agent of a request for access'),
  owner_id: ownerSpace.optional().describe('Owner of the record, if known'),
};
const person = line(200).describe('Id or name of a person with a desk token of the role staff');

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

export const assignRecord = planCommand({
  verb: 'assign',
  summary: 'Assign a lead, an RFQ or a request for access to a person',
  guidance:
    'Without person it is assigned to no person any more. Lists filter by assigned_to, the id of the person.',
  fields: { person: person.optional() },
  input: { person: PERSON },
  output: { assigned_to: PERSON },
});

export const addNote = planCommand({
  verb: 'notes',
  summary: 'Add a note to a lead or an RFQ',
  guidance: `readPlan shows it. ${SEALED}.`,
  fields: { note: text(2_000).describe(SEALED) },
  input: { note: 'Asked for samples by telephone' },
  output: { notes: 1 },
});

export const planNextStep = planCommand({
  verb: 'next-step',
  summary: 'Set the next step of a lead, an RFQ or a request for access',
  guidance: 'Replaces the step before. Lists filter by due_by.',
  fields: { due_at: time.describe('When it is due'), step: line(500).optional().describe(SEALED) },
  input: { due_at: EXAMPLE_AT, step: 'Call about the samples' },
  output: { due_at: EXAMPLE_AT },
});

export const endNextStep = planCommand({
  verb: 'next-step/done',
  summary: 'Record that the next step is done, or dropped',
  guidance:
    'Changes nothing if there is none. A record for which nothing was ever planned is refused.',
  fields: {},
});

export const readPlan = deskQuery({
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

export const plansDeskOperations = { addNote, assignRecord, endNextStep, planNextStep, readPlan };
