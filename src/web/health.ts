/** Health checks: `/livez`, `/readyz`, and what they show. */
import type { FastifyInstance } from 'fastify';
import type { ClockConflict } from '#src/writing/timeline.ts';
import { type Filling, measureLag, measureLags, type Statuses } from '#src/reading/lag.ts';
import { iso } from '#src/shared/time.ts';
import type { Position } from '#src/ports/event-log.ts';
import type { Deps } from '#src/calls/handlers.ts';

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
