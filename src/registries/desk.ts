import * as agents from '#src/access/agents.ts';
import * as approvals from '#src/outreach/approvals.ts';
import { auditCheck } from '#src/audits/audit-check.ts';
import { auditDiff } from '#src/audits/audit-diff.ts';
import { auditExport } from '#src/audits/audit-export.ts';
import { auditHistory } from '#src/audits/audit-history.ts';
import { auditProgress } from '#src/audits/audit-progress.ts';
import { auditPerformance, auditState } from '#src/audits/audit-state.ts';
import { auditTrace } from '#src/audits/audit-trace.ts';
import { listApprovals } from '#src/outreach/list-approvals.ts';
import { importProducts, withdrawProduct } from '#src/catalog/import-products.ts';
import { eraseSubject } from '#src/privacy/erase-subject.ts';
import * as personalData from '#src/privacy/personal-data.ts';
import { readEvents } from '#src/audits/read-events.ts';
import { listHistory } from '#src/audits/list-history.ts';
import { listHandoffs } from '#src/handoffs/list-handoffs.ts';
import { listLinks } from '#src/links/list-links.ts';
import * as keys from '#src/access/keys.ts';
import * as owners from '#src/owners/profile.ts';
import * as plans from '#src/plans/plan-record.ts';
import { readPlan } from '#src/plans/plan-record.ts';
import * as outreach from '#src/outreach/controls.ts';
import * as projections from '#src/reading/projections.ts';
import * as handoffEnds from '#src/handoffs/close-handoff.ts';
import { listOpenLeads } from '#src/leads/list-open-leads.ts';
import { readLead } from '#src/leads/read-lead.ts';
import * as leadMoves from '#src/leads/move-lead.ts';
import { disableLink } from '#src/links/disable-link.ts';
import { listRfqs, readRfq } from '#src/handoffs/read-rfq.ts';
import { approveRfqMove, correctRfq, moveRfq, refuseRfqMove } from '#src/handoffs/move-rfq.ts';
import { acceptClock } from '#src/access/accept-clock.ts';
import { listAccessRequests } from '#src/plans/list-access-requests.ts';
import * as deskTokens from '#src/access/desk-tokens.ts';
import type { DeskOperationId } from '#contracts/registries/desk.ts';
import type { AuditingDeps } from '#src/audits/replays.ts';
import type { DeskHandler } from '#src/calls/desk-handler.ts';

/** What the handlers of the desk need. Audits need the most. */
export type DeskDeps = AuditingDeps;

/** One handler per desk operation: a missing one does not compile. */
export type DeskHandlers = { [Id in DeskOperationId]: DeskHandler<Id, DeskDeps> };

/** The handler of each desk operation. Modules that are spread export handlers and nothing else. */
export const deskHandlers: DeskHandlers = {
  requestAccess: agents.requestAccess,
  approveAccess: agents.approveAccess,
  denyAccess: agents.denyAccess,
  suspendAgent: agents.suspendAgent,
  reinstateAgent: agents.reinstateAgent,
  listAgents: agents.listAgents,
  issueKey: keys.issueKey,
  rotateKey: keys.rotateKey,
  revokeKey: keys.revokeKey,
  listKeys: keys.listKeys,
  ...deskTokens,
  importProducts,
  withdrawProduct,
  ...leadMoves,
  ...handoffEnds,
  readRfq,
  moveRfq,
  correctRfq,
  approveRfqMove,
  refuseRfqMove,
  disableLink,
  eraseSubject,
  ...personalData,
  ...outreach,
  setOwnerProfile: owners.setOwnerProfile,
  readOwnerProfile: owners.readOwnerProfile,
  confirmOwnerMailbox: owners.confirmOwnerMailbox,
  removeOwnerProfile: owners.removeOwnerProfile,
  listApprovals,
  ...approvals,
  listOpenLeads,
  readLead,
  listRfqs,
  listAccessRequests,
  assignRecord: plans.assignRecord,
  addNote: plans.addNote,
  planNextStep: plans.planNextStep,
  endNextStep: plans.endNextStep,
  readPlan,
  listLinks,
  listHandoffs,
  listHistory,
  readEvents,
  ...projections,
  acceptClock,
  auditState,
  auditPerformance,
  auditDiff,
  auditProgress,
  auditHistory,
  auditTrace,
  auditExport,
  auditCheck,
};
