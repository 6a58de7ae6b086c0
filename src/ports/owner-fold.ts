/** The rows of one owner at one position of the log, folded in memory by the projections of the read models. */
import type { FoldEvent } from './event-log.ts';
import type { ReadModels, Row, RowJson, RowKey } from './read-model.ts';

export type RowPlace = RowKey & { readModel: string };

export type OwnerFold = {
  /** The folded rows, as a process reads those of its read models. They change with the next `add`. */
  readonly rows: ReadModels;
  /** Folds the next event. Throws ReadModelParked if a projection cannot fold it; the fold is unusable then. */
  add(event: FoldEvent): void;
  /** Lists the row of each read model that the event changes; a projection may change further rows beside it. */
  placesOf(event: FoldEvent): RowPlace[];
  peek(place: RowPlace): Row | undefined;
  rowsOf(readModel: string): RowJson[];
};
