/** A process that folds its share of the read models, and nothing else. */
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { runProjections } from '#projections/engine/run.ts';
import { observedStore } from '#src/adapters/observed-store.ts';
import { redisRoll } from '#src/adapters/redis/roll.ts';
import { redisStore } from '#src/adapters/redis/read-model.ts';
import { systemClock } from '#src/adapters/system/clock.ts';
import { systemIds } from '#src/adapters/system/ids.ts';
import { prometheusMetrics } from '#src/adapters/system/metrics.ts';
import type { Config } from '#src/config.ts';
import type { Position } from '#src/ports/event-log.ts';
import { addressOf } from './address.ts';
import { closedSoonAfter } from './ending.ts';
import { healthServer } from './health-server.ts';
import { shareLines } from './lines.ts';
import { openLog } from './log.ts';
import { requireRole } from './roles.ts';
import { setOf, sharedEngine } from './shares.ts';
import { sparing } from './told.ts';
import { engineTold, FAR_PROJECTIONS } from './views.ts';

const NAME_CHARS = 12;

export type Projector = {
  server: FastifyInstance;
  /** Starts the HTTP server; answers the URL it listens on. */
  listen(): Promise<string>;
  position(): Position;
  close(): Promise<void>;
};

/** It keeps nothing in the data directory. Throws StartupError within five seconds. */
export const openProjector = async (config: Config, logger: Logger): Promise<Projector> => {
  requireRole('projector', config);
  const clock = systemClock();
  const metrics = prometheusMetrics();
  const ids = systemIds(clock.now);
  const name = ids.base62(NAME_CHARS);
  const { readModelUrl: url } = config;
  const parts = new AsyncDisposableStack();
  try {
    const opened = await openLog(config, { logger, holdsDirectory: false });
    parts.defer(() => opened.close());
    const { log } = opened;
    const onFault = sparing(logger, 'Redis gives no answer; projections wait');
    const redis = await redisStore({
      url,
      log: log.id,
      projections: FAR_PROJECTIONS,
      onFault,
    });
    const store = observedStore(redis, metrics, clock.monotonic);
    parts.defer(() => store.close());
    const roll = await redisRoll({
      url,
      log: log.id,
      set: setOf(FAR_PROJECTIONS),
      name,
      onFault,
    });
    parts.defer(() => roll.close());
    const stopping = new AbortController();
    for (const connection of [store, roll]) closedSoonAfter(stopping.signal, connection);
    const told = engineTold(logger);
    const engine = await sharedEngine({
      roll,
      name,
      onFault,
      signal: stopping.signal,
      start: (partitions, signal) =>
        runProjections({ log, store, projections: FAR_PROJECTIONS, partitions, signal, ...told }),
      onShare: shareLines(logger, name),
    });
    parts.defer(() => engine.done);
    parts.defer(() => stopping.abort());
    const address = addressOf(config);
    const server = healthServer(
      { log, clock, metrics, following: engine, projections: engine, ids, origin: address.origin },
      logger,
    );
    parts.defer(() => server.close());
    return {
      server,
      listen: () => address.listen(server),
      position: engine.position,
      close: () => parts.disposeAsync(),
    };
  } catch (error) {
    await parts.disposeAsync();
    throw error;
  }
};
