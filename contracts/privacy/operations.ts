/** Operations on personal data: of staff, and of a person who holds a link to their own. */
import { z } from 'zod';
import { applicationForm } from '#contracts/access/operations.ts';
import { deskCommand, EXAMPLE_AT } from '#contracts/desk-operation.ts';
import { handoffExample, leadExample } from '#contracts/examples/records.ts';
import { compared, exempt, line, ownerId, ownerSpace, time } from '#contracts/fields.ts';
import { handoffRecord, rfqContact } from '#contracts/handoffs/records.ts';
import { holderActs, holderView, LINK_PROBLEMS } from '#contracts/holder-operation.ts';
import { leadRecord, lostKey } from '#contracts/leads/records.ts';
import { mailbox } from '#contracts/mailbox.ts';

/* What is done with all records of a person. */

const ADDRESS = 'ada@shop.example';
const PROOF = 'Called back on the number of the contract, ticket 4711';
const MATCHES =
  'exact: the record has, or had, this address. folded: it has another spelling of the same mailbox, which can be ' +
  'another person.';

const recordId = z
  .string()
  .regex(/^((led|hnd|apl)_[0-9a-z]{24}|own_[0-9a-f]{32}|psn_[0-9a-z]{32})$/, {
    error: 'must be the id of a lead, a handoff, a profile, an application or a person',
  });

const about = {
  mailbox: mailbox.describe('The address of the person'),
  proof: line(500).describe(
    'How you know that the person asked for it. Stored unencrypted and never erased: do not name a person in it',
  ),
};
const foldedMatches = z
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
  destructive?: boolean;
  isSensitive?: boolean;
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

/** Who may not contact the person. */
const refused = z.object({
  refused: z
    .array(z.object({ owner_id: z.string().nullable(), since: time }))
    .describe('owner_id is null for every owner'),
  exempt: z.array(z.string()).describe('Owners who may, although no other owner may'),
});
const NONE_REFUSED = { refused: [], exempt: [] };
const EVERYBODY = { refused: [{ owner_id: null, since: EXAMPLE_AT }], exempt: [] };
const ownerOnly = {
  owner_id: ownerId.optional().describe('For this promoter only; without it for all'),
};

const findPersonalData = personCommand({
  name: 'find',
  summary: 'Find the leads, handoffs and owner profiles of a person by an address',
  guidance:
    `${MATCHES} A handoff is not found by the contact of an RFQ that was never confirmed, once that contact is erased. ` +
    'The call and its proof are recorded.',
  fields: {},
  output: z.object({
    data: z.array(
      match.extend({ erased: z.boolean().describe('Whether its personal data was erased') }),
    ),
    contact: refused,
  }),
  answer: {
    data: [{ ...EXAMPLE_MATCH, erased: false }],
    contact: NONE_REFUSED,
  },
});

const exported = match.extend({
  lead: leadRecord.optional(),
  handoff: handoffRecord.omit({ review_url: true }).optional(),
  contact: z.union([rfqContact, lostKey]).optional().describe('The contact of the RFQ'),
  questions: z
    .array(z.object({ asked_at: time, question: z.string(), answer: z.string().optional() }))
    .optional()
    .describe('What the buyer asked about quotations, with the answers of staff'),
  declined: z
    .array(z.object({ at: time, reason: z.string() }))
    .optional()
    .describe('Why the buyer declined quotations'),
  profile: z
    .union([
      z.object({ name: z.string(), postal_address: z.string(), mailbox: z.string() }),
      lostKey,
    ])
    .optional()
    .describe('The profile of the owner'),
  application: z
    .union([applicationForm, lostKey])
    .optional()
    .describe('The public application for access'),
  person: z
    .object({
      name: z.string(),
      roles: z.array(z.string()),
      owners: z.array(z.string()),
      mailbox: z.string(),
    })
    .optional()
    .describe('Somebody who signs in'),
  notes: z.array(z.string()).describe('What staff noted, newest first'),
});

const exportPersonalData = personCommand({
  name: 'export',
  summary: 'Export the records of a person',
  guidance:
    'Exact matches, and the folded ones that you name. Erased texts are missing. The call and its proof are recorded, ' +
    'and the answer is not: a repeated call answers what is stored now.',
  fields: { folded: foldedMatches },
  output: z.object({ data: z.array(exported), contact: refused }),
  answer: {
    data: [{ ...EXAMPLE_MATCH, lead: leadExample, notes: [] }],
    contact: NONE_REFUSED,
  },
});

const refuseContact = personCommand({
  name: 'withdraw',
  summary: 'Record that a person withdraws consent, or objects to contact',
  guidance:
    'Binds all spellings of the mailbox. The contact is masked everywhere at once, outreach to it is refused, and an ' +
    'agent that submits it again gets the answer of a contact that another promoter has. It ends when the person asks for ' +
    'it, or with allowContact.',
  fields: ownerOnly,
  output: z.object({
    data: z.array(
      match.extend({
        right: z
          .enum(['withdrawal', 'objection'])
          .describe('withdrawal: the basis of the record is consent. objection: it is another one'),
      }),
    ),
    contact: refused,
  }),
  answer: { data: [{ ...EXAMPLE_MATCH, right: 'withdrawal' }], contact: EVERYBODY },
});

const allowContact = personCommand({
  name: 'lift',
  summary: 'Record that a person allows contact again',
  guidance: 'Only with evidence that the person wants it: the word of an agent is none.',
  fields: ownerOnly,
  output: z.object({ contact: refused }),
  answer: { contact: NONE_REFUSED },
});

const erasePersonalData = personCommand({
  isSensitive: true,
  destructive: true,
  name: 'erase',
  summary: 'Destroy the encryption keys of the records of a person',
  guidance:
    'Exact matches, and the folded ones that you name; each as with eraseSubject. Of a handoff that has the address only in ' +
    'an unconfirmed RFQ, where anybody can type it, that RFQ alone. Open RFQs become withdrawn, won values ' +
    'stay, the claims of leads are released, and a profile is removed. Contact is refused from then on, as with refuseContact. Cannot be undone. ' +
    'Repeat the call, with the same key, after an interruption: it continues.',
  fields: {
    folded: foldedMatches,
    allow_contact: z
      .boolean()
      .default(false)
      .describe('true: the person may be contacted again, if a promoter gets the address again'),
  },
  output: z.object({
    data: z.array(
      match.omit({ match: true }).extend({
        only: z
          .literal('rfq')
          .optional()
          .describe('The unconfirmed RFQ of this handoff was erased, and nothing else of it'),
      }),
    ),
    contact: refused,
  }),
  answer: {
    data: [{ id: handoffExample.id, owner_id: 'acme' }],
    contact: EVERYBODY,
  },
});

const eraseSubject = deskCommand({
  isSensitive: true,
  destructive: true,
  roles: ['operator'],
  path: '/subjects/{subject}/erase',
  summary: 'Destroy the encryption key of the personal data of a lead or a handoff',
  guidance:
    'Cannot be undone. The events stay and can still be verified, but the personal data in them (contacts, notes, ' +
    'reasons) can no longer be read. The reason of the erasure is stored unencrypted: do not name a person in it.',
  fields: {
    subject: z
      .string()
      .regex(/^(led|hnd)_[0-9a-z]{24}$/, { error: 'must be a lead or handoff id' }),
    owner_id: ownerSpace.optional().describe('Owner of the record, if known'),
    reason: line(500).describe('Stored unencrypted and never erased: do not name a person in it'),
  },
  output: z.object({
    subject: z.string(),
    key: z.enum(['destroyed', 'never']),
    erased_from: z.array(z.string()),
  }),
  example: {
    name: 'on request',
    input: {
      idempotency_key: 'erase-1',
      subject: leadExample.id,
      owner_id: 'acme',
      reason: 'Art. 17 request',
    },
    output: {
      subject: leadExample.id,
      key: 'destroyed',
      erased_from: ['acme-lead_3c4d5e6f7g8h9j0k1m2n3p4q'],
    },
  },
});

export const privacyDeskOperations = {
  allowContact,
  erasePersonalData,
  eraseSubject,
  exportPersonalData,
  findPersonalData,
  refuseContact,
};

/*
 * What a person does with all records of their address. The link in a message to that address is the credential, for an
 * hour. No interface of agents or of the desk offers these operations.
 */

const ownData = z.looseObject({ email: z.string() });
const act = holderActs(LINK_PROBLEMS);

/** Without `owner_id` every owner. */
const scope = { owner_id: ownerSpace.optional() };

/** Ids of records with another spelling of the mailbox that the person calls their own. */
const folded = z.array(compared);

export const personOperations = {
  /** Mails a link to an address that anybody can have typed. Does the same for every address. */
  requestPrivacyLink: act(
    {
      mailbox: exempt('encrypted', z.string()),
      /** The client's address; counted, and not stored. */
      address: compared,
    },
    z.object({ sent: z.literal(true) }),
    ['PrivacyLinkRequested', 'MailQueued'],
  ),
  /** Shows which records there are. Changes nothing. */
  readOwnData: holderView({}, ownData),
  exportOwnData: act(
    { folded },
    z.looseObject({ data: z.array(z.looseObject({ id: z.string() })) }),
    ['PrivacyRequestRecorded'],
  ),
  refuseOwnContact: act(scope, ownData, ['PrivacyRequestRecorded']),
  allowOwnContact: act(scope, ownData, ['PrivacyRequestRecorded']),
  /** Erases the records, and ends the link with the messages that have it. */
  eraseOwnData: act(
    { folded, allow_contact: z.boolean() },
    z.object({ records: z.int(), requests: z.int() }),
    [
      'PrivacyRequestRecorded',
      'SubjectErased',
      'RfqDropped',
      'LeadClaimReleased',
      'OwnerProfileRemoved',
    ],
  ),
};
