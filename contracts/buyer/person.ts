/*
 * What a person does with all records of their address. The link in a message to that address is the credential, for an
 * hour. No interface of agents or of the desk offers these operations.
 */
import { z } from 'zod';
import { defineBuyerOperation } from '../operation.ts';
import { WRITE_PROBLEMS } from '../problems.ts';

const ownData = z.looseObject({ email: z.string() });
const problems = ['resource_not_found'] as const;
const actProblems = [...WRITE_PROBLEMS, ...problems] as const;
/** Without `owner_id` every owner. */
const scope = z.strictObject({ owner_id: z.string().optional() });
/** Ids of records with another spelling of the mailbox that the person calls their own. */
const folded = z.array(z.string());

/** Mails a link to an address that anybody can have typed. Does the same for every address. */
const requestPrivacyLink = defineBuyerOperation({
  kind: 'command',
  input: z.strictObject({
    mailbox: z.string(),
    /** The client's address; counted, and not stored. */
    address: z.string(),
  }),
  output: z.object({ sent: z.literal(true) }),
  problems: actProblems,
  writes: ['PrivacyLinkRequested', 'MailQueued'],
});

/** Shows which records there are. Changes nothing. */
const readOwnData = defineBuyerOperation({
  kind: 'query',
  input: z.strictObject({}),
  output: ownData,
  problems,
});

const exportOwnData = defineBuyerOperation({
  kind: 'command',
  input: z.strictObject({ folded }),
  output: z.looseObject({ data: z.array(z.looseObject({ id: z.string() })) }),
  problems: actProblems,
  writes: ['PrivacyRequestRecorded'],
});

const refuseOwnContact = defineBuyerOperation({
  kind: 'command',
  input: scope,
  output: ownData,
  problems: actProblems,
  writes: ['PrivacyRequestRecorded'],
});

const allowOwnContact = defineBuyerOperation({
  kind: 'command',
  input: scope,
  output: ownData,
  problems: actProblems,
  writes: ['PrivacyRequestRecorded'],
});

/** Erases the records, and ends the link with the messages that have it. */
const eraseOwnData = defineBuyerOperation({
  kind: 'command',
  input: z.strictObject({ folded, allow_contact: z.boolean() }),
  output: z.object({ records: z.int(), requests: z.int() }),
  problems: actProblems,
  writes: [
    'PrivacyRequestRecorded',
    'SubjectErased',
    'RfqDropped',
    'LeadClaimReleased',
    'OwnerProfileRemoved',
  ],
});

export const personOperations = {
  requestPrivacyLink,
  readOwnData,
  exportOwnData,
  refuseOwnContact,
  allowOwnContact,
  eraseOwnData,
};
