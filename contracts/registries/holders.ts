/** The operations of the holders of links: buyers, applicants, owners, people who ask about their data or sign in. */
import { applicantOperations } from '#contracts/access/operations.ts';
import { buyerOperations } from '#contracts/handoffs/operations.ts';
import { registryOf } from '#contracts/operation.ts';
import { ownerMailboxOperations } from '#contracts/owners/operations.ts';
import { signInOperations } from '#contracts/people/operations.ts';
import { personOperations } from '#contracts/privacy/operations.ts';

/** The link is the credential. No interface of agents or of the desk offers these operations. */
export const holderOperations = registryOf({
  ...personOperations,
  ...ownerMailboxOperations,
  ...applicantOperations,
  ...signInOperations,
  ...buyerOperations,
});

export type HolderOperations = typeof holderOperations;
export type HolderOperationId = keyof HolderOperations;
