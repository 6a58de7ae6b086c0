/*
 * What a person does with all records of their address. The link in a message to that address is the credential, for an
 * hour. No interface of agents or of the desk offers these operations.
 */
import { z } from 'zod';
import { holderActs, holderView, LINK_PROBLEMS } from '#contracts/holder-operation.ts';

const ownData = z.looseObject({ email: z.string() });
const act = holderActs(LINK_PROBLEMS);

/** Without `owner_id` every owner. */
const scope = { owner_id: z.string().optional() };

/** Ids of records with another spelling of the mailbox that the person calls their own. */
const folded = z.array(z.string());

export const personOperations = {
  /** Mails a link to an address that anybody can have typed. Does the same for every address. */
  requestPrivacyLink: act(
    {
      mailbox: z.string(),
      /** The client's address; counted, and not stored. */
      address: z.string(),
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
