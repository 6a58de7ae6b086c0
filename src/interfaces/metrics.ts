/** The route of metrics, and the measures of requests. */
import { setTimeout as pause } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { deskOperations } from '#contracts/registries/desk.ts';
import { operations } from '#contracts/registries/agents.ts';
import { AGENT_BASE, DESK_BASE } from '#contracts/places.ts';
import { measureLags } from '#src/reading/lag.ts';
import type { Metrics, RequestOutcome } from '#src/ports/metrics.ts';
import { routePath } from '#src/interfaces/rest/request.ts';
import type { HealthDeps } from '#src/web/health.ts';

/** Shorter than the timeout of Prometheus: without the log, the other metrics must still arrive. */
const LAG_MS_MAX = 2_000;

const SURFACES = [
  [AGENT_BASE, 'rest'],
  [DESK_BASE, 'desk'],
  ['/api/affiliate/mcp', 'mcp'],
  ['/api/affiliate/a2a', 'a2a'],
  ['/.well-known/', 'documents'],
  ['/api/', 'documents'],
  ['/livez', 'health'],
  ['/readyz', 'health'],
  ['/metrics', 'health'],
] as const;

const surfaceOf = (route: string | undefined): string => {
  if (route === undefined) return 'none';
  return SURFACES.find(([prefix]) => route.startsWith(prefix))?.[1] ?? 'portal';
};

const outcomeOf = (status: number): RequestOutcome => {
  if (status === 429) return 'limited';
  if (status >= 500) return 'failed';
  return status >= 400 ? 'refused' : 'ok';
};

const operationNames = (): ReadonlyMap<string, string> =>
  new Map(
    [
      ...Object.values(operations).map(({ id, http }) => ({ id, http, base: AGENT_BASE })),
      ...Object.values(deskOperations).map(({ id, http }) => ({ id, http, base: DESK_BASE })),
    ].map(({ id, http, base }) => [`${http.method} ${routePath(base, http.path)}`, id]),
  );

/**
 * Counts every request and serves GET /metrics. Like the health routes it has no credential: a proxy must not pass it
 * on to the public. Call it before the counted routes are added.
 */
export const metricsRoutes = (
  server: FastifyInstance,
  deps: Pick<HealthDeps, 'log' | 'clock' | 'timeline' | 'projections'> & { metrics: Metrics },
): void => {
  const { metrics } = deps;
  const names = operationNames();
  server.addHook('onResponse', (request, reply, next) => {
    // Unknown paths share one label, because clients make them up.
    const route = request.routeOptions.url;
    const surface = surfaceOf(route);
    const operation =
      route === undefined ? 'none' : names.get(`${request.method.replace('HEAD', 'GET')} ${route}`);
    const call = { surface, operation: operation ?? route ?? 'none' };
    const outcome = outcomeOf(reply.statusCode);
    metrics.countRequest({ ...call, outcome }, reply.elapsedTime / 1_000);
    next();
  });
  const make = async (): Promise<string> => {
    const late = pause(LAG_MS_MAX, null, { ref: false });
    const lags = await Promise.race([measureLags(deps).catch(() => null), late]);
    return metrics.text(lags, {
      log_replaced: deps.log.replacement?.() !== undefined,
      clock_behind: deps.timeline?.conflict() !== undefined,
    });
  };
  let making: Promise<string> | undefined;
  server.get('/metrics', async (_request, reply) => {
    reply.header('cache-control', 'no-store').type(metrics.contentType);
    // Concurrent requests share one answer.
    return (making ??= make().finally(() => (making = undefined)));
  });
};
