import { join } from 'node:path';
import type { Logger } from 'pino';
import { type Engine, runProjections } from '#projections/engine/engine.ts';
import { type EnginePair, pairEngines, pairReadModels } from '#projections/engine/readers/pair.ts';
import { localReadModels, type LocalReadModels } from '#projections/engine/readers/local.ts';
import { remoteReadModels } from '#projections/engine/readers/remote.ts';
import { PROJECTIONS } from '#projections/index.ts';
import type { Projection } from '#projections/projection.ts';
import { ROW_FORMAT } from '#src/stores/redis/keys.ts';
import { observedStore } from '#src/stores/observed-store.ts';
import { networkRiskOf } from '#src/stores/redis/url-options.ts';
import { sqliteStore } from '#src/stores/sqlite/rows/read-model.ts';
import type { Filling } from '#src/reading/lag.ts';
import type { ReadModelFollower } from '#src/ports/follower.ts';
import { type Config, hasRemoteReadModels, isRemoteLog } from '#src/config.ts';
import type { OpeningCatalog } from '#src/ports/catalog.ts';
import type { EventLog, FoldEvent } from '#src/ports/event-log.ts';
import type { Metrics } from '#src/ports/metrics.ts';
import type { LocalStore, ProjectionStore, ReadModels } from '#src/ports/read-model.ts';
import { systemClock } from '#src/system/ids.ts';
import { foldsSharedReadModels, type ProcessRole } from './process-roles.ts';
import { RemoteProgress } from './remote-progress.ts';
import { checkInThread, type CheckRows, rowCheckOf } from './check-rows.ts';
import { closeAfterGrace } from './shutdown-grace.ts';
import { throttledLog } from './logger.ts';

export type OpenReadModels = {
  /** The read models of this process, with synchronous lookup. */
  local: LocalReadModels;
  /** `passed` for these read models, without the catalog. */
  localPassed: Engine['passed'];
  readModels: ReadModels;
  /** All read models together. */
  engine: EnginePair;
  stackOf(projection: string): {
    store: ProjectionStore;
    engine: Engine;
    /** All of the store, in the versions that it has there. */
    projections: readonly Projection[];
  };
  checkRows: CheckRows;
  following: ReadModelFollower;
  /** Resolves once the local read models are filled, which requests cannot do without. */
  ready: Promise<boolean>;
  /** Returns how far the local read models are filled. Throws LogUnavailable. */
  filling(): Promise<Filling>;
};

export type ReadModelOptions = {
  role: ProcessRole;
  log: EventLog;
  catalog: OpeningCatalog;
  logger: Logger;
  signal: AbortSignal;
  /** Closes what is opened here, in reverse order. */
  parts: AsyncDisposableStack;
  metrics?: Metrics | undefined;
};

/**
 * Authentication, redirects, key creation and erasures need these, so every process has its own: an
 * outage of the remote store must not stop them or delay the revocation of a key.
 */
const LOCAL: ReadonlySet<string> = new Set(['credentials', 'codes', 'access', 'erasures']);
const isLocal = (name: string): boolean => LOCAL.has(name);

/** A wait up to this long is for the caller's own write; a longer one is for a consistency token. */
const OWN_WRITE_MS_MAX = 150;

/**
 * Their versions include the format of the rows in Redis, so that the rows of another format are in spaces of their own, as
 * those of another version.
 */
export const REMOTE_PROJECTIONS = PROJECTIONS.filter(({ name }) => !isLocal(name)).map(
  (projection): Projection => ({ ...projection, version: ROW_FORMAT + projection.version }),
);
const LOCAL_PROJECTIONS = PROJECTIONS.filter(({ name }) => isLocal(name));

/** Opens the configured stores. Throws StartupError within five seconds if one cannot be used. */
export const openReadModels = (
  config: Config,
  options: ReadModelOptions,
): Promise<OpenReadModels> =>
  hasRemoteReadModels(config) ? openLocalAndRemote(config, options) : openLocal(config, options);

export const engineCallbacks = (logger: Logger) => ({
  onParked: (projection: string, parked: object) =>
    logger.error({ projection, ...parked }, 'projection parked'),
  onFault: throttledLog(logger, 'projections cannot advance'),
  onUnknownType: firstOfEachType(({ type, stream, position }) =>
    logger.warn({ type, stream, position }, 'read models skip an event type'),
  ),
});

const firstOfEachType = (report: (event: FoldEvent) => void): ((event: FoldEvent) => void) => {
  const reported = new Set<string>();
  return (event) => {
    if (reported.has(event.type)) return;
    reported.add(event.type);
    report(event);
  };
};

const discardLogger = (logger: Logger) => (reason: string) =>
  logger.warn({ reason }, 'read models are rebuilt');

const openLocalStore = (
  config: Config,
  { log, logger, parts }: ReadModelOptions,
  name: string,
): LocalStore => {
  const store = sqliteStore({
    file: join(config.dataDirectory, name),
    log: log.id,
    onDiscarded: discardLogger(logger),
    onFault: throttledLog(logger, 'the file of the read models cannot be written'),
  });
  parts.defer(() => store.close());
  return store;
};

const openLocal = async (config: Config, options: ReadModelOptions): Promise<OpenReadModels> => {
  const { log, catalog, logger, signal, parts } = options;
  const { dataDirectory: directory } = config;
  const file = 'views.db';
  const store = openLocalStore(config, options, file);
  const run = { log, signal, ...engineCallbacks(logger) };
  const engine = await runProjections({ ...run, catalog, store, projections: PROJECTIONS });
  const local = localReadModels(store, PROJECTIONS, engine);
  const { ready, rowsPassed: localPassed } = engine;
  const stackOf = () => ({ store, engine, projections: PROJECTIONS });
  const { passed, asOf } = engine;
  const following = { passed, asOf, unreadable: local.unreadable };
  const filling = fillingOf(engine, catalog, config);
  const checkRows = isRemoteLog(config)
    ? rowCheckOf({ log, storeOf: () => store })
    : checkInThread({ directory, file }, parts);
  const models = { local, localPassed, readModels: local, engine, stackOf, checkRows };
  return { ...models, following, ready, filling };
};

const fillingOf =
  (engine: Engine, catalog: OpeningCatalog, config: Config) => async (): Promise<Filling> => {
    const opening = catalog.opening();
    if (opening) return { ...opening, unit: 'products' };
    const statuses = await engine.status();
    return {
      done: Math.min(...statuses.map(({ checkpoint }) => checkpoint)),
      of: Math.max(...statuses.map(({ checkpoint, lagEvents }) => checkpoint + lagEvents)),
      unit: isRemoteLog(config) ? 'bytes' : 'events',
    };
  };

/** Opens the store in Redis; after `signal` it is closed in time for the end of the process. */
export const openRemoteStore = async (
  { readModelUrl: url, allowsPlainRedis }: Config,
  { log, logger, signal, parts, metrics }: Omit<ReadModelOptions, 'role' | 'catalog'>,
) => {
  const { redisStore } = await import('#src/stores/redis/read-model.ts');
  const risk = allowsPlainRedis ? undefined : networkRiskOf(url);
  if (risk !== undefined) logger.warn({ risk }, 'Redis is used without TLS');
  const onFault = throttledLog(logger, 'Redis does not answer; remote read models are unavailable');
  const redis = await redisStore({
    url,
    log: log.id,
    projections: REMOTE_PROJECTIONS,
    onDiscarded: discardLogger(logger),
    onFault,
  });
  const store = metrics ? observedStore(redis, metrics, systemClock().monotonic) : redis;
  parts.defer(() => store.close());
  closeAfterGrace(signal, store);
  return store;
};

const openLocalAndRemote = async (
  config: Config,
  options: ReadModelOptions,
): Promise<OpenReadModels> => {
  const { log, catalog, logger, signal } = options;
  const isFolding = foldsSharedReadModels(options.role, config);
  const remoteStore = await openRemoteStore(config, options);
  const localStore = openLocalStore(config, options, 'near.db');
  const local = await runProjections({
    log,
    signal,
    ...engineCallbacks(logger),
    catalog,
    store: localStore,
    projections: LOCAL_PROJECTIONS,
  });
  const remote = await runProjections({
    log,
    signal,
    ...engineCallbacks(logger),
    store: remoteStore,
    projections: REMOTE_PROJECTIONS,
    ...(!isFolding && { partitions: [] }),
  });
  const pair = pairEngines(local, remote, remoteStore);
  const progress = new RemoteProgress(remoteStore, remote, REMOTE_PROJECTIONS);
  const status = async () => [...(await local.status()), ...(await progress.status())];
  const passed: ReadModelFollower['passed'] = async (position, waitMs, scope) => {
    const deadline = performance.now() + waitMs;
    if (!(await pair.passed(position, waitMs))) return false;
    if (scope === undefined || isFolding || waitMs <= OWN_WRITE_MS_MAX) return true;
    return progress.passed(scope, position, deadline - performance.now());
  };
  const localRows = localReadModels(localStore, LOCAL_PROJECTIONS, local);
  const remoteRows = remoteReadModels(remoteStore, REMOTE_PROJECTIONS, remote);
  const stackOf = (name: string) =>
    isLocal(name)
      ? { store: localStore, engine: local, projections: LOCAL_PROJECTIONS }
      : { store: remoteStore, engine: remote, projections: REMOTE_PROJECTIONS };
  return {
    local: localRows,
    localPassed: local.rowsPassed,
    readModels: pairReadModels(localRows, remoteRows, isLocal),
    engine: isFolding ? pair : { ...pair, status },
    stackOf,
    checkRows: rowCheckOf({ log, storeOf: (name) => stackOf(name).store }),
    following: { passed, asOf: pair.asOf, unreadable: localRows.unreadable },
    ready: local.ready,
    filling: fillingOf(local, catalog, config),
  };
};
