/** Where each field of an operation is in a REST request. */
import { LIMITS } from './limits.ts';
import type { Operation, ToolOperation } from './operation.ts';

/** Version of the contract, in every published document. */
export const CONTRACT_VERSION = '1.0.0';

/** Base paths of the operations of agents, and of people. */
export const AGENT_BASE = '/api/affiliate/v1';
export const DESK_BASE = '/api/desk/v1';

/** Where a command line asks to be signed in, and then for its token; and the page where a person allows it. */
export const DEVICE_LOGIN = {
  ask: `${DESK_BASE}/login`,
  token: `${DESK_BASE}/login/token`,
  page: '/device',
} as const;

export type Place = 'path' | 'header' | 'query' | 'body';

/**
 * Returns where a field of the flat input is sent over HTTP: in the path if the path names it, idempotency_key in a
 * header, in the query of a GET, otherwise in the body. Derived, so that REST, MCP and A2A accept the same object.
 */
export const placeOf = (operation: Pick<Operation, 'http'>, field: string): Place => {
  if (operation.http.path.includes(`{${field}}`)) return 'path';
  if (field === 'idempotency_key') return 'header';
  return operation.http.method === 'GET' ? 'query' : 'body';
};

/** Returns the path of a call, with its fields filled in. */
export const pathOf = (
  { http }: Pick<Operation, 'http'>,
  input: Readonly<Record<string, unknown>>,
): string =>
  http.path.replaceAll(/\{(\w+)\}/g, (_whole, field: string) =>
    encodeURIComponent(String(input[field])),
  );

/** Converts a contract's path to fastify's: `{name}` to `:name`. */
export const routePath = (base: string, path: string): string =>
  base + path.replaceAll(/\{(\w+)\}/g, ':$1');

export const IDEMPOTENCY_HEADER = 'Idempotency-Key';

/** Not a field of the input: the state that a read must have reached before it answers. */
export const CONSISTENCY_HEADER = {
  name: 'Consistency-Token',
  description: `Token of an earlier answer: this call waits at most ${LIMITS.CONSISTENCY_WAIT_MS_MAX} ms until it reflects at least that state`,
} as const;

/** Not a field of the input: marks a CSV file as UTF-8 for Excel, which otherwise guesses another encoding. */
export const EXCEL_PARAMETER = {
  name: 'excel',
  description:
    'With Accept: text/csv: 1 begins the file with a byte-order mark, so that Excel shows its accents. The same as ' +
    'Accept: text/csv; excel=1',
} as const;

export const answersCsv = ({ alsoAs = [] }: { alsoAs?: readonly string[] }): boolean =>
  alsoAs.includes('text/csv');

export const acceptsConsistencyToken = ({ problems }: Pick<Operation, 'problems'>): boolean =>
  problems.includes('consistency_token_invalid');

/** Tools that have another name: the desk has an operation of the same name, and no agent can name that. */
const TOOL_NAMES: Readonly<Record<string, string>> = { withdrawUnseenHandoff: 'withdraw_handoff' };

/** Returns the name of the MCP tool: the operation's id in snake_case. */
export const toolName = ({ id }: Pick<ToolOperation, 'id'>): string =>
  TOOL_NAMES[id] ?? id.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
