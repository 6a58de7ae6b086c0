import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { PROBLEMS } from '#contracts/problems.ts';
import type { AgentCaller } from '#src/app/pipeline/call.ts';
import type { Deps } from '#src/app/pipeline/deps.ts';
import { note } from '#src/app/pipeline/agent-dispatch.ts';
import type { Refusal } from '#src/app/pipeline/outcome.ts';
import { noteFailure } from '../http/failed-requests.ts';
import type { Gate } from '../http/gate.ts';
import { problemHeaders } from '../http/problem.ts';
import { negotiate } from '../rest/accept.ts';
import { documentRoutes, MCP_PATH } from './documents.ts';
import { handle, noId, refusedCall, UNREAD } from './engine.ts';
import { isOwnOrigin, originRefusal } from '../http/origin.ts';
import type { Fault, RpcId } from './wire.ts';
import { answerBody, errorText, faultOf, idOf } from './wire.ts';
import { problemOf } from './wording.ts';

const ALLOWED_HEADERS =
  'Authorization, Content-Type, Accept, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id, ' +
  'Last-Event-ID, Consistency-Token';
const EXPOSED_HEADERS =
  'WWW-Authenticate, Retry-After, MCP-Protocol-Version, Consistency-Token, Request-Id';
const PREFLIGHT_S = '86400';

const EVENT_STREAM = 'text/event-stream';

/** The one endpoint of MCP, and the public documents that speak of it. No sessions, no streams. */
export const mcpRoutes = (server: FastifyInstance, deps: Deps, gate: Gate): void => {
  const callers = new WeakMap<FastifyRequest, AgentCaller>();

  /** Pages of this service may call; a preflight is answered before anybody is asked for a key. */
  const shareWith = ({ headers: { origin } }: FastifyRequest, reply: FastifyReply): void => {
    if (origin === undefined || !isOwnOrigin(origin, deps.origin())) return;
    reply.headers({
      'access-control-allow-origin': origin,
      'access-control-expose-headers': EXPOSED_HEADERS,
      vary: 'Origin',
    });
  };

  const fail = (reply: FastifyReply, id: RpcId | null | undefined, fault: Fault): FastifyReply => {
    const { refusal, status, code } = fault;
    noteFailure(reply.request, refusal.code);
    const requestId = reply.request.id;
    const problem = problemOf(refusal, { origin: deps.origin(), requestId });
    const headers = { ...problemHeaders(refusal, deps.origin()), 'request-id': requestId };
    reply.code(status).headers({ ...headers, 'content-type': 'application/json; charset=utf-8' });
    return reply.send(errorText(id, code, problem));
  };

  /** Refused before there was a message: by the door, or because the body was none. */
  const refuseRequest = (reply: FastifyReply, refusal: Refusal): FastifyReply => {
    const { request } = reply;
    const caller = callers.get(request);
    const told = (caller && gate.admit(reply, caller, UNREAD.policy)) ?? refusal;
    if (caller && PROBLEMS[told.code].status < 500)
      note(deps, UNREAD.operation, { caller, surface: 'mcp', requestId: request.id }, told);
    const { headers, body, id: requestId } = request;
    const id = idOf(body) ?? noId(headers);
    const result = told === refusal && refusedCall({ deps, requestId, headers, body }, refusal);
    return result ? send(reply, id, result) : fail(reply, id, faultOf(told));
  };

  const send = (
    reply: FastifyReply,
    id: RpcId | null | undefined,
    result: string | Buffer,
  ): FastifyReply => {
    const body = answerBody(id, result);
    reply.code(200);
    if (wantsEvents(reply.request))
      return reply.type(EVENT_STREAM).send(`event: message\ndata: ${String(body)}\n\n`);
    reply.header('content-type', 'application/json; charset=utf-8');
    return reply.send(body);
  };

  server.route({
    method: 'OPTIONS',
    url: MCP_PATH,
    handler: async (request, reply) => {
      shareWith(request, reply);
      return reply
        .headers({
          allow: 'POST, OPTIONS',
          'access-control-allow-methods': 'POST',
          'access-control-allow-headers': ALLOWED_HEADERS,
          'access-control-expose-headers': EXPOSED_HEADERS,
          'access-control-max-age': PREFLIGHT_S,
        })
        .code(204)
        .send();
    },
  });

  server.route({
    method: 'POST',
    url: MCP_PATH,
    config: { refuse: refuseRequest },
    // With a callback, not async: a promise per hook shows in the time of a list.
    onRequest: (request, reply, next) => {
      reply.header('cache-control', 'no-store');
      const stranger = originRefusal(request, deps.origin());
      if (stranger) {
        void refuseRequest(reply, stranger);
        return;
      }
      shareWith(request, reply);
      const caller = gate.identify(request, { ...UNREAD, surface: 'mcp' });
      if (caller.ok) {
        callers.set(request, caller.value);
        next();
      } else void refuseRequest(reply, caller);
    },
    handler: async (request, reply) => {
      // Looked up again after the body has come: a revocation in between counts.
      const caller = gate.again(request);
      if (!caller.ok) return refuseRequest(reply, caller);
      const { id, answer } = await handle({
        deps,
        caller: caller.value,
        requestId: request.id,
        headers: request.headers,
        body: request.body,
        admit: (policy) => gate.admit(reply, caller.value, policy),
      });
      if (!answer) return reply.code(202).send();
      if (!answer.ok) return fail(reply, id, answer);
      if (answer.headers) reply.headers(answer.headers);
      return send(reply, id, answer.result);
    },
  });

  documentRoutes(server, deps.origin);
};

/** A client that takes an event stream only gets its one answer as the one event of it. */
const wantsEvents = ({ headers: { accept } }: FastifyRequest): boolean =>
  accept !== undefined &&
  !accept.includes('application/json') &&
  !accept.includes('*/*') &&
  negotiate(accept, ['application/json', EVENT_STREAM]) === EVENT_STREAM;
