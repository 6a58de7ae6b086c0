import type { Operation } from './operation.ts';

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
