/*
 * The public application for access. The link in a message to the mailbox of the applicant is the credential. No interface
 * of agents or of the desk offers these operations.
 */
import { z } from 'zod';
import { requestAccess } from './agents.desk.ts';
import { setOwnerProfile } from '#contracts/owners/owners.desk.ts';
import { holderActs, holderView, LINK_PROBLEMS } from '#contracts/holder-operation.ts';

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
const act = holderActs([...LINK_PROBLEMS, 'state_conflict']);

export const applicantOperations = {
  /** Mails a link to an address that anybody can have typed. Does the same for every address. */
  applyForAccess: act(
    {
      ...applicationForm.shape,
      /** The client's address; counted, and not stored. */
      address: z.string(),
    },
    z.object({ sent: z.literal(true) }),
    ['ApplicationReceived', 'MailQueued'],
  ),
  /** Shows the application, and its decision. Changes nothing. */
  readApplication: holderView({}, shown),
  /** Makes the new owner with its profile and its confirmed mailbox, and requests access for its agent. */
  confirmApplication: act({ owner_id }, shown, [
    'OwnerProfileSet',
    'OwnerMailboxConfirmed',
    'AccessRequested',
    'ApplicationConfirmed',
    'SubjectErased',
  ]),
  /** Ends an application that somebody else made with this mailbox. */
  disownApplication: act({}, z.object({ ended: z.literal(true) }), [
    'SubjectErased',
    'MailboxBlocked',
  ]),
  /** Issues the first key of the approved agent, once, and shows it. */
  issueFirstKey: act({}, z.looseObject({ api_key: z.string() }), ['KeyIssued']),
};
