import { createServer, type Server } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import Fastify from 'fastify';
import type { Logger } from 'pino';
import { type BoundaryId, boundaryOf } from '#contracts/boundaries.ts';
import { LIMITS } from '#contracts/limits.ts';
import { type ProblemCode, PROBLEMS } from '#contracts/problems.ts';
import { forbidden, type Refusal, refuse, Refused } from '#src/app/pipeline/outcome.ts';
import type { Ids } from '#src/ports/system.ts';
import { followMethods } from './allowed-methods.ts';
import { awaiting } from './awaiting.ts';
import { brokenRequests } from './broken-requests.ts';
import { failureLines, noteFailure } from './failed-requests.ts';
import { parseJson } from './json-body.ts';
import { ownRefusal } from './own-refusal.ts';
import { problemBody, problemHeaders } from './problem.ts';
import { decoded, unsound } from './request-checks.ts';
import { inTurn } from './turns.ts';
import { endUntaken } from './stalled-connections.ts';

export type HttpOptions = {
  ids: Ids;
  origin(): string;
  log: Logger;
  trustProxy: boolean | string;
  /** Told of every attempt at an act beyond the bounds, so that it is on record. */
  onForbidden(request: FastifyRequest, boundary: BoundaryId): void;
  /** What a request with a credential waits for before it is looked at. */
  awaited?: () => Promise<void> | undefined;
};

/** Answers a refusal as a problem. */
export const sendProblem = (
  reply: FastifyReply,
  refusal: Omit<Refusal, 'ok'>,
  origin: string,
): FastifyReply => {
  noteFailure(reply.request, refusal.code);
  return (
    reply
      .code(PROBLEMS[refusal.code].status)
      .headers({
        ...refusal.headers,
        ...problemHeaders(refusal, origin),
        'request-id': reply.request.id,
      })
      // A buffer: to a text fastify would add a charset, which this media type does not have.
      .send(
        Buffer.from(JSON.stringify(problemBody(refusal, { origin, requestId: reply.request.id }))),
      )
  );
};

/** 405 with what the path does answer; undefined where nothing has this path. */
export const wrongMethod = (reply: FastifyReply, origin: string): FastifyReply | undefined => {
  const allowed = reply.server.methodsOf(pathIn(reply.request));
  if (allowed.length === 0) return undefined;
  reply.header('allow', allowed.join(', '));
  return sendProblem(reply, refuse('method_not_allowed', `Use ${allowed.join(' or ')}.`), origin);
};

const pathIn = ({ url }: FastifyRequest): string => url.split('?')[0] ?? '';

const SERVER = {
  requestTimeout: LIMITS.REQUEST_WAIT_MS,
  keepAliveTimeout: LIMITS.KEEP_ALIVE_MS,
  headersTimeout: LIMITS.HEADERS_WAIT_MS,
  connectionsCheckingInterval: 1_000,
  maxHeaderSize: LIMITS.HEADER_BYTES_MAX,
  insecureHTTPParser: false,
  // Node would answer a missing Host with a bare 400; it is answered as a problem.
  requireHostHeader: false,
};

/**
 * The HTTP server: limits, what may pass as a request at all, and a problem for everything that may
 * not, also where the parser or the router gives up.
 */
export const httpServer = (options: HttpOptions): FastifyInstance => {
  const { ids, origin, log } = options;
  const broken = brokenRequests(options);
  let stopping = false;
  const server = Fastify({
    logger: false,
    bodyLimit: LIMITS.BODY_BYTES_MAX,
    trustProxy: options.trustProxy,
    requestIdHeader: false,
    genReqId: () => ids.uuid(),
    // Fastify would answer JSON of its own; the hook below answers a problem.
    return503OnClosing: false,
    onProtoPoisoning: 'error',
    onConstructorPoisoning: 'error',
    routerOptions: { maxParamLength: 500, ignoreTrailingSlash: false },
    exposeHeadRoutes: true,
    serverFactory: (route) => createServer(SERVER, inTurn(awaiting(options.awaited, route))),
    frameworkErrors: (error, request, reply) => {
      sendProblem(reply, refusalFor(error), origin());
    },
    clientErrorHandler: broken.onClientError,
  });
  server.server.maxConnections = LIMITS.SOCKETS_MAX;
  endUntaken(server.server);
  followMethods(server);
  broken.follow(server.server);
  const sockets = openSockets(server.server);
  const answerRefusal = (reply: FastifyReply, refusal: Refusal): FastifyReply =>
    ownRefusal(reply, refusal) ?? sendProblem(reply, refusal, origin());
  server.addHook('preClose', async () => {
    stopping = true;
    // Connections opened in advance: Node takes them for busy, and would wait for their first byte.
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
  });

  server.removeAllContentTypeParsers();
  server.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    const result = parseJson(body as Buffer, request);
    if ('refusal' in result) {
      request.body = result.said;
      done(new Refused(result.refusal));
    } else done(null, result.value);
  });
  server.addHook('onRequest', (request, reply, next) => {
    reply.header('request-id', request.id);
    const refusal = stopping ? STOPPING : unsound(request.raw);
    if (refusal) answerRefusal(reply, refusal);
    else next();
  });
  server.setErrorHandler((error: FastifyError, request, reply) => {
    const refusal = refusalFor(error);
    noteFailure(request, refusal.code, error);
    return answerRefusal(reply, refusal);
  });
  failureLines(server, log);
  server.setNotFoundHandler((request, reply) => {
    const wrong = wrongMethod(reply, origin());
    if (wrong) return wrong;
    const boundary = forbiddenAct(request.method, pathIn(request));
    if (boundary === undefined)
      return sendProblem(reply, refuse('route_not_found', 'No operation has this path.'), origin());
    options.onForbidden(request, boundary);
    return sendProblem(reply, forbidden(boundary), origin());
  });
  return server;
};

const openSockets = (server: Server): ReadonlySet<Socket> => {
  const open = new Set<Socket>();
  server.on('connection', (socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  return open;
};

const STOPPING = refuse('shutting_down', 'The service is stopping.', { retryAfterS: 2 });
/** A write that is named like one of the five acts gets told why it is not there. */
const forbiddenAct = (method: string, path: string): BoundaryId | undefined =>
  method !== 'GET' && method !== 'HEAD' && path.startsWith('/api/affiliate/')
    ? boundaryOf(decoded(path))
    : undefined;

const BY_FASTIFY_CODE: Record<string, [ProblemCode, string]> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['unsupported_media_type', 'Send application/json.'],
  FST_ERR_CTP_EMPTY_TYPE: ['unsupported_media_type', 'Send application/json.'],
  FST_ERR_CTP_EMPTY_JSON_BODY: ['malformed_json', 'The body is empty.'],
  FST_ERR_CTP_INVALID_JSON_BODY: ['malformed_json', 'The body is not JSON.'],
  FST_ERR_CTP_BODY_TOO_LARGE: [
    'payload_too_large',
    `The body has more than ${LIMITS.BODY_BYTES_MAX} bytes.`,
  ],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ['malformed_request', 'Content-Length and body differ.'],
  FST_ERR_BAD_URL: ['malformed_request', 'The URL is not a URL.'],
  FST_ERR_ASYNC_CONSTRAINT: ['malformed_request', 'The request cannot be routed.'],
  FST_ERR_MAX_PARAM_LENGTH: ['uri_too_long', 'A part of the path is too long.'],
  FST_ERR_REP_ALREADY_SENT: ['internal_error', 'The answer was sent twice.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['request_timeout', 'The request did not come in time.'],
};

/** What an error of fastify, of a parser or of ours means for the caller. */
export const refusalFor = (error: Error & { code?: string; statusCode?: number }): Refusal => {
  if (error instanceof Refused) return error.refusal;
  const known = BY_FASTIFY_CODE[error.code ?? ''];
  if (known) return refuse(...known);
  if (error.statusCode === 503) return STOPPING;
  if (error.statusCode !== undefined && error.statusCode >= 400 && error.statusCode < 500)
    return refuse('malformed_request', 'The request is malformed.');
  return refuse('internal_error', 'Something here is wrong; it was logged under the request id.');
};
