/** Opens the read models of a process, and the desk that manages them. */
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import {
  type Engine,
  type ReadModelStatus,
  runProjections,
  type EnginePair,
  pairEngines,
  pairReadModels,
  localReadModels,
  type LocalReadModels,
  remoteReadModels,
} from '#projections/engine/engine.ts';
import { FillControl, FillMeter, type FillProgress } from '#projections/engine/fill-control.ts';
import type { FillInThreads, FillOptions } from '#projections/engine/fill.ts';
import {
  compareHeld,
  dropHeld,
  fillHeld,
  findHeld,
  type HeldComparison,
  switchToHeld,
  withoutHeld,
} from '#projections/engine/held-builds.ts';
import {
  rebuildAll,
  type ReadModelVerification,
  verify,
  verifyCatalog,
} from '#projections/engine/operator.ts';
import { replaceOwnerRows } from '#projections/engine/owner-rows.ts';
import type { Skips } from '#projections/engine/fold.ts';
import { PROJECTIONS } from '#projections/index.ts';
import type { Projection } from '#projections/projection.ts';
import {
  type Config,
  hasRemoteReadModels,
  isRemoteLog,
  foldsSharedReadModels,
  type ProcessRole,
} from '#src/config.ts';
import type { OpeningCatalog } from '#src/ports/catalog.ts';
import type { Position, EventLog, FoldEvent } from '#src/ports/event-log.ts';
import type { Metrics, RoundTrip } from '#src/ports/metrics.ts';
import {
  partitionOf,
  PARTITIONS,
  type RemoteStore,
  type ReadModelFollower,
  type Space,
  type ProjectionStore,
  type ReadModels,
} from '#src/ports/read-model.ts';
import { foldPages } from '#src/audits/replays.ts';
import type { Filling } from '#src/reading/lag.ts';
import type {
  CheckedRows,
  CheckState,
  HeldBuild,
  OwnerRowsReport,
  ProjectionDesk,
  ProjectionReport,
  VerifyState,
} from '#src/reading/projections.ts';
import { present } from '#src/shared/json.ts';
import { runs } from '#src/shared/work.ts';
import { ROW_FORMAT } from '#src/stores/redis/scripts.ts';
import { sqliteCatalog, type CatalogBuilds } from '#src/stores/sqlite/catalog/catalog.ts';
import { sqliteStore, type SqliteStore } from '#src/stores/sqlite/rows/read-model.ts';
import { systemClock } from '#src/system/ids.ts';
import { fillsInThreads } from './fill-threads.ts';
import { checkInThread, type CheckRows, rowCheckOf } from './check-rows.ts';
import { closeAfterGrace } from './listener.ts';
import { throttledLog } from './logger.ts';

const POLL_MS_FIRST = 4;
const POLL_MS_MAX = 50;
/** A store that fails for this long is unavailable; shorter failures happen on a busy machine. */
const UNAVAILABLE_MS = 100;
/** After this time the status uses the checkpoints that were read before. */
const STATUS_MS_MAX = 250;

/** One scope in each partition, because the engine is asked by scope. */
const SCOPES: readonly string[] = (() => {
  const scopes = new Array<string>(PARTITIONS).fill('');
  for (let n = 0; scopes.includes(''); n++) scopes[partitionOf(`s${n}`)] ||= `s${n}`;
  return scopes;
})();

/**
 * The progress of a remote store that other processes fold: the engine of this process knows the events, and the store
 * holds the checkpoints.
 */
export class RemoteProgress {
  readonly #store: Pick<RemoteStore, 'find' | 'checkpoints' | 'refresh'>;
  readonly #engine: Pick<Engine, 'requiredCheckpoint' | 'completeUpTo' | 'status'>;
  readonly #names: readonly string[];
  /**
   * Checkpoints read last, by projection. The store may have lost them since; readers of rows check
   * again, so they only save questions.
   */
  readonly #checkpoints = new Map<string, Position[]>();

  constructor(
    store: Pick<RemoteStore, 'find' | 'checkpoints' | 'refresh'>,
    engine: Pick<Engine, 'requiredCheckpoint' | 'completeUpTo' | 'status'>,
    projections: readonly { name: string }[],
  ) {
    this.#store = store;
    this.#engine = engine;
    this.#names = projections.map(({ name }) => name);
  }

  /** Resolves to true once others have folded the events of this scope up to `position`. */
  async passed(scope: string, position: Position, waitMs: number): Promise<boolean> {
    const deadline = performance.now() + waitMs;
    let failingSince: number | undefined;
    for (let wait = POLL_MS_FIRST; ; wait = Math.min(2 * wait, POLL_MS_MAX)) {
      try {
        const folded = this.#names.map((name) => this.#isFolded(name, scope, position));
        if ((await Promise.all(folded)).every(Boolean)) return true;
        failingSince = undefined;
      } catch {
        failingSince ??= performance.now();
        if (performance.now() - failingSince > UNAVAILABLE_MS) return false;
      }
      if (performance.now() + wait > deadline) return false;
      await pause(wait);
    }
  }

  /** Returns the status of the engine with the checkpoints of the store. */
  async status(): Promise<ReadModelStatus[]> {
    const statuses = await this.#engine.status();
    const reads = statuses.map(async ({ name, space }) => {
      if (space !== null) this.#checkpoints.set(name, await this.#store.checkpoints(space));
    });
    const updated = Promise.all(reads).catch(() => undefined);
    await Promise.race([updated, pause(STATUS_MS_MAX, undefined, { ref: false })]);
    return statuses.map((status) => this.#withStoredCheckpoint(status));
  }

  async #isFolded(name: string, scope: string, position: Position): Promise<boolean> {
    const required = this.#engine.requiredCheckpoint(name, scope);
    if (required === undefined) return false;
    const needed = Math.min(required, position);
    const partition = partitionOf(scope);
    const checkpoints = this.#checkpointsOf(name);
    if ((checkpoints[partition] ?? 0) >= needed) return true;
    const { checkpoint = 0 } = await this.#store.find(name, scope, '');
    checkpoints[partition] = checkpoint;
    return checkpoint >= needed;
  }

  #checkpointsOf(name: string): Position[] {
    const checkpoints = this.#checkpoints.get(name) ?? new Array<Position>(PARTITIONS).fill(0);
    this.#checkpoints.set(name, checkpoints);
    return checkpoints;
  }

  #withStoredCheckpoint(status: ReadModelStatus): ReadModelStatus {
    if (status.space === null) return status;
    let { checkpoint } = status;
    for (const [partition, at] of this.#checkpointsOf(status.name).entries()) {
      const complete = this.#engine.completeUpTo(status.name, SCOPES[partition] ?? '', at);
      if (complete !== undefined) checkpoint = Math.min(checkpoint, complete);
    }
    return { ...status, checkpoint, lagEvents: status.lagEvents + status.checkpoint - checkpoint };
  }
}

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
  /** Fills new spaces in other threads, where the stores are in this process. */
  inThreads?: FillInThreads | undefined;
  /** Of all fills of this process. */
  fillControl: FillControl;
  /** What positions of the log count. */
  unit: ProjectionDesk['unit'];
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
  /** What this process folds read models without. */
  skips: Skips;
  logger: Logger;
  signal: AbortSignal;
  /** Closes what is opened here, in reverse order. */
  parts: AsyncDisposableStack;
  metrics?: Metrics | undefined;
  /** Whether this process serves requests. */
  isListening(): boolean;
};

/**
 * Authentication, redirects, key creation and erasures need these, so every process has its own: an
 * outage of the remote store must not stop them or delay the revocation of a key.
 */
const LOCAL: ReadonlySet<string> = new Set([
  'credentials',
  'codes',
  'access',
  'erasures',
  'outreach-settings',
]);
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
): SqliteStore => {
  const store = sqliteStore({
    file: join(config.dataDirectory, name),
    log: log.id,
    kept: ['credentials', 'codes'],
    ...(log.remember && { beforeWrite: log.remember }),
    onDiscarded: discardLogger(logger),
  });
  parts.defer(() => store.close());
  return withoutHeld(store);
};

const openLocal = async (config: Config, options: ReadModelOptions): Promise<OpenReadModels> => {
  const { log, catalog, skips, logger, signal, parts } = options;
  const { dataDirectory: directory } = config;
  const file = 'views.db';
  const store = openLocalStore(config, options, file);
  let isFilled = false;
  const isServing = (): boolean => isFilled && options.isListening();
  const inThreads = isRemoteLog(config)
    ? undefined
    : fillsInThreads({ directory, store, skips, isServing });
  const fillControl = new FillControl();
  const run = {
    log,
    signal,
    skips,
    fillControl,
    ...engineCallbacks(logger),
    ...(inThreads && { inThreads }),
  };
  const projections = skips.over(PROJECTIONS);
  const engine = await runProjections({ ...run, catalog, store, projections });
  void engine.ready.then(() => (isFilled = true)).catch(() => {});
  const local = localReadModels(store, PROJECTIONS, engine);
  const { ready, rowsPassed: localPassed } = engine;
  const stackOf = () => ({ store, engine, projections });
  const { passed, asOf } = engine;
  const following = { passed, asOf, unreadable: local.unreadable };
  const filling = fillingOf(engine, catalog, config);
  const checkRows = isRemoteLog(config)
    ? rowCheckOf({ log, skips, storeOf: () => store })
    : checkInThread({ directory, file, skips }, parts);
  const models = { local, localPassed, readModels: local, engine, stackOf, checkRows, inThreads };
  return { ...models, fillControl, unit: unitOf(config), following, ready, filling };
};

const fillingOf =
  (engine: Engine, catalog: OpeningCatalog, config: Config) => async (): Promise<Filling> => {
    const opening = catalog.opening();
    if (opening) return { ...opening, unit: 'products' };
    const statuses = await engine.status();
    return {
      done: Math.min(...statuses.map(({ checkpoint }) => checkpoint)),
      of: Math.max(...statuses.map(({ checkpoint, lagEvents }) => checkpoint + lagEvents)),
      unit: unitOf(config),
    };
  };

const unitOf = (config: Config): ProjectionDesk['unit'] =>
  isRemoteLog(config) ? 'bytes' : 'events';

/** Wraps a store: counts and times its round trips. `monotonic` is in milliseconds. */
export const observedStore = (
  store: RemoteStore,
  metrics: Pick<Metrics, 'countRoundTrip'>,
  monotonic: () => number,
): RemoteStore => {
  const timed =
    <Args extends unknown[], Answer>(
      kind: RoundTrip['kind'],
      ask: (...args: Args) => Promise<Answer>,
    ) =>
    async (...args: Args): Promise<Answer> => {
      const since = monotonic();
      let outcome: RoundTrip['outcome'] = 'failed';
      try {
        const answer = await ask(...args);
        outcome = 'ok';
        return answer;
      } finally {
        metrics.countRoundTrip({ kind, outcome }, (monotonic() - since) / 1_000);
      }
    };
  return {
    ...store,
    find: timed('read', store.find),
    page: timed('read', store.page),
    load: timed('write', store.load),
    commit: timed('write', store.commit),
  };
};

/** Opens the store in Redis; after `signal` it is closed in time for the end of the process. */
export const openRemoteStore = async (
  { readModelUrl: url, allowsPlainRedis }: Config,
  {
    log,
    logger,
    signal,
    parts,
    metrics,
  }: Omit<ReadModelOptions, 'role' | 'catalog' | 'isListening' | 'skips'>,
) => {
  const { networkRiskOf } = await import('#src/stores/redis/connect.ts');
  const { redisStore } = await import('#src/stores/redis/read-model.ts');
  const risk = allowsPlainRedis ? undefined : networkRiskOf(url);
  if (risk !== undefined) logger.warn({ risk }, 'Redis is used without TLS');
  const onFault = throttledLog(logger, 'Redis does not answer; remote read models are unavailable');
  const redis = await redisStore({
    url,
    log: log.id,
    projections: REMOTE_PROJECTIONS,
    ...(log.remembered && { beforeWrite: log.remembered }),
    onDiscarded: discardLogger(logger),
    onFault,
  });
  const store = metrics ? observedStore(redis, metrics, systemClock().monotonic) : redis;
  parts.defer(() => store.close());
  closeAfterGrace(signal, store);
  return withoutHeld(store);
};

const openLocalAndRemote = async (
  config: Config,
  options: ReadModelOptions,
): Promise<OpenReadModels> => {
  const { log, catalog, skips, logger, signal } = options;
  const isFolding = foldsSharedReadModels(options.role, config);
  const [locals, remotes] = [skips.over(LOCAL_PROJECTIONS), skips.over(REMOTE_PROJECTIONS)];
  const remoteStore = await openRemoteStore(config, options);
  const localStore = openLocalStore(config, options, 'near.db');
  const fillControl = new FillControl();
  const run = { log, signal, skips, fillControl, ...engineCallbacks(logger) };
  const local = await runProjections({
    ...run,
    catalog,
    store: localStore,
    projections: locals,
  });
  const remote = await runProjections({
    ...run,
    store: remoteStore,
    projections: remotes,
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
      ? { store: localStore, engine: local, projections: locals }
      : { store: remoteStore, engine: remote, projections: remotes };
  return {
    local: localRows,
    localPassed: local.rowsPassed,
    readModels: pairReadModels(localRows, remoteRows, isLocal),
    engine: isFolding ? pair : { ...pair, status },
    stackOf,
    checkRows: rowCheckOf({ log, skips, storeOf: (name) => stackOf(name).store }),
    fillControl,
    unit: unitOf(config),
    following: { passed, asOf: pair.asOf, unreadable: localRows.unreadable },
    ready: local.ready,
    filling: fillingOf(local, catalog, config),
  };
};

type ProjectionDeps = Pick<CatalogBuilds, 'catalog' | 'rebuild'> &
  Pick<OpenReadModels, 'stackOf' | 'checkRows' | 'inThreads' | 'fillControl' | 'unit'> & {
    log: EventLog;
    engine: Pick<Engine, 'status' | 'recheck' | 'parkedElsewhere' | 'retryParked'>;
    skips: Skips;
    logger: Logger;
    /** Ends running rebuilds before it closes what they use. */
    parts: AsyncDisposableStack;
  };

/** The read model that has a store of its own, and no spaces. */
const CATALOG = 'catalog';

/** Creates the operations on read models: status, and one rebuild and verify at a time for each. */
export const projectionDesk = (deps: ProjectionDeps): ProjectionDesk => {
  const { fillControl } = deps;
  const check = runs(
    (): CheckState => ({ done: false, position: 0, rows: 0 }),
    async (rows, state) => {
      const onProgress = (at: Position, count: number) =>
        Object.assign(state, { position: at, rows: count });
      Object.assign(state, await deps.checkRows(JSON.parse(rows) as CheckedRows, onProgress));
    },
  );
  const rebuilds = new Rebuilds(deps);
  return {
    unit: deps.unit,
    fills: {
      isFilling: () => fillControl.isFilling,
      limits: () => fillControl.limits,
      setPaused: (isPaused) => (isPaused ? fillControl.pause() : fillControl.resume()),
      throttle: (eventsPerSecond) => fillControl.throttle(eventsPerSecond),
    },
    names: () => [...PROJECTIONS.map(({ name }) => name), CATALOG],
    status: async () => {
      const statuses = await deps.engine.status();
      return Promise.all(
        statuses.map(async ({ space, ...status }) => ({
          ...status,
          space: space ?? '',
          ...(await rebuilds.statusOf(status.name)),
        })),
      );
    },
    ...parkedDesk(deps),
    rebuild: (names) => rebuilds.start(names),
    isRebuilding: (name) => rebuilds.isRunning(name),
    hasBuilds: (name) => PROJECTIONS.some((one) => one.name === name),
    replaceOwnerRows: (name, owner) => replaceRows(deps, name, owner),
    hold: (name) => rebuilds.hold(name),
    held: (name) => rebuilds.held(name),
    switchTo: (name) => rebuilds.switchTo(name),
    drop: (name) => rebuilds.drop(name),
    verify: runs(
      (): VerifyState => ({ done: false, position: 0, rows: 0, mismatches: [] }),
      (name, state) => verifyNow(deps, name, state),
    ),
    check: (rows, run) => check(JSON.stringify(rows), run),
  };
};

/** A retry reads the log from the parked event on; a longer one continues after the answer. */
const RETRY_MS_MAX = 5_000;

const parkedDesk = ({
  engine,
  skips,
}: ProjectionDeps): Pick<ProjectionDesk, 'parked' | 'retry' | 'skipped'> => ({
  skipped: () => skips.list(),
  async parked() {
    const here = (await engine.status()).flatMap(({ name, parked }) =>
      parked.map((at) => ({ name, ...at })),
    );
    const elsewhere = await engine.parkedElsewhere();
    return [...here, ...elsewhere.map(({ name, parked }) => ({ name, ...parked }))];
  },
  async retry(name) {
    const retried = engine.retryParked(name).then(() => true);
    return Promise.race([retried, pause(RETRY_MS_MAX, false, { ref: false })]);
  },
});

const STOPPED = 'the service stopped; the next rebuild continues from what is committed';

/** The rebuilds that this process runs and ran last, one of each read model at a time. */
class Rebuilds {
  readonly #deps: ProjectionDeps;
  readonly #last = new Map<string, NonNullable<ProjectionReport['lastRebuild']>>();
  readonly #running = new Set<Promise<void>>();
  readonly #stopping = new AbortController();
  /** The last comparison of each read model's held build. */
  readonly #comparisons = new Map<string, { space: Space; found: HeldComparison }>();
  #catalogFill: FillMeter | undefined;

  constructor(deps: ProjectionDeps) {
    this.#deps = deps;
    deps.parts.defer(async () => {
      this.#stopping.abort();
      await Promise.all(this.#running);
    });
  }

  async statusOf(
    name: string,
  ): Promise<Pick<ProjectionReport, 'rebuilding' | 'lastRebuild' | 'held'>> {
    const lastRebuild = this.#last.get(name);
    const rebuilding = name === CATALOG ? this.#catalogFill?.measure() : undefined;
    const held = await this.#findHeld(name);
    return present({ lastRebuild, rebuilding, held });
  }

  isRunning(name: string): boolean {
    return this.#last.get(name)?.state === 'running';
  }

  /** Returns false if one of the read models is being rebuilt. */
  start(names: readonly string[]): boolean {
    return this.#run(names, () => this.#rebuild(names));
  }

  /** Fills a build and compares it with the live rows; it stays held. */
  hold(name: string): boolean {
    return this.#run([name], async () => {
      const filling = this.#fillingOf(name);
      this.#comparisons.delete(name);
      const space = await fillHeld(filling);
      const found = await compareHeld(filling, space, (partition) => SCOPES[partition] ?? '');
      this.#comparisons.set(name, { space, found });
      return new Map();
    });
  }

  async held(name: string): Promise<HeldBuild | undefined> {
    const space = await this.#findHeld(name);
    if (space === undefined) return undefined;
    const compared = this.#comparisons.get(name);
    if (compared?.space !== space) return { space };
    const { compared: rows, rows: different, fields, first, ...found } = compared.found;
    const { onlyBefore: only_live, onlyAfter: only_held, notCompared } = found;
    const sides = { only_live, only_held, partitions_not_compared: notCompared };
    return { space, comparison: { rows, different, fields, first, ...sides } };
  }

  switchTo(name: string): boolean {
    return this.#run([name], async () => {
      const space = await this.#findHeld(name);
      const refusal = space && (await switchToHeld(this.#fillingOf(name), space));
      return new Map(refusal ? [[name, refusal]] : []);
    });
  }

  async drop(name: string): Promise<void> {
    const space = await this.#findHeld(name);
    if (space !== undefined) await dropHeld(this.#deps.stackOf(name).store, space);
  }

  async #findHeld(name: string): Promise<string | undefined> {
    return name === CATALOG ? undefined : findHeld(this.#deps.stackOf(name).store, name);
  }

  #fillingOf(name: string): Parameters<typeof fillHeld>[0] {
    const { log, stackOf, inThreads, fillControl: control } = this.#deps;
    const { store, engine, projections } = stackOf(name);
    const projection = projections.find((one) => one.name === name);
    if (!projection) throw new Error(`there is no projection ${name}`);
    const { signal } = this.#stopping;
    return { log, store, engine, projection, control, inThreads, signal };
  }

  #run(names: readonly string[], work: () => Promise<Map<string, string>>): boolean {
    if (names.some((name) => this.isRunning(name))) return false;
    for (const name of names) this.#last.set(name, { state: 'running' });
    const running = this.#report(names, work).finally(() => this.#running.delete(running));
    this.#running.add(running);
    return true;
  }

  async #report(names: readonly string[], work: () => Promise<Map<string, string>>): Promise<void> {
    try {
      const refusals = await work();
      for (const name of names) this.#last.set(name, { state: 'done' });
      for (const [name, refusal] of refusals) this.#reportFailure([name], refusal);
    } catch (error) {
      if (!this.#stopping.signal.aborted) this.#reportFailure(names, error);
      else for (const name of names) this.#last.set(name, { state: 'failed', failure: STOPPED });
    }
  }

  #reportFailure(names: readonly string[], error: unknown): void {
    const projection = names.join(', ');
    this.#deps.logger.error({ err: error, projection }, 'rebuild failed');
    for (const name of names) this.#last.set(name, { state: 'failed', failure: String(error) });
  }

  /** Rebuilds read models in one reading of the log. Returns why the builds of some did not go live. */
  async #rebuild(names: readonly string[]): Promise<Map<string, string>> {
    const { log, stackOf, inThreads, fillControl: control } = this.#deps;
    const { signal } = this.#stopping;
    const refusals = new Map<string, string>();
    const rows = names.filter((name) => name !== CATALOG);
    const stores = rows.map((name) => {
      const { projections, ...stack } = stackOf(name);
      return { ...stack, projections: projections.filter((one) => one.name === name) };
    });
    const rebuildRows = async (onBatch?: FillOptions['onBatch']): Promise<void> => {
      if (stores.length === 0) return;
      const results = await rebuildAll({ log, stores, onBatch, signal, control, inThreads });
      for (const { projection, refusal } of results)
        if (refusal !== undefined) refusals.set(projection, refusal);
    };
    await (names.includes(CATALOG) ? this.#rebuildCatalog(rebuildRows) : rebuildRows());
    return refusals;
  }

  /** Rebuilds the catalog from what `rebuildRows` reads, and from the log after that. */
  async #rebuildCatalog(
    rebuildRows: (onBatch: FillOptions['onBatch']) => Promise<void>,
  ): Promise<void> {
    const { log, rebuild, engine, fillControl } = this.#deps;
    const { signal } = this.#stopping;
    const { position: head } = await log.head();
    const report = (position: Position): void => {
      const progress: FillProgress = { space: '', position: Math.min(position, head), head };
      if (this.#catalogFill) this.#catalogFill.update(progress);
      else this.#catalogFill = new FillMeter(progress);
    };
    const readFold: EventLog['readFold'] = async (from) => {
      report(from.after);
      const events = await log.readFold(from);
      await fillControl.allow(events.length, signal);
      return events;
    };
    try {
      report(0);
      await fillControl.run(() =>
        rebuild({ readFold }, (receive) =>
          rebuildRows(async (events, upTo) => {
            await receive(events, upTo);
            report(upTo);
          }),
        ),
      );
    } finally {
      this.#catalogFill = undefined;
    }
    // The new catalog tries the event that parked the previous one.
    engine.recheck();
  }
}

/** The answer of a command is stored with its key, and some rows are large. */
const SHOWN_CHARS = 2_000;

const replaceRows = async (
  { log, stackOf }: ProjectionDeps,
  name: string,
  owner: string,
): Promise<OwnerRowsReport | undefined> => {
  const { projections, ...stack } = stackOf(name);
  const projection = projections.find((one) => one.name === name);
  if (!projection) throw new Error(`there is no projection ${name}`);
  const result = await replaceOwnerRows(owner, {
    ...stack,
    log,
    projection,
    events: (range) => foldPages(log, owner, range),
  });
  if (!result) return undefined;
  const { compared: rows, differences, shared, notReplaced } = result;
  const { fields } = differences;
  const first = differences.first.map(({ before, after, ...row }) => ({
    ...row,
    before: before && before.slice(0, SHOWN_CHARS),
    after: after && after.slice(0, SHOWN_CHARS),
  }));
  const replaced = differences.rows - shared.length;
  return { rows, replaced, fields, first, shared, partitions_not_replaced: notReplaced };
};

const verifyNow = async (deps: ProjectionDeps, name: string, state: VerifyState): Promise<void> => {
  const result = await compareWithLog(deps, name, (position) => {
    state.position = position;
  });
  state.rows = result.rows;
  state.mismatches = result.mismatches.map(({ partition, checkpoint, detail }) => ({
    partition,
    detail: `at ${checkpoint}: ${detail}`,
  }));
};

const compareWithLog = async (
  { log, catalog, stackOf, skips }: ProjectionDeps,
  name: string,
  onProgress: (position: Position) => void,
): Promise<ReadModelVerification> => {
  const stack = stackOf(name);
  const projections = stack.projections.filter((one) => one.name === name);
  if (projections.length > 0) return verify({ log, ...stack, projections, onProgress });
  const fresh = sqliteCatalog(':memory:');
  try {
    return await verifyCatalog({ log, catalog, skips, fresh, onProgress });
  } finally {
    fresh.close();
  }
};
