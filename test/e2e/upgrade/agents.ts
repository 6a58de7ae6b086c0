/** How agents of the story call the service over MCP and A2A. */
import type { Asked } from './exchange.ts';
import { idOf, type Json, type Recorder } from './recorder.ts';

const MCP_VERSION = '2026-07-28';

/** Calls a tool; its idempotency key is the title of the exchange. */
export const callTool = async (
  recorder: Recorder,
  name: string,
  { as = 'acme', ...args }: Json & { as?: string },
): Promise<Json> => {
  const client = {
    'io.modelcontextprotocol/protocolVersion': MCP_VERSION,
    'io.modelcontextprotocol/clientInfo': { name: 'fixture', version: '1.0.0' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const params = { name, arguments: args, _meta: client };
  const { result } = await recorder.write(`mcp ${String(args['idempotency_key'])}`, {
    method: 'POST',
    path: '/api/affiliate/mcp',
    as,
    headers: {
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': MCP_VERSION,
      'mcp-method': 'tools/call',
      'mcp-name': name,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
  });
  const { isError, structuredContent } = result as { isError?: boolean; structuredContent: Json };
  if (isError === true) throw new Error(`${name}: ${JSON.stringify(result)}`);
  return structuredContent;
};

/** A request over A2A. */
export const a2a = (method: string, params: object): Asked => ({
  method: 'POST',
  path: '/api/affiliate/a2a',
  as: 'acme',
  headers: { 'a2a-version': '1.0' },
  body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
});

/** Sends a message with a data part, and resolves to the id of its task. */
export const sendTask = async (
  recorder: Recorder,
  messageId: string,
  data: object,
): Promise<string> => {
  const message = { messageId, role: 'ROLE_USER', parts: [{ data }] };
  const { result } = await recorder.write(`a2a ${messageId}`, a2a('SendMessage', { message }));
  return idOf((result as { task: Json }).task);
};
