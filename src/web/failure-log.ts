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

/** Interval of the log lines about requests that were refused because the service is overloaded. */
const OVERLOADED_INTERVAL_MS = 10_000;

/**
 * Logs each failure with the pattern of its route, because clients make up paths; an error that an operator must see with its stack. Of
 * requests that are refused in an overload, it logs one per interval, with the number of the others.
 */
export const logFailures = (server: FastifyInstance, log: Logger): void => {
  let overloadedAt = -Infinity;
  let unlogged = 0;
  const countOverloaded = (): { unlogged?: number } | undefined => {
    const now = performance.now();
    if (now - overloadedAt < OVERLOADED_INTERVAL_MS) {
      unlogged += 1;
      return undefined;
    }
    const counted = unlogged > 0 ? { unlogged } : {};
    overloadedAt = now;
    unlogged = 0;
    return counted;
  };
  server.addHook('onResponse', (request, reply, next) => {
    const { statusCode: status } = reply;
    const code = codes.get(request);
    // A failure inside JSON-RPC may be a 200.
    const counted = code === 'overloaded' ? countOverloaded() : {};
    if (counted && (status >= 500 || code !== undefined)) {
      const { id, method, routeOptions } = request;
      const fields = { request: id, method, route: routeOptions.url, status, ...counted };
      const err = errors.get(request);
      if (err) log.error({ ...fields, code, err }, 'request failed');
      else log.warn({ ...fields, code }, 'request not served');
    }
    next();
  });
};
