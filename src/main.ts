import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { pino } from 'pino';
import type { Logger } from 'pino';
import { localReadModels } from '#projections/engine/readers.ts';
import type { Engine } from '#projections/engine/run.ts';
import { runProjections } from '#projections/engine/run.ts';
import { CLASSIFIER_VERSION, foldPerformance, PROJECTIONS } from '#projections/index.ts';
import { memoryEventLog } from '#src/adapters/memory/event-log.ts';
import { memoryStore } from '#src/adapters/memory/read-model.ts';
import { catalogBuilds } from '#src/adapters/sqlite/catalog-builds.ts';
import type { SqliteEventLog } from '#src/adapters/sqlite/event-log.ts';
import { sqliteEventLog } from '#src/adapters/sqlite/event-log.ts';
import { sqliteKeyVault } from '#src/adapters/sqlite/key-vault.ts';
import { StartupError } from '#src/adapters/sqlite/open.ts';
import { sqliteStore } from '#src/adapters/sqlite/read-model.ts';
import { makeDirectory } from '#src/adapters/system/directory.ts';
import { systemClock } from '#src/adapters/system/clock.ts';
import { systemIds } from '#src/adapters/system/ids.ts';
import { systemSecrets } from '#src/adapters/system/secrets.ts';
import { activityLog } from '#src/app/activity.ts';
import { keptAnswers } from '#src/app/answers.ts';
import type { Credentials } from '#src/app/authenticate.ts';
import { CREDENTIAL_PATTERN } from '#src/app/authenticate.ts';
import type { Dispatcher } from '#src/app/outreach/dispatcher.ts';
import { recorder } from '#src/app/recorder.ts';
import { visitLog } from '#src/app/visits.ts';
import { buildServer } from '#src/interfaces/server.ts';
import type { ServerDeps } from '#src/interfaces/server.ts';
import type { EventLog } from '#src/ports/event-log.ts';
import type { LocalStore } from '#src/ports/read-model.ts';
import type { AgentRow, DeskTokenRow, KeyRow } from '#src/ports/rows.ts';
import type { Clock } from '#src/ports/system.ts';
import type { Config } from './config.ts';
import { dispatcherOf } from './outreach-dispatcher.ts';
import { projectionDesk } from './projection-desk.ts';
import { ensureRootToken } from './root-token.ts';

export type Service = {
  deps: ServerDeps;
  config: Config;
  server: FastifyInstance;
  /** Sends approved outreach once it is started; close() stops it. */
  dispatcher: Dispatcher;
  /** Starts the HTTP server; answers the URL it listens on. */
  listen(): Promise<string>;
  /** Stops taking requests, drains, flushes, releases the lock. */
  close(): Promise<void>;
  /** Full pass over the log. */
  verifyLog(
    onProgress?: (position: number) => void,
  ): Promise<{ events: number; fault: { position: number; reason: string } | null }>;
};

export type ServiceOptions = {
  clock?: Clock;
  log?: Logger;
  onFatal?: (error: Error) => void;
};

/** JSON lines on stderr, never with a credential in them: the key's own pattern makes that exact. */
export const serviceLogger = (level: string): Logger =>
  pino(
    { level },
    {
      write: (line: string) =>
        process.stderr.write(line.replaceAll(new RegExp(CREDENTIAL_PATTERN, 'g'), '[credential]')),
    },
  );

/**
 * Wires the service on the adapters that the configuration names. Throws StartupError when the data
 * directory cannot be used as it is.
 */
export const openService = async (
  config: Config,
  options: ServiceOptions = {},
): Promise<Service> => {
  const logger = options.log ?? serviceLogger(config.logLevel);
  const clock = options.clock ?? systemClock();
  const ids = systemIds(clock.now);
  const told = {
    onDiscarded: (reason: string) => logger.warn({ reason }, 'read models are folded afresh'),
    onFault: (error: unknown) => logger.error({ err: error }, 'read models wait for their file'),
  };
  const stores = openStores(config, told, options.onFatal);
  const { log, store, catalog, vault, secrets } = stores;
  const stopping = new AbortController();
  const engine = await runProjections({
    log,
    store,
    projections: PROJECTIONS,
    catalog,
    signal: stopping.signal,
    onParked: (projection, parked) => logger.error({ projection, ...parked }, 'projection parked'),
    onFault: (error) => logger.error({ err: error }, 'projections wait'),
  });
  await engine.ready;
  await engine.passed((await log.head()).position, CATCH_UP_WAIT_MS);
  const records = recorder(log, ids.base62(6));
  const activity = activityLog({
    recorder: records,
    clock,
    ids,
    schedule: (task, ms) => setTimeout(task, ms).unref(),
    onLost: (error) => logger.error({ err: error }, 'activity was not recorded'),
  });
  let origin = config.publicUrl ?? `http://${shownHost(config.host)}:${config.port}`;
  const deps: ServerDeps = {
    log,
    readModels: localReadModels(store, PROJECTIONS),
    credentials: credentialsOf(store),
    catalog,
    secrets,
    vault,
    clock,
    ids,
    following: engine,
    activity,
    answers: keptAnswers({ log, clock, following: engine, signal: stopping.signal }),
    foldPerformance,
    classifierVersion: CLASSIFIER_VERSION,
    origin: () => origin,
    limits: config,
    visits: visitLog({ recorder: records, secrets, clock, ids }),
    projections: projectionDesk({ ...stores, engine, logger }),
  };
  const server = buildServer(deps, {
    log: logger,
    trustProxy: config.trustProxy,
    countryHeader: config.countryHeader,
  });
  await ensureRootToken(deps, config.dataDirectory);
  const outreach = dispatcherOf(deps, config, logger);
  return {
    deps,
    config,
    server,
    dispatcher: outreach,
    async listen() {
      const address = await server.listen({ host: config.host, port: config.port });
      const { port } = new URL(address);
      if (config.publicUrl === undefined) origin = `http://${shownHost(config.host)}:${port}`;
      return `http://${shownHost(config.host)}:${port}`;
    },
    close: () => closeAll({ server, outreach, deps, stopping, engine, stores }),
    verifyLog: (onProgress) => stores.verify(onProgress),
  };
};

const prepareDirectory = (directory: string): void => {
  try {
    makeDirectory(directory);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new StartupError(`the data directory ${directory} cannot be made: ${reason}`);
  }
};

/** A projection that is far behind goes on catching up while requests are served. */
const CATCH_UP_WAIT_MS = 2_000;

type Stores = ReturnType<typeof openStores>;

const openStores = (
  config: Config,
  told: { onDiscarded(reason: string): void; onFault(error: unknown): void },
  onFatal?: (error: Error) => void,
) => {
  const { dataDirectory, eventLogUrl, readModelUrl } = config;
  const inMemory = eventLogUrl.protocol === 'memory:';
  const file = (name: string): string => (inMemory ? ':memory:' : join(dataDirectory, name));
  if (!inMemory) prepareDirectory(dataDirectory);
  const sqlite: SqliteEventLog | undefined = inMemory
    ? undefined
    : sqliteEventLog({ directory: dataDirectory, ...(onFatal && { onFatal }) });
  const log: EventLog = sqlite ?? memoryEventLog();
  const secrets = systemSecrets(
    inMemory ? { root: Buffer.alloc(32, 7) } : { directory: dataDirectory },
  );
  const store: LocalStore =
    inMemory || readModelUrl.protocol === 'memory:'
      ? memoryStore()
      : sqliteStore({ file: file('views.db'), log: log.id, ...told });
  return {
    log,
    store,
    secrets,
    ...catalogBuilds(inMemory ? undefined : dataDirectory, log.id),
    vault: sqliteKeyVault(file('keys.db'), secrets.vaultKey),
    verify: async (onProgress?: (position: number) => void) =>
      sqlite ? sqlite.verify(onProgress) : { events: (await log.head()).position, fault: null },
  };
};

/** Credentials straight from the local rows: every request asks, and none waits. */
const credentialsOf = (store: LocalStore): Credentials => {
  const row = <Row>(id: string, kind: string): Row | undefined => {
    const space = store.live('credentials');
    return space === null ? undefined : (store.peek(space, id, kind) as Row | undefined);
  };
  return {
    key: (id) => row<KeyRow>(id, 'key'),
    agent: (id) => row<AgentRow>(id, 'agent'),
    deskToken: (id) => row<DeskTokenRow>(id, 'desk'),
  };
};

const shownHost = (host: string): string => {
  if (host === '0.0.0.0' || host === '::') return 'localhost';
  return host.includes(':') ? `[${host}]` : host;
};

/** Requests and sendings first, then what they left behind, then the stores under it all. */
const closeAll = async (open: {
  server: FastifyInstance;
  outreach: Dispatcher;
  deps: ServerDeps;
  stopping: AbortController;
  engine: Engine;
  stores: Stores;
}): Promise<void> => {
  await Promise.all([open.server.close(), open.outreach.stop()]);
  await open.deps.activity.flush();
  await open.deps.following.passed((await open.stores.log.head()).position, CATCH_UP_WAIT_MS);
  open.stopping.abort();
  await open.engine.done;
  await open.stores.store.close();
  open.stores.catalog.close();
  open.stores.vault.close();
  await open.stores.log.close();
};
