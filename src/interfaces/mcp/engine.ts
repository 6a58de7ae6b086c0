import type { IncomingHttpHeaders } from 'node:http';
import { boundaryOf } from '#contracts/boundaries.ts';
import type { AgentApp } from '#src/app/app.ts';
import type { Admission, Budget } from '#src/app/pipeline/admission.ts';
import type { AgentCaller } from '#src/app/pipeline/call.ts';
import { done, forbidden, type Refusal, refuse } from '#src/app/pipeline/outcome.ts';
import type { Answer } from './asked.ts';
import { refusedArguments } from './call-tool.ts';
import { headerEra, metaOf, modernFault, spokenIn } from './era.ts';
import { type Method, methodNamed } from './methods.ts';
import type { Era, Fault, Message, RpcId } from './wire.ts';
import { faultOf, idOf, readMessage } from './wire.ts';

/** A request of a caller that is known, as it came over HTTP. */
export type Incoming = {
  app: AgentApp;
  admission: Admission<AgentCaller>;
  requestId: string;
  headers: IncomingHttpHeaders;
  body: unknown;
};

/** What goes back: under which id, and nothing at all to a notification. */
export type Handled = { id: RpcId | null | undefined; answer: Answer | undefined };

type About = { operation: string; budget: Budget };
type Prepared = About & ({ fault: Fault } | Ready);
type Ready = { fault?: undefined; era: Era; message: Message; method: Method | undefined };

/** What a request is recorded as before its message is known. */
export const UNREAD: About = { operation: 'mcp:request', budget: 'read' };

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
 * Answers one message. Whatever it is, it is counted against a limit first, and audited once: by the operation
 * that it performs, or here.
 */
export const handle = async (incoming: Incoming): Promise<Handled> => {
  const { app, admission, requestId, headers } = incoming;
  const id = idOf(incoming.body) ?? noId(headers);
  const prepared = prepare(incoming);
  const conclude = (refusal?: Refusal): void =>
    app.agents.conclude(admission, prepared.operation, refusal ?? READ);
  const overLimit = app.agents.charge(admission, prepared.budget);
  const fault = overLimit ? faultOf(overLimit) : prepared.fault;
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

/** The result of a tool whose arguments are no JSON to be taken; undefined where no tool is called. */
export const refusedCall = (
  { app, requestId, ...request }: Pick<Incoming, 'app' | 'requestId' | 'headers' | 'body'>,
  refusal: Refusal,
): string | undefined => {
  const prepared = prepare(request);
  return prepared.fault || prepared.method === undefined || prepared.message.method !== 'tools/call'
    ? undefined
    : refusedArguments({ app, requestId, era: prepared.era }, refusal);
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
  const fault = faultOf(refusal, { code: -32601, status: era === 'modern' ? 404 : 200 });
  return { operation: boundary ? `boundary:${boundary}` : UNKNOWN, budget: 'read', fault };
};

/** From the header as in REST, or from _meta, where a client cannot set headers for one call. */
const tokenOf = (headers: IncomingHttpHeaders, { params }: Message): string | undefined => {
  const header = headers['consistency-token'];
  if (header !== undefined) return String(header);
  const token = metaOf(params)['consistencyToken'];
  return typeof token === 'string' ? token : undefined;
};
