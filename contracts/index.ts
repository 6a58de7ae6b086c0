import { createHandoff } from './operations/create-handoff.ts';
import { createLink } from './operations/create-link.ts';
import { getConnection } from './operations/get-connection.ts';
import { getPerformance } from './operations/get-performance.ts';
import { listLeads } from './operations/list-leads.ts';
import * as outreach from './operations/outreach.ts';
import { readRecord } from './operations/read-record.ts';
import { searchProducts } from './operations/search-products.ts';
import { submitLead } from './operations/submit-lead.ts';

/** What an agent can do over REST, MCP and A2A: one line per operation. */
export const operations = {
  getConnection,
  searchProducts,
  createLink,
  createHandoff,
  listLeads,
  submitLead,
  getPerformance,
} as const;

/** What an agent can do over MCP and A2A only: to propose outreach, which people approve. */
export const outreachOperations = {
  requestSocialPost: outreach.requestSocialPost,
  requestMessage: outreach.requestMessage,
  requestAgentNotification: outreach.requestAgentNotification,
  getOutboundRequest: outreach.getOutboundRequest,
  cancelOutboundRequest: outreach.cancelOutboundRequest,
} as const;

/** Everything an agent can do. Handlers, tools, skills and the scope matrix are derived from here. */
export const agentOperations = { ...operations, ...outreachOperations } as const;

/** What an agent can read as a resource of MCP, which is no tool. */
export const recordOperations = { readRecord } as const;

export type AgentOperations = typeof agentOperations;
export type OperationId = keyof AgentOperations;
export type RestOperationId = keyof typeof operations;
