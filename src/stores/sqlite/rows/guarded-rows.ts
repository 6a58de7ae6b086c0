/** Reads of rows from memory or views.db; a damaged row costs its partition, which is folded again. */
import { noRows, RowDamaged } from '#src/stores/row-digest.ts';
import { partitionOf, ReadModelRebuilding } from '#src/ports/read-model.ts';
import type { Cell, RowBuffer } from './read-model-buffer.ts';
import type { GuardedFile, Statements } from './read-model-guard.ts';
import type { SpaceState } from './read-model-spaces.ts';

/** Reads rows, and loses the partition of a damaged one. */
export class GuardedRows {
  readonly #file: GuardedFile;
  readonly #buffer: RowBuffer;
  readonly #onDiscarded: (reason: string) => void;

  constructor(file: GuardedFile, buffer: RowBuffer, onDiscarded: (reason: string) => void) {
    this.#file = file;
    this.#buffer = buffer;
    this.#onDiscarded = onDiscarded;
  }

  /** Reads a row from memory or the file. Throws ReadModelRebuilding if the row is damaged. */
  read(state: SpaceState, scope: string, key: string): Cell {
    const place = { id: state.id, partition: partitionOf(scope), scope, key };
    const cell = this.#buffer.get(place);
    if (cell) return cell;
    const stored = this.#guarded(state, place.partition, (sql) => sql.row(place)) ?? null;
    const clean = { ...place, row: stored?.row ?? null, sort: stored?.sort ?? null, stored };
    // The buffer bounds the number of rows, not their size, and a reader of large ones copies them.
    if (!stored?.isLarge) this.#buffer.addClean(clean);
    return clean;
  }

  /** Reads each record of a partition. Throws ReadModelRebuilding if one is damaged. */
  check(state: SpaceState, partition: number): void {
    const written = state.digests[partition] ?? noRows();
    this.#guarded(state, partition, (sql) => sql.check(state.id, partition, written));
  }

  /**
   * Removes the rows of a partition, so that the engine finds its checkpoint lower than it was and fills it again.
   * Until then readers get no rows of it.
   */
  lose(state: SpaceState, partition: number, reason: string): void {
    this.#file.use((sql) => sql.dropPartition(state.id, partition));
    // Where its own checkpoint is unknown, the others tell how far the space was filled.
    const reached = state.checkpoints[partition] || Math.max(...state.checkpoints);
    state.lost.set(partition, Math.max(reached, state.lost.get(partition) ?? 0));
    state.checkpoints[partition] = 0;
    state.digests[partition] = noRows();
    state.moved.delete(partition);
    this.#buffer.forget(state.id, partition);
    this.#onDiscarded(`${state.space}, partition ${partition}: ${reason}`);
  }

  /** Throws ReadModelRebuilding while a lost partition is filled again. */
  requireFilled({ space, lost, checkpoints }: SpaceState, partition: number): void {
    const reached = lost.get(partition);
    if (reached === undefined) return;
    if ((checkpoints[partition] ?? 0) < reached)
      throw new ReadModelRebuilding(`partition ${partition} of ${space} is being filled`);
    lost.delete(partition);
  }

  /** Throws ReadModelRebuilding, and removes the partition, if a record of it is damaged. */
  #guarded<T>(state: SpaceState, partition: number, work: (statements: Statements) => T): T {
    try {
      return this.#file.use(work);
    } catch (error) {
      if (!(error instanceof RowDamaged)) throw error;
      this.lose(state, partition, error.message);
      throw new ReadModelRebuilding(error.message, { cause: error });
    }
  }
}
