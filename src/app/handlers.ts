import type { Handlers } from './handler.ts';
import { createHandoff } from './handlers/create-handoff.ts';
import { createLink } from './handlers/create-link.ts';
import { getConnection } from './handlers/get-connection.ts';
import { getPerformance } from './handlers/get-performance.ts';
import { listLeads } from './handlers/list-leads.ts';
import { searchProducts } from './handlers/search-products.ts';
import { submitLead } from './handlers/submit-lead.ts';
import { requestAgentNotification, requestMessage, requestSocialPost } from './outreach/propose.ts';
import { cancelOutboundRequest, getOutboundRequest } from './outreach/requests.ts';

/** The handler of each operation, one line each. */
export const handlers: Handlers = {
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
};
