import type { Position } from '#src/ports/event-log.ts';
import { PARTITIONS, type Space } from '#src/ports/read-model.ts';
import type { GuardedFile } from './read-model-guard.ts';

/** A space and its checkpoints: in memory, and ahead of the file in those partitions that `moved`. */
export type KnownSpace = {
  id: number;
  space: Space;
  checkpoints: Position[];
  moved: Set<number>;
};

export const noCheckpoints = (): Position[] => new Array<Position>(PARTITIONS).fill(0);

/** Which spaces there are and which answer; small enough to be held in memory whole. */
export type Spaces = {
  find(space: Space): KnownSpace | undefined;
  findOrAdd(space: Space): KnownSpace;
  remove(known: KnownSpace): void;
  all(): KnownSpace[];
  live(name: string): Space | null;
  goLive(name: string, space: Space): void;
  /** Reads all of it from the file. */
  remember(): void;
  forgetAll(): void;
};

export const spaceTable = (file: GuardedFile): Spaces => {
  const known = new Map<Space, KnownSpace>();
  const live = new Map<string, Space>();

  const findOrAdd = (space: Space): KnownSpace => {
    const found = known.get(space);
    if (found) return found;
    const id = file.use((sql) => sql.addSpace(space));
    const made = { id, space, checkpoints: noCheckpoints(), moved: new Set<number>() };
    known.set(space, made);
    return made;
  };

  return {
    find: (space) => known.get(space),
    findOrAdd,
    remove({ id, space }) {
      known.delete(space);
      for (const [name, current] of live) if (current === space) live.delete(name);
      file.use((sql) => sql.dropSpace(id, space));
    },
    all: () => [...known.values()],
    live: (name) => live.get(name) ?? null,
    goLive(name, space) {
      findOrAdd(space);
      file.use((sql) => sql.goLive(name, space));
      live.set(name, space);
    },
    remember: () =>
      file.use((sql) => {
        for (const { id, space } of sql.allSpaces()) {
          const checkpoints = noCheckpoints();
          for (const { partition, position } of sql.checkpoints(id))
            checkpoints[partition] = position;
          known.set(space, { id, space, checkpoints, moved: new Set() });
        }
        for (const { name, space } of sql.allLive()) live.set(name, space);
      }),
    forgetAll() {
      known.clear();
      live.clear();
    },
  };
};
