import { LIMITS } from './limits.ts';
import type { Operation, ToolOperation } from './operation.ts';

/** Of the contract, as every published document says it. */
export const CONTRACT_VERSION = '1.0.0';

/** Below these paths lie the operations of agents, and those of people. */
export const AGENT_BASE = '/api/affiliate/v1';
export const DESK_BASE = '/api/desk/v1';

export type Place = 'path' | 'header' | 'query' | 'body';

/**
 * Where a field of the flat input travels over HTTP: named in the path, path; idempotency_key,
 * header; GET, query; otherwise body. Derived, so that REST, MCP and A2A take the same object.
 */
export const placeOf = (operation: Pick<Operation, 'http'>, field: string): Place => {
  if (operation.http.path.includes(`{${field}}`)) return 'path';
  if (field === 'idempotency_key') return 'header';
  return operation.http.method === 'GET' ? 'query' : 'body';
};

/** The path of a call, with what travels in it put in. */
export const pathOf = (
  { http }: Pick<Operation, 'http'>,
  input: Readonly<Record<string, unknown>>,
): string =>
  http.path.replaceAll(/\{(\w+)\}/g, (_whole, field: string) =>
    encodeURIComponent(String(input[field])),
  );

/** What a field that travels as a header is called there. */
export const IDEMPOTENCY_HEADER = 'Idempotency-Key';

/** Not of the input: how a read is told what it must have seen. */
export const CONSISTENCY_HEADER = {
  name: 'Consistency-Token',
  description: `Of an answer before: this one waits, at most ${LIMITS.CONSISTENCY_WAIT_MS_MAX} ms, until it holds what that one held`,
} as const;

export const takesConsistencyToken = ({ problems }: Pick<Operation, 'problems'>): boolean =>
  problems.includes('consistency_token_invalid');

/** Name of the MCP tool: the operation's id in snake_case. */
export const toolName = ({ id }: Pick<ToolOperation, 'id'>): string =>
  id.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
