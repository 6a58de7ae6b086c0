import type { IncomingHttpHeaders } from 'node:http';
import { boundaryOf } from '#contracts/boundaries.ts';
import type { AgentApp } from '#src/registries/app.ts';
import type { Admission, AgentCaller, Budget } from '#src/shared/call.ts';
import { done, forbidden, type Refusal, refuse } from '#src/shared/outcome.ts';
import { refusedArguments } from './call-tool.ts';
import { metaOf, modernFault, versionOf } from './versions.ts';
import { isRequestName, type McpMethod, methodNamed } from './methods.ts';
import type { Era, McpAnswer, McpFault, Message, RpcId } from './wire.ts';
import { mcpFaultOf, idOf, OLDEST, readMessage } from './wire.ts';

/** A request of a known caller, as it was received over HTTP. */
export type ReceivedBody = {
  app: AgentApp;
  admission: Admission<AgentCaller>;
  requestId: string;
  headers: IncomingHttpHeaders;
  body: unknown;
};

/** The answer and its id; a notification has no answer. */
export type Handled = { id: RpcId | null | undefined; answer: McpAnswer | undefined };

type About = { operation: string; budget: Budget };
type Prepared = About & ({ fault: McpFault } | Ready);
type Ready = { fault?: undefined; era: Era; message: Message; method: McpMethod | undefined };

/** What a request is audited as before its message is parsed. */
export const UNREAD: About = { operation: 'mcp:request', budget: 'read' };

/** Audit records have no method names that clients make up. */
const UNKNOWN = 'mcp:unknown';

const NOTIFICATIONS: ReadonlySet<string> = new Set([
  'notifications/initialized',
  'notifications/cancelled',
  'notifications/progress',
  'notifications/roots/list_changed',
]);

const NO_ID = refuse('malformed_request', 'A request needs an id: a string or a whole number.');

const READ = done(null);

/**
 * Answers one message. Every message takes from a budget first and is audited once: by the operation that it performs,
 * or here.
 */
export const handleMessage = async (received: ReceivedBody): Promise<Handled> => {
  const { app, admission, requestId, headers } = received;
  const id = idOf(received.body) ?? noId(headers);
  const prepared = prepare(received);
  const conclude = (refusal?: Refusal): void =>
    app.agents.conclude(admission, prepared.operation, refusal ?? READ);
  const overLimit = app.agents.charge(admission, prepared.budget);
  const fault = overLimit ? mcpFaultOf(overLimit) : prepared.fault;
  if (fault || prepared.fault) {
    conclude(fault?.refusal);
    return { id, answer: fault };
  }
  const { era, message, method } = prepared;
  if (!method) {
    conclude();
    return { id, answer: undefined };
  }
  const consistencyToken = tokenOf(headers, message);
  const { params } = message;
  const answer = await method.answer({ app, admission, requestId, era, params, consistencyToken });
  conclude(answer.ok ? undefined : answer.refusal);
  return { id, answer };
};

/** The tool result for arguments whose JSON is refused; undefined when the body calls no tool. */
export const refusedCall = (
  { app, requestId, ...request }: Pick<ReceivedBody, 'app' | 'requestId' | 'headers' | 'body'>,
  refusal: Refusal,
): string | undefined => {
  const prepared = prepare(request);
  return prepared.fault || prepared.method === undefined || prepared.message.method !== 'tools/call'
    ? undefined
    : refusedArguments({ app, requestId, era: prepared.era }, refusal);
};

/** The id of an error whose request has no valid one: absent since 2025-11-25, and null before. */
export const noId = (headers: IncomingHttpHeaders): null | undefined =>
  headers['mcp-protocol-version'] === OLDEST ? null : undefined;

/** Parses and checks a request before it takes from a budget. */
const prepare = ({ headers, body }: Pick<ReceivedBody, 'headers' | 'body'>): Prepared => {
  const message = readMessage(body);
  if ('ok' in message) return { ...UNREAD, fault: message };
  const version = versionOf(headers, message);
  if (!version.ok) return { ...UNREAD, fault: version };
  const { era } = version;
  if (message.id === undefined && isRequestName(message.method))
    return { ...UNREAD, fault: mcpFaultOf(NO_ID) };
  if (message.id === undefined) {
    const operation = NOTIFICATIONS.has(message.method) ? `mcp:${message.method}` : UNKNOWN;
    return { operation, budget: 'read', era, message, method: undefined };
  }
  const method = methodNamed(message.method, era);
  if (!method) return unknownMethod(message.method, era);
  const about = method.about?.(message.params) ?? {
    operation: `mcp:${message.method}`,
    budget: 'read',
  };
  const fault = era === 'modern' ? modernFault(headers, message) : undefined;
  return fault ? { ...about, fault } : { ...about, era, message, method };
};

const unknownMethod = (name: string, era: Era): Prepared => {
  const boundary = boundaryOf(name);
  const refusal = boundary
    ? forbidden(boundary)
    : refuse('route_not_found', 'There is no such method in this version.');
  const fault = mcpFaultOf(refusal, { code: -32601, status: era === 'modern' ? 404 : 200 });
  return { operation: boundary ? `boundary:${boundary}` : UNKNOWN, budget: 'read', fault };
};

/** The consistency token of the header, or of _meta, for clients that cannot set headers for one call. */
const tokenOf = (headers: IncomingHttpHeaders, { params }: Message): string | undefined => {
  const header = headers['consistency-token'];
  if (header !== undefined) return String(header);
  const token = metaOf(params)['consistencyToken'];
  return typeof token === 'string' ? token : undefined;
};
