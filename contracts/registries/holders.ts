/** The operations of the holders of links: buyers, applicants, owners, and people who ask about their data. */
import { applicantOperations } from '#contracts/access/operations.ts';
import { buyerOperations } from '#contracts/handoffs/operations.ts';
import { registryOf } from '#contracts/operation.ts';
import { ownerMailboxOperations } from '#contracts/owners/operations.ts';
import { personOperations } from '#contracts/privacy/operations.ts';

/** The link is the credential. No interface of agents or of the desk offers these operations. */
export const holderOperations = registryOf({
  ...personOperations,
  ...ownerMailboxOperations,
  ...applicantOperations,
  ...buyerOperations,
});

export type HolderOperations = typeof holderOperations;
export type HolderOperationId = keyof HolderOperations;
