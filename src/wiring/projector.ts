import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { runProjections } from '#projections/engine/engine.ts';
import { redisMembership } from '#src/adapters/redis/membership.ts';
import { timeline } from '#src/app/events/timeline.ts';
import { systemClock } from '#src/adapters/system/clock.ts';
import { systemIds } from '#src/adapters/system/ids.ts';
import { prometheusMetrics } from '#src/adapters/system/metrics.ts';
import type { Config } from '#src/config.ts';
import type { Position } from '#src/ports/event-log.ts';
import { openEventLog } from './event-log.ts';
import { healthServer } from './health-server.ts';
import { createListener } from './listener.ts';
import { assignmentLogger } from './log-lines.ts';
import { memberSetOf, startAssignedEngine } from './partition-assignment.ts';
import { requireRole } from './process-roles.ts';
import { engineCallbacks, openRemoteStore, REMOTE_PROJECTIONS } from './read-models.ts';
import { closeAfterGrace } from './shutdown-grace.ts';
import { throttledLog } from './throttled-log.ts';

const NAME_CHARS = 12;

export type Projector = {
  server: FastifyInstance;
  /** Starts the HTTP server and returns the URL it listens on. */
  listen(): Promise<string>;
  position(): Position;
  close(): Promise<void>;
};

/**
 * Opens a process that folds its assigned partitions of the read models, and does nothing else. It
 * stores nothing in the data directory. Throws StartupError within five seconds.
 */
export const openProjector = async (config: Config, logger: Logger): Promise<Projector> => {
  requireRole('projector', config);
  const parts = new AsyncDisposableStack();
  try {
    return await open(config, logger, parts);
  } catch (error) {
    await parts.disposeAsync();
    throw error;
  }
};

const open = async (
  config: Config,
  logger: Logger,
  parts: AsyncDisposableStack,
): Promise<Projector> => {
  const clock = systemClock();
  const metrics = prometheusMetrics();
  const ids = systemIds(clock.now);
  const name = ids.base62(NAME_CHARS);
  const opened = await openEventLog(config, { logger, directory: 'ignore' });
  parts.defer(() => opened.close());
  const { log } = opened;
  const stopping = new AbortController();
  const { signal } = stopping;
  const store = await openRemoteStore(config, { log, logger, signal, parts, metrics });
  const onFault = throttledLog(logger, 'Redis does not answer; partition assignment is delayed');
  const set = memberSetOf(REMOTE_PROJECTIONS);
  const membership = await redisMembership({
    url: config.readModelUrl,
    log: log.id,
    set,
    name,
    onFault,
  });
  parts.defer(() => membership.close());
  closeAfterGrace(signal, membership);
  const run = { log, store, projections: REMOTE_PROJECTIONS, ...engineCallbacks(logger) };
  const engine = await startAssignedEngine({
    membership,
    name,
    onFault,
    signal,
    start: (partitions, ending) => runProjections({ ...run, partitions, signal: ending }),
    onAssigned: assignmentLogger(logger, name),
  });
  parts.defer(() => engine.done);
  parts.defer(() => stopping.abort());
  const { origin, listen } = createListener(config);
  const time = timeline(log, clock);
  const server = healthServer(
    {
      log: time.log,
      timeline: time,
      clock,
      metrics,
      ids,
      origin,
      following: engine,
      projections: engine,
    },
    logger,
  );
  parts.defer(() => server.close());
  return {
    server,
    listen: () => listen(server),
    position: engine.position,
    close: () => parts.disposeAsync(),
  };
};
