/**
 * The service without its interfaces: the log, the read models and the application. A command that
 * acts in its own process needs no more, and starts in half the time.
 */
import type { Logger } from 'pino';
import type { LocalReadModels } from '#projections/engine/engine.ts';
import { Skips } from '#projections/engine/fold.ts';
import { CLASSIFIER_VERSION } from '#projections/index.ts';
import { ownerFolds } from '#projections/owner-fold.ts';
import { personNameIn } from '#src/access/independence.ts';
import { Replays } from '#src/audits/replays.ts';
import { auditLog } from '#src/calls/audit.ts';
import { serviceLog } from '#src/calls/log.ts';
import { readLastEvent } from '#src/writing/streams.ts';
import { type Timeline, timeline } from '#src/writing/timeline.ts';
import { confirmation, type Credentials } from '#src/calls/authenticate.ts';
import { acknowledgedWrites, freshness } from '#src/calls/failure.ts';
import { unresolvedFault } from '#src/delivery/http.ts';
import { openIdProvider } from '#src/delivery/openid.ts';
import { surplusVisits, visitRecorder } from '#src/links/visitors.ts';
import { FactsCache } from '#src/performance/facts.ts';
import type { EventLog, Position } from '#src/ports/event-log.ts';
import type { Metrics } from '#src/ports/metrics.ts';
import type { ReadModels } from '#src/ports/read-model.ts';
import type {
  AgentRow,
  DeskTokenRow,
  KeyRow,
  PersonRow,
  ReviewTokenRow,
  SessionRow,
} from '#src/ports/rows.ts';
import type { Clock, Ids, Secrets, SharedCount, Waits, KeyVault } from '#src/ports/system.ts';
import { withOwnerIndex } from '#src/reading/owner-index.ts';
import type { Filling } from '#src/reading/lag.ts';
import { type AppDeps, type App, openApp } from '#src/registries/app.ts';
import {
  type Config,
  isRemoteLog,
  hasRemoteReadModels,
  type ProcessRole,
  requireRole,
} from './config.ts';
import { approvalLimits } from '#src/shared/approval-limits.ts';
import { present } from '#src/shared/json.ts';
import { eventLoopTurns } from '#src/shared/work.ts';
import { type CatalogBuilds, catalogBuilds } from '#src/stores/sqlite/catalog/catalog.ts';
import { eventLoopDelay, heapBytesMax } from '#src/system/metrics.ts';
import { systemIds, systemClock } from '#src/system/ids.ts';
import type { SystemSecrets } from '#src/system/secrets.ts';
import { openEventLog } from '#src/wiring/event-log.ts';
import { createListener, type Listener } from '#src/wiring/listener.ts';
import { throttledLog, appendLogger, commandLogger, serviceLogger } from '#src/wiring/logger.ts';
import {
  type OpenReadModels,
  type ReadModelOptions,
  projectionDesk,
  openReadModels,
} from '#src/wiring/read-models.ts';
import { openProof } from '#src/wiring/proof.ts';
import { openRoot, openSecrets, openVault } from '#src/wiring/vault.ts';
import { StreamQueue } from '#src/writing/idempotency.ts';
import { recorder } from '#src/writing/recorder.ts';

type RecorderBase = { config: Config; clock: Clock; ids: Ids; logger: Logger };

const schedule = (task: () => void, ms: number): void => void setTimeout(task, ms).unref();

/** Creates what compares this process with a remote log: whether it has read the log, and whether credentials still hold. */
const currencyOf = (
  { config, clock, signal }: Base,
  log: EventLog,
  { following, localPassed: passed }: OpenReadModels,
): Pick<AppDeps, 'acknowledged' | 'freshness' | 'confirmation'> => ({
  acknowledged: acknowledgedWrites(following),
  ...(isRemoteLog(config) && {
    freshness: freshness({ log, following, clock, pause }),
    confirmation: confirmation({ log, passed, clock, signal, schedule }),
  }),
});

/** Creates what records calls and visits. */
const recordersOf = (
  { config, clock, ids, logger }: RecorderBase,
  { log, secrets }: { log: EventLog; secrets: Secrets },
  { readModels }: OpenReadModels,
): Pick<AppDeps, 'audit' | 'visits'> => {
  const records = recorder(log, ids.base62(6));
  return {
    audit: auditLog({
      recorder: records,
      clock,
      ids,
      schedule,
      onLost: (error) => logger.error({ err: error }, 'audit records were lost'),
      holdsCalls: config.heldEventTypes.includes('CallsAudited'),
      handoffOf: (tokenHash) => readModels.get<ReviewTokenRow>('review-tokens', tokenHash, ''),
    }),
    visits: visitRecorder({
      recorder: records,
      secrets,
      clock,
      ids,
      surplus: surplusVisits({
        recorder: records,
        ids,
        schedule,
        onLost: (error) => logger.error({ err: error }, 'visits were not counted'),
      }),
      perMinute: config.visitsPerMinute,
      holdsSums: config.heldEventTypes.includes('VisitsSummed'),
    }),
  };
};

/** The settings that operations read. Throws StartupError for amounts that are not valid. */
export const settingsOf = (
  config: Config,
): Pick<AppDeps, 'limits' | 'targetFault' | 'staffMail' | 'house' | 'approval'> => {
  const privateHosts = new Set(config.outreachPrivateHosts);
  return {
    limits: config,
    targetFault: (url) => unresolvedFault(url, privateHosts),
    staffMail: config.staffMail,
    house: config.house,
    approval: {
      above: config.approvalAbove && approvalLimits(config.approvalAbove),
      isAlone: config.secondPerson === 'none',
    },
  };
};

/** The OpenID provider, where one is configured. */
const openIdOf = ({ openId }: Config, logger: Logger): Pick<AppDeps, 'openId'> => {
  if (!openId) return {};
  const { roles, create, ...client } = openId;
  const onFault = throttledLog(logger, 'the OpenID provider does not answer as it should');
  return { openId: { provider: openIdProvider({ ...client, onFault }), roles, create } };
};

const NAME_CHARS = 12;

/**
 * Opens the count of calls that all API processes share. Returns undefined if no other process
 * serves the same clients, or the processes share no Redis.
 */
const openSharedCount = async (
  config: Config,
  role: ProcessRole,
  { log, logger, parts }: Pick<ReadModelOptions, 'log' | 'logger' | 'parts'>,
): Promise<SharedCount | undefined> => {
  if (role === 'dispatcher' || !isRemoteLog(config) || !hasRemoteReadModels(config))
    return undefined;
  const { redisLimits } = await import('#src/stores/redis/limits.ts');
  const count = await redisLimits({
    url: config.readModelUrl,
    log: log.id,
    // Unique to this process, so that no response depends on it.
    name: systemIds().base62(NAME_CHARS),
    onFault: throttledLog(
      logger,
      'Redis does not answer; each process enforces its share of limits',
    ),
  });
  parts.defer(() => count.close());
  return count;
};

/** Measures how long a request waits in this process. */
const waitsOf = (log: EventLog, parts: AsyncDisposableStack): Waits => {
  const delay = eventLoopDelay();
  parts.defer(delay.stop);
  return {
    eventLoop: delay.ms,
    reads: () => eventLoopTurns.waitMs(),
    appends: () => log.queuedMs?.() ?? 0,
    calls: { count: 0 },
  };
};

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
const openCore = async (config: Config, options: CoreOptions = {}): Promise<Core> => {
  const core = await startCore(config, options);
  await core.ready;
  return core;
};

/** Opens the core for a command, which logs only warnings: its answer reports success. */
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
  const { log: logger = serviceLogger(config.logLevel), ids = systemIds(system.now) } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  const unwired = { config, ids, logger, metrics, signal, parts };
  const opening = { ...unwired, clock: system };
  const { log, secrets, vault, time } = await openLogAndKeys(opening, options);
  const { clock } = time;
  const base = { ...unwired, clock };
  const builds = openCatalogBuilds(base, log);
  const { catalog, skips } = builds;
  parts.defer(() => catalog.close());
  const listener = createListener(config);
  const own = { role, log, catalog, skips, isListening: listener.isListening };
  const models = await openReadModels(config, { ...base, ...own });
  const { engine, readModels, following } = models;
  parts.defer(async () => {
    stopping.abort();
    await engine.done;
  });
  const counts = await openSharedCount(config, role, { log, logger, parts });
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
    ...currencyOf(base, log, models),
    ...recordersOf(base, { log, secrets }, models),
    credentials: credentialsOf(models.local),
    facts: new FactsCache(),
    classifierVersion: CLASSIFIER_VERSION,
    origin: listener.origin,
    ...settingsOf(config),
    ...openIdOf(config, logger),
    waits: waitsOf(log, parts),
    ...present({ metrics, counts }),
    ...auditsOf(base, { log, secrets, readModels, skips }),
    projections: projectionDesk({ ...builds, ...models, log, logger, parts, skips }),
  };
  const { ready, isFilled } = catchUpAfter(models.ready, deps);
  // Deferred last: if opening fails, there is nothing to wait for.
  parts.defer(() => (isFilled() ? awaitHead(deps, logger) : undefined));
  parts.defer(() => deps.audit.flush());
  parts.defer(() => deps.visits.flush());
  const opened = { deps, app: openApp(deps), logger, listener };
  return { ready, filling: models.filling, ...opened, close: () => parts.disposeAsync() };
};

/** Two folds are made at a time, as much is kept, and most of the memory is for all else. */
const FOLDS_PER_HEAP = 8;

const auditsOf = (
  { config, parts }: Base,
  {
    log,
    secrets,
    readModels,
    skips,
  }: { log: EventLog; secrets: SystemSecrets; readModels: ReadModels; skips: Skips },
): Pick<AppDeps, 'replays' | 'personName' | 'proof'> => ({
  proof: openProof(config, { log, secrets, parts }),
  replays: new Replays(ownerFolds(skips), heapBytesMax() / FOLDS_PER_HEAP),
  personName: personNameIn(readModels),
});

/** Opens the catalog, and what it and the read models are folded without, which their engines read from the log. */
const openCatalogBuilds = (
  { config, logger }: Base,
  log: EventLog,
): CatalogBuilds & { skips: Skips } => {
  const skips = new Skips();
  const builds = catalogBuilds(config.dataDirectory, log.id, {
    foldedOf: (events) => skips.without('catalog', events),
    ...(log.remember && { beforeWrite: log.remember }),
    onDiscarded: (reason) => logger.warn({ reason }, 'the catalog is rebuilt'),
    pause: () => eventLoopTurns.pause(),
  });
  return { ...builds, skips };
};

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

/** Wraps a vault: counts the texts whose keys are lost. */
const observedVault = (vault: KeyVault, metrics: Pick<Metrics, 'countLostKey'>): KeyVault => ({
  seal: (subject, text) => vault.seal(subject, text),
  async unseal(sealed) {
    const opened = await vault.unseal(sealed);
    for (const text of opened)
      if (typeof text === 'object' && text !== null) metrics.countLostKey(text.key);
    return opened;
  },
  destroy: (subject) => vault.destroy(subject),
  knows: (subject) => vault.knows(subject),
  close: () => vault.close(),
});

const openLogAndKeys = async (
  { config, clock, logger, metrics, parts }: Base,
  { onFatal, onLog }: CoreOptions,
): Promise<{ log: EventLog; time: Timeline; secrets: SystemSecrets; vault: KeyVault }> => {
  // An embedded log needs its root key first: without it nothing can read the files.
  const localRoot = isRemoteLog(config) ? undefined : openRoot(config);
  const opened = await openEventLog(config, { logger, onFatal });
  parts.defer(() => opened.close());
  const time = timeline(clock);
  const log = serviceLog(opened.log, {
    timeline: time,
    metrics,
    monotonic: clock.monotonic,
    report: appendLogger(logger),
  });
  const last = await readLastEvent(log);
  onLog?.(last, log.id);
  time.observe(last);
  const secrets = await openSecrets(config, log, localRoot);
  const stored = await openVault(config, log, secrets);
  const vault = metrics ? observedVault(stored, metrics) : stored;
  parts.defer(() => vault.close());
  return { log, time, secrets, vault };
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
  person: (id) => peek<PersonRow>('credentials', id, 'person'),
  session: (id) => peek<SessionRow>('credentials', id, 'session'),
});
