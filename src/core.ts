/**
 * The service without its interfaces: the log, the read models and what acts on them. A command that
 * acts in its own process needs no more, and starts in half the time.
 */
import type { Logger } from 'pino';
import type { LocalReadModels } from '#projections/engine/readers.ts';
import { CLASSIFIER_VERSION, performanceFold } from '#projections/index.ts';
import { observedLog } from '#src/adapters/observed-log.ts';
import { catalogBuilds } from '#src/adapters/sqlite/catalog/builds.ts';
import { systemClock } from '#src/adapters/system/clock.ts';
import { systemIds } from '#src/adapters/system/ids.ts';
import { type App, type AppDeps, openApp } from '#src/app/app.ts';
import { auditLog } from '#src/app/pipeline/audit.ts';
import type { Credentials } from '#src/app/pipeline/authenticate.ts';
import { confirmation } from '#src/app/pipeline/confirmation.ts';
import { recorder } from '#src/app/events/recorder.ts';
import { visitLog } from '#src/app/links/visits.ts';
import type { Position } from '#src/ports/event-log.ts';
import type { Metrics } from '#src/ports/metrics.ts';
import type { AgentRow, DeskTokenRow, KeyRow, ReviewTokenRow } from '#src/ports/rows.ts';
import type { Clock, Ids } from '#src/ports/system.ts';
import { type Config, isRemoteLog } from './config.ts';
import { addressOf } from './wiring/address.ts';
import { openCounts } from './wiring/counts.ts';
import { appendLines } from './wiring/lines.ts';
import { openLog } from './wiring/log.ts';
import { commandLogger, serviceLogger } from './wiring/logger.ts';
import { projectionDesk } from './wiring/projection-desk.ts';
import { requireRole, type Role } from './wiring/roles.ts';
import { openSecrets } from './wiring/secrets.ts';
import { openVault } from './wiring/vault.ts';
import { openViews } from './wiring/views.ts';

export type Core = {
  deps: AppDeps;
  app: App;
  logger: Logger;
  address: ReturnType<typeof addressOf>;
  /** Flushes what requests left behind, and releases the lock. */
  close(): Promise<void>;
};

export type CoreOptions = {
  /** Without: all. A projector is opened by wiring/projector.ts. */
  role?: Exclude<Role, 'projector'>;
  clock?: Clock;
  ids?: Ids;
  log?: Logger;
  metrics?: Metrics;
  onFatal?: (error: Error) => void;
  /** Told where the log stands before anything is written. */
  onLog?: (head: { position: Position; at: number | null }) => void;
};

/** A projection that is far behind goes on catching up while requests are served. */
const CATCH_UP_WAIT_MS = 2_000;

/**
 * Wires the adapters that the configuration names, and appends nothing by itself. Throws StartupError
 * when the data directory or a server cannot be used as it is.
 */
export const openCore = async (config: Config, options: CoreOptions = {}): Promise<Core> => {
  const parts = new AsyncDisposableStack();
  try {
    return await wire(config, options, parts);
  } catch (error) {
    await parts.disposeAsync();
    throw error;
  }
};

/** For a command: what goes well, its answer tells. */
export const openForCommand = (config: Config): Promise<Core> =>
  openCore(config, { log: commandLogger(config.logLevel) });

const wire = async (
  config: Config,
  options: CoreOptions,
  parts: AsyncDisposableStack,
): Promise<Core> => {
  const { role = 'all', metrics, onFatal } = options;
  requireRole(role, config);
  const logger = options.log ?? serviceLogger(config.logLevel);
  const clock = options.clock ?? systemClock();
  const ids = options.ids ?? systemIds(clock.now);
  // Before a file is made: without its root, what lies there opens for nobody.
  const ofFiles = isRemoteLog(config) ? undefined : openSecrets(config);
  const opened = await openLog(config, { logger, onFatal });
  parts.defer(() => opened.close());
  const log = observedLog(opened.log, metrics, clock.monotonic, appendLines(logger));
  options.onLog?.(await log.head());
  const secrets = ofFiles ?? openSecrets(config);
  const vault = await openVault(config, log, secrets);
  parts.defer(() => vault.close());
  const isKept = !config.eventLogUrl.startsWith('memory:');
  const builds = catalogBuilds(isKept ? config.dataDirectory : undefined, log.id, (reason) =>
    logger.warn({ reason }, 'the catalog is folded afresh'),
  );
  const { catalog } = builds;
  parts.defer(() => catalog.close());
  const stopping = new AbortController();
  const { signal } = stopping;
  const views = await openViews(config, {
    role,
    log,
    catalog,
    logger,
    signal,
    parts,
    ...(metrics && { metrics }),
  });
  const { engine, following } = views;
  parts.defer(async () => {
    stopping.abort();
    await engine.done;
  });
  await views.ready;
  await following.passed((await log.head()).position, CATCH_UP_WAIT_MS);
  const schedule = (task: () => void, ms: number): void => void setTimeout(task, ms).unref();
  const { nearPassed: passed } = views;
  const confirmed = isRemoteLog(config)
    ? confirmation({ log, passed, clock, signal, schedule })
    : undefined;
  const records = recorder(log, ids.base62(6));
  const audit = auditLog({
    recorder: records,
    clock,
    ids,
    schedule,
    onLost: (error) => logger.error({ err: error }, 'audit records were lost'),
    handoffOf: (tokenHash) => views.readModels.get<ReviewTokenRow>('review-tokens', tokenHash, ''),
  });
  const counts = await openCounts(config, { role, log, logger, parts });
  const address = addressOf(config);
  const deps: AppDeps = {
    log,
    readModels: views.readModels,
    credentials: credentialsOf(views.near),
    ...(confirmed && { confirmation: confirmed }),
    catalog,
    secrets,
    vault,
    clock,
    ids,
    following,
    audit,
    performanceFold,
    classifierVersion: CLASSIFIER_VERSION,
    origin: address.origin,
    limits: config,
    ...(metrics && { metrics }),
    ...(counts && { counts }),
    visits: visitLog({ recorder: records, secrets, clock, ids }),
    projections: projectionDesk({ ...builds, log, store: views.store, engine, logger }),
  };
  // Not before all is open: what fails to open has nothing to catch up with.
  parts.defer(() => caughtUp(deps, logger));
  parts.defer(() => audit.flush());
  return { deps, app: openApp(deps), logger, address, close: () => parts.disposeAsync() };
};

/** A log or store that is away must not keep a process from its end. */
const caughtUp = async ({ log, following }: AppDeps, logger: Logger): Promise<void> => {
  try {
    await following.passed((await log.head()).position, CATCH_UP_WAIT_MS);
  } catch (error) {
    logger.warn({ err: error }, 'stopping without the log');
  }
};

/** Credentials straight from the local rows: every request asks, and none waits. */
const credentialsOf = ({ peek }: LocalReadModels): Credentials => ({
  key: (id) => peek<KeyRow>('credentials', id, 'key'),
  agent: (id) => peek<AgentRow>('credentials', id, 'agent'),
  deskToken: (id) => peek<DeskTokenRow>('credentials', id, 'desk'),
});
