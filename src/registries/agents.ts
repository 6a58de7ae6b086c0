/** The table of the agents' handlers. */
import type { AgentActor, SignaturesOf } from '#src/calls/rules.ts';
import type { AgentOperations } from '#contracts/registries/agents.ts';
import type { Handler } from '#src/calls/handlers.ts';
import type { Pipeline } from '#src/calls/pipeline.ts';
import { createHandoff } from '#src/handoffs/create-handoff.ts';
import { reviseHandoff, withdrawUnseenHandoff } from '#src/handoffs/revise-handoff.ts';
import { createLinks, createLink } from '#src/links/links.ts';
import { updateLink } from '#src/records/update-link.ts';
import { getConnection } from '#src/access/get-connection.ts';
import { getPerformance, type PerformanceDeps } from '#src/performance/get-performance.ts';
import { listLeads } from '#src/leads/list-leads.ts';
import { searchProducts } from '#src/catalog/search-products.ts';
import { submitLead } from '#src/leads/submit-lead.ts';
import {
  requestAgentNotification,
  requestMessage,
  requestSocialPost,
} from '#src/outreach/propose.ts';
import { cancelOutboundRequest, getOutboundRequest } from '#src/outreach/requests.ts';
import { getRecord } from '#src/records/read-record.ts';
import { listChanges } from '#src/records/changes.ts';
import { getReceipt, type ReceiptDeps } from '#src/proof/receipts.ts';
import { listRecords } from '#src/records/list-records.ts';

/** What the handlers of agents need. */
export type AgentDeps = PerformanceDeps & ReceiptDeps;

/** One handler per operation: a missing one does not compile. */
export type Handlers = { [Id in keyof AgentOperations]: Handler<Id, AgentDeps> };

/** The handler of each operation, one line each. */
export const agentHandlers: Handlers = {
  getConnection,
  searchProducts,
  createLink,
  createHandoff,
  listLeads,
  submitLead,
  getPerformance,
  requestSocialPost,
  requestMessage,
  requestAgentNotification,
  getOutboundRequest,
  cancelOutboundRequest,
  listRecords,
  listChanges,
  getRecord,
  reviseHandoff,
  withdrawUnseenHandoff,
  createLinks,
  updateLink,
  getReceipt,
};

export type AgentPipeline = Pipeline<SignaturesOf<Handlers>, AgentActor<AgentDeps>>;
