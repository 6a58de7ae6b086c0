/*
 * What the holder of the mailbox of an owner does. The link in a message to the mailbox is the credential. No interface of
 * agents or of the desk offers these operations.
 */
import { z } from 'zod';
import { holderActs, holderView, LINK_PROBLEMS } from '#contracts/holder-operation.ts';

const mailboxToConfirm = z.looseObject({ ownerId: z.string(), mailbox: z.string() });
const act = holderActs([...LINK_PROBLEMS, 'state_conflict']);

export const ownerMailboxOperations = {
  /** Shows what the link confirms. Changes nothing. */
  readOwnMailbox: holderView({}, mailboxToConfirm),
  /** Confirms the mailbox of the profile for which the link was mailed. */
  confirmOwnMailbox: act({}, mailboxToConfirm, ['OwnerMailboxConfirmed']),
  /** Removes an unconfirmed profile that was set with the mailbox of another person. */
  disownMailbox: act({}, mailboxToConfirm, ['OwnerProfileRemoved', 'MailboxBlocked']),
};
