/** The line of a request that could not be served. No other has one: it would cost what a read does. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { type ProblemCode, PROBLEMS } from '#contracts/problems.ts';

const codes = new WeakMap<FastifyRequest, ProblemCode>();
const errors = new WeakMap<FastifyRequest, Error>();

/** To be told of each problem that is answered, and of the error behind it, if there is one. */
export const noteFailure = (request: FastifyRequest, code: ProblemCode, error?: Error): void => {
  if (PROBLEMS[code].status < 500) return;
  codes.set(request, code);
  if (error) errors.set(request, error);
};

/** With the route's pattern: paths are what strangers make up. A fault of ours has its stack, too. */
export const failureLines = (server: FastifyInstance, log: Logger): void => {
  server.addHook('onResponse', (request, reply, next) => {
    const { statusCode: status } = reply;
    const code = codes.get(request);
    // A fault inside JSON-RPC may be a 200.
    if (status >= 500 || code !== undefined) {
      const { id, method, routeOptions } = request;
      const fields = { request: id, method, route: routeOptions.url, status };
      const err = errors.get(request);
      if (err) log.error({ ...fields, code, err }, 'request failed');
      else log.warn({ ...fields, code }, 'request not served');
    }
    next();
  });
};
