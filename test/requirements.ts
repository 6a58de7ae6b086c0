/**
 * Every statement of the specification by its section and number, as data. A statement is shown by a
 * test that calls verifies('id'), or stands in NOT_BUILT with the date it was put there.
 */
export const REQUIREMENTS: Record<string, string> = {
  'service.1':
    'An agent acting for a promoter discovers products, creates links and handoffs, coordinates approved outreach',
  'service.2': 'Three interface families: REST, MCP, A2A',
  'service.3':
    'The REST contract has seven typed operations: search, links, handoffs, leads, performance',
  'service.4': 'The MCP surface has explicit tool schemas, scoped access and idempotent writes',
  'service.5':
    'The agent interfaces cannot accept quotations, submit RFQs, place orders, reserve stock or send payment',
  'service.6.buyer': 'The buyer reviews the list and controls RFQ submission',
  'service.6.staff': 'Service staff control pricing, allocation and fulfillment decisions',
  'service.6.commitments':
    'Commercial commitments stay inside the buyer-reviewed RFQ and the internal approval workflow',
  'service.7':
    'llms.txt gives use-case routing, safety boundaries and canonical links, without a credential',
  'service.8.openapi': 'The OpenAPI contract needs no credential',
  'service.8.mcp-status': 'The MCP status needs no credential',
  'service.8.agent-card': 'The Agent Card needs no credential',
  'service.8.llms': 'llms.txt needs no credential',
  'resources.product': 'Published products are searchable through the catalog with products:read',
  'resources.link': 'Attributed links are created with links:write',
  'resources.handoff':
    'Handoffs are created with handoffs:write; creating one does not submit an RFQ',
  'resources.lead': 'Leads are read with leads:read and written with leads:write',
  'resources.performance': 'Performance of the credential owner is read with performance:read',
  'resources.connection':
    'The connection describes the calling agent with the scopes actually granted',
  'resources.problem': 'Errors are problem responses',
  'resources.own-records': 'Read access covers only records attributed to the credential owner',
  'states.handoff': 'A handoff is reviewed by the buyer, who alone controls RFQ submission',
  'endpoints.1': 'GET /api/affiliate/openapi.json without a credential answers the contract',
  'endpoints.2': 'GET /api/affiliate/v1/connection with a bearer key answers the scopes granted',
  'endpoints.3': 'POST /api/affiliate/mcp with a bearer key answers JSON-RPC',
  'endpoints.rules.1': 'Endpoint 1 needs no credential',
  'endpoints.rules.2': 'Endpoint 3 takes jsonrpc, id, method, params',
  'endpoints.rules.3': 'Endpoint 3 supports initialize with empty params',
  'endpoints.rules.4': 'MCP writes are idempotent',
  'endpoints.rules.5': 'Endpoint 1 is the contract document',
  'endpoints.rules.6': 'Endpoint 2 response field names are ours to choose',
  'endpoints.rules.7': 'Endpoint 3 methods, tools and schemas are ours to choose',
  'endpoints.rules.8': 'Method, path and payload of the seven operations are ours to choose',
  'endpoints.rules.9': 'Locations of MCP status, Agent Card and llms.txt are ours to choose',
  'authentication.1': 'An owner-issued API key is sent as Authorization: Bearer',
  'authentication.2': 'The key is kept server-side, never in a browser bundle or a URL',
  'authentication.3': 'Keys are created after an access review',
  'authentication.4': 'The connection answers the scopes actually granted, which may be fewer',
  'authentication.5': 'The nine scopes and what each is for',
  'authentication.5.outbound':
    'Outbound scopes: owner-controlled or administrator-approved coordination only',
  'authentication.6': 'Public resources need no credential',
  'authentication.7': 'Key format, lifetime and revocation are ours to choose',
  'errors.1': 'An unknown route under v1 answers application/problem+json',
  'errors.2': 'The body carries a stable code, recovery guidance and links to portal and OpenAPI',
  'errors.3': 'The status of that response is ours to choose',
  'errors.4': 'The field names of the problem are ours to choose',
  'errors.5': 'Errors for credential, scope, input and MCP are ours to choose',
  limits: 'Rate, size and page limits are ours to choose, and published',
  'versioning.1': 'The REST routes are versioned by the path segment v1',
  'versioning.2': 'The OpenAPI path carries no version segment',
  'versioning.3': 'Unknown v1 routes answer the problem of Errors',
  'versioning.4': 'Deprecation policy and the versioning of MCP and A2A are ours to choose',
};

/** What is not built yet, since when, and what it waits for. Nothing may stand in both lists. */
export const NOT_BUILT: Record<string, { since: string; waitsFor: string }> = {};
