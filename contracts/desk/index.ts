import * as access from './access.ts';
import * as approvals from './approvals.ts';
import * as catalog from './catalog.ts';
import * as lists from './lists.ts';
import * as outreach from './outreach.ts';
import * as records from './records.ts';
import { readRfq } from './rfq.ts';
import * as system from './system.ts';

/**
 * What people can do: a second registry with its own base path, credentials and document. An agent's
 * key is never accepted here, and no desk token on an agent interface.
 */
export const deskOperations = {
  requestAccess: access.requestAccess,
  approveAccess: access.approveAccess,
  denyAccess: access.denyAccess,
  suspendAgent: access.suspendAgent,
  reinstateAgent: access.reinstateAgent,
  listAgents: access.listAgents,
  issueKey: access.issueKey,
  rotateKey: access.rotateKey,
  revokeKey: access.revokeKey,
  listKeys: access.listKeys,
  issueDeskToken: access.issueDeskToken,
  revokeDeskToken: access.revokeDeskToken,
  importProducts: catalog.importProducts,
  withdrawProduct: catalog.withdrawProduct,
  moveLead: records.moveLead,
  withdrawHandoff: records.withdrawHandoff,
  invalidateHandoff: records.invalidateHandoff,
  readRfq,
  disableLink: records.disableLink,
  eraseSubject: records.eraseSubject,
  configureOutreach: outreach.configureOutreach,
  getOutreach: outreach.getOutreach,
  haltOutreach: outreach.haltOutreach,
  resumeOutreach: outreach.resumeOutreach,
  listApprovals: approvals.listApprovals,
  showApproval: approvals.showApproval,
  approveOutbound: approvals.approveOutbound,
  refuseOutbound: approvals.refuseOutbound,
  requestOutboundChanges: approvals.requestOutboundChanges,
  cancelOutbound: approvals.cancelOutbound,
  observeOutbound: approvals.observeOutbound,
  listLinks: lists.listLinks,
  listHandoffs: lists.listHandoffs,
  listHistory: lists.listHistory,
  readEvents: system.readEvents,
  listProjections: system.listProjections,
  rebuildProjection: system.rebuildProjection,
  verifyProjection: system.verifyProjection,
} as const;

export type DeskOperations = typeof deskOperations;
export type DeskOperationId = keyof DeskOperations;
