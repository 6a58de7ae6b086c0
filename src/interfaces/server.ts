import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { authenticator } from '#src/app/pipeline/authenticate.ts';
import type { DeskDeps } from '#src/app/pipeline/desk-handler.ts';
import { note } from '#src/app/pipeline/agent-dispatch.ts';
import type { Limiter } from '#src/app/pipeline/limiter.ts';
import { limiter } from '#src/app/pipeline/limiter.ts';
import { forbidden } from '#src/app/pipeline/outcome.ts';
import { sharedLimiter } from '#src/app/pipeline/shared-limiter.ts';
import type { Visits } from '#src/app/links/visits.ts';
import type { SharedCount } from '#src/ports/limits.ts';
import { LIMITS } from '#contracts/limits.ts';
import { a2aRoutes } from './a2a/routes.ts';
import { agentGate } from './http/gate.ts';
import { healthRoutes } from './http/health.ts';
import { httpServer } from './http/http.ts';
import { mcpRoutes } from './mcp/routes.ts';
import { metricsRoutes } from './http/metrics.ts';
import { portalRoutes } from './portal/routes.ts';
import { publicRoutes } from './http/public.ts';
import { burst, requestOf } from './rest/burst.ts';
import { deskRoutes } from './desk/routes.ts';
import { keptAnswers } from './rest/kept-answers.ts';
import { agentRoutes } from './rest/routes.ts';

export type ServerDeps = DeskDeps & {
  visits: Visits;
  /** Where other processes serve the same clients: what they take is counted there. */
  counts?: SharedCount;
};

export type ServerOptions = {
  log: Logger;
  trustProxy: boolean | string;
  countryHeader: string | undefined;
  /** What /livez answers, so that whoever looks for this process can tell it from another. */
  instance?: string | undefined;
};

/** Every route of the service on one HTTP server, not yet listening. */
export const buildServer = (deps: ServerDeps, options: ServerOptions): FastifyInstance => {
  const { clock, ids, limits, counts: count } = deps;
  const limited = (name: string, perMinute: number): Limiter =>
    count
      ? sharedLimiter(perMinute, clock.monotonic, { count, name })
      : limiter(perMinute, clock.monotonic);
  const guards = {
    authenticator: authenticator(deps),
    limiters: {
      read: limited('read', limits.readsPerMinute),
      write: limited('write', limits.writesPerMinute),
      outreach: limited('outreach', limits.outreachPerMinute),
      failed: limited('failed', LIMITS.FAILED_CREDENTIALS_PER_MINUTE),
      unauthenticated: limited('unauthenticated', LIMITS.UNAUTHENTICATED_PER_MINUTE),
    },
  };
  const gate = agentGate(deps, guards);
  const leave = burst((err, unsent) =>
    options.log.error({ request: requestOf(unsent), err }, 'answer not sent'),
  );
  const kept = keptAnswers(deps, gate, leave);
  const server = httpServer({
    ids,
    origin: deps.origin,
    log: options.log,
    trustProxy: options.trustProxy,
    door: kept.door,
    awaited: () => deps.confirmation?.awaited(),
    onForbidden: (request, boundary) => {
      const operation = `boundary:${boundary}`;
      const caller = gate.identify(request, { operation, surface: 'rest' });
      if (!caller.ok) return;
      const attempt = { caller: caller.value, surface: 'rest' as const, requestId: request.id };
      note(deps, operation, attempt, forbidden(boundary));
    },
  });
  const { metrics } = deps;
  if (metrics) metricsRoutes(server, { ...deps, metrics });
  healthRoutes(server, deps, options.instance);
  publicRoutes(server, deps);
  agentRoutes(server, deps, { gate, kept, leave });
  mcpRoutes(server, deps, gate);
  a2aRoutes(server, deps, gate);
  deskRoutes(server, deps, guards);
  const { countryHeader } = options;
  portalRoutes(server, {
    ...deps,
    buyerActs: limited('buyer', LIMITS.BUYER_ACTS_PER_MINUTE),
    ...(countryHeader !== undefined && { countryHeader }),
  });
  return server;
};
