import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { type HealthDeps, healthRoutes } from '#src/web/health.ts';
import { httpServer } from '#src/web/http.ts';
import { metricsRoutes } from '#src/interfaces/metrics.ts';
import type { Deps } from '#src/calls/call.ts';

/** Builds the server of a process without interfaces: health and metrics for its supervisor. */
export const healthServer = (
  deps: HealthDeps & Pick<Deps, 'ids' | 'origin' | 'metrics'>,
  log: Logger,
  instance?: string,
): FastifyInstance => {
  const { ids, clock, origin, metrics } = deps;
  const onForbidden = () => undefined;
  const server = httpServer({ ids, clock, origin, log, trustProxy: false, onForbidden });
  if (metrics) metricsRoutes(server, { ...deps, metrics });
  healthRoutes(server, deps, instance);
  return server;
};
