/**
 * The projectors of one log share out its partitions, so that work is not done twice. That two fold
 * the same for a moment, or one that was paused wakes up, does no harm: the checkpoint decides. In
 * an upgrade those of each version share among themselves: what they fold is not the same.
 */
import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Engine } from '#projections/engine/run.ts';
import type { Projection } from '#projections/projection.ts';
import type { Roll } from '#src/adapters/redis/roll.ts';
import type { Position } from '#src/ports/event-log.ts';
import { PARTITIONS } from '#src/ports/read-model.ts';

const CALL_MS = 1_000;
/** A projector that has not called for so long is taken for dead, and its share is taken over. */
const GONE_MS = 3_000;
const SET_CHARS = 12;

/** One name for all who fold the same read models, in the same versions. */
export const setOf = (projections: readonly Pick<Projection, 'name' | 'version'>[]): string =>
  createHash('sha256')
    .update(
      projections
        .map(({ name, version }) => `${name}@${version}`)
        .toSorted()
        .join(),
    )
    .digest('base64url')
    .slice(0, SET_CHARS);

/** Every n-th partition, by the place on the roll. Exported for its test. */
export const shareOf = (names: readonly string[], name: string): number[] => {
  const place = names.indexOf(name);
  const all = Array.from({ length: PARTITIONS }, (_, partition) => partition);
  return place < 0 ? [] : all.filter((partition) => partition % names.length === place);
};

export type SharedOptions = {
  roll: Roll;
  name: string;
  /** An engine that folds these partitions until it is told to end. */
  start(partitions: readonly number[], signal: AbortSignal): Promise<Engine>;
  signal: AbortSignal;
  /** Told of each share that is taken, and by whom the rest is folded. */
  onShare?(share: { partitions: number; projectors: readonly string[]; position: Position }): void;
  onFault(error: unknown): void;
};

/** An engine that folds the share of this process, whatever that is at the time. */
export const sharedEngine = async (options: SharedOptions): Promise<Engine> => {
  const { roll, name, signal, onShare, onFault } = options;
  let names = await roll.call(GONE_MS);
  let seen = names;
  let ending = new AbortController();
  let isRunning = false;

  const begin = async (): Promise<Engine> => {
    const partitions = shareOf(names, name);
    ending = new AbortController();
    const engine = await options.start(partitions, AbortSignal.any([signal, ending.signal]));
    isRunning = true;
    const position = engine.position();
    onShare?.({ partitions: partitions.length, projectors: names, position });
    return engine;
  };

  /** Acts on what two calls in a row have said: after an outage the first sees nobody else. */
  const callOnce = async (): Promise<void> => {
    const now = await roll.call(GONE_MS);
    const isSettled = now.join() === seen.join();
    seen = now;
    if (!isSettled || (isRunning && now.join() === names.join())) return;
    names = now;
    isRunning = false;
    ending.abort();
    await current.done;
    // When this fails, the next call begins again.
    current = await begin();
  };

  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      await pause(CALL_MS, undefined, { signal, ref: false }).catch(() => {});
      if (!signal.aborted) await callOnce().catch(onFault);
    }
    await current.done;
    await roll.leave().catch(onFault);
  };

  let current = await begin();
  const { ready } = current;
  const done = run();
  return {
    passed: (position, waitMs) => current.passed(position, waitMs),
    position: () => current.position(),
    asOf: () => current.asOf(),
    failing: () => current.failing(),
    status: () => current.status(),
    owed: (projection, scope) => current.owed(projection, scope),
    foldedUpTo: (projection, scope, at) => current.foldedUpTo(projection, scope, at),
    parkedFor: (projection, scope) => current.parkedFor(projection, scope),
    adopt: (target) => current.adopt(target),
    progress: (projection, progress) => current.progress(projection, progress),
    recheck: () => current.recheck(),
    ready,
    done,
  };
};
