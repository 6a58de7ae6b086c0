import { setTimeout as pause } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { deskOperations } from '#contracts/desk/index.ts';
import { operations } from '#contracts/index.ts';
import { AGENT_BASE, DESK_BASE } from '#contracts/places.ts';
import type { Deps } from '#src/app/pipeline/deps.ts';
import { lagOf, type Statuses } from '#src/app/read-models/lag.ts';
import type { Metrics, RequestOutcome } from '#src/ports/metrics.ts';
import { routePath } from '../rest/request.ts';

/** Less than Prometheus waits for an answer: a log that is away must not take the rest with it. */
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

/** Operations by method and route; any other route is named by its own pattern. */
const operationNames = (): ReadonlyMap<string, string> =>
  new Map(
    [
      ...Object.values(operations).map(({ id, http }) => ({ id, http, base: AGENT_BASE })),
      ...Object.values(deskOperations).map(({ id, http }) => ({ id, http, base: DESK_BASE })),
    ].map(({ id, http, base }) => [`${http.method} ${routePath(base, http.path)}`, id]),
  );

/**
 * Counts every request, and answers GET /metrics to whoever may reach the health routes: a proxy in
 * front keeps all three to the house. To be called before the routes it counts are made.
 */
export const metricsRoutes = (
  server: FastifyInstance,
  deps: Pick<Deps, 'log' | 'clock'> & { projections: Statuses; metrics: Metrics },
): void => {
  const { metrics } = deps;
  const names = operationNames();
  server.addHook('onResponse', (request, reply, next) => {
    // Of a path that nobody serves only that is kept: paths are what strangers make up.
    const route = request.routeOptions.url;
    const surface = surfaceOf(route);
    const named =
      route === undefined ? 'none' : names.get(`${request.method.replace('HEAD', 'GET')} ${route}`);
    const asked = { surface, operation: named ?? route ?? 'none' };
    const outcome = outcomeOf(reply.statusCode);
    metrics.requested({ ...asked, outcome }, reply.elapsedTime / 1_000);
    next();
  });
  const make = async (): Promise<string> => {
    const late = pause(LAG_MS_MAX, null, { ref: false });
    return metrics.text(await Promise.race([lagOf(deps).catch(() => null), late]));
  };
  let making: Promise<string> | undefined;
  server.get('/metrics', async (_request, reply) => {
    reply.header('cache-control', 'no-store').type(metrics.contentType);
    // Whoever asks while it is made shares it: a flood of them costs a few.
    return (making ??= make().finally(() => (making = undefined)));
  });
};
