import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import type { Metrics } from '#src/ports/metrics.ts';

/**
 * Counts requests with a forwarded address, and warns at the first one. Without TRUST_PROXY the address of such a
 * request is that of the proxy, so all clients share its limits and are one visitor.
 */
export const reportForwarded = (
  server: FastifyInstance,
  { log, metrics }: { log: Logger; metrics: Metrics | undefined },
): void => {
  let isReported = false;
  server.addHook('onRequest', ({ headers }, _reply, next) => {
    if (headers['x-forwarded-for'] !== undefined || headers.forwarded !== undefined) {
      metrics?.countUntrustedForwarded();
      if (!isReported) log.warn('forwarded addresses are ignored, because TRUST_PROXY is not set');
      isReported = true;
    }
    next();
  });
};
