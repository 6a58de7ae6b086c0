/*
 * The public application for access. The link in a message to the mailbox of the applicant is the credential. No interface
 * of agents or of the desk offers these operations.
 */
import { z } from 'zod';
import { requestAccess } from '../desk/agents.ts';
import { setOwnerProfile } from '../desk/owners.ts';
import { defineBuyerOperation } from '../operation.ts';
import { WRITE_PROBLEMS } from '../problems.ts';

const { owner_id, name, postal_address, mailbox } = setOwnerProfile.input.shape;
const { name: agent_name, purpose, scopes } = requestAccess.input.shape;

/** What an applicant enters. */
export const applicationForm = z.strictObject({
  name,
  postal_address,
  mailbox,
  owner_id,
  agent_name,
  purpose,
  scopes,
});

export type Application = z.output<typeof applicationForm>;

const shown = z.looseObject({ phase: z.string(), until: z.number() });
const nothing = z.strictObject({});
const problems = ['resource_not_found'] as const;
const actProblems = [...WRITE_PROBLEMS, ...problems, 'state_conflict'] as const;

/** Mails a link to an address that anybody can have typed. Does the same for every address. */
const applyForAccess = defineBuyerOperation({
  kind: 'command',
  input: applicationForm.extend({
    /** The client's address; counted, and not stored. */
    address: z.string(),
  }),
  output: z.object({ sent: z.literal(true) }),
  problems: actProblems,
  writes: ['ApplicationReceived', 'MailQueued'],
});

/** Shows the application, and its decision. Changes nothing. */
const readApplication = defineBuyerOperation({
  kind: 'query',
  input: nothing,
  output: shown,
  problems,
});

/** Makes the new owner with its profile and its confirmed mailbox, and requests access for its agent. */
const confirmApplication = defineBuyerOperation({
  kind: 'command',
  input: z.strictObject({ owner_id }),
  output: shown,
  problems: actProblems,
  writes: [
    'OwnerProfileSet',
    'OwnerMailboxConfirmed',
    'AccessRequested',
    'ApplicationConfirmed',
    'SubjectErased',
  ],
});

/** Ends an application that somebody else made with this mailbox. */
const disownApplication = defineBuyerOperation({
  kind: 'command',
  input: nothing,
  output: z.object({ ended: z.literal(true) }),
  problems: actProblems,
  writes: ['SubjectErased', 'MailboxBlocked'],
});

/** Issues the first key of the approved agent, once, and shows it. */
const issueFirstKey = defineBuyerOperation({
  kind: 'command',
  input: nothing,
  output: z.looseObject({ api_key: z.string() }),
  problems: actProblems,
  writes: ['KeyIssued'],
});

export const applicantOperations = {
  applyForAccess,
  readApplication,
  confirmApplication,
  disownApplication,
  issueFirstKey,
};
