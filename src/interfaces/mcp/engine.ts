import type { IncomingHttpHeaders } from 'node:http';
import { boundaryOf } from '#contracts/boundaries.ts';
import type { AgentCaller } from '#src/app/pipeline/call.ts';
import type { Deps } from '#src/app/pipeline/deps.ts';
import { note } from '#src/app/pipeline/agent-dispatch.ts';
import type { Outcome, Refusal } from '#src/app/pipeline/outcome.ts';
import { done, forbidden, refuse } from '#src/app/pipeline/outcome.ts';
import type { Policy } from '../http/gate.ts';
import type { Answer } from './asked.ts';
import { refusedArguments } from './call-tool.ts';
import { headerEra, metaOf, modernFault, spokenIn } from './era.ts';
import type { Method } from './methods.ts';
import { methodNamed } from './methods.ts';
import type { Era, Fault, Message, RpcId } from './wire.ts';
import { faultOf, idOf, readMessage } from './wire.ts';

/** A request of a caller that is known, as it came over HTTP. */
export type Incoming = {
  deps: Deps;
  caller: AgentCaller;
  requestId: string;
  headers: IncomingHttpHeaders;
  body: unknown;
  /** Takes one call from the caller's budget; a refusal when nothing is left. */
  admit(policy: Policy): Refusal | undefined;
};

/** What goes back: under which id, and nothing at all to a notification. */
export type Handled = { id: RpcId | null | undefined; answer: Answer | undefined };

type About = { operation: string; policy: Policy };
type Prepared = About & ({ fault: Fault } | Ready);
type Ready = { fault?: undefined; era: Era; message: Message; method: Method | undefined };

/** What a request is recorded as before its message is known. */
export const UNREAD: About = { operation: 'mcp:request', policy: 'read' };

/** Names of clients do not go into the record. */
const UNKNOWN = 'mcp:unknown';

const NOTIFICATIONS: ReadonlySet<string> = new Set([
  'notifications/initialized',
  'notifications/cancelled',
  'notifications/progress',
  'notifications/roots/list_changed',
]);

const READ = done(null);

/**
 * One message in, one answer out, and one entry in the record: whatever the message is, it is counted
 * against a limit first, and noted here or on the road that it takes.
 */
export const handle = async (incoming: Incoming): Promise<Handled> => {
  const { deps, caller, requestId, headers } = incoming;
  const prepared = prepare(incoming);
  const overdrawn = incoming.admit(prepared.policy);
  const id = idOf(incoming.body) ?? noId(headers);
  const noted = (outcome: Outcome<unknown>): void =>
    note(deps, prepared.operation, { caller, surface: 'mcp', requestId }, outcome);
  if (overdrawn || prepared.fault) {
    const fault = overdrawn ? faultOf(overdrawn) : prepared.fault;
    if (fault) noted(fault.refusal);
    return { id, answer: fault };
  }
  const { era, message, method } = prepared;
  if (!method) {
    noted(READ);
    return { id, answer: undefined };
  }
  const consistencyToken = tokenOf(headers, message);
  const { params } = message;
  const answer = await method.answer({ deps, caller, requestId, era, params, consistencyToken });
  if (!answer.onRecord) noted(answer.ok ? READ : answer.refusal);
  return { id, answer };
};

/** The result of a tool whose arguments are no JSON to be taken; undefined where no tool is called. */
export const refusedCall = (
  { deps, requestId, ...request }: Pick<Incoming, 'deps' | 'requestId' | 'headers' | 'body'>,
  refusal: Refusal,
): string | undefined => {
  const prepared = prepare(request);
  return prepared.fault || prepared.method === undefined || prepared.message.method !== 'tools/call'
    ? undefined
    : refusedArguments({ deps, requestId, era: prepared.era }, refusal);
};

/** Legacy clients read null where there is no id; modern ones want the member left out. */
export const noId = (headers: IncomingHttpHeaders): null | undefined =>
  headerEra(headers) === 'modern' ? undefined : null;

/** Everything that can be said of a request before it is let in. */
const prepare = ({ headers, body }: Pick<Incoming, 'headers' | 'body'>): Prepared => {
  const message = readMessage(body);
  if ('ok' in message) return { ...UNREAD, fault: message };
  const spoken = spokenIn(headers, message);
  if (!spoken.ok) return { ...UNREAD, fault: spoken };
  const { era } = spoken;
  if (message.id === undefined) {
    const operation = NOTIFICATIONS.has(message.method) ? `mcp:${message.method}` : UNKNOWN;
    return { operation, policy: 'read', era, message, method: undefined };
  }
  const method = methodNamed(message.method, era);
  if (!method) return unknownMethod(message.method, era);
  const about = method.about?.(message.params) ?? {
    operation: `mcp:${message.method}`,
    policy: 'read',
  };
  const fault = era === 'modern' ? modernFault(headers, message) : undefined;
  return fault ? { ...about, fault } : { ...about, era, message, method };
};

const unknownMethod = (name: string, era: Era): Prepared => {
  const boundary = boundaryOf(name);
  const refusal = boundary
    ? forbidden(boundary)
    : refuse('route_not_found', 'There is no such method in this version.');
  const fault = faultOf(refusal, { code: -32601, status: era === 'modern' ? 404 : 200 });
  return { operation: boundary ? `boundary:${boundary}` : UNKNOWN, policy: 'read', fault };
};

/** From the header as in REST, or from _meta, where a client cannot set headers for one call. */
const tokenOf = (headers: IncomingHttpHeaders, { params }: Message): string | undefined => {
  const header = headers['consistency-token'];
  if (header !== undefined) return String(header);
  const token = metaOf(params)['consistencyToken'];
  return typeof token === 'string' ? token : undefined;
};
