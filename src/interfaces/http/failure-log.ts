/** Logs requests that fail with a 5xx. Others have no log line, which would cost as much as a read. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { type ProblemCode, PROBLEMS } from '#contracts/problems.ts';

const codes = new WeakMap<FastifyRequest, ProblemCode>();
const errors = new WeakMap<FastifyRequest, Error>();

/** Remembers the problem that a request is answered with, and its error, for the log line. */
export const rememberFailure = (
  request: FastifyRequest,
  code: ProblemCode,
  error?: Error,
): void => {
  if (PROBLEMS[code].status < 500) return;
  codes.set(request, code);
  if (error) errors.set(request, error);
};

/** Logs each failure with the pattern of its route, because clients make up paths; an internal error with its stack. */
export const logFailures = (server: FastifyInstance, log: Logger): void => {
  server.addHook('onResponse', (request, reply, next) => {
    const { statusCode: status } = reply;
    const code = codes.get(request);
    // A failure inside JSON-RPC may be a 200.
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
