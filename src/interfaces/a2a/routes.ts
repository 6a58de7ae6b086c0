import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import { boundaryOf } from '#contracts/boundaries.ts';
import { PROBLEMS } from '#contracts/problems.ts';
import type { AgentCaller } from '#src/app/pipeline/call.ts';
import { consistencyToken } from '#src/app/pipeline/consistency.ts';
import type { Deps } from '#src/app/pipeline/deps.ts';
import { note } from '#src/app/pipeline/agent-dispatch.ts';
import type { Refusal } from '#src/app/pipeline/outcome.ts';
import { forbidden, refuse } from '#src/app/pipeline/outcome.ts';
import { taskIntake } from '#src/app/tasks/send.ts';
import type { Gate } from '../http/gate.ts';
import { originRefusal } from '../http/origin.ts';
import { A2A_BASE, A2A_VERSION } from './card.ts';
import { cardRoutes } from './card-routes.ts';
import { HTTP_ROUTES } from './http-routes.ts';
import type { Answer, Context, Method, MethodName } from './methods.ts';
import { isMethod, METHODS, readParams } from './methods.ts';
import { taskStreams } from './streams.ts';
import { httpWire, rpcWire } from './answers.ts';
import type { Wire } from './answers.ts';

const RPC_PATHS = [A2A_BASE, `${A2A_BASE}/`];

type Asked = { name: MethodName; params: unknown };

/** A2A 1.0 over JSON-RPC and over HTTP+JSON: the same methods behind the same door. */
export const a2aRoutes = (server: FastifyInstance, deps: Deps, gate: Gate): void => {
  const callers = new WeakMap<FastifyRequest, AgentCaller>();
  const intake = taskIntake(deps);
  const streams = taskStreams(server, deps, gate);
  cardRoutes(server, deps);

  /** Refused before a method ran; on record once it is known who asked. */
  const refused = (reply: FastifyReply, wire: Wire, refusal: Refusal, id: string): FastifyReply => {
    const caller = callers.get(reply.request);
    const told = (caller && gate.admit(reply, caller, 'read')) ?? refusal;
    // What broke here is in the log of the service; no method has answered.
    if (caller && PROBLEMS[told.code].status < 500)
      note(deps, id, { caller, surface: 'a2a', requestId: reply.request.id }, told);
    return wire.refuse(reply, told, deps.origin());
  };

  const door =
    (wire: Wire, id: string) =>
    (request: FastifyRequest, reply: FastifyReply, next: () => void): void => {
      reply.header('cache-control', 'no-store');
      readable(request);
      const stranger = originRefusal(request, deps.origin());
      const caller = stranger ?? gate.identify(request, { operation: id, surface: 'a2a' });
      if (!caller.ok) {
        wire.refuse(reply, caller, deps.origin());
        return;
      }
      callers.set(request, caller.value);
      next();
    };

  /** Once the body is read: over JSON-RPC the refusal goes back under the id of the request. */
  const versioned =
    (wire: Wire, id: string) =>
    (request: FastifyRequest, reply: FastifyReply, next: () => void): void => {
      const version = versionRefusal(request);
      if (version) refused(reply, wire, version, id);
      else next();
    };

  const perform = async (
    reply: FastifyReply,
    wire: Wire,
    { name, params: raw }: Asked,
  ): Promise<FastifyReply> => {
    const { request } = reply;
    const before = callers.get(request);
    if (!before) throw new Error(`${name} was reached without a caller`);
    const method: Method = METHODS[name];
    const surface = { caller: before, surface: 'a2a' as const, requestId: request.id };
    const fail = (refusal: Refusal): FastifyReply => {
      note(deps, method.id, surface, refusal);
      return wire.refuse(reply, refusal, deps.origin());
    };
    // Looked up once more after the body has come: what was taken away in between counts.
    const again = gate.again(request);
    if (!again.ok) return fail(again);
    const { value: caller } = again;
    const read = readParams(method, raw);
    const overdrawn = gate.admit(reply, caller, read.ok ? method.policy(read.params) : 'read');
    if (overdrawn) return fail(overdrawn);
    if (!read.ok) return fail(read);
    const isStream = name === 'SendStreamingMessage' || name === 'SubscribeToTask';
    const place = isStream ? streams.reserve(caller) : undefined;
    if (place && !place.ok) return fail(place);
    const release = place?.value ?? (() => undefined);
    try {
      const token = request.headers['consistency-token'];
      const context: Context = {
        deps,
        intake,
        caller,
        requestId: request.id,
        consistencyToken: token === undefined ? undefined : String(token),
        reply,
      };
      const outcome = await method.run(context, read.params);
      if (!outcome.ok) {
        release();
        return wire.refuse(reply, outcome, deps.origin());
      }
      const { value, position, replayOf } = outcome;
      const at = position ?? deps.following.asOf().position;
      reply.header('consistency-token', consistencyToken(deps.log.id, at));
      if (replayOf !== undefined)
        reply.headers({ 'idempotent-replayed': 'true', 'original-request-id': replayOf });
      return answer(reply, wire, value, release);
    } catch (error) {
      release();
      throw error;
    }
  };

  const answer = (
    reply: FastifyReply,
    wire: Wire,
    { value, follow }: Answer,
    release: () => void,
  ): FastifyReply => {
    if (!follow) return wire.send(reply, value);
    streams.open(reply, { taskId: follow.id, wrap: wire.event(reply) }, release);
    return reply;
  };

  const route = (wire: Wire, id: string, options: Pick<RouteOptions, 'method' | 'url'>) => ({
    ...options,
    exposeHeadRoute: false,
    onRequest: door(wire, id),
    preHandler: versioned(wire, id),
    config: {
      refuse: (reply: FastifyReply, refusal: Refusal) => refused(reply, wire, refusal, id),
    },
  });

  for (const url of RPC_PATHS)
    server.route({
      ...route(rpcWire, 'a2a:JSONRPC', { method: 'POST', url }),
      handler: async (request, reply) => {
        const asked = rpcAsked(request.body);
        if ('refusal' in asked) return refused(reply, rpcWire, asked.refusal, asked.id);
        return perform(reply, rpcWire, asked);
      },
    });
  for (const { method, url, name, params } of HTTP_ROUTES)
    server.route({
      ...route(httpWire, METHODS[name].id, { method, url: A2A_BASE + url }),
      handler: async (request, reply) =>
        perform(reply, httpWire, { name, params: params(request) }),
    });
};

/** JSON under the standard's own name, and a request without a body that says it has JSON. */
const readable = ({ raw: { headers } }: FastifyRequest): void => {
  const type = headers['content-type'];
  const isEmpty =
    headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0;
  if (type === undefined) return;
  if (isEmpty) delete headers['content-type'];
  else headers['content-type'] = type.replace(/^application\/a2a\+json/i, 'application/json');
};

const versionRefusal = (request: FastifyRequest): Refusal | undefined => {
  const query = request.query as Record<string, string | undefined>;
  const asked = String(request.headers['a2a-version'] ?? query['A2A-Version'] ?? '');
  return /^1\.0(\.\d+)?$/.test(asked.trim())
    ? undefined
    : refuse('version_unsupported', `Send A2A-Version: ${A2A_VERSION}; without it, 0.3 is meant.`);
};

type Unasked = { refusal: Refusal; id: string };

/** What a JSON-RPC body asks for. A name like one of the acts that no agent can do is refused as that. */
const rpcAsked = (body: unknown): Asked | Unasked => {
  const malformed = (detail: string): Unasked => ({
    refusal: refuse('malformed_request', detail),
    id: 'a2a:JSONRPC',
  });
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    return malformed('Send one JSON-RPC object; batches are not taken.');
  const { jsonrpc, id, method, params = {} } = body as Record<string, unknown>;
  if (jsonrpc !== '2.0') return malformed('jsonrpc must be "2.0".');
  if (typeof id !== 'string' && !Number.isInteger(id))
    return malformed('id must be a string or a whole number.');
  if (typeof method !== 'string') return malformed('method must be a string.');
  if (isMethod(method)) return { name: method, params };
  const boundary = boundaryOf(method);
  if (boundary) return { refusal: forbidden(boundary), id: `boundary:${boundary}` };
  return { refusal: refuse('route_not_found', 'No method has this name.'), id: 'a2a:JSONRPC' };
};
