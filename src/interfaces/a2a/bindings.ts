import type { FastifyReply } from 'fastify';
import type { Refusal } from '#src/shared/outcome.ts';
import { rememberFailure } from '#src/web/failure-log.ts';
import { problemHeaders } from '#src/web/problem.ts';
import { a2aFaultOf, httpError, rpcError } from './faults.ts';

/** How a binding sends an answer, an error and an event of a stream. */
export type Binding = {
  send(reply: FastifyReply, value: object): FastifyReply;
  refuse(reply: FastifyReply, refusal: Refusal, origin: string): FastifyReply;
  event(reply: FastifyReply): (event: object) => object;
};

const JSON_TYPE = 'application/json';
const A2A_TYPE = 'application/a2a+json';

const write = (reply: FastifyReply, type: string, value: object): FastifyReply =>
  // A buffer: fastify adds a charset to a text, and these media types have none.
  reply.header('content-type', type).send(Buffer.from(JSON.stringify(value)));

const fail = (reply: FastifyReply, refusal: Refusal, origin: string) => {
  const requestId = reply.request.id;
  rememberFailure(reply.request, refusal.code, refusal.cause);
  reply.headers({ ...problemHeaders(refusal, origin), 'request-id': requestId });
  return { fault: a2aFaultOf(refusal), about: { origin, requestId } };
};

/** The id of the request; null when it has no valid one, as JSON-RPC requires. */
const idOf = ({ request: { body } }: FastifyReply): string | number | null => {
  const id = (body as { id?: unknown } | null | undefined)?.id;
  return typeof id === 'string' || (typeof id === 'number' && Number.isInteger(id)) ? id : null;
};

export const rpcBinding: Binding = {
  send: (reply, result) =>
    write(reply.code(200), JSON_TYPE, { jsonrpc: '2.0', id: idOf(reply), result }),
  refuse(reply, refusal, origin) {
    const { fault, about } = fail(reply, refusal, origin);
    return write(reply.code(fault.rpcHttp), JSON_TYPE, rpcError(fault, idOf(reply), about));
  },
  event: (reply) => {
    const id = idOf(reply);
    return (result) => ({ jsonrpc: '2.0', id, result });
  },
};

/** The media type of A2A, or plain JSON when the client accepts only that. */
const typeFor = ({ request }: FastifyReply): string => {
  const accept = request.headers.accept ?? '';
  return accept.includes(JSON_TYPE) && !accept.includes(A2A_TYPE) ? JSON_TYPE : A2A_TYPE;
};

export const httpBinding: Binding = {
  send: (reply, value) => write(reply.code(200), typeFor(reply), value),
  refuse(reply, refusal, origin) {
    const { fault, about } = fail(reply, refusal, origin);
    return write(reply.code(fault.http), JSON_TYPE, httpError(fault, about));
  },
  event: () => (event) => event,
};
