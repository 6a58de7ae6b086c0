/** The spaces of read models in views.db. */
import { noRows, type RowDigest } from '#src/stores/row-digest.ts';
import type { Position } from '#src/ports/event-log.ts';
import { PARTITIONS, readModelOf, type Space } from '#src/ports/read-model.ts';
import type { GuardedFile } from './read-model-guard.ts';

/** A space and its checkpoints, which are ahead of the file in the partitions of `moved`. */
export type SpaceState = {
  id: number;
  space: Space;
  isLive: boolean;
  checkpoints: Position[];
  moved: Set<number>;
  /** What the file has in each partition. */
  digests: RowDigest[];
  /** Partitions whose rows were damaged and removed, and the position up to which they must be filled again. */
  lost: Map<number, Position>;
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

  goLive(space: Space): void {
    const name = readModelOf(space);
    this.findOrAdd(space);
    this.#file.use((sql) => sql.goLive(name, space));
    this.#setLive(name, space);
  }

  /** Reads everything from the file. A partition whose checkpoint is damaged is at 0; returns them. */
  load(): { state: SpaceState; partition: number }[] {
    const damaged: { state: SpaceState; partition: number }[] = [];
    this.#file.use((sql) => {
      for (const { id, space } of sql.allSpaces()) {
        const state = this.#add(id, space);
        for (let partition = 0; partition < PARTITIONS; partition++) {
          const record = sql.checkpoint(id, partition);
          if (!record) damaged.push({ state, partition });
          const { position, rows, sum } = record ?? { position: 0, ...noRows() };
          state.checkpoints[partition] = position;
          state.digests[partition] = { rows, sum };
        }
      }
      for (const { name, space } of sql.allLive()) if (this.find(space)) this.#setLive(name, space);
    });
    return damaged;
  }

  clear(): void {
    this.#states.clear();
    this.#live.clear();
  }

  #setLive(name: string, space: Space): void {
    this.#live.set(name, space);
    const isOfName = (state: SpaceState): boolean => state.space.startsWith(`${name}@`);
    for (const state of this.all().filter(isOfName)) state.isLive = state.space === space;
  }

  #add(id: number, space: Space): SpaceState {
    const state: SpaceState = {
      id,
      space,
      isLive: false,
      checkpoints: noCheckpoints(),
      moved: new Set(),
      digests: Array.from({ length: PARTITIONS }, noRows),
      lost: new Map(),
    };
    this.#states.set(space, state);
    return state;
  }
}
