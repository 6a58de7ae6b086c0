/**
 * The service without its interfaces: the log, the read models and the application. A command that
 * acts in its own process needs no more, and starts in half the time.
 */
import type { Logger } from 'pino';
import type { LocalReadModels } from '#projections/engine/readers/local.ts';
import { CLASSIFIER_VERSION } from '#projections/index.ts';
import { OWNER_FOLDS } from '#projections/owner-fold.ts';
import { observedLog } from '#src/stores/observed-log.ts';
import { type CatalogBuilds, catalogBuilds } from '#src/stores/sqlite/catalog/builds.ts';
import { systemClock, systemIds } from '#src/system/ids.ts';
import type { SystemSecrets } from '#src/system/secrets.ts';
import { type App, type AppDeps, openApp } from '#src/registries/app.ts';
import { personNameIn } from '#src/access/people.ts';
import { Replays } from '#src/audits/replays.ts';
import { readLastEvent } from '#src/writing/last-event.ts';
import { withOwnerIndex } from '#src/reading/owner-index.ts';
import { FactsCache } from '#src/performance/facts.ts';
import { StreamQueue } from '#src/writing/stream-queue.ts';
import { type Timeline, timeline } from '#src/writing/timeline.ts';
import type { Credentials } from '#src/calls/authenticate.ts';
import type { Position } from '#src/ports/event-log.ts';
import type { Metrics } from '#src/ports/metrics.ts';
import type { ReadModels } from '#src/ports/read-model.ts';
import type { Filling } from '#src/reading/lag.ts';
import { eventLoopTurns } from '#src/shared/turns.ts';
import type { AgentRow, DeskTokenRow, KeyRow } from '#src/ports/rows.ts';
import type { Clock, Ids, KeyVault } from '#src/ports/system.ts';
import { type Config, isRemoteLog } from './config.ts';
import { openEventLog } from './wiring/event-log.ts';
import { createListener, type Listener } from './wiring/listener.ts';
import { appendLogger, commandLogger, serviceLogger } from './wiring/logger.ts';
import { type ProcessRole, requireRole } from './wiring/process-roles.ts';
import { projectionDesk } from './wiring/projection-desk.ts';
import { openReadModels } from './wiring/read-models.ts';
import { recordersOf } from './wiring/recorders.ts';
import { settingsOf } from './wiring/settings.ts';
import { openSharedCount } from './wiring/shared-count.ts';
import { openSecrets, openVault, requireMailboxGeneration } from './wiring/vault.ts';
import { waitsOf } from './wiring/waits.ts';

export type Core = {
  /** Resolves once the read models that every request needs are filled, and follow the log. */
  ready: Promise<void>;
  /** Returns how far the log has been read until `ready`. Throws LogUnavailable. */
  filling(): Promise<Filling>;
  deps: AppDeps;
  app: App;
  logger: Logger;
  listener: Listener;
  /** Flushes what requests have not stored yet, and releases the lock. */
  close(): Promise<void>;
};

export type CoreOptions = {
  /** `all` by default. wiring/projector.ts opens a projector. */
  role?: Exclude<ProcessRole, 'projector'>;
  clock?: Clock;
  ids?: Ids;
  log?: Logger;
  metrics?: Metrics;
  onFatal?: (error: Error) => void;
  /** Called with the last event of the log, and its identity, before anything is appended. */
  onLog?: (last: { position: Position; at: number | null }, log: string) => void;
};

/** After this time requests are served while a lagging projection continues to catch up. */
const CATCH_UP_WAIT_MS = 2_000;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Wires the configured adapters, and appends no event; resolves while the read models are still being
 * filled. Throws StartupError if the data directory or a server cannot be used.
 */
export const startCore = async (config: Config, options: CoreOptions = {}): Promise<Core> => {
  const parts = new AsyncDisposableStack();
  try {
    return await open(config, options, parts);
  } catch (error) {
    await parts.disposeAsync();
    throw error;
  }
};

/** Starts the core and waits until its read models are filled, however long that takes. */
export const openCore = async (config: Config, options: CoreOptions = {}): Promise<Core> => {
  const core = await startCore(config, options);
  await core.ready;
  return core;
};

/** Opens the core for a command, which logs warnings only: its answer reports success. */
export const openForCommand = (config: Config): Promise<Core> =>
  openCore(config, { log: commandLogger(config.logLevel) });

/** What all parts of the core use, and the stack that closes them. */
type Base = {
  config: Config;
  clock: Clock;
  ids: Ids;
  logger: Logger;
  metrics: Metrics | undefined;
  signal: AbortSignal;
  parts: AsyncDisposableStack;
};

const open = async (
  config: Config,
  options: CoreOptions,
  parts: AsyncDisposableStack,
): Promise<Core> => {
  const { role = 'all', metrics } = options;
  const system = options.clock ?? systemClock();
  requireRole(role, config);
  const logger = options.log ?? serviceLogger(config.logLevel);
  const ids = options.ids ?? systemIds(system.now);
  const stopping = new AbortController();
  const { signal } = stopping;
  const unwired = { config, ids, logger, metrics, signal, parts };
  const { secrets, vault, time } = await openLogAndKeys({ ...unwired, clock: system }, options);
  const { log, clock } = time;
  const base = { ...unwired, clock };
  const builds = openCatalogBuilds(base, log.id);
  const { catalog } = builds;
  parts.defer(() => catalog.close());
  const models = await openReadModels(config, { ...base, role, log, catalog });
  const { engine, readModels, following, stackOf, checkRows } = models;
  parts.defer(async () => {
    stopping.abort();
    await engine.done;
  });
  const counts = await openSharedCount(config, role, { log, logger, parts });
  const listener = createListener(config);
  const deps: AppDeps = {
    log: isRemoteLog(config) ? withOwnerIndex(log, { readModels, following }) : log,
    secrets,
    vault,
    catalog,
    clock,
    timeline: time,
    ids,
    streamQueue: new StreamQueue({ monotonic: clock.monotonic, random: Math.random, pause }),
    readModels,
    following,
    ...recordersOf(base, { log, secrets }, models),
    credentials: credentialsOf(models.local),
    facts: new FactsCache(),
    classifierVersion: CLASSIFIER_VERSION,
    origin: listener.origin,
    ...settingsOf(config),
    waits: waitsOf(log, parts),
    ...(metrics && { metrics }),
    ...(counts && { counts }),
    ...auditsOf(vault, readModels),
    projections: projectionDesk({ ...builds, log, engine, stackOf, logger, checkRows }),
  };
  const { ready, isFilled } = catchUpAfter(models.ready, deps);
  // Deferred last: if opening fails, there is nothing to wait for.
  parts.defer(() => (isFilled() ? awaitHead(deps, logger) : undefined));
  parts.defer(() => deps.audit.flush());
  parts.defer(() => deps.visits.flush());
  const opened = { deps, app: openApp(deps), logger, listener };
  return { ready, filling: models.filling, ...opened, close: () => parts.disposeAsync() };
};

const auditsOf = (
  vault: KeyVault,
  readModels: ReadModels,
): Pick<AppDeps, 'replays' | 'personName'> => ({
  replays: new Replays(OWNER_FOLDS),
  personName: personNameIn(readModels),
});

const openCatalogBuilds = ({ config, logger }: Base, log: string): CatalogBuilds =>
  catalogBuilds(config.dataDirectory, log, {
    onDiscarded: (reason) => logger.warn({ reason }, 'the catalog is rebuilt'),
    pause: () => eventLoopTurns.pause(),
  });

/** Waits for the read models and then for the head of the log. */
const catchUpAfter = (filled: Promise<unknown>, deps: AppDeps) => {
  let isFilled = false;
  const becomeReady = async (): Promise<void> => {
    await filled;
    // A log that stops answering now is reported by /readyz, and does not end the process.
    await catchUp(deps).catch(() => undefined);
    isFilled = true;
  };
  return { ready: becomeReady(), isFilled: () => isFilled };
};

const openLogAndKeys = async (
  { config, clock, logger, metrics, parts }: Base,
  { onFatal, onLog }: CoreOptions,
): Promise<{ time: Timeline; secrets: SystemSecrets; vault: KeyVault }> => {
  // An embedded log needs its root secret first: without it nothing can read the files.
  const localSecrets = isRemoteLog(config) ? undefined : openSecrets(config);
  const opened = await openEventLog(config, { logger, onFatal });
  parts.defer(() => opened.close());
  const observed = observedLog(opened.log, {
    metrics,
    monotonic: clock.monotonic,
    report: appendLogger(logger),
  });
  const last = await readLastEvent(observed);
  onLog?.(last, observed.id);
  const time = timeline(observed, clock);
  time.observe(last);
  const secrets = localSecrets ?? openSecrets(config);
  const vault = await openVault(config, observed, secrets);
  parts.defer(() => vault.close());
  await requireMailboxGeneration(vault, secrets);
  return { time, secrets, vault };
};

const catchUp = async ({ log, following }: AppDeps): Promise<unknown> =>
  following.passed((await log.head()).position, CATCH_UP_WAIT_MS);

/** Waits for the read models, but an unavailable log or store must not prevent the shutdown. */
const awaitHead = async (deps: AppDeps, logger: Logger): Promise<void> => {
  try {
    await catchUp(deps);
  } catch (error) {
    logger.warn({ err: error }, 'stopping without the log');
  }
};

/** Reads credentials from local rows synchronously, because every request needs them. */
const credentialsOf = ({ peek }: LocalReadModels): Credentials => ({
  key: (id) => peek<KeyRow>('credentials', id, 'key'),
  agent: (id) => peek<AgentRow>('credentials', id, 'agent'),
  deskToken: (id) => peek<DeskTokenRow>('credentials', id, 'desk'),
});
