import type { Position } from '#src/ports/event-log.ts';
import { PARTITIONS, type Space } from '#src/ports/read-model.ts';
import type { GuardedFile } from './read-model-guard.ts';

/** A space and its checkpoints, which are ahead of the file in the partitions of `moved`. */
export type SpaceState = {
  id: number;
  space: Space;
  checkpoints: Position[];
  moved: Set<number>;
};

export const noCheckpoints = (): Position[] => new Array<Position>(PARTITIONS).fill(0);

/** All spaces and which of them are live: few enough to be in memory. */
export class SpaceRegistry {
  readonly #file: GuardedFile;
  readonly #states = new Map<Space, SpaceState>();
  readonly #live = new Map<string, Space>();

  constructor(file: GuardedFile) {
    this.#file = file;
  }

  find(space: Space): SpaceState | undefined {
    return this.#states.get(space);
  }

  findOrAdd(space: Space): SpaceState {
    return (
      this.find(space) ??
      this.#add(
        this.#file.use((sql) => sql.addSpace(space)),
        space,
      )
    );
  }

  remove({ id, space }: SpaceState): void {
    this.#states.delete(space);
    for (const [name, current] of this.#live) if (current === space) this.#live.delete(name);
    this.#file.use((sql) => sql.dropSpace(id, space));
  }

  all(): SpaceState[] {
    return [...this.#states.values()];
  }

  live(name: string): Space | null {
    return this.#live.get(name) ?? null;
  }

  goLive(name: string, space: Space): void {
    this.findOrAdd(space);
    this.#file.use((sql) => sql.goLive(name, space));
    this.#live.set(name, space);
  }

  /** Reads everything from the file. */
  load(): void {
    this.#file.use((sql) => {
      for (const { id, space } of sql.allSpaces()) {
        const { checkpoints } = this.#add(id, space);
        for (const { partition, position } of sql.checkpoints(id))
          checkpoints[partition] = position;
      }
      for (const { name, space } of sql.allLive()) this.#live.set(name, space);
    });
  }

  clear(): void {
    this.#states.clear();
    this.#live.clear();
  }

  #add(id: number, space: Space): SpaceState {
    const state = { id, space, checkpoints: noCheckpoints(), moved: new Set<number>() };
    this.#states.set(space, state);
    return state;
  }
}
