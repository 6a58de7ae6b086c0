import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { LIMITS } from '#contracts/limits.ts';
import { type ProblemCode, PROBLEMS } from '#contracts/problems.ts';
import { refuse } from '#src/shared/outcome.ts';
import type { Ids } from '#src/ports/system.ts';
import { problemBody, problemHeaders } from './problem.ts';

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
