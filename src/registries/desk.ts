/** The table of the desk's handlers, and the slices of what they need. */
import {
  requestAccess,
  approveAccess,
  grantAccess,
  denyAccess,
  suspendAgent,
  reinstateAgent,
  listAgents,
  readAgent,
} from '#src/access/agents.ts';
import {
  showApproval,
  approveOutbound,
  refuseOutbound,
  requestOutboundChanges,
  cancelOutbound,
  observeOutbound,
  listApprovals,
} from '#src/outreach/approvals.ts';
import { reviseOutbound } from '#src/outreach/revise.ts';
import { auditReplay } from '#src/audits/answer-again.ts';
import { auditCheck } from '#src/audits/audit-check.ts';
import { auditDiff } from '#src/audits/audit-diff.ts';
import { auditExport } from '#src/audits/audit-export.ts';
import { auditHistory } from '#src/audits/audit-history.ts';
import { auditProgress } from '#src/audits/audit-progress.ts';
import { auditPerformance, auditState } from '#src/audits/audit-state.ts';
import { getReceipts } from '#src/audits/receipts.ts';
import { auditTrace } from '#src/audits/audit-trace.ts';
import { importProducts, withdrawProduct } from '#src/catalog/import-products.ts';
import { eraseSubject } from '#src/privacy/erase-subject.ts';
import {
  findPersonalData,
  exportPersonalData,
  refuseContact,
  allowContact,
  erasePersonalData,
} from '#src/privacy/personal-data.ts';
import { readEvents, listHistory } from '#src/audits/read-events.ts';
import { listOwnerChanges, readOwnerRecord } from '#src/records/owner-record.ts';
import { listHandoffs, listRfqs, readRfq } from '#src/handoffs/read-rfq.ts';
import { listLinks, disableLink } from '#src/links/desk-links.ts';
import { issueKey, rotateKey, revokeKey, listKeys, readKey } from '#src/access/keys.ts';
import { showPerformance } from '#src/performance/show-performance.ts';
import {
  setOwnerProfile,
  readOwnerProfile,
  confirmOwnerMailbox,
  removeOwnerProfile,
} from '#src/owners/profile.ts';
import {
  assignRecord,
  addNote,
  planNextStep,
  endNextStep,
  readPlan,
  listAccessRequests,
} from '#src/plans/plans.ts';
import {
  configureOutreach,
  getOutreach,
  haltOutreach,
  resumeOutreach,
  setAutomaticDelivery,
} from '#src/outreach/controls.ts';
import {
  dropBuild,
  limitFills,
  listProjections,
  readHeldBuild,
  rebuildProjection,
  switchBuild,
  verifyProjection,
} from '#src/reading/projections.ts';
import { approveSkip, listParked, proposeSkip, retryParked } from '#src/repairs/parked.ts';
import {
  withdrawHandoff,
  invalidateHandoff,
  approveRfqMove,
  correctRfq,
  moveRfq,
  refuseRfqMove,
} from '#src/handoffs/move-rfq.ts';
import { listProducts, readProduct } from '#src/catalog/desk-products.ts';
import { listOwners } from '#src/owners/list-owners.ts';
import { searchDesk } from '#src/records/search-desk.ts';
import { countInbox, listInbox } from '#src/records/list-inbox.ts';
import { answerQuestion, quoteRfq } from '#src/handoffs/quotations.ts';
import {
  allocateGoods,
  cancelGoods,
  deliverGoods,
  returnGoods,
  shipGoods,
} from '#src/handoffs/fulfillment.ts';
import { listOpenLeads, listOwnerLeads, readLead } from '#src/leads/read-lead.ts';
import { moveLead, correctLead, approveLeadMove, refuseLeadMove } from '#src/leads/move-lead.ts';
import { acceptClock } from '#src/access/accept-clock.ts';
import { issueDeskToken, listDeskTokens, revokeDeskToken } from '#src/access/desk-tokens.ts';
import {
  changePersonRoles,
  endPerson,
  invitePerson,
  invitePersonAgain,
  listPeople,
  readPerson,
} from '#src/people/people.ts';
import { allowDeviceLogin, denyDeviceLogin, readDeviceLogin } from '#src/people/device-login.ts';
import {
  linkAccount,
  offerAccountLink,
  type OpenIdDeps,
  unlinkAccount,
} from '#src/people/openid.ts';
import { addPasskey, offerPasskey, removePasskey } from '#src/people/passkeys.ts';
import { endSession, listSessions, whoAmI } from '#src/people/sessions.ts';
import type { DeskOperationId } from '#contracts/registries/desk.ts';
import { type AuditingDeps, inTurn } from '#src/audits/replays.ts';
import type { DeskHandler } from '#src/calls/desk-handler.ts';

/** What the handlers of the desk need. Audits need the most. */
export type DeskDeps = AuditingDeps & OpenIdDeps;

/** One handler per desk operation: a missing one does not compile. */
export type DeskHandlers = { [Id in DeskOperationId]: DeskHandler<Id, DeskDeps> };

/** The handler of each desk operation. */
export const deskHandlers: DeskHandlers = {
  requestAccess,
  approveAccess,
  grantAccess,
  denyAccess,
  suspendAgent,
  reinstateAgent,
  listAgents,
  readAgent,
  readKey,
  issueKey,
  rotateKey,
  revokeKey,
  listKeys,
  listDeskTokens,
  issueDeskToken,
  revokeDeskToken,
  invitePerson,
  invitePersonAgain,
  listPeople,
  readPerson,
  changePersonRoles,
  endPerson,
  whoAmI,
  listSessions,
  endSession,
  readDeviceLogin,
  allowDeviceLogin,
  denyDeviceLogin,
  offerPasskey,
  addPasskey,
  removePasskey,
  offerAccountLink,
  linkAccount,
  unlinkAccount,
  importProducts,
  listProducts,
  readProduct,
  withdrawProduct,
  moveLead,
  correctLead,
  approveLeadMove,
  refuseLeadMove,
  withdrawHandoff,
  invalidateHandoff,
  readRfq,
  quoteRfq,
  answerQuestion,
  allocateGoods,
  shipGoods,
  deliverGoods,
  cancelGoods,
  returnGoods,
  moveRfq,
  correctRfq,
  approveRfqMove,
  refuseRfqMove,
  disableLink,
  showPerformance,
  readOwnerRecord,
  eraseSubject,
  findPersonalData,
  exportPersonalData,
  refuseContact,
  allowContact,
  erasePersonalData,
  configureOutreach,
  getOutreach,
  haltOutreach,
  resumeOutreach,
  setAutomaticDelivery,
  setOwnerProfile,
  listOwners,
  readOwnerProfile,
  confirmOwnerMailbox,
  removeOwnerProfile,
  listApprovals,
  showApproval,
  approveOutbound,
  refuseOutbound,
  requestOutboundChanges,
  reviseOutbound,
  cancelOutbound,
  observeOutbound,
  listOpenLeads,
  listOwnerLeads,
  readLead,
  listRfqs,
  listAccessRequests,
  assignRecord,
  addNote,
  planNextStep,
  endNextStep,
  readPlan,
  listInbox,
  countInbox,
  searchDesk,
  listLinks,
  listHandoffs,
  listHistory,
  listOwnerChanges,
  readEvents,
  listProjections,
  rebuildProjection,
  readHeldBuild,
  switchBuild,
  dropBuild,
  limitFills,
  verifyProjection,
  listParked,
  retryParked,
  proposeSkip,
  approveSkip,
  acceptClock,
  auditState: inTurn(auditState),
  auditPerformance: inTurn(auditPerformance),
  auditDiff: inTurn(auditDiff),
  auditProgress,
  auditHistory: inTurn(auditHistory),
  auditTrace: inTurn(auditTrace),
  auditReplay: inTurn(auditReplay),
  getReceipts: inTurn(getReceipts),
  auditExport: inTurn(auditExport),
  auditCheck,
};
