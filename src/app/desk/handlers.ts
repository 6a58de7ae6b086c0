import * as agents from './agents.ts';
import * as approvals from './approvals.ts';
import type { DeskHandlers } from './handler.ts';
import { importProducts, withdrawProduct } from './catalog.ts';
import { eraseSubject } from './erase.ts';
import { readEvents } from './events.ts';
import { listHandoffs, listHistory, listLinks } from './lists.ts';
import * as keys from './keys.ts';
import * as outreach from './outreach.ts';
import { listProjections, rebuildProjection, verifyProjection } from './projections.ts';
import { disableLink, invalidateHandoff, moveLead, withdrawHandoff } from './records.ts';
import { readRfq } from './rfq.ts';
import { issueDeskToken, revokeDeskToken } from './tokens.ts';

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
  moveLead,
  withdrawHandoff,
  invalidateHandoff,
  readRfq,
  disableLink,
  eraseSubject,
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
  listLinks,
  listHandoffs,
  listHistory,
  readEvents,
  listProjections,
  rebuildProjection,
  verifyProjection,
};
