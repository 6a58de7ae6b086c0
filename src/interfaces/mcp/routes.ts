/** The route of MCP over HTTP. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { AgentApp } from '#src/registries/app.ts';
import type { Admission, AgentCaller } from '#src/shared/call.ts';
import type { Refusal } from '#src/shared/outcome.ts';
import { rememberFailure, problemHeaders } from '#src/web/problem.ts';
import { arrivalOf } from '#src/web/http.ts';
import { negotiate } from '#src/interfaces/rest/routes.ts';
import { documentRoutes, MCP_PATH } from './documents.ts';
import { handleMessage, noId, refusedCall, UNREAD } from './engine.ts';
import { webAccess } from '#src/web/origin.ts';
import {
  answerBody,
  batchOf,
  errorText,
  type McpFault,
  mcpFaultOf,
  idOf,
  type RpcId,
  problemOf,
} from './wire.ts';

const ALLOWED_HEADERS =
  'Authorization, Content-Type, Accept, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id, ' +
  'Last-Event-ID, Consistency-Token';
const EXPOSED_HEADERS =
  'WWW-Authenticate, Retry-After, MCP-Protocol-Version, Consistency-Token, Request-Id';

const JSON_TYPE = 'application/json; charset=utf-8';
const EVENT_STREAM = 'text/event-stream';

const accessFor = ({ origin }: AgentApp, webOrigins: readonly string[]) =>
  webAccess({
    own: origin,
    named: webOrigins,
    headers: ALLOWED_HEADERS,
    exposed: EXPOSED_HEADERS,
  });

/** Serves the endpoint of MCP, without sessions and streams, and the public documents about it. */
export const mcpRoutes = (
  server: FastifyInstance,
  app: AgentApp,
  { webOrigins }: { webOrigins: readonly string[] },
): void => {
  const access = accessFor(app, webOrigins);
  const admissions = new WeakMap<FastifyRequest, Admission<AgentCaller>>();
  /** Refused for an overload, which is answered in the form of what the body calls. */
  const overloads = new WeakMap<FastifyRequest, Refusal>();

  /** Answers a refusal before the message is parsed: of a credential, or of a malformed body. */
  const refuseRequest = (reply: FastifyReply, refusal: Refusal): FastifyReply => {
    const { request } = reply;
    const admission = admissions.get(request);
    const early = overloads.get(request) ?? refusal;
    const answered = (admission && app.agents.charge(admission, UNREAD.budget)) ?? early;
    if (admission) {
      reply.headers(admission.headers);
      app.agents.conclude(admission, UNREAD.operation, answered);
    }
    const { headers, body, id: requestId } = request;
    const id = idOf(body) ?? noId(headers);
    const result = refusedCall({ app, requestId, headers, body }, answered);
    if (result && answered.retryAfterS !== undefined)
      reply.header('retry-after', answered.retryAfterS);
    return result
      ? sendBody(reply, answerBody(id, result))
      : sendFault(app, reply, { id, fault: mcpFaultOf(answered) });
  };

  server.route({ method: 'OPTIONS', url: MCP_PATH, handler: access.preflight });
  server.route({
    method: 'POST',
    url: MCP_PATH,
    config: { refuse: refuseRequest },
    async onRequest(request, reply) {
      reply.header('cache-control', 'no-store');
      access.allow(request, reply);
      const arrival = arrivalOf(request, 'mcp');
      const admitted =
        access.refusal(request) ??
        (await app.agents.admit(arrival, { exchange: UNREAD.operation }));
      if (admitted.ok) admissions.set(request, admitted.value);
      else if (admitted.code === 'overloaded') overloads.set(request, admitted);
      else return refuseRequest(reply, admitted);
      return undefined;
    },
    handler: async (request, reply) => {
      const overload = overloads.get(request);
      if (overload) return refuseRequest(reply, overload);
      const admission = admissions.get(request);
      if (!admission) throw new Error('a message was reached without an admission');
      const revoked = app.agents.confirm(admission);
      if (revoked) return refuseRequest(reply, revoked);
      return answerMessage(app, admission, reply);
    },
  });

  documentRoutes(server, app.origin);
};

/** Handles the message of an admitted request. */
const answerMessage = async (
  app: AgentApp,
  admission: Admission<AgentCaller>,
  reply: FastifyReply,
): Promise<FastifyReply> => {
  const { id: requestId, headers, body } = reply.request;
  const messages = batchOf(headers, body);
  if (messages) return answerBatch(app, admission, reply, messages);
  const { id, answer } = await handleMessage({ app, admission, requestId, headers, body });
  reply.headers(admission.headers);
  if (!answer) return reply.code(202).send();
  if (!answer.ok) return sendFault(app, reply, { id, fault: answer });
  if (answer.headers) reply.headers(answer.headers);
  return sendBody(reply, answerBody(id, answer.result));
};

/** Handles the messages of a batch in their order, and answers those that have an answer. */
const answerBatch = async (
  app: AgentApp,
  admission: Admission<AgentCaller>,
  reply: FastifyReply,
  messages: readonly unknown[],
): Promise<FastifyReply> => {
  const { id: requestId, headers } = reply.request;
  const answers: string[] = [];
  for (const body of messages) {
    const own = { ...admission, isAudited: false };
    const { id, answer } = await handleMessage({
      app,
      admission: own,
      requestId,
      headers,
      body,
    });
    reply.headers(own.headers);
    if (!answer) continue;
    const text = answer.ok ? answerBody(id, answer.result) : faultText(app, reply, id, answer);
    answers.push(String(text));
  }
  return answers.length === 0 ? reply.code(202).send() : sendBody(reply, `[${answers.join(',')}]`);
};

const faultText = (
  { origin }: AgentApp,
  { request }: FastifyReply,
  id: RpcId | null | undefined,
  { refusal, code }: McpFault,
): string => {
  rememberFailure(request, refusal.code, refusal.cause);
  return errorText(id, code, problemOf(refusal, { origin: origin(), requestId: request.id }));
};

const sendFault = (
  app: AgentApp,
  reply: FastifyReply,
  { id, fault }: { id: RpcId | null | undefined; fault: McpFault },
): FastifyReply => {
  const headers = {
    ...problemHeaders(fault.refusal, app.origin()),
    'request-id': reply.request.id,
    'content-type': JSON_TYPE,
  };
  return reply
    .code(fault.status)
    .headers(headers)
    .send(faultText(app, reply, id, fault));
};

const sendBody = (reply: FastifyReply, body: string | Buffer): FastifyReply => {
  reply.code(200);
  if (wantsEvents(reply.request))
    return reply
      .headers({ 'content-type': EVENT_STREAM, 'x-accel-buffering': 'no' })
      .send(`event: message\ndata: ${String(body)}\n\n`);
  return reply.header('content-type', JSON_TYPE).send(body);
};

/** Whether the client accepts only an event stream: it then gets its answer as the single event. */
const wantsEvents = ({ headers: { accept } }: FastifyRequest): boolean =>
  accept !== undefined &&
  !accept.includes('application/json') &&
  !accept.includes('*/*') &&
  negotiate(accept, ['application/json', EVENT_STREAM]) === EVENT_STREAM;
