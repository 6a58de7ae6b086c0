import { createHandoff } from './operations/create-handoff.ts';
import { createLink } from './operations/create-link.ts';
import { getConnection } from './operations/get-connection.ts';
import { getPerformance } from './operations/get-performance.ts';
import { listLeads } from './operations/list-leads.ts';
import { searchProducts } from './operations/search-products.ts';
import { submitLead } from './operations/submit-lead.ts';

/** What an agent can do: one line per operation. Everything published is derived from here. */
export const operations = {
  getConnection,
  searchProducts,
  createLink,
  createHandoff,
  listLeads,
  submitLead,
  getPerformance,
} as const;

export type Operations = typeof operations;
export type OperationId = keyof Operations;
