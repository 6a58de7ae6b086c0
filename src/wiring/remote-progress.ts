/**
 * The progress of a remote store that other processes fold: the engine of this process knows the
 * events, and the store has the checkpoints.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Engine } from '#projections/engine/engine.ts';
import type { ReadModelStatus } from '#projections/engine/operator/status.ts';
import type { Position } from '#src/ports/event-log.ts';
import { partitionOf, PARTITIONS, type RemoteStore } from '#src/ports/read-model.ts';

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
