import type { FastifyReply } from 'fastify';
import type { Refusal } from '#src/app/pipeline/outcome.ts';
import { rememberFailure } from '../http/failure-log.ts';
import { problemHeaders } from '../http/problem.ts';
import { faultOf, httpError, rpcError } from './faults.ts';

/** How one of the two bindings puts an answer, an error and an event of a stream. */
export type Wire = {
  send(reply: FastifyReply, value: object): FastifyReply;
  refuse(reply: FastifyReply, refusal: Refusal, origin: string): FastifyReply;
  event(reply: FastifyReply): (event: object) => object;
};

const JSON_TYPE = 'application/json';
const A2A_TYPE = 'application/a2a+json';

const write = (reply: FastifyReply, type: string, value: object): FastifyReply =>
  // A buffer: to a text fastify would add a charset, which these media types do not have.
  reply.header('content-type', type).send(Buffer.from(JSON.stringify(value)));

const fail = (reply: FastifyReply, refusal: Refusal, origin: string) => {
  const requestId = reply.request.id;
  rememberFailure(reply.request, refusal.code);
  reply.headers({ ...problemHeaders(refusal, origin), 'request-id': requestId });
  return { fault: faultOf(refusal), about: { origin, requestId } };
};

/** The id of the request, where it can be told; null otherwise, as JSON-RPC has it. */
const idOf = ({ request: { body } }: FastifyReply): string | number | null => {
  const id = (body as { id?: unknown } | null | undefined)?.id;
  return typeof id === 'string' || (typeof id === 'number' && Number.isInteger(id)) ? id : null;
};

export const rpcWire: Wire = {
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

/** The standard's media type, for everybody who does not ask for plain JSON alone. */
const typeFor = ({ request }: FastifyReply): string => {
  const accept = request.headers.accept ?? '';
  return accept.includes(JSON_TYPE) && !accept.includes(A2A_TYPE) ? JSON_TYPE : A2A_TYPE;
};

export const httpWire: Wire = {
  send: (reply, value) => write(reply.code(200), typeFor(reply), value),
  refuse(reply, refusal, origin) {
    const { fault, about } = fail(reply, refusal, origin);
    return write(reply.code(fault.http), JSON_TYPE, httpError(fault, about));
  },
  event: () => (event) => event,
};
