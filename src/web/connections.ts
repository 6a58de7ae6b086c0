/** Protection of connections: one request at a time, no stalled ones, limits by address. */
import type { IncomingMessage, ServerResponse, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { compile } from '@fastify/proxy-addr';
import { LIMITS } from '#contracts/limits.ts';
import { type ProblemCode, PROBLEMS } from '#contracts/problems.ts';
import { networkOf } from '#src/calls/limits.ts';
import type { Ids } from '#src/ports/system.ts';
import { refuse } from '#src/shared/outcome.ts';
import { problemBody, problemHeaders } from './problem.ts';

type Handle = (request: IncomingMessage, response: ServerResponse) => void;
type Queue = { waiting: number; last: IncomingMessage };

/**
 * Handles the requests of one connection one after another. Node emits all requests of a packet at once and buffers
 * each answer until the client has read the one before: 300 pipelined requests for a large page in 20 kB would take
 * gigabytes and block all other clients. RFC 9112 (9.3.2) allows concurrent handling of safe methods only, and few
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

type Fault = Error & { code?: string };
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

const NOT_HTTP: [ProblemCode, string] = ['malformed_request', 'The bytes are not HTTP/1.1.'];
const TUNNEL: [ProblemCode, string] = ['malformed_request', 'The method is not supported.'];

/**
 * Answers what the HTTP parser refuses. It never becomes a request, so the problem is written to the socket
 * directly, after the answers to earlier requests of the connection, and at most once for each connection.
 */
export const answerBrokenRequests = (options: { ids: Ids; origin(): string }) => {
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
      if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
      // A paused socket waits for earlier requests: the delay is ours.
      else if (error.code !== 'ERR_HTTP_REQUEST_TIMEOUT' || !socket.isPaused())
        answer(socket, BY_PARSER_CODE[error.code ?? ''] ?? NOT_HTTP);
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

export type SocketLimit = {
  max: number;
  trustProxy: boolean | string;
  /** Called for each connection that is closed. */
  onRefused(): void;
};

/**
 * Closes a connection beyond `max` of one network address, before it sends anything: otherwise one address can hold all
 * SOCKETS_MAX places. Proxies have no limit, because all clients connect through them.
 */
export const limitSockets = (server: Server, { max, trustProxy, onRefused }: SocketLimit): void => {
  const isProxy =
    typeof trustProxy === 'boolean' ? () => trustProxy : compile(trustProxy.split(','));
  const open = new Map<string, number>();
  server.prependListener('connection', (socket) => {
    const { remoteAddress } = socket;
    if (remoteAddress === undefined || isProxy(remoteAddress, 0)) return;
    const network = networkOf(remoteAddress);
    const count = open.get(network) ?? 0;
    if (count >= max) {
      onRefused();
      socket.destroy();
      return;
    }
    open.set(network, count + 1);
    socket.once('close', () => {
      const left = (open.get(network) ?? 1) - 1;
      if (left === 0) open.delete(network);
      else open.set(network, left);
    });
  });
};
