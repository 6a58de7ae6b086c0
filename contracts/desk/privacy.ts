/* What is done with all records of a person. */
import { z } from 'zod';
import { handoffExample, leadExample } from '../examples/records.ts';
import { impersonal, line, mailbox } from '../fields.ts';
import { handoffRecord } from '../records/handoff.ts';
import { contact, leadRecord } from '../records/lead.ts';
import { deskCommand } from './define.ts';

const ADDRESS = 'ada@shop.example';
const PROOF = 'Called back on the number of the contract, ticket 4711';
const MATCHES =
  'exact: the record has, or had, this address. folded: it has another spelling of the same mailbox, which can be ' +
  'another person.';

const recordId = z
  .string()
  .regex(/^(led|hnd)_[0-9a-z]{24}$/, { error: 'must be a lead or handoff id' });

const about = {
  mailbox: mailbox.describe('The address of the person'),
  proof: impersonal(line(500)).describe(
    'How you know that the person asked for it. Stored unencrypted and never erased: do not name a person in it',
  ),
};
const folded = z
  .array(recordId)
  .max(100)
  .default([])
  .describe('Ids of folded matches that are records of this person');

const match = z.object({
  id: recordId,
  owner_id: z.string(),
  match: z.enum(['exact', 'folded']),
});
const EXAMPLE_MATCH = { id: leadExample.id, owner_id: 'acme', match: 'exact' };

const personCommand = <Fields extends z.ZodRawShape, Output extends z.ZodType>({
  name,
  fields,
  output,
  answer,
  ...operation
}: {
  name: string;
  summary: string;
  guidance: string;
  fields: Fields;
  output: Output;
  answer: object;
}) =>
  deskCommand({
    ...operation,
    roles: ['privacy'],
    path: `/privacy/${name}`,
    fields: { ...about, ...fields },
    output,
    example: {
      name: 'on request',
      input: { idempotency_key: 'ticket-4711', mailbox: ADDRESS, proof: PROOF },
      output: answer,
    },
  });

export const findPersonalData = personCommand({
  name: 'find',
  summary: 'Find the leads and handoffs of a person by an address',
  guidance:
    `${MATCHES} complete is false while contacts that an earlier version stored are not indexed: repeat the call later. ` +
    'The call and its proof are recorded.',
  fields: {},
  output: z.object({
    data: z.array(
      match.extend({ erased: z.boolean().describe('Whether its personal data was erased') }),
    ),
    complete: z.boolean().describe('Whether every stored contact was searched'),
    unindexed: z.int().describe('Contacts that are not indexed yet; at most 1,000 are counted'),
  }),
  answer: { data: [{ ...EXAMPLE_MATCH, erased: false }], complete: true, unindexed: 0 },
});

const exported = match.extend({
  lead: leadRecord.optional(),
  handoff: handoffRecord.omit({ review_url: true }).optional(),
  contact: contact
    .partial()
    .extend({ company: z.string().optional() })
    .optional()
    .describe('The contact of the RFQ'),
});

export const exportPersonalData = personCommand({
  name: 'export',
  summary: 'Export the records of a person',
  guidance:
    'Exact matches, and the folded ones that you name. Erased texts are missing. The call and its proof are recorded, ' +
    'and the answer is not: a repeated call answers what is stored now.',
  fields: { folded },
  output: z.object({ data: z.array(exported), complete: z.boolean() }),
  answer: { data: [{ ...EXAMPLE_MATCH, lead: leadExample }], complete: true },
});

export const erasePersonalData = personCommand({
  name: 'erase',
  summary: 'Destroy the encryption keys of the records of a person',
  guidance:
    'Exact matches, and the folded ones that you name; each as with eraseSubject. Open RFQs become withdrawn, won values ' +
    'stay, and the claims of leads are released. Cannot be undone. Repeat the call, with the same key, after an ' +
    'interruption: it continues. While complete is false, more records can be found later.',
  fields: { folded },
  output: z.object({ data: z.array(match.omit({ match: true })), complete: z.boolean() }),
  answer: { data: [{ id: handoffExample.id, owner_id: 'acme' }], complete: true },
});
