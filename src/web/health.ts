/** Health checks: `/livez`, `/readyz`, and what they show; the route of metrics, and the measures of requests. */
import { setTimeout as pause } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import type { ClockConflict } from '#src/writing/timeline.ts';
import { type Filling, measureLag, measureLags, type Statuses } from '#src/reading/lag.ts';
import { iso } from '#src/shared/time.ts';
import type { Position } from '#src/ports/event-log.ts';
import type { Deps } from '#src/calls/handlers.ts';
import { deskOperations } from '#contracts/registries/desk.ts';
import { operations } from '#contracts/registries/agents.ts';
import { AGENT_BASE, DESK_BASE, routePath } from '#contracts/places.ts';
import type { Metrics, RequestOutcome } from '#src/ports/metrics.ts';

/** Limit of the events that are not folded yet in a process that is ready. */
const LAG_EVENTS_MAX = 10_000;
/** A read model that lags longer than this is reported as waiting. */
const WAITING_S = 1;

type Health = {
  position: Position | null;
  folded: Position;
  events_behind: number | null;
  parked: string[] | null;
  waiting: string[] | null;
  unreadable: string[];
};

export type HealthDeps = Pick<Deps, 'log' | 'clock' | 'following'> & {
  projections: Statuses;
  timeline?: Pick<Deps['timeline'], 'conflict'>;
  /** How much of the log was read before requests are served; undefined once they are. */
  filling?: () => Promise<Filling> | undefined;
  /** Set if other machines can reach the service, and its mail stays in the data directory. */
  mail?: 'not_configured' | undefined;
};

/** Head of the log and how far it is folded here; null where the log does not answer. */
const healthOf = async (deps: HealthDeps): Promise<Health> => {
  const folded = deps.following.asOf().position;
  const unreadable = deps.following.unreadable?.() ?? [];
  try {
    const { position } = await deps.log.head();
    const { events } = await measureLag(deps, { checkpoint: folded, head: position });
    const lags = await measureLags(deps);
    const parked = lags.filter((lag) => lag.parked > 0);
    const waiting = lags.filter((lag) => lag.parked === 0 && lag.seconds > WAITING_S);
    return {
      position,
      folded,
      events_behind: events,
      parked: parked.map(({ projection }) => projection),
      waiting: waiting.map(({ projection }) => projection),
      unreadable,
    };
  } catch {
    return { position: null, folded, events_behind: null, parked: null, waiting: null, unreadable };
  }
};

const renderConflict = ({ position, eventAt, clockAt }: ClockConflict): object => ({
  now: iso(clockAt),
  newest_event: { position, at: iso(eventAt) },
  remedy:
    'Set the clock if it is wrong; if it is right, run: tributary clock accept --reason REASON',
});

/**
 * /livez answers while the event loop runs, and names the process. /readyz answers 200 while the log answers and is
 * followed here, and the read models of this process can be read; while the process fills them it answers 503 with its
 * progress. Parked and lagging read models are listed but make no process unready: the others work, and another process
 * would be in the same state. Neither does mail that is not configured, which is named. A full disk and a damaged index make
 * it unready, although reads continue.
 */
export const healthRoutes = (
  server: FastifyInstance,
  deps: HealthDeps,
  instance?: string,
): void => {
  server.get('/livez', (_request, reply) =>
    reply.header('cache-control', 'no-store').send({ status: 'live', instance }),
  );
  server.get('/readyz', async (_request, reply) => {
    reply.header('cache-control', 'no-store');
    const filling = deps.filling?.()?.catch(() => null);
    const health = await healthOf(deps);
    const { events_behind: lag, unreadable } = health;
    const follows = lag !== null && lag <= LAG_EVENTS_MAX;
    const conflict = deps.timeline?.conflict();
    const detail = deps.log.replacement?.();
    const trouble = deps.log.trouble?.();
    const isFilled = follows && unreadable.length === 0 && !filling;
    const ready = isFilled && !conflict && !trouble && detail === undefined;
    return reply.code(ready ? 200 : 503).send({
      status: ready ? 'ready' : 'not_ready',
      ...health,
      ...(deps.mail && { mail: deps.mail }),
      ...(filling && { filling: await filling }),
      ...trouble,
      ...(conflict && { reason: 'clock_behind', clock: renderConflict(conflict) }),
      ...(detail !== undefined && { reason: 'log_replaced', detail }),
    });
  });
};

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
