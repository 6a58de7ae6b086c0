/** Starts the process that only folds read models into a shared store. */
import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { type Engine, runProjections } from '#projections/engine/engine.ts';
import { Skips } from '#projections/engine/fold.ts';
import { type Membership, redisMembership } from '#src/stores/redis/request-store.ts';
import { serviceLog } from '#src/calls/log.ts';
import { timeline } from '#src/writing/timeline.ts';
import { systemClock, systemIds } from '#src/system/ids.ts';
import { prometheusMetrics } from '#src/system/metrics.ts';
import { type Config, requireRole } from '#src/config.ts';
import type { Position } from '#src/ports/event-log.ts';
import type { Projection } from '#projections/projection.ts';
import { ALL_PARTITIONS } from '#src/ports/read-model.ts';
import { openEventLog } from './event-log.ts';
import { healthServer, createListener, closeAfterGrace } from './listener.ts';
import { engineCallbacks, openRemoteStore, REMOTE_PROJECTIONS } from './read-models.ts';
import { type Assignment, assignmentLogger, throttledLog } from './logger.ts';

const RENEW_MS = 1_000;
/** A projector that has not renewed its membership for this long has lost its partitions. */
const EXPIRY_MS = 3_000;
const SET_CHARS = 12;

/** Names the group of projectors that fold the same read models in the same versions. */
export const memberSetOf = (
  projections: readonly Pick<Projection, 'name' | 'version'>[],
): string => {
  const versions = projections.map(({ name, version }) => `${name}@${version}`).toSorted();
  return createHash('sha256').update(versions.join()).digest('base64url').slice(0, SET_CHARS);
};

/** Returns every n-th partition, by the place of `name` among the n members. */
const assignPartitions = (names: readonly string[], name: string): number[] => {
  const place = names.indexOf(name);
  return place < 0 ? [] : ALL_PARTITIONS.filter((partition) => partition % names.length === place);
};

export type AssignedEngineOptions = {
  membership: Membership;
  name: string;
  /** Starts an engine that folds these partitions until `signal` aborts. */
  start(partitions: readonly number[], signal: AbortSignal): Promise<Engine>;
  signal: AbortSignal;
  onAssigned?(assignment: Assignment): void;
  onFault(error: unknown): void;
};

/** The engine that folds now. */
const delegateTo = (current: () => Engine): Omit<Engine, 'ready' | 'done'> => ({
  passed: (position, waitMs) => current().passed(position, waitMs),
  position: () => current().position(),
  asOf: () => current().asOf(),
  isFailing: () => current().isFailing(),
  status: () => current().status(),
  requiredCheckpoint: (projection, scope) => current().requiredCheckpoint(projection, scope),
  completeUpTo: (projection, scope, at) => current().completeUpTo(projection, scope, at),
  parkedFor: (projection, scope) => current().parkedFor(projection, scope),
  parkedElsewhere: () => current().parkedElsewhere(),
  retryParked: (projection) => current().retryParked(projection),
  betweenBatches: (projection, work) => current().betweenBatches(projection, work),
  adopt: (target) => current().adopt(target),
  reportFill: (projection, progress) => current().reportFill(projection, progress),
  recheck: () => current().recheck(),
});

/**
 * Starts an engine that folds the partitions assigned to this process as assignments change. Two projectors may fold the
 * same partition for a moment, for example after a pause; checkpoints make that harmless. During an upgrade each version
 * divides its own read models.
 */
export const startAssignedEngine = async (options: AssignedEngineOptions): Promise<Engine> => {
  const { membership, name, signal, onAssigned, onFault } = options;
  let members = await membership.renew(EXPIRY_MS);
  let lastSeen = members;
  let ending = new AbortController();
  let isRunning = false;
  const start = async (): Promise<Engine> => {
    const partitions = assignPartitions(members, name);
    ending = new AbortController();
    const engine = await options.start(partitions, AbortSignal.any([signal, ending.signal]));
    isRunning = true;
    const position = engine.position();
    onAssigned?.({ partitions: partitions.length, projectors: members, position });
    return engine;
  };

  /** Acts on two equal answers in a row: the first one after an outage lists no other members. */
  const renew = async (): Promise<void> => {
    const seen = await membership.renew(EXPIRY_MS);
    const isSettled = seen.join() === lastSeen.join();
    lastSeen = seen;
    if (!isSettled || (isRunning && seen.join() === members.join())) return;
    members = seen;
    isRunning = false;
    ending.abort();
    await current.done;
    // If this fails, the next renewal tries again.
    current = await start();
  };

  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      await pause(RENEW_MS, undefined, { signal, ref: false }).catch(() => {});
      if (!signal.aborted) await renew().catch(onFault);
    }
    await current.done;
    await membership.leave().catch(onFault);
  };

  let current = await start();
  const done = run();
  return { ...delegateTo(() => current), ready: current.ready, done };
};

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
  const time = timeline(clock);
  const log = serviceLog(opened.log, { timeline: time, metrics, monotonic: clock.monotonic });
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
  const skips = new Skips();
  const shared = { log, store, skips, projections: skips.over(REMOTE_PROJECTIONS) };
  const run = { ...shared, ...engineCallbacks(logger) };
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
  const health = { log, timeline: time, clock, metrics, ids, origin };
  const server = healthServer({ ...health, following: engine, projections: engine }, logger);
  parts.defer(() => server.close());
  return {
    server,
    listen: () => listen(server),
    position: engine.position,
    close: () => parts.disposeAsync(),
  };
};
