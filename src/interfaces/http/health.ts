import type { FastifyInstance } from 'fastify';
import type { Deps } from '#src/app/pipeline/deps.ts';
import { behindOf, lagOf, type Statuses } from '#src/app/read-models/lag.ts';
import type { Position } from '#src/ports/event-log.ts';

/** How many events the read models may be behind and the process still be ready. */
const LAG_EVENTS_MAX = 10_000;
/** What is folded sooner than this, no reader waits for. */
const WAITING_S = 1;

type Health = {
  position: Position | null;
  folded: Position;
  events_behind: number | null;
  parked: string[] | null;
  waiting: string[] | null;
};

export type HealthDeps = Pick<Deps, 'log' | 'clock' | 'following'> & { projections: Statuses };

/** Where the log stands and how far it is folded here; null is what a log that is away cannot tell. */
const healthOf = async (deps: HealthDeps): Promise<Health> => {
  const folded = deps.following.asOf().position;
  try {
    const { position } = await deps.log.head();
    const { events } = await behindOf(deps, { checkpoint: folded, head: position });
    const lags = await lagOf(deps);
    const parked = lags.filter((lag) => lag.parked > 0);
    const waiting = lags.filter((lag) => lag.parked === 0 && lag.seconds > WAITING_S);
    return {
      position,
      folded,
      events_behind: events,
      parked: parked.map(({ projection }) => projection),
      waiting: waiting.map(({ projection }) => projection),
    };
  } catch {
    return { position: null, folded, events_behind: null, parked: null, waiting: null };
  }
};

/**
 * /livez: the process turns, and which it is. /readyz: the log answers and is followed here. What is parked, and
 * what waits for whoever folds it, is told and makes no process unready: the rest works, and no other process would
 * do better.
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
    const health = await healthOf(deps);
    const ready = health.events_behind !== null && health.events_behind <= LAG_EVENTS_MAX;
    return reply.code(ready ? 200 : 503).send({ status: ready ? 'ready' : 'not_ready', ...health });
  });
};
