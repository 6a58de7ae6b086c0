import { registryOf } from '#contracts/operation.ts';
import { agentsDeskOperations } from '#contracts/access/agents.desk.ts';
import { auditDeskOperations } from '#contracts/audits/audits.desk.ts';
import { auditFilesDeskOperations } from '#contracts/audits/audit-files.desk.ts';
import { auditHistoryDeskOperations } from '#contracts/audits/audit-history.desk.ts';
import { approvalsDeskOperations } from '#contracts/outreach/approvals.desk.ts';
import { catalogDeskOperations } from '#contracts/catalog/catalog.desk.ts';
import { clockDeskOperations } from '#contracts/writing/clock.desk.ts';
import { inboxDeskOperations } from '#contracts/plans/inbox.desk.ts';
import { keysDeskOperations } from '#contracts/access/keys.desk.ts';
import { leadsDeskOperations } from '#contracts/leads/leads.desk.ts';
import { listsDeskOperations } from '#contracts/handoffs/lists.desk.ts';
import { ownersDeskOperations } from '#contracts/owners/owners.desk.ts';
import { outreachDeskOperations } from '#contracts/outreach/outreach.desk.ts';
import { privacyDeskOperations } from '#contracts/privacy/privacy.desk.ts';
import { plansDeskOperations } from '#contracts/plans/plans.desk.ts';
import { historyDeskOperations } from '#contracts/audits/history.desk.ts';
import { rfqsDeskOperations } from '#contracts/handoffs/rfqs.desk.ts';
import { projectionDeskOperations } from '#contracts/reading/projections.desk.ts';

/**
 * The operations of people: a second registry with its own base path, credentials and document. The desk
 * accepts no agent's key, and no agent interface accepts a desk token. Documents list them in this order.
 */
export const deskOperations = registryOf({
  ...agentsDeskOperations,
  ...keysDeskOperations,
  ...catalogDeskOperations,
  ...leadsDeskOperations,
  ...historyDeskOperations,
  ...rfqsDeskOperations,
  ...privacyDeskOperations,
  ...outreachDeskOperations,
  ...ownersDeskOperations,
  ...approvalsDeskOperations,
  ...inboxDeskOperations,
  ...plansDeskOperations,
  ...listsDeskOperations,
  ...projectionDeskOperations,
  ...clockDeskOperations,
  ...auditDeskOperations,
  ...auditFilesDeskOperations,
  ...auditHistoryDeskOperations,
});

export type DeskOperations = typeof deskOperations;
export type DeskOperationId = keyof DeskOperations;
