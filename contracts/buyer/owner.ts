/*
 * What the holder of the mailbox of an owner does. The link in a message to the mailbox is the credential. No interface of
 * agents or of the desk offers these operations.
 */
import { z } from 'zod';
import { defineBuyerOperation } from '../operation.ts';
import { WRITE_PROBLEMS } from '../problems.ts';

const mailboxToConfirm = z.looseObject({ ownerId: z.string(), mailbox: z.string() });
const problems = ['resource_not_found'] as const;
const actProblems = [...WRITE_PROBLEMS, ...problems, 'state_conflict'] as const;
const nothing = z.strictObject({});

/** Shows what the link confirms. Changes nothing. */
const readOwnMailbox = defineBuyerOperation({
  kind: 'query',
  input: nothing,
  output: mailboxToConfirm,
  problems,
});

/** Confirms the mailbox of the profile for which the link was mailed. */
const confirmOwnMailbox = defineBuyerOperation({
  kind: 'command',
  input: nothing,
  output: mailboxToConfirm,
  problems: actProblems,
  writes: ['OwnerMailboxConfirmed'],
});

/** Removes an unconfirmed profile that was set with the mailbox of another person. */
const disownMailbox = defineBuyerOperation({
  kind: 'command',
  input: nothing,
  output: mailboxToConfirm,
  problems: actProblems,
  writes: ['OwnerProfileRemoved', 'MailboxBlocked'],
});

export const ownerMailboxOperations = { readOwnMailbox, confirmOwnMailbox, disownMailbox };
