/** The operations of the desk. */
import {
  agentsDeskOperations,
  clockDeskOperations,
  keysDeskOperations,
} from '#contracts/access/operations.ts';
import {
  auditDeskOperations,
  auditFilesDeskOperations,
  auditHistoryDeskOperations,
  historyDeskOperations,
} from '#contracts/audits/operations.ts';
import { catalogDeskOperations } from '#contracts/catalog/operations.ts';
import { handoffsDeskOperations } from '#contracts/handoffs/operations.ts';
import { leadsDeskOperations } from '#contracts/leads/operations.ts';
import { linksDeskOperations } from '#contracts/links/operations.ts';
import { changesDeskOperations } from '#contracts/records/changes.ts';
import { registryOf } from '#contracts/operation.ts';
import { approvalsDeskOperations, outreachDeskOperations } from '#contracts/outreach/operations.ts';
import { ownersDeskOperations } from '#contracts/owners/operations.ts';
import { performanceDeskOperations } from '#contracts/performance/operations.ts';
import { peopleDeskOperations } from '#contracts/people/operations.ts';
import { plansDeskOperations } from '#contracts/plans/operations.ts';
import { privacyDeskOperations } from '#contracts/privacy/operations.ts';
import { ownerRecordsDeskOperations } from '#contracts/records/operations.ts';
import { projectionDeskOperations } from '#contracts/reading/operations.ts';
import { repairsDeskOperations } from '#contracts/repairs/operations.ts';
import { recordsDeskOperations } from '#contracts/records/operations.ts';

/**
 * The operations of people: a second registry with its own base path, credentials and document. The desk
 * accepts no agent's key, and no agent interface accepts a desk token. Documents list them in this order.
 */
export const deskOperations = registryOf({
  ...agentsDeskOperations,
  ...keysDeskOperations,
  ...peopleDeskOperations,
  ...catalogDeskOperations,
  ...leadsDeskOperations,
  ...linksDeskOperations,
  ...performanceDeskOperations,
  ...ownerRecordsDeskOperations,
  ...handoffsDeskOperations,
  ...privacyDeskOperations,
  ...outreachDeskOperations,
  ...ownersDeskOperations,
  ...approvalsDeskOperations,
  ...plansDeskOperations,
  ...recordsDeskOperations,
  ...projectionDeskOperations,
  ...repairsDeskOperations,
  ...clockDeskOperations,
  ...historyDeskOperations,
  ...changesDeskOperations,
  ...auditDeskOperations,
  ...auditFilesDeskOperations,
  ...auditHistoryDeskOperations,
});

export type DeskOperations = typeof deskOperations;
export type DeskOperationId = keyof DeskOperations;
