/** The operations of agents. */
import { registryOf } from '#contracts/operation.ts';
import { createHandoff, ownHandoffOperations } from '#contracts/handoffs/operations.ts';
import { createLink, createLinks } from '#contracts/links/operations.ts';
import { getConnection } from '#contracts/access/operations.ts';
import { getPerformance } from '#contracts/performance/operations.ts';
import { listLeads, submitLead } from '#contracts/leads/operations.ts';
import { outreachAgentOperations } from '#contracts/outreach/operations.ts';
import { completeValue, readRecord } from '#contracts/reading/operations.ts';
import { listChanges } from '#contracts/records/changes.ts';
import { getRecord, listRecords, updateLink } from '#contracts/records/operations.ts';
import { getReceipt } from '#contracts/proof/operations.ts';
import { searchProducts } from '#contracts/catalog/operations.ts';

/** Operations of agents over REST, MCP and A2A. */
export const operations = registryOf({
  getConnection,
  searchProducts,
  createLink,
  createHandoff,
  listLeads,
  submitLead,
  getPerformance,
});

/** Operations of agents only over MCP and A2A: they propose outreach, which people approve. */
export const outreachOperations = registryOf({
  requestSocialPost: outreachAgentOperations.requestSocialPost,
  requestMessage: outreachAgentOperations.requestMessage,
  requestAgentNotification: outreachAgentOperations.requestAgentNotification,
  getOutboundRequest: outreachAgentOperations.getOutboundRequest,
  cancelOutboundRequest: outreachAgentOperations.cancelOutboundRequest,
});

/** Operations of agents only over MCP: they see and steer what is theirs. */
export const ownOperations = registryOf({
  listRecords,
  listChanges,
  getRecord,
  ...ownHandoffOperations,
  createLinks,
  updateLink,
  getReceipt,
});

/** All operations of agents. Handlers, tools, skills and the scope matrix are derived from them. */
export const agentOperations = {
  ...operations,
  ...outreachOperations,
  ...ownOperations,
} as const;

/** Operations that agents call through methods of MCP for resources and prompts, not as a tool. */
export const recordOperations = {
  readRecord: { ...readRecord, id: 'mcp:resources/read' },
  completeValue: { ...completeValue, id: 'mcp:completion/complete' },
} as const;

export type AgentOperations = typeof agentOperations;
export type OperationId = keyof AgentOperations;
export type RestOperationId = keyof typeof operations;
