import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { LIMITS } from '#contracts/limits.ts';
import { type ProblemCode, PROBLEMS } from '#contracts/problems.ts';
import { refuse } from '#src/app/pipeline/outcome.ts';
import type { Ids } from '#src/ports/system.ts';
import { problemBody, problemHeaders } from './problem.ts';

type Fault = Error & { code?: string };
type Exchange = { request: IncomingMessage; response: ServerResponse; before?: ServerResponse };

const BY_PARSER_CODE: Record<string, [ProblemCode, string]> = {
  HPE_HEADER_OVERFLOW: ['headers_too_large', `The headers pass ${LIMITS.HEADER_BYTES_MAX} bytes.`],
  ERR_HTTP_REQUEST_TIMEOUT: ['request_timeout', 'The request did not come in time.'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: ['payload_too_large', 'The chunk extensions are too large.'],
};
/** A client that keeps its end open would hold up the stop of the service. */
const LINGER_MS = 1_000;

const NOT_HTTP: [ProblemCode, string] = ['malformed_request', 'The bytes are not HTTP/1.1.'];
const TUNNEL: [ProblemCode, string] = ['malformed_request', 'The method is not one of ours.'];

/**
 * What the parser refuses never becomes a request: the problem is written to the socket by hand, and
 * in its turn. Requests before it on the connection get their own answers first, and one that has
 * its answer gets no second.
 */
export const brokenRequests = (options: { ids: Ids; origin(): string }) => {
  const latest = new WeakMap<Duplex, Exchange>();
  const given = new WeakSet<Duplex>();

  const write = (socket: Duplex, fault: [ProblemCode, string]): void => {
    if (!socket.writable) {
      socket.destroy();
      return;
    }
    // What still comes is read and dropped: a reset would take the answer with it.
    socket.end(problemMessage(fault, options)).resume();
    setTimeout(() => socket.destroy(), LINGER_MS).unref();
  };

  const answer = (socket: Duplex, fault: [ProblemCode, string]): void => {
    if (given.has(socket)) return;
    given.add(socket);
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
      // Late by us: nothing is read while requests before it have their turn.
      else if (error.code !== 'ERR_HTTP_REQUEST_TIMEOUT' || !socket.isPaused())
        answer(socket, BY_PARSER_CODE[error.code ?? ''] ?? NOT_HTTP);
    },
    follow(server: Server): void {
      server.prependListener('request', (request, response) => {
        const before = latest.get(request.socket)?.response;
        latest.set(request.socket, { request, response, ...(before && { before }) });
      });
      // Without a listener Node drops the connection, and says nothing.
      server.on('connect', (_request, socket) => answer(socket, TUNNEL));
      // Node would answer 417 without a body; admit() refuses what it expects.
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
