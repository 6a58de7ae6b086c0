/**
 * How far a store is that others fold: its own engine knows what happened, and the store what is
 * folded of it.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Engine } from '#projections/engine/run.ts';
import type { ProjectionStatus } from '#projections/engine/status.ts';
import type { Position } from '#src/ports/event-log.ts';
import { partitionOf, PARTITIONS, type RemoteStore } from '#src/ports/read-model.ts';

const LOOK_MS_FIRST = 4;
const LOOK_MS_MAX = 50;
/** A store that has not answered for so long is away, and not waited for; less is a busy machine. */
const AWAY_MS = 100;
/** A status is for people and monitors: better an old one than none. */
const STATUS_MS_MAX = 250;

/** One scope of each partition, to ask the engine by. */
const SCOPES: readonly string[] = (() => {
  const found = new Array<string>(PARTITIONS).fill('');
  for (let n = 0; found.includes(''); n++) found[partitionOf(`s${n}`)] ||= `s${n}`;
  return found;
})();

export type FarProgress = {
  /** True once others have folded what happened in this scope up to `position`, if we have seen it. */
  folded(scope: string, position: Position, waitMs: number): Promise<boolean>;
  /** The engine's status, with the checkpoints that the store has. */
  status(): Promise<ProjectionStatus[]>;
};

export const farProgress = (
  store: Pick<RemoteStore, 'find' | 'checkpoints' | 'refresh'>,
  engine: Pick<Engine, 'owed' | 'foldedUpTo' | 'status'>,
  names: readonly string[],
): FarProgress => {
  // By projection, as the store was seen last. It may have lost them since: whoever reads rows then
  // compares again, so this only spares questions.
  const known = new Map<string, Position[]>();
  const knownOf = (name: string): Position[] => {
    const found = known.get(name) ?? new Array<Position>(PARTITIONS).fill(0);
    known.set(name, found);
    return found;
  };

  const isFolded = async (name: string, scope: string, position: Position): Promise<boolean> => {
    const owed = engine.owed(name, scope);
    if (owed === undefined) return false;
    const needed = Math.min(owed, position);
    const partition = partitionOf(scope);
    const checkpoints = knownOf(name);
    if ((checkpoints[partition] ?? 0) >= needed) return true;
    const { checkpoint = 0 } = await store.find(name, scope, '');
    checkpoints[partition] = checkpoint;
    return checkpoint >= needed;
  };

  const statusOf = (status: ProjectionStatus): ProjectionStatus => {
    if (status.space === null) return status;
    const checkpoints = knownOf(status.name);
    let { checkpoint } = status;
    for (const [partition, at] of checkpoints.entries()) {
      const folded = engine.foldedUpTo(status.name, SCOPES[partition] ?? '', at);
      if (folded !== undefined) checkpoint = Math.min(checkpoint, folded);
    }
    const behind = status.checkpoint - checkpoint;
    return { ...status, checkpoint, lagEvents: status.lagEvents + behind };
  };

  return {
    async folded(scope, position, waitMs) {
      const until = performance.now() + waitMs;
      let failingSince: number | undefined;
      for (let wait = LOOK_MS_FIRST; ; wait = Math.min(2 * wait, LOOK_MS_MAX)) {
        try {
          const all = await Promise.all(names.map((name) => isFolded(name, scope, position)));
          if (all.every(Boolean)) return true;
          failingSince = undefined;
        } catch {
          failingSince ??= performance.now();
          if (performance.now() - failingSince > AWAY_MS) return false;
        }
        if (performance.now() + wait > until) return false;
        await pause(wait);
      }
    },
    async status() {
      const look = async ({ name, space }: ProjectionStatus): Promise<void> => {
        if (space !== null) known.set(name, await store.checkpoints(space));
      };
      const found = await engine.status();
      const looked = Promise.all(found.map(look)).catch(() => undefined);
      await Promise.race([looked, pause(STATUS_MS_MAX, undefined, { ref: false })]);
      return found.map(statusOf);
    },
  };
};
