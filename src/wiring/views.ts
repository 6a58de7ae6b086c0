/** The read models that the configuration names, followed, and how they are read. */
import { join } from 'node:path';
import type { Logger } from 'pino';
import { pairedEngines, pairedReadModels, pairedStores } from '#projections/engine/pair.ts';
import type { LocalReadModels } from '#projections/engine/readers.ts';
import { localReadModels, remoteReadModels } from '#projections/engine/readers.ts';
import { type Engine, runProjections } from '#projections/engine/run.ts';
import { PROJECTIONS } from '#projections/index.ts';
import { memoryStore } from '#src/adapters/memory/read-model.ts';
import { observedStore } from '#src/adapters/observed-store.ts';
import { sqliteStore } from '#src/adapters/sqlite/rows/read-model.ts';
import { systemClock } from '#src/adapters/system/clock.ts';
import type { ReadModelFollower } from '#src/app/read-models/follower.ts';
import { areRemoteViews, type Config } from '#src/config.ts';
import type { Catalog } from '#src/ports/catalog.ts';
import type { EventLog } from '#src/ports/event-log.ts';
import type { Metrics } from '#src/ports/metrics.ts';
import type { LocalStore, ProjectionStore, ReadModels } from '#src/ports/read-model.ts';
import { closedSoonAfter } from './ending.ts';
import { farProgress } from './far-progress.ts';
import { foldsAll, type Role } from './roles.ts';
import { sparing } from './told.ts';

export type Views = {
  /** Those in this process: what every request needs, without a promise. */
  near: LocalReadModels;
  /** True once these, the catalog aside, have folded up to `position`. */
  nearPassed: Engine['passed'];
  /** All read models. */
  store: ProjectionStore;
  engine: Engine;
  readModels: ReadModels;
  following: ReadModelFollower;
  /** What requests cannot do without is filled. */
  ready: Promise<boolean>;
};

export type ViewOptions = {
  role: Role;
  log: EventLog;
  catalog: Catalog;
  logger: Logger;
  signal: AbortSignal;
  /** Ends, in reverse order, what is opened here. */
  parts: AsyncDisposableStack;
  metrics?: Metrics;
};

/**
 * Requests, redirects, the issue of keys and the end of erasures cannot do without these, so each
 * process has its own: no outage of the far store stops them, or keeps a key alive that must go.
 */
const NEAR: ReadonlySet<string> = new Set(['credentials', 'codes', 'access', 'erasures']);
const isNear = (name: string): boolean => NEAR.has(name);

/** A wait up to this long is for the answer's own write; a longer one is for a token. */
const OWN_WRITE_MS_MAX = 150;

export const FAR_PROJECTIONS = PROJECTIONS.filter(({ name }) => !isNear(name));
const NEAR_PROJECTIONS = PROJECTIONS.filter(({ name }) => isNear(name));

/** Throws StartupError, within five seconds, when the read models' store cannot be used. */
export const openViews = (config: Config, options: ViewOptions): Promise<Views> =>
  areRemoteViews(config) ? pairOf(config, options) : local(config, options);

/** What all engines of this process are told, and tell. */
export const engineTold = (logger: Logger) => ({
  onParked: (projection: string, parked: object) =>
    logger.error({ projection, ...parked }, 'projection parked'),
  onFault: sparing(logger, 'projections wait'),
});

const localStore = (
  { eventLogUrl, readModelUrl, dataDirectory }: Config,
  { log, logger }: ViewOptions,
  name: string,
): LocalStore => {
  if (eventLogUrl.startsWith('memory:') || readModelUrl.protocol === 'memory:')
    return memoryStore();
  return sqliteStore({
    file: join(dataDirectory, name),
    log: log.id,
    onDiscarded: (reason) => logger.warn({ reason }, 'read models are folded afresh'),
    onFault: sparing(logger, 'read models wait for their file'),
  });
};

const local = async (config: Config, options: ViewOptions): Promise<Views> => {
  const { log, catalog, logger, signal, parts } = options;
  const near = localStore(config, options, 'views.db');
  parts.defer(() => near.close());
  const told = engineTold(logger);
  const engine = await runProjections({
    log,
    catalog,
    signal,
    store: near,
    projections: PROJECTIONS,
    ...told,
  });
  const readModels = localReadModels(near, PROJECTIONS, engine);
  const { ready, rowsPassed: nearPassed } = engine;
  const following = engine;
  return { near: readModels, nearPassed, store: near, engine, readModels, following, ready };
};

const pairOf = async (config: Config, options: ViewOptions): Promise<Views> => {
  const { role, log, catalog, logger, signal, parts, metrics } = options;
  const { redisStore } = await import('#src/adapters/redis/read-model.ts');
  const onFault = sparing(logger, 'Redis gives no answer; read models wait');
  const redis = await redisStore({
    url: config.readModelUrl,
    log: log.id,
    projections: FAR_PROJECTIONS,
    onFault,
  });
  const farStore = metrics ? observedStore(redis, metrics, systemClock().monotonic) : redis;
  parts.defer(() => farStore.close());
  closedSoonAfter(signal, farStore);
  const nearStore = localStore(config, options, 'near.db');
  parts.defer(() => nearStore.close());
  const near = await runProjections({
    log,
    catalog,
    signal,
    store: nearStore,
    projections: NEAR_PROJECTIONS,
    ...engineTold(logger),
  });
  const far = await runProjections({
    log,
    signal,
    store: farStore,
    projections: FAR_PROJECTIONS,
    ...(!foldsAll(role, config) && { partitions: [] }),
    ...engineTold(logger),
  });
  const nearModels = localReadModels(nearStore, NEAR_PROJECTIONS, near);
  const both = pairedEngines(near, far, isNear, farStore);
  const progress = farProgress(
    farStore,
    far,
    FAR_PROJECTIONS.map(({ name }) => name),
  );
  const engine: Engine = foldsAll(role, config)
    ? both
    : { ...both, status: async () => [...(await near.status()), ...(await progress.status())] };
  const passed: ReadModelFollower['passed'] = async (position, waitMs, scope) => {
    const until = performance.now() + waitMs;
    if (!(await both.passed(position, waitMs))) return false;
    if (scope === undefined || foldsAll(role, config) || waitMs <= OWN_WRITE_MS_MAX) return true;
    return progress.folded(scope, position, until - performance.now());
  };
  return {
    near: nearModels,
    nearPassed: near.rowsPassed,
    store: pairedStores(nearStore, farStore, isNear),
    engine,
    readModels: pairedReadModels(
      nearModels,
      remoteReadModels(farStore, FAR_PROJECTIONS, far),
      isNear,
    ),
    following: { passed, asOf: both.asOf },
    ready: near.ready,
  };
};
