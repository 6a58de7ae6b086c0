import { CONTRACT_VERSION } from '#contracts/places.ts';
import { type ProblemCode, PROBLEMS, UNIVERSAL_PROBLEMS } from '#contracts/problems.ts';
import { type Refusal, refuse } from '#src/app/pipeline/outcome.ts';

/** JSON-RPC 2.0 as MCP speaks it. Rules and versions: the specification of 2026-07-28 and before. */
export const MODERN = '2026-07-28';
/** Newest first. Not 2025-03-26: that one obliges a server to take batches. */
export const VERSIONS = [MODERN, '2025-11-25', '2025-06-18'] as const;
export const LEGACY_DEFAULT = '2025-11-25';

/** modern: every request stands for itself; legacy: `initialize` comes first. */
export type Era = 'modern' | 'legacy';

export const META = {
  version: 'io.modelcontextprotocol/protocolVersion',
  capabilities: 'io.modelcontextprotocol/clientCapabilities',
  server: 'io.modelcontextprotocol/serverInfo',
} as const;

export const SERVER = {
  name: 'tributary',
  title: 'Tributary',
  version: CONTRACT_VERSION,
} as const;

export const CAPABILITIES = { tools: {}, resources: {}, prompts: {} } as const;

export type RpcId = string | number;
export type Params = Record<string, unknown>;
/** A request; a notification when it has no id. */
export type Message = { id?: RpcId; method: string; params: Params };

/** A refusal as this protocol says it: JSON-RPC code, and the status of the HTTP answer. */
export type Fault = { ok: false; refusal: Refusal; code: number; status: number };

/** Codes that JSON-RPC or MCP name; every other problem is its HTTP status times 100. */
const CODES: Partial<Record<ProblemCode, number>> = {
  malformed_json: -32700,
  malformed_request: -32600,
  route_not_found: -32601,
  parameter_invalid: -32602,
  internal_error: -32603,
  header_mismatch: -32020,
  version_unsupported: -32022,
  agent_suspended: 40301,
  storage_full: 50300,
};

export const faultOf = (
  refusal: Refusal,
  over: Partial<Pick<Fault, 'code' | 'status'>> = {},
): Fault => {
  const { status } = PROBLEMS[refusal.code];
  return { ok: false, refusal, code: CODES[refusal.code] ?? status * 100, status, ...over };
};

/** Wrong parameters of a known method: an answer like any other, not a failure of the transport. */
export const invalidParams = (pointer: string, code: string, detail: string): Fault => {
  const errors = [{ pointer, code, detail }];
  return faultOf(refuse('parameter_invalid', 'The params are not valid.', { errors }), {
    status: 200,
  });
};

const OF_THE_PROTOCOL: ReadonlySet<ProblemCode> = new Set<ProblemCode>([
  ...UNIVERSAL_PROBLEMS,
  'scope_missing',
  'secret_in_payload',
  'storage_unavailable',
  'storage_full',
]);

/** Whether a model can do something about it: then it is the tool's result, not a JSON-RPC error. */
export const isForModel = ({ code }: Refusal): boolean =>
  code === 'read_model_rebuilding' || !OF_THE_PROTOCOL.has(code);

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isId = (value: unknown): value is RpcId =>
  typeof value === 'string' || (typeof value === 'number' && Number.isFinite(value));

/** The id to answer under, where a body has one that can be answered under. */
export const idOf = (body: unknown): RpcId | undefined =>
  isRecord(body) && isId(body['id']) ? body['id'] : undefined;

const shapeFault = (detail: string): Fault => faultOf(refuse('malformed_request', detail));

/** The message that a body is, or why it is none. */
export const readMessage = (body: unknown): Message | Fault => {
  if (Array.isArray(body)) return shapeFault('Batches are not taken: send one message a request.');
  if (!isRecord(body)) return shapeFault('A message is one JSON object.');
  const { jsonrpc, id, method, params = {} } = body;
  if (jsonrpc !== '2.0') return shapeFault('jsonrpc must be "2.0".');
  if (typeof method !== 'string') return shapeFault('method must be a string.');
  if ('id' in body && !isId(id)) return shapeFault('id must be a string or a number.');
  if (!isRecord(params)) return shapeFault('params must be an object.');
  return { ...(isId(id) && { id }), method, params };
};

/** How long a client may keep an answer, and whether others may share it. Known to the modern era only. */
export type Caching = { ttlMs: number; cacheScope: 'public' | 'private' };

type Parts = { caching?: Caching; meta?: Record<string, unknown> };

/** The members of a result as this era wants them around what was asked for. */
export const resultOf = (era: Era, members: object, { caching, meta }: Parts = {}): object =>
  era === 'legacy'
    ? { ...members, ...(meta && { _meta: meta }) }
    : {
        ...members,
        resultType: 'complete',
        ...caching,
        _meta: { ...meta, [META.server]: SERVER },
      };

const CLOSING = Buffer.from('}');

/** Around a result that is JSON already: lists are kept as bytes, and records are written once. */
export const answerBody = (
  id: RpcId | null | undefined,
  result: string | Buffer,
): string | Buffer => {
  const opening = `{"jsonrpc":"2.0","id":${JSON.stringify(id ?? null)},"result":`;
  return typeof result === 'string'
    ? `${opening}${result}}`
    : Buffer.concat([Buffer.from(opening), result, CLOSING]);
};

export const errorText = (
  id: RpcId | null | undefined,
  code: number,
  problem: { detail: string },
): string =>
  JSON.stringify({
    jsonrpc: '2.0',
    ...(id !== undefined && { id }),
    error: { code, message: problem.detail, data: problem },
  });
