import type { EventData } from '#contracts/registries/events.ts';
import type { TestApp } from '../world/app.ts';

export const MCP = '/api/affiliate/mcp';
export const MODERN = '2026-07-28';

type Content = { type: string; text: string };
export type RpcResult = {
  content: Content[];
  structuredContent?: Record<string, unknown>;
  isError?: boolean;
  _meta: Record<string, unknown>;
} & Record<string, unknown>;
export type RpcBody = {
  jsonrpc: string;
  id: string | number | null;
  result?: RpcResult;
  error?: { code: number; message: string; data: Record<string, unknown> };
};
export type McpAnswer = {
  status: number;
  text: string;
  headers: Record<string, string>;
  body: RpcBody;
};
export type Headers = Record<string, string | undefined>;

/** The `_meta` of a request by the modern version of the protocol. */
export const modernMeta = (over: object = {}): object => ({
  'io.modelcontextprotocol/protocolVersion': MODERN,
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
  ...over,
});

/** The headers that repeat parts of such a body. */
export const modernHeaders = (method: string, params: Record<string, unknown>): Headers => {
  const name = params['name'] ?? params['uri'];
  return {
    'mcp-protocol-version': MODERN,
    'mcp-method': method,
    ...(typeof name === 'string' && { 'mcp-name': name }),
  };
};

const present = (headers: Headers): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );

/** A client of the endpoint, in both versions of the protocol; omits undefined headers. */
export const mcpAgent = (app: TestApp, key: string | undefined) => {
  const raw = (payload: unknown, headers: Headers = {}): Promise<McpAnswer> =>
    app.send({
      method: 'POST',
      url: MCP,
      key,
      payload: typeof payload === 'string' ? payload : JSON.stringify(payload),
      headers: present({ 'content-type': 'application/json', ...headers }),
    });
  const legacy = (method: string, params?: object, headers?: Headers) =>
    raw({ jsonrpc: '2.0', id: 1, method, ...(params && { params }) }, headers);
  const modern = (method: string, params: Record<string, unknown> = {}, headers: Headers = {}) =>
    raw(
      { jsonrpc: '2.0', id: 'a-1', method, params: { _meta: modernMeta(), ...params } },
      { ...modernHeaders(method, params), ...headers },
    );
  /** Returns a tool's result. Throws on a JSON-RPC error. */
  const call = async (name: string, input: object = {}, headers?: Headers): Promise<RpcResult> => {
    const { body, text } = await legacy('tools/call', { name, arguments: input }, headers);
    if (!body.result) throw new Error(text);
    return body.result;
  };
  /** Returns the structured result of a call. Throws when it fails. */
  const done = async (name: string, input: object = {}): Promise<Record<string, unknown>> => {
    const { structuredContent, content } = await call(name, input);
    if (!structuredContent) throw new Error(content[0]?.text);
    return structuredContent;
  };
  return { raw, legacy, modern, call, done };
};

export type McpAgent = ReturnType<typeof mcpAgent>;

/** Returns a list in a result, or an empty one. */
export const listIn = <Item = { uri: string; text: string }>(
  { body }: Pick<McpAnswer, 'body'>,
  name: string,
): Item[] => (body.result?.[name] ?? []) as Item[];

/** Returns the problem in a tool's result. */
export const toldBy = ({ content, isError }: RpcResult): Record<string, unknown> => {
  if (!isError) throw new Error('the result is no error');
  return JSON.parse(content[0]?.text ?? '') as Record<string, unknown>;
};

export type Entry = EventData<'ActivityRecorded'>['entries'][number];

/** Returns the audit entries of an agent's calls in log order. */
export const activityOf = async (app: TestApp, agentId: string): Promise<Entry[]> => {
  const { audit, log } = app.service.deps;
  await audit.flush();
  const events = await log.readAll({ after: 0, limit: 10_000, types: ['ActivityRecorded'] });
  return events
    .map(({ data }) => data as EventData<'ActivityRecorded'>)
    .filter(({ agent_id }) => agent_id === agentId)
    .flatMap(({ entries }) => entries);
};

/** Returns one `surface operation decision code` for each audited call. */
export const callsOf = async (app: TestApp, agentId: string): Promise<string[]> =>
  (await activityOf(app, agentId)).flatMap(({ operation, surface, decision, code = '', count }) =>
    Array.from({ length: count }, () => `${surface} ${operation} ${decision} ${code}`.trim()),
  );
