import { z } from 'zod';
import { BOUNDARIES } from '#contracts/boundaries.ts';
import { toolName } from '#contracts/places.ts';
import type { connection } from '#contracts/access/connection.records.ts';
import { SCOPE_NAMES } from '#contracts/scopes.ts';

const scopes = z.array(z.enum(SCOPE_NAMES));

/** The limits that a caller of tools can reach. */
const LIMIT_NAMES = [
  'reads_per_minute',
  'writes_per_minute',
  'outreach_per_minute',
  'page_rows_max',
  'handoff_lines_max',
  'performance_days_max',
  'outreach_links_max',
  'tool_result_bytes_max',
] as const;

/** What get_connection answers: a model pays for every word, and the documents have the rest. */
export const toolConnection = z.object({
  agent: z.object({ id: z.string(), name: z.string(), owner_id: z.string() }),
  environment: z.enum(['live', 'test']),
  granted_scopes: scopes,
  missing_scopes: scopes,
  how_to_get: z.string().optional(),
  pending_request: z.object({ scopes }).optional(),
  tools: z.array(z.string()),
  boundaries: z.array(z.enum(BOUNDARIES.map(({ id }) => id))),
  limits: z.record(z.enum(LIMIT_NAMES), z.int()),
});

/** Reduces the connection of REST to what a model needs, with the names of tools. */
export const connectionForTools = (
  whole: z.output<typeof connection>,
): z.output<typeof toolConnection> => {
  const missing = whole.scopes.filter(({ granted }) => !granted);
  const { pending_scopes } = whole.review;
  return {
    agent: whole.agent,
    environment: whole.environment,
    granted_scopes: whole.granted_scopes,
    missing_scopes: missing.map(({ name }) => name),
    ...(missing[0]?.how_to_get !== undefined && { how_to_get: missing[0].how_to_get }),
    ...(pending_scopes && { pending_request: { scopes: pending_scopes } }),
    tools: whole.operations.filter(({ allowed }) => allowed).map(toolName),
    boundaries: BOUNDARIES.map(({ id }) => id),
    limits: Object.fromEntries(
      LIMIT_NAMES.map((name) => [name, whole.limits[name] ?? 0]),
    ) as Record<(typeof LIMIT_NAMES)[number], number>,
  };
};
