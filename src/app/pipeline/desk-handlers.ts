import * as agents from '../access/agents.ts';
import * as approvals from '../outreach/approvals.ts';
import { auditCheck } from '../audit/audit-check.ts';
import { auditDiff } from '../audit/audit-diff.ts';
import { auditExport } from '../audit/audit-export.ts';
import { auditHistory } from '../audit/audit-history.ts';
import { auditPerformance } from '../audit/audit-performance.ts';
import { auditProgress } from '../audit/audit-progress.ts';
import { auditState } from '../audit/audit-state.ts';
import { auditTrace } from '../audit/audit-trace.ts';
import { listApprovals } from '../outreach/list-approvals.ts';
import type { DeskHandlers } from './desk-handler.ts';
import { importProducts, withdrawProduct } from '../catalog/import-products.ts';
import { eraseSubject } from '../privacy/erase-subject.ts';
import * as personalData from '../privacy/personal-data.ts';
import { readEvents } from '../events/read-events.ts';
import { listHistory } from '../events/list-history.ts';
import { listHandoffs } from '../handoffs/list-handoffs.ts';
import { listLinks } from '../links/list-links.ts';
import * as keys from '../access/keys.ts';
import * as owners from '../owners/profile.ts';
import * as plans from '../plans/plan-record.ts';
import { readPlan } from '../plans/read-plan.ts';
import * as outreach from '../outreach/controls.ts';
import {
  listProjections,
  rebuildProjection,
  verifyProjection,
} from '../read-models/projections.ts';
import { invalidateHandoff, withdrawHandoff } from '../handoffs/close-handoff.ts';
import { listRfqs } from '../handoffs/list-rfqs.ts';
import { listOpenLeads } from '../leads/list-open-leads.ts';
import { readLead } from '../leads/read-lead.ts';
import * as leadMoves from '../leads/move-lead.ts';
import { disableLink } from '../links/disable-link.ts';
import { readRfq } from '../handoffs/read-rfq.ts';
import { approveRfqMove, correctRfq, moveRfq, refuseRfqMove } from '../handoffs/move-rfq.ts';
import { acceptClock } from '../access/accept-clock.ts';
import { listAccessRequests } from '../access/list-access-requests.ts';
import { issueDeskToken, revokeDeskToken } from '../access/desk-tokens.ts';

/** The handler of each desk operation, one line each. */
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
  issueDeskToken,
  revokeDeskToken,
  importProducts,
  withdrawProduct,
  moveLead: leadMoves.moveLead,
  correctLead: leadMoves.correctLead,
  approveLeadMove: leadMoves.approveLeadMove,
  refuseLeadMove: leadMoves.refuseLeadMove,
  withdrawHandoff,
  invalidateHandoff,
  readRfq,
  moveRfq,
  correctRfq,
  approveRfqMove,
  refuseRfqMove,
  disableLink,
  eraseSubject,
  findPersonalData: personalData.findPersonalData,
  exportPersonalData: personalData.exportPersonalData,
  refuseContact: personalData.refuseContact,
  allowContact: personalData.allowContact,
  erasePersonalData: personalData.erasePersonalData,
  configureOutreach: outreach.configureOutreach,
  getOutreach: outreach.getOutreach,
  haltOutreach: outreach.haltOutreach,
  resumeOutreach: outreach.resumeOutreach,
  setOwnerProfile: owners.setOwnerProfile,
  readOwnerProfile: owners.readOwnerProfile,
  confirmOwnerMailbox: owners.confirmOwnerMailbox,
  removeOwnerProfile: owners.removeOwnerProfile,
  listApprovals,
  showApproval: approvals.showApproval,
  approveOutbound: approvals.approveOutbound,
  refuseOutbound: approvals.refuseOutbound,
  requestOutboundChanges: approvals.requestOutboundChanges,
  cancelOutbound: approvals.cancelOutbound,
  observeOutbound: approvals.observeOutbound,
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
  listProjections,
  rebuildProjection,
  verifyProjection,
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
