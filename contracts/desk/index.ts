import { registryOf } from '../operation.ts';
import * as agents from './agents.ts';
import * as audit from './audit.ts';
import * as auditFiles from './audit-files.ts';
import * as auditHistory from './audit-history.ts';
import * as approvals from './approvals.ts';
import * as catalog from './catalog.ts';
import { acceptClock } from './clock.ts';
import * as inbox from './inbox.ts';
import * as keys from './keys.ts';
import * as leads from './leads.ts';
import * as lists from './lists.ts';
import * as owners from './owners.ts';
import * as outreach from './outreach.ts';
import * as privacy from './privacy.ts';
import * as plans from './plans.ts';
import * as records from './records.ts';
import * as rfqs from './rfqs.ts';
import * as system from './system.ts';

/**
 * The operations of people: a second registry with its own base path, credentials and document. The desk
 * accepts no agent's key, and no agent interface accepts a desk token.
 */
export const deskOperations = registryOf({
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
  issueDeskToken: keys.issueDeskToken,
  revokeDeskToken: keys.revokeDeskToken,
  importProducts: catalog.importProducts,
  withdrawProduct: catalog.withdrawProduct,
  moveLead: leads.moveLead,
  correctLead: leads.correctLead,
  approveLeadMove: leads.approveLeadMove,
  refuseLeadMove: leads.refuseLeadMove,
  withdrawHandoff: records.withdrawHandoff,
  invalidateHandoff: records.invalidateHandoff,
  readRfq: rfqs.readRfq,
  moveRfq: rfqs.moveRfq,
  correctRfq: rfqs.correctRfq,
  approveRfqMove: rfqs.approveRfqMove,
  refuseRfqMove: rfqs.refuseRfqMove,
  disableLink: records.disableLink,
  eraseSubject: records.eraseSubject,
  findPersonalData: privacy.findPersonalData,
  exportPersonalData: privacy.exportPersonalData,
  refuseContact: privacy.refuseContact,
  allowContact: privacy.allowContact,
  erasePersonalData: privacy.erasePersonalData,
  configureOutreach: outreach.configureOutreach,
  getOutreach: outreach.getOutreach,
  haltOutreach: outreach.haltOutreach,
  resumeOutreach: outreach.resumeOutreach,
  setOwnerProfile: owners.setOwnerProfile,
  readOwnerProfile: owners.readOwnerProfile,
  confirmOwnerMailbox: owners.confirmOwnerMailbox,
  removeOwnerProfile: owners.removeOwnerProfile,
  listApprovals: approvals.listApprovals,
  showApproval: approvals.showApproval,
  approveOutbound: approvals.approveOutbound,
  refuseOutbound: approvals.refuseOutbound,
  requestOutboundChanges: approvals.requestOutboundChanges,
  cancelOutbound: approvals.cancelOutbound,
  observeOutbound: approvals.observeOutbound,
  listOpenLeads: inbox.listOpenLeads,
  readLead: leads.readLead,
  listRfqs: inbox.listRfqs,
  listAccessRequests: inbox.listAccessRequests,
  assignRecord: plans.assignRecord,
  addNote: plans.addNote,
  planNextStep: plans.planNextStep,
  endNextStep: plans.endNextStep,
  readPlan: plans.readPlan,
  listLinks: lists.listLinks,
  listHandoffs: lists.listHandoffs,
  listHistory: lists.listHistory,
  readEvents: system.readEvents,
  listProjections: system.listProjections,
  rebuildProjection: system.rebuildProjection,
  verifyProjection: system.verifyProjection,
  acceptClock,
  auditState: audit.auditState,
  auditPerformance: audit.auditPerformance,
  auditDiff: audit.auditDiff,
  auditProgress: audit.auditProgress,
  auditHistory: auditHistory.auditHistory,
  auditTrace: auditHistory.auditTrace,
  auditExport: auditFiles.auditExport,
  auditCheck: auditFiles.auditCheck,
});

export type DeskOperations = typeof deskOperations;
export type DeskOperationId = keyof DeskOperations;
