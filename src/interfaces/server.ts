import compress from '@fastify/compress';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import type { App } from '#src/registries/app.ts';
import { ANSWER_HEADERS } from '#contracts/headers.ts';
import { forbidden } from '#src/shared/outcome.ts';
import type { Metrics } from '#src/ports/metrics.ts';
import type { Ids } from '#src/ports/system.ts';
import { a2aRoutes } from './a2a/routes.ts';
import { addressRates } from '#src/web/address-rates.ts';
import { arrivalOf } from '#src/web/arrival.ts';
import { reportForwarded } from '#src/web/forwarded-headers.ts';
import { type HealthDeps, healthRoutes } from '#src/web/health.ts';
import { httpServer } from '#src/web/http.ts';
import { metricsRoutes } from './metrics.ts';
import { publicDocumentRoutes } from './public-documents.ts';
import { mcpRoutes } from './mcp/routes.ts';
import { refuseBrowser } from '#src/web/error-pages.ts';
import { portalRoutes } from './pages.ts';
import { agentRoutes, deskRoutes } from './rest/routes.ts';

export type ServerOptions = {
  log: Logger;
  trustProxy: boolean | string;
  countryHeader: string | undefined;
  imageOrigins: readonly string[];
  /** Identifies this process in the answer of /livez. */
  instance?: string | undefined;
  /** Whether the read models are not filled yet. */
  isStarting?: () => boolean;
};

export type ServerDeps = HealthDeps & {
  ids: Ids;
  metrics?: Metrics;
  /** What a request with a credential waits for before it is handled. */
  awaited?: () => Promise<void> | undefined;
};

/** Builds the HTTP server with all routes; it does not listen yet. */
export const buildServer = (
  app: App,
  deps: ServerDeps,
  options: ServerOptions,
): FastifyInstance => {
  const { ids, clock, metrics, awaited } = deps;
  const server = httpServer({
    ids,
    clock,
    origin: app.origin,
    log: options.log,
    trustProxy: options.trustProxy,
    socketLimit: {
      max: app.limits.socketsPerAddress,
      onRefused: () => metrics?.countRefusedConnection(),
    },
    refuseBrowser,
    refuseAddress: addressRates(app.limits, clock.monotonic),
    ...(awaited && { awaited }),
    isStarting: options.isStarting,
    onForbidden(request, boundary) {
      const exchange = `boundary:${boundary}`;
      const admitted = app.agents.admit(arrivalOf(request, 'rest'), { exchange });
      if (admitted.ok) app.agents.conclude(admitted.value, exchange, forbidden(boundary));
    },
  });
  if (options.trustProxy === false) reportForwarded(server, { log: options.log, metrics });
  const { log } = deps;
  if (log.replacement)
    server.addHook('onSend', async (_request, reply) => {
      if (log.replacement?.() !== undefined) reply.header(ANSWER_HEADERS.logState.name, 'replaced');
    });
  if (metrics) metricsRoutes(server, { ...deps, metrics });
  healthRoutes(server, deps, options.instance);
  // Routes are compressed if the plugin is loaded before them. Small answers are not worth it.
  void server.register(compress, { global: false, threshold: 1_024, encodings: ['br', 'gzip'] });
  void server.register(async (scope) => {
    publicDocumentRoutes(scope, app);
    agentRoutes(scope, app);
    mcpRoutes(scope, app);
    a2aRoutes(scope, app);
    deskRoutes(scope, app);
  });
  portalRoutes(server, app, options);
  return server;
};
