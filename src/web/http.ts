/** The HTTP server, as every interface uses it. */
import { isUtf8 } from 'node:buffer';
import { type IncomingMessage, type ServerResponse, type Server, createServer } from 'node:http';
import type { Socket } from 'node:net';
import { parse as parseForm } from 'node:querystring';
import type { Duplex } from 'node:stream';
import Fastify from 'fastify';
import { compile } from '@fastify/proxy-addr';
import type {
  FastifyInstance,
  FastifyRequest,
  FastifyReply,
  FastifyError,
  FastifyServerOptions,
} from 'fastify';
import type { Logger } from 'pino';
import { type BoundaryId, boundaryOf } from '#contracts/boundaries.ts';
import { LIMITS } from '#contracts/limits.ts';
import { type ProblemCode, PROBLEMS } from '#contracts/problems.ts';
import { CREDENTIAL_PATTERN } from '#src/calls/authenticate.ts';
import { clientInAgent } from '#src/calls/input.ts';
import { networkOf } from '#src/calls/limits.ts';
import type { Ids, Clock } from '#src/ports/system.ts';
import type { Arrival, Surface } from '#src/shared/call.ts';
import { type ScanFault, scanJson, present } from '#src/shared/json.ts';
import { refuse, type Refusal, forbidden, Refused } from '#src/shared/outcome.ts';
import { problemBody, problemHeaders, logFailures, rememberFailure, NOSNIFF } from './problem.ts';
import { LINK_HEADERS } from './layout.ts';

type Handle = (request: IncomingMessage, response: ServerResponse) => void;
type Queue = { waiting: number; last: IncomingMessage };

/**
 * Handles the requests of one connection one after another. Node emits all requests of a packet at once and buffers
 * each answer until the client has read the one before: 300 pipelined requests for a large page in 20 kB would take
 * gigabytes and block all other clients. RFC 9112 (9.3.2) allows concurrent handling only of safe methods, and few
 * clients pipeline.
 *
 * The connection is not read while a request waits. Requests that wait on a closed connection are dropped.
 */
export const oneAtATime = (handle: Handle): Handle => {
  const queues = new WeakMap<Socket, Queue>();

  const enqueue = (request: IncomingMessage): Queue => {
    const { socket } = request;
    const existing = queues.get(socket);
    if (existing) {
      existing.last = request;
      return existing;
    }
    const queue = { waiting: 0, last: request };
    queues.set(socket, queue);
    // Node resumes the connection after each parsed request, and to read a body.
    socket.on('resume', () => {
      if (queue.waiting > 0 && queue.last.complete) socket.pause();
    });
    return queue;
  };

  return (request, response) => {
    // A response has no socket while an earlier one of the connection is not finished.
    if (response.socket) {
      handle(request, response);
      return;
    }
    const { socket } = request;
    const queue = enqueue(request);
    queue.waiting += 1;
    // One packet may hold thousands of requests, at 2 kB of memory each, and Node parses all of it.
    if (queue.waiting > LIMITS.PIPELINED_MAX) socket.destroy();
    else socket.pause();
    // Lets other connections be served in between.
    response.once('socket', () =>
      setImmediate(() => {
        if (socket.writable) handle(request, response);
      }),
    );
    // Not earlier: a client that has closed its sending side still waits for answers.
    response.once('close', () => {
      queue.waiting -= 1;
      if (queue.waiting === 0) socket.resume();
    });
  };
};

/** How many times a connection is examined within the wait. */
const CHECKS = 10;

type Stall = { since: number; checkedAt: number };

/**
 * Ends a connection when its client reads no byte of an answer for `waitMs`: it holds one of SOCKETS_MAX, and the
 * answer in memory. Slow readers, long-running handlers and idle streams are not affected.
 *
 * Node reports a connection after a period without progress, and compares with the state at the previous report: its
 * first report may be a whole period late. So the period is a tenth of the wait, and a connection ends at most two
 * periods late.
 */
export const endStalledConnections = (
  server: Server,
  monotonic: () => number,
  waitMs: number = LIMITS.READER_WAIT_MS,
): void => {
  const periodMs = waitMs / CHECKS;
  const stalls = new WeakMap<Socket, Stall>();

  const isStalled = (socket: Socket): boolean => {
    if (socket.writableLength === 0) {
      stalls.delete(socket);
      return false;
    }
    const now = monotonic();
    const stall = stalls.get(socket);
    // Node reports only stalls, so progress shows as a gap.
    const isSame = stall !== undefined && now - stall.checkedAt < 1.5 * periodMs;
    const since = isSame ? stall.since : now - periodMs;
    stalls.set(socket, { since, checkedAt: now });
    return now - since >= waitMs;
  };

  server.setTimeout(periodMs, (socket) => {
    // Between two requests Node sets the timeout of an idle connection.
    const isUnderWay = socket.timeout === server.timeout;
    if (!isUnderWay || isStalled(socket)) socket.destroy();
    // Node reports once, until the connection makes progress.
    else socket.setTimeout(periodMs);
  });
};

type Fault = Error & { code?: string; rawPacket?: unknown; bytesParsed?: number };
type Exchange = { request: IncomingMessage; response: ServerResponse; before?: ServerResponse };

const BY_PARSER_CODE: Record<string, [ProblemCode, string]> = {
  HPE_HEADER_OVERFLOW: [
    'headers_too_large',
    `The headers have more than ${LIMITS.HEADER_BYTES_MAX} bytes.`,
  ],
  ERR_HTTP_REQUEST_TIMEOUT: ['request_timeout', 'The request was not received in time.'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: ['payload_too_large', 'The chunk extensions are too large.'],
};
/** Limit of the wait for a client to close its end: without one, a client could delay the shutdown. */
const LINGER_MS = 1_000;

/** How long the file of somebody who is signed in may take, while bytes keep coming. */
export const UPLOAD_WAIT_MS = 30 * 60_000;

/** Requests that Node's time limit does not end, because `awaitSlowBody` does. */
const unhurried = new WeakSet<IncomingMessage>();

/**
 * Lets the body of a request arrive as slowly as its line is, for UPLOAD_WAIT_MS at most. Without a byte for REQUEST_WAIT_MS the
 * client gets what it gets without this. Only for clients that are admitted: each holds a connection, and its body in memory.
 */
export const awaitSlowBody = ({
  raw,
  server,
}: FastifyRequest): { progressed(): void; ended(): void } => {
  const end = (): void => {
    ended();
    const code = 'ERR_HTTP_REQUEST_TIMEOUT';
    server.server.emit('clientError', Object.assign(new Error(code), { code }), raw.socket);
  };
  const stall = setTimeout(end, LIMITS.REQUEST_WAIT_MS);
  const limit = setTimeout(end, UPLOAD_WAIT_MS);
  const ended = (): void => {
    clearTimeout(stall);
    clearTimeout(limit);
    unhurried.delete(raw);
  };
  unhurried.add(raw);
  return { progressed: () => void stall.refresh(), ended };
};

const NOT_HTTP: [ProblemCode, string] = ['malformed_request', 'The bytes are not HTTP/1.1.'];
const TUNNEL: [ProblemCode, string] = ['method_unknown', 'The service is no proxy.'];
/** A request line whose method Node does not know. */
const REQUEST_LINE = /^[\w!#$%&'*+.^`|~-]{1,32} \S+ HTTP\/1\.[01]\r?\n/;

/** Longer than the start of a request line with an unknown method. */
const METHOD_BYTES_MAX = 32;

const faultOf = ({ code = '', rawPacket, bytesParsed = 0 }: Fault): [ProblemCode, string] =>
  code === 'HPE_INVALID_METHOD' &&
  bytesParsed <= METHOD_BYTES_MAX &&
  REQUEST_LINE.test(String(rawPacket))
    ? ['method_unknown', 'The method is not known.']
    : (BY_PARSER_CODE[code] ?? NOT_HTTP);

/**
 * Answers what the HTTP parser refuses. It never becomes a request, so the problem is written to the socket
 * directly, after the answers to earlier requests of the connection, and at most once for each connection.
 */
const answerBrokenRequests = (options: { ids: Ids; origin(): string }) => {
  const latest = new WeakMap<Duplex, Exchange>();
  const answered = new WeakSet<Duplex>();

  const write = (socket: Duplex, fault: [ProblemCode, string]): void => {
    if (!socket.writable) {
      socket.destroy();
      return;
    }
    // Reads and drops what still arrives: with unread data, close would reset the connection and lose the answer.
    socket.end(problemMessage(fault, options)).resume();
    setTimeout(() => socket.destroy(), LINGER_MS).unref();
  };

  const answer = (socket: Duplex, fault: [ProblemCode, string]): void => {
    if (answered.has(socket)) return;
    answered.add(socket);
    const exchange = latest.get(socket);
    const isItsBody = exchange !== undefined && !exchange.request.complete;
    const open = isItsBody && !exchange.response.headersSent ? exchange.before : exchange?.response;
    const end = () =>
      isItsBody && exchange.response.headersSent ? socket.destroy() : write(socket, fault);
    if (open === undefined || open.closed) end();
    else open.once('close', end);
  };

  return {
    /** For fastify's clientErrorHandler. */
    onClientError(error: Fault, socket: Duplex): void {
      const isLate = error.code === 'ERR_HTTP_REQUEST_TIMEOUT';
      const request = latest.get(socket)?.request;
      if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
      // A paused socket waits for earlier requests: the delay is ours.
      else if (!isLate || !(socket.isPaused() || (request && unhurried.has(request))))
        answer(socket, faultOf(error));
    },
    follow(server: Server): void {
      server.prependListener('request', (request, response) => {
        const before = latest.get(request.socket)?.response;
        latest.set(request.socket, { request, response, ...(before && { before }) });
      });
      // Without a listener Node closes the connection without an answer.
      server.on('connect', (_request, socket) => answer(socket, TUNNEL));
      // Node would answer 417 without a body; the request checks refuse unknown expectations.
      server.on('checkExpectation', (request, response) =>
        server.emit('request', request, response),
      );
    },
  };
};

const problemMessage = (
  fault: [ProblemCode, string],
  { ids, origin }: { ids: Ids; origin(): string },
): string => {
  const refusal = refuse(...fault);
  const requestId = ids.uuid();
  const { status, title } = PROBLEMS[refusal.code];
  const body = JSON.stringify(problemBody(refusal, { origin: origin(), requestId }));
  const headers = {
    ...problemHeaders(refusal, origin()),
    'request-id': requestId,
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${title}\r\n${lines.join('')}\r\n${body}`;
};

type SocketLimit = {
  max: number;
  trustProxy: boolean | string;
  /** Called for each connection that is closed. */
  onRefused(): void;
};

/** Connections without a request, in the order in which they began to wait for one. */
class IdleSockets {
  /** Those that have never sent a request are closed before those that may be used again. */
  readonly #unused = new Set<Socket>();
  readonly #used = new Set<Socket>();

  add(socket: Socket, isUsed: boolean): void {
    (isUsed ? this.#used : this.#unused).add(socket);
  }

  delete(socket: Socket): void {
    this.#unused.delete(socket);
    this.#used.delete(socket);
  }

  /** The one to close first; undefined if every connection has a request. */
  first(): Socket | undefined {
    const [first] = this.#unused.size > 0 ? this.#unused : this.#used;
    return first;
  }
}

type Places = { open: number; readonly idle: IdleSockets };
const noPlaces = (): Places => ({ open: 0, idle: new IdleSockets() });

/** The places of the connections of a server: of all, and of each network address that is limited. */
class SocketPlaces {
  readonly #all = noPlaces();
  readonly #networks = new Map<string, Places>();
  readonly #placesOf = new WeakMap<Socket, readonly Places[]>();

  /** Takes a place of `network`, if it has one; false if all others have requests. */
  take(socket: Socket, network: string | undefined, max: number): boolean {
    const own = network === undefined ? undefined : (this.#networks.get(network) ?? noPlaces());
    if (own && !this.#hasPlace(own, max)) return false;
    if (!this.#hasPlace(this.#all, LIMITS.SOCKETS_MAX)) return false;
    if (network !== undefined && own) this.#networks.set(network, own);
    const places = own ? [this.#all, own] : [this.#all];
    for (const one of places) one.open += 1;
    this.#placesOf.set(socket, places);
    socket.once('close', () => {
      this.#leave(socket);
      if (network !== undefined && own?.open === 0) this.#networks.delete(network);
    });
    return true;
  }

  idle(socket: Socket, isUsed: boolean): void {
    for (const { idle } of this.#placesOf.get(socket) ?? []) idle.add(socket, isUsed);
  }

  busy(socket: Socket): void {
    for (const { idle } of this.#placesOf.get(socket) ?? []) idle.delete(socket);
  }

  #leave(socket: Socket): void {
    this.busy(socket);
    for (const places of this.#placesOf.get(socket) ?? []) places.open -= 1;
    this.#placesOf.delete(socket);
  }

  #hasPlace(places: Places, max: number): boolean {
    if (places.open < max) return true;
    const idle = places.idle.first();
    if (!idle) return false;
    // Before its event of the end, which comes after further connections.
    this.#leave(idle);
    idle.destroy();
    return true;
  }
}

/**
 * Limits the connections of the process, and those of one network address. Beyond a limit, the connection that has waited
 * longest without a request gives its place to the new one; the new one is closed only if all others have requests. So
 * a client that holds idle connections keeps nobody out. Proxies have no limit of their own, because all clients connect through
 * them. Returns the open connections.
 */
const limitSockets = (
  server: Server,
  { max, trustProxy, onRefused }: SocketLimit,
): ReadonlySet<Socket> => {
  const isProxy =
    typeof trustProxy === 'boolean' ? () => trustProxy : compile(trustProxy.split(','));
  const places = new SocketPlaces();
  const open = new Set<Socket>();
  server.prependListener('connection', (socket) => {
    const { remoteAddress } = socket;
    const isLimited = remoteAddress !== undefined && !isProxy(remoteAddress, 0);
    if (!places.take(socket, isLimited ? networkOf(remoteAddress) : undefined, max)) {
      onRefused();
      socket.destroy();
      return;
    }
    places.idle(socket, false);
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  const active = new WeakMap<Socket, number>();
  server.prependListener('request', ({ socket }, response) => {
    active.set(socket, (active.get(socket) ?? 0) + 1);
    places.busy(socket);
    response.once('close', () => {
      const left = (active.get(socket) ?? 1) - 1;
      active.set(socket, left);
      if (left === 0) places.idle(socket, true);
    });
  });
  return open;
};

declare module 'fastify' {
  interface FastifyInstance {
    /** The methods of the routes that match a path; empty when none does. */
    methodsOf(path: string): readonly string[];
    refuseBody: RefuseBody;
  }
}

/** Converts a fastify path: `::` is a colon, `:name` a segment, optionally with its own pattern. */
const patternOf = (url: string): RegExp => {
  const parts = url
    .replaceAll('.', '\\.')
    .replaceAll(/::|:\w+(?:\(\^([^)]+)\))?/g, (part, own?: string) =>
      part === '::' ? ':' : (own ?? '[^/]+'),
    );
  return new RegExp(`^${parts}/?$`);
};

/** Collects the methods of all routes, for the Allow header of a 405. Call it before the first route is added. */
const collectMethods = (server: FastifyInstance): void => {
  const routes: { methods: readonly string[]; pattern: RegExp }[] = [];
  server.addHook('onRoute', ({ method, url }) => {
    // OPTIONS is for the preflight requests of browsers.
    const methods = [method].flat().filter((one) => one !== 'OPTIONS');
    routes.push({ methods, pattern: patternOf(url) });
  });
  server.decorate('methodsOf', (path: string) => {
    const matching = routes.filter(({ pattern }) => pattern.test(path));
    return [...new Set(matching.flatMap(({ methods }) => methods))];
  });
};

type Listener = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * Delays requests with a credential until `awaited` resolves: nearly always it is undefined, and the request is
 * handled at once. Other requests never wait.
 */
const awaitConfirmation =
  (awaited: (() => Promise<void> | undefined) | undefined, handle: Listener): Listener =>
  (request, response) => {
    const wait = request.headers.authorization === undefined ? undefined : awaited?.();
    if (!wait) handle(request, response);
    // The client may have disconnected while we waited.
    else void wait.then(() => request.destroyed || handle(request, response));
  };

/** Why a body is refused before it is examined: the caller has sent too much of them. */
type RefuseBody = (request: FastifyRequest, bytes: number) => Refusal | undefined;

/** Parses a JSON body, or refuses it. `readable` is the content of a refused body, where it could be parsed. */
const parseJson = (
  body: Buffer,
  request: FastifyRequest,
): { value: unknown } | { refusal: Refusal; readable?: unknown } => {
  const charset = /charset="?([^";]+)/i.exec(request.headers['content-type'] ?? '')?.[1];
  if (charset !== undefined && charset.trim().toLowerCase() !== 'utf-8')
    return { refusal: refuse('unsupported_media_type', 'The charset must be utf-8.') };
  if (!isUtf8(body)) return { refusal: refuse('malformed_json', 'The body is not UTF-8.') };
  // Editors of Windows begin a file with a byte-order mark, which is no part of JSON (RFC 8259, 8.1).
  const text = body.toString().replace(/^\uFEFF/, '');
  if (text === '') return { refusal: refuse('malformed_json', 'The body is empty.') };
  const fault = scanJson(text);
  if (fault)
    return {
      refusal: refuse('malformed_request', 'The JSON is not accepted.', {
        errors: [fault],
      }),
      readable: readableContent(text, fault),
    };
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return { refusal: refuse('malformed_json', 'The body is not JSON.') };
  }
};

/** Parses a refused body, so that JSON-RPC can answer under its id, unless the fault is in the id. */
const readableContent = (text: string, { pointer }: ScanFault): unknown => {
  try {
    return pointer === '/id' ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
};

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Answers refusals before the handler, for routes that do not answer with a problem. */
    refuse?: (reply: FastifyReply, refusal: Refusal) => FastifyReply;
  }
}

/** Lets the route answer a refusal in its own form; undefined when it has none. */
const routeRefusal = (reply: FastifyReply, refusal: Refusal): FastifyReply | undefined =>
  reply.request.routeOptions.config.refuse?.(reply, refusal);

/** The methods that change nothing. */
export const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Whether a page of another site sent the form. A forged request needs a credential, too; this refuses pages that learned one. A
 * request with neither header passes (an old browser, curl). `accepted`: values of `Origin` where there is no Sec-Fetch-Site.
 */
export const isForeign = (
  { method, headers }: FastifyRequest,
  accepted: readonly string[],
): boolean => {
  if (SAFE_METHODS.has(method)) return false;
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site !== 'same-origin' && site !== 'none';
  const { origin } = headers;
  return origin !== undefined && !accepted.includes(origin);
};

const METHODS = new Set(['GET', 'HEAD', 'POST', 'OPTIONS', 'PUT', 'PATCH', 'DELETE']);

const METHOD_NAMES = [...METHODS].join(', ');
const UNKNOWN_METHOD = refuse('method_unknown', `Use one of ${METHOD_NAMES}.`);

/** A name, an IPv4 address or an IPv6 address in brackets, and a port (RFC 9110, 7.2). */
const HOST = /^(?:\[[0-9a-f:.]+\]|[\w.~!$&'()*+,;=%-]+)(?::\d{0,5})?$/i;

/** Why a request cannot be handled at all; undefined when it can. */
const faultOfRequest = (request: IncomingMessage): Refusal | undefined => {
  const { method = '', url = '', headers, rawHeaders } = request;
  if (request.httpVersionMajor !== 1) return refuse('malformed_request', 'Use HTTP/1.1.');
  if (!METHODS.has(method)) return UNKNOWN_METHOD;
  const repeated = repeatedHeader(rawHeaders);
  if (repeated !== undefined) return refuse('malformed_request', `Send exactly one ${repeated}.`);
  if (headers.host === undefined && request.httpVersion === '1.1')
    return refuse('malformed_request', 'Send exactly one Host.');
  if (headers.host !== undefined && !HOST.test(headers.host))
    return refuse('malformed_request', 'The Host is not a host name or address with a port.');
  if (url.length > LIMITS.URL_BYTES_MAX)
    return refuse('uri_too_long', `The URL has more than ${LIMITS.URL_BYTES_MAX} bytes.`);
  if (CREDENTIAL_PATTERN.test(decoded(url)))
    return refuse('credential_in_url', 'URLs are logged and shared. Treat this key as leaked.');
  if (!isReadable(url))
    return refuse('malformed_request', 'The query contains an escape that is not UTF-8.');
  const { expect } = headers;
  if (expect !== undefined && expect.trim().toLowerCase() !== '100-continue')
    return refuse('malformed_request', 'The only supported expectation is 100-continue.');
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity')
    return refuse('unsupported_media_type', 'Content encodings are not supported.');
  return undefined;
};

/** Node uses the first of these when they are repeated, and another program may use the last. */
const ONCE = ['Host', 'Authorization', 'Content-Type'] as const;

const timesOf = (rawHeaders: readonly string[], name: string): number => {
  let times = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const sent = rawHeaders[i] ?? '';
    if (sent.length === name.length && sent.toLowerCase() === name.toLowerCase()) times += 1;
  }
  return times;
};

const repeatedHeader = (rawHeaders: readonly string[]): string | undefined =>
  ONCE.find((name) => timesOf(rawHeaders, name) > 1);

/** Pages accept any query, which people type and mailers extend. */
const CALLS = '/api/';

/** Whether the escapes of the query are UTF-8. The router checks those of the path. */
const isReadable = (url: string): boolean => {
  const at = url.indexOf('?');
  if (at < 0 || !url.includes('%', at) || !url.startsWith(CALLS)) return true;
  try {
    decodeURIComponent(url.slice(at));
    return true;
  } catch {
    return false;
  }
};

/** Unescapes each escape of a URL by itself, so that a wrong one does not hide the others. */
const decoded = (url: string): string =>
  !url.includes('%')
    ? url
    : url.replaceAll(/%([0-9a-f]{2})/gi, (_escape, hex: string) =>
        String.fromCharCode(Number.parseInt(hex, 16)),
      );

type HttpOptions = {
  ids: Ids;
  clock: Pick<Clock, 'monotonic'>;
  origin(): string;
  log: Logger;
  trustProxy: boolean | string;
  /** Called for each attempt at a forbidden act, so that it is audited. */
  onForbidden(request: FastifyRequest, boundary: BoundaryId): Promise<void> | undefined;
  /** The limit of the connections of one network address. */
  socketLimit?: Pick<SocketLimit, 'max' | 'onRefused'>;
  /** Answers a refusal to a browser; undefined if a program sent the request. */
  refuseBrowser?: (reply: FastifyReply, refusal: Refusal) => FastifyReply | undefined;
  /** Why an address may not send another request now. */
  refuseAddress?: (request: FastifyRequest) => Refusal | undefined;
  refuseBody?: RefuseBody;
  /** What a request with a credential waits for before it is handled. */
  awaited?: () => Promise<void> | undefined;
  /** Whether the read models are not filled yet; until then only health and metrics are answered. */
  isStarting?: (() => boolean) | undefined;
};

export const sendProblem = (
  reply: FastifyReply,
  refusal: Omit<Refusal, 'ok'>,
  origin: string,
): FastifyReply => {
  rememberFailure(reply.request, refusal.code, refusal.cause);
  return (
    reply
      .code(PROBLEMS[refusal.code].status)
      .headers({
        ...refusal.headers,
        ...problemHeaders(refusal, origin),
        'request-id': reply.request.id,
      })
      // A buffer: fastify adds a charset to a text, and this media type has none.
      .send(
        Buffer.from(JSON.stringify(problemBody(refusal, { origin, requestId: reply.request.id }))),
      )
  );
};

/** Answers 405 with the methods of the path, and OPTIONS with 204; undefined when no route has the path. */
export const refuseMethod = (reply: FastifyReply, origin: string): FastifyReply | undefined => {
  const allowed = reply.server.methodsOf(pathIn(reply.request));
  if (allowed.length === 0) return undefined;
  reply.header('allow', allowed.join(', '));
  if (reply.request.method === 'OPTIONS')
    return reply
      .header('allow', [...allowed, 'OPTIONS'].join(', '))
      .code(204)
      .send();
  return sendProblem(reply, refuse('method_not_allowed', `Use ${allowed.join(' or ')}.`), origin);
};

export const pathIn = ({ url }: FastifyRequest): string => url.split('?')[0] ?? '';

const SERVER = {
  requestTimeout: LIMITS.REQUEST_WAIT_MS,
  keepAliveTimeout: LIMITS.KEEP_ALIVE_MS,
  headersTimeout: LIMITS.HEADERS_WAIT_MS,
  connectionsCheckingInterval: 1_000,
  maxHeaderSize: LIMITS.HEADER_BYTES_MAX,
  insecureHTTPParser: false,
  // The request checks answer a missing Host with a problem; Node would send an empty 400.
  requireHostHeader: false,
};

/** Zod checks what comes in. Without this, fastify would load its compilers of JSON Schema at each start. */
const noSchema = (): never => {
  throw new Error('a route has a JSON Schema; its contract is checked by zod');
};

const FASTIFY: FastifyServerOptions = {
  logger: false,
  bodyLimit: LIMITS.BODY_BYTES_MAX,
  requestIdHeader: false,
  // A hook answers a problem instead of fastify's JSON.
  return503OnClosing: false,
  onProtoPoisoning: 'error',
  onConstructorPoisoning: 'error',
  routerOptions: { maxParamLength: 500, ignoreTrailingSlash: true },
  schemaController: { compilersFactory: { buildValidator: noSchema, buildSerializer: noSchema } },
  exposeHeadRoutes: true,
};

/** Returns a function that answers a refusal in the form of the route, for a browser, or as a problem. */
const refuserOf =
  ({ origin, refuseBrowser }: Pick<HttpOptions, 'origin' | 'refuseBrowser'>) =>
  (reply: FastifyReply, refusal: Refusal): FastifyReply =>
    routeRefusal(reply, refusal) ??
    refuseBrowser?.(reply, refusal) ??
    sendProblem(reply, refusal, origin());

const NO_LIMIT = { max: Infinity, onRefused: () => undefined };

/** Makes the HTTP server: limits, request checks, and a problem for every refusal, also of the parser and router. */
export const httpServer = (options: HttpOptions): FastifyInstance => {
  const { ids, origin, log, trustProxy } = options;
  const broken = answerBrokenRequests(options);
  const answerRefusal = refuserOf(options);
  let stopping = false;
  const server = Fastify({
    ...FASTIFY,
    trustProxy,
    genReqId: () => ids.uuid(),
    serverFactory: (route) =>
      createServer(SERVER, oneAtATime(awaitConfirmation(options.awaited, route))),
    frameworkErrors: (error, request, reply) => {
      if (!redirectWithoutTail(reply)) answerRefusal(reply, httpRefusal(error));
    },
    clientErrorHandler: broken.onClientError,
  });
  collectMethods(server);
  server.decorate('refuseBody', options.refuseBody ?? (() => undefined));
  broken.follow(server.server);
  endStalledConnections(server.server, options.clock.monotonic);
  const sockets = limitSockets(server.server, { ...NO_LIMIT, ...options.socketLimit, trustProxy });
  server.addHook('preClose', async () => {
    stopping = true;
    // Node waits for the first request of a connection that has sent nothing yet.
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
  });
  acceptJson(server);
  server.addHook('onRequest', (request, reply, next) => {
    reply.headers({ 'request-id': request.id, ...NOSNIFF });
    const isEarly = options.isStarting?.() && !HEALTH.has(request.routeOptions.url ?? '');
    const early = stopping ? STOPPING : isEarly ? STARTING : undefined;
    const refusal = early ?? options.refuseAddress?.(request) ?? faultOfRequest(request.raw);
    if (refusal) answerRefusal(reply, refusal);
    else if (!redirectWithoutTail(reply)) next();
  });
  server.setErrorHandler((error: FastifyError, request, reply) => {
    const refusal = httpRefusal(error);
    rememberFailure(request, refusal.code, error);
    return answerRefusal(reply, refusal);
  });
  logFailures(server, log);
  server.setNotFoundHandler(async (request, reply) => {
    const refused = refuseMethod(reply, origin());
    if (refused) return refused;
    const boundary = forbiddenAct(request.method, pathIn(request));
    if (boundary === undefined)
      return answerRefusal(reply, refuse('route_not_found', 'No operation has this path.'));
    await options.onForbidden(request, boundary);
    return sendProblem(reply, forbidden(boundary), origin());
  });
  return server;
};

/** Accepts only JSON bodies; a refused one keeps what can be read of it, for the id of a JSON-RPC request. */
const acceptJson = (server: FastifyInstance): void => {
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    const refused = server.refuseBody(request, body.length);
    const result = refused ? { refusal: refused } : parseJson(body as Buffer, request);
    if ('refusal' in result) {
      request.body = result.readable;
      done(new Refused(result.refusal));
    } else done(null, result.value);
  });
};

/** The media type of forms. */
export const FORM = 'application/x-www-form-urlencoded';
const AMPERSAND = 0x26;

/** Accepts forms only, within the limits of JSON bodies: a program would send JSON. */
export const acceptForms = (scope: FastifyInstance): void => {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser(FORM, { parseAs: 'buffer' }, (request, body, done) => {
    const refused = scope.refuseBody(request, body.length) ?? refuseFields(body as Buffer);
    if (refused) done(new Refused(refused));
    else done(null, parseForm(body.toString(), '&', '=', { maxKeys: 0 }));
  });
};

const refuseFields = (body: Buffer): Refusal | undefined => {
  let fields = 1;
  for (const byte of body) if (byte === AMPERSAND) fields += 1;
  return fields > LIMITS.JSON_MEMBERS_MAX
    ? refuse('malformed_request', `The form has more than ${LIMITS.JSON_MEMBERS_MAX} fields.`)
    : undefined;
};

const HEALTH: ReadonlySet<string> = new Set(['/livez', '/readyz', '/metrics']);
const STARTING = refuse(
  'read_model_rebuilding',
  'The process has just started and reads the log first. GET /readyz shows its progress.',
  { retryAfterS: 5 },
);
const STOPPING = refuse('shutting_down', 'The service is stopping.', { retryAfterS: 2 });
/** Finds the forbidden act that the path of a write is named after. */
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
  ERR_HTTP_REQUEST_TIMEOUT: ['request_timeout', 'The request was not received in time.'],
};

/** The refusal that an error of fastify, of a parser or of our own means for the caller. */
export const httpRefusal = (error: Error & { code?: string; statusCode?: number }): Refusal => {
  if (error instanceof Refused) return error.refusal;
  const known = BY_FASTIFY_CODE[error.code ?? ''];
  if (known) return refuse(...known);
  if (error.statusCode === 503) return STOPPING;
  if (error.statusCode !== undefined && error.statusCode >= 400 && error.statusCode < 500)
    return refuse('malformed_request', 'The request is malformed.');
  return refuse(
    'internal_error',
    'The service failed; the failure is logged under the request id.',
  );
};

const BEARER = /^Bearer +(\S+) *$/i;

/** Of people, whose browsers name themselves, no client is kept. */
const AGENT_SURFACES: ReadonlySet<Surface> = new Set<Surface>(['rest', 'mcp', 'a2a']);

/** What the pipeline needs of a request before its body is read. */
export const arrivalOf = ({ headers, id, ip }: FastifyRequest, surface: Surface): Arrival => ({
  surface,
  requestId: id,
  credential: BEARER.exec(headers.authorization ?? '')?.[1],
  address: ip,
  ...(AGENT_SURFACES.has(surface) && present({ client: clientInAgent(headers['user-agent']) })),
});

/*
 * Links that have something behind them, which a mail program, a chat or a person put there.
 */

/**
 * The longest beginning of a path that can be an address of a page. Codes, tokens and names end with a letter or a
 * digit of ASCII, and have no other characters inside than these, escaped or not. Linear in the length of the path.
 */
const ADDRESS = /^(?:(?:[-_./]|%(?:2[de]|5f))*(?:[a-z\d]|%(?:3\d|[46][1-9a-f]|[57][\da])))*/i;

/** What is answered as it is: the paths that programs call, and URLs with a host. */
const EXEMPT = /^(?!\/)|^\/(?:api|\.well-known)\//;

const cleanPath = (path: string): string => {
  // The name of a category may have any character; its page looks for what is behind it.
  if (path.startsWith('/c/')) return path.endsWith('/') ? path.slice(0, -1) : path;
  if (EXEMPT.test(path)) return path;
  // A second slash at the start would make the rest a host.
  return ADDRESS.exec(path)?.[0].replace(/^\/+/, '/') || '/';
};

/** Redirects to another path, with the query of the request. */
export const redirectTo = (reply: FastifyReply, path: string): FastifyReply => {
  const { url } = reply.request;
  const query = url.includes('?') ? url.slice(url.indexOf('?')) : '';
  return reply.headers({ ...LINK_HEADERS, ...NOSNIFF }).redirect(path + query, 301);
};

/** Redirects a page's address with something behind it to the address; undefined if there is nothing to remove. */
export const redirectWithoutTail = (reply: FastifyReply): FastifyReply | undefined => {
  const { method, url } = reply.request;
  if (method !== 'GET' && method !== 'HEAD') return undefined;
  const [path = ''] = url.split('?', 1);
  const clean = cleanPath(path);
  return clean === path ? undefined : redirectTo(reply, clean);
};

/** Removes what is behind a code or a token in a query; a token can end with `-` or `_`. */
export const withoutTail = (text: string): string => /^[\w.~-]*[\w-]/.exec(text)?.[0] ?? '';

/** A parameter or header; a list if the client sends several. */
export type SentValue = string | string[] | undefined;

/** The first value, so that what a mailer or a visitor appends to an address overrides nothing. */
export const firstOf = (sent: SentValue): string | undefined =>
  Array.isArray(sent) ? sent[0] : sent;

/** The first value, without what a mailer or a person put behind the code or token that it is. */
export const codeIn = (sent: SentValue): string | undefined => {
  const first = firstOf(sent);
  return first === undefined ? undefined : withoutTail(first);
};

/** The language that a browser asks for first, of those that pages are written in, as a locale. */
export const localeAsked = (headers: FastifyRequest['headers']): 'en-GB' | 'de-DE' => {
  const [, language] = /(?:^|[,\s])(de|en)\b/i.exec(headers['accept-language'] ?? '') ?? [];
  return language?.toLowerCase() === 'de' ? 'de-DE' : 'en-GB';
};
