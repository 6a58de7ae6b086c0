/**
 * Rows folded in memory from the beginning of the log, so that each is stored or compared once. A fill of empty partitions
 * writes them (`fillPartitions`), and comparisons read them.
 */
import { setImmediate as turn } from 'node:timers/promises';
import type { Projection, ScopeRows } from '#projections/projection.ts';
import type { EventLog, FoldEvent, Position } from '#src/ports/event-log.ts';
import {
  partitionOf,
  PARTITIONS,
  type Row,
  type RowWrite,
  type Space,
} from '#src/ports/read-model.ts';
import type { ParkedPartition } from './target.ts';

/** A space to fold. `until`: the last position to fold in each partition, for comparisons. */
export type FoldedSpace = {
  projection: Projection;
  space: Space;
  /** The partitions to fold; all by default. */
  partitions?: ReadonlySet<number>;
  until?: readonly Position[] | undefined;
};

/** What is known of a space after a fold. */
export type FoldedPartition = {
  space: Space;
  partition: number;
  /** Every event is folded up to here, and up to the event before the one that parked it. */
  position: Position;
  rows: RowWrite[];
  parked: ParkedPartition | undefined;
};

/** Between scope and key in the name of a row: sorts before all characters of both. */
const SEPARATOR = '\0';

type PartitionRows = { rows: Map<string, Row>; parked: ParkedPartition | undefined };

/** The rows of one partition as its fold reads and writes them; one object serves all events. */
class Scope implements ScopeRows {
  #rows: Map<string, Row> = new Map();
  #prefix = '';

  of(rows: Map<string, Row>, scope: string): this {
    this.#rows = rows;
    this.#prefix = scope + SEPARATOR;
    return this;
  }

  get(key: string): Row | undefined {
    return this.#rows.get(this.#prefix + key);
  }

  /** All rows are here. */
  load(): void {}

  set(key: string, row: Row | null): void {
    if (row === null) this.#rows.delete(this.#prefix + key);
    else this.#rows.set(this.#prefix + key, row);
  }
}

/**
 * Folds events in log order into the rows of some partitions of several spaces. A fold that throws parks its partition before
 * the event; the others continue.
 */
export class FoldedRows {
  #partitions: readonly number[];
  readonly #spaces: { folded: FoldedSpace; partitions: (PartitionRows | undefined)[] }[];
  readonly #byType = new Map<
    string,
    { folded: FoldedSpace; partitions: (PartitionRows | undefined)[] }[]
  >();
  readonly #scope = new Scope();
  /** What large events add to the weight of each partition. */
  readonly #added = new Array<number>(PARTITIONS).fill(0);

  constructor(spaces: readonly FoldedSpace[], partitions: readonly number[]) {
    this.#partitions = partitions;
    this.#spaces = spaces.map((folded) => {
      const own = new Array<PartitionRows | undefined>(PARTITIONS).fill(undefined);
      for (const partition of partitions)
        if (folded.partitions?.has(partition) !== false)
          own[partition] = { rows: new Map(), parked: undefined };
      return { folded, partitions: own };
    });
    for (const space of this.#spaces)
      for (const type of space.folded.projection.handles) {
        const folding = this.#byType.get(type) ?? [];
        folding.push(space);
        this.#byType.set(type, folding);
      }
  }

  get partitions(): readonly number[] {
    return this.#partitions;
  }

  /** The memory that each partition takes, in rows: large events count as several. */
  weights(): { partition: number; weight: number }[] {
    return this.#partitions.map((partition) => {
      let weight = this.#added[partition] ?? 0;
      for (const { partitions } of this.#spaces) weight += partitions[partition]?.rows.size ?? 0;
      return { partition, weight };
    });
  }

  /** Counts a large event as so many rows of its owner: rows of others have only its names and references. */
  weigh({ owner }: FoldEvent, rows: number): void {
    const partition = partitionOf(owner);
    this.#added[partition] = (this.#added[partition] ?? 0) + rows;
  }

  add(event: FoldEvent): void {
    for (const { folded, partitions } of this.#byType.get(event.type) ?? []) {
      const { projection, until } = folded;
      let partition: number | undefined;
      try {
        const place = projection.place(event);
        if (!place) continue;
        partition = partitionOf(place.scope);
        const own = partitions[partition];
        if (!own || own.parked || (until && event.position > (until[partition] ?? 0))) continue;
        const scope = this.#scope.of(own.rows, place.scope);
        scope.set(place.key, projection.evolve(scope.get(place.key), event, scope));
      } catch (error) {
        // Where the place itself fails, the scope is unknown; rows of the event's owner are the most likely ones.
        park(partitions, event, { partition: partition ?? partitionOf(event.owner), error });
      }
    }
  }

  /** Forgets the rows of these partitions, and folds nothing more into them. */
  forget(forgotten: readonly number[]): void {
    for (const partition of forgotten)
      for (const { partitions } of this.#spaces) partitions[partition] = undefined;
    this.#partitions = this.#partitions.filter((partition) => !forgotten.includes(partition));
  }

  /** Hands over each partition with its rows in order of scope and key, and forgets it. `upTo`: the last event that was read. */
  *take(upTo: Position): Generator<FoldedPartition> {
    for (const { folded, partitions } of this.#spaces)
      for (const partition of this.#partitions) {
        const own = partitions[partition];
        if (!own) continue;
        partitions[partition] = undefined;
        const { rows, parked } = own;
        const { projection, space } = folded;
        const position = parked ? parked.position - 1 : upTo;
        yield { space, partition, position, rows: writesOf(projection, rows), parked };
      }
  }
}

const park = (
  partitions: (PartitionRows | undefined)[],
  { position, stream, type }: FoldEvent,
  { partition, error }: { partition: number; error: unknown },
): void => {
  const own = partitions[partition];
  if (!own) return;
  const reason = `${type}: ${error instanceof Error ? error.message : String(error)}`;
  own.parked ??= { partition, position, stream, reason };
};

const writesOf = (projection: Projection, rows: ReadonlyMap<string, Row>): RowWrite[] =>
  [...rows.keys()].sort().map((name) => {
    const at = name.indexOf(SEPARATOR);
    const row = rows.get(name) ?? {};
    return {
      scope: name.slice(0, at),
      key: name.slice(at + 1),
      row,
      sort: projection.sort?.(row) ?? null,
      added: projection.lists?.(row) ?? [],
    };
  });

const PAGE_EVENTS = 1_000;
/** Some 400 MB. */
const ROWS_MAX = 650_000;
/** A page is cut where events are large, at some 1 MiB: its events together count as so many rows. */
const ROWS_OF_CUT_PAGE = 2_000;

export type PartitionsFill = {
  log: Pick<EventLog, 'readFold'>;
  spaces: readonly FoldedSpace[];
  partitions: readonly number[];
  /** The last position to fold. */
  upTo: Position;
  signal?: AbortSignal | undefined;
  /** Events of one reading; this process does other work between two. */
  pageEvents?: number | undefined;
  /** Rows in memory at a time. */
  rowsMax?: number | undefined;
  /** Called with the share that is done, from 0 to 1. */
  onProgress(share: number): void;
  /** Called with the events up to `upTo` that were read last, and awaited before more are read. */
  onPage?(events: readonly FoldEvent[], upTo: Position): Promise<void> | void;
  /** Takes a partition, before the next one is made. */
  write(folded: FoldedPartition): Promise<void>;
  /** Leaves out a partition whose rows alone take half of the memory; otherwise the others are folded after it. */
  leavesOutLarge?: boolean;
};

/**
 * Folds the log into partitions that have no rows yet, and hands over each partition once. Where their rows do not fit into
 * memory together, it continues with half of the partitions, and reads the log again for the others. Throws the errors of the
 * log and of `write`; partitions that were written stay complete. What is left out has no checkpoint, and what folds the log
 * in batches fills it.
 *
 * Costs a reading of the log for each `rowsMax` rows.
 */
export const fillPartitions = async (options: PartitionsFill): Promise<void> => {
  const { spaces, partitions, upTo, signal, write } = options;
  const left = new Set(partitions);
  // Writing takes as long as reading and folding.
  const report = (share: number, of: number): void =>
    options.onProgress((partitions.length - left.size + share * of) / partitions.length);
  for (let size = partitions.length; left.size > 0; ) {
    const chosen = [...left].slice(0, size);
    const folded = new FoldedRows(spaces, chosen);
    await foldThrough(options, folded, left, (share) =>
      report(share / 2, folded.partitions.length),
    );
    const { length } = folded.partitions;
    // Those before may have been larger.
    size = length < chosen.length ? Math.max(1, length) : 2 * size;
    const rows = folded.weights().reduce((sum, { weight }) => sum + weight, 0);
    let written = 0;
    for (const partition of folded.take(upTo)) {
      signal?.throwIfAborted();
      await write(partition);
      written += partition.rows.length;
      report((1 + (rows === 0 ? 1 : written / rows)) / 2, length);
    }
    for (const partition of folded.partitions) left.delete(partition);
    report(0, 0);
  }
};

/** Folds the log into as many of the partitions as fit into memory. Those that never will are taken from `left`. */
const foldThrough = async (
  options: PartitionsFill,
  folded: FoldedRows,
  left: Set<number>,
  onShare: (share: number) => void,
): Promise<void> => {
  const {
    log,
    upTo,
    signal,
    leavesOutLarge,
    pageEvents = PAGE_EVENTS,
    rowsMax = ROWS_MAX,
  } = options;
  for (let after = 0; after < upTo && folded.partitions.length > 0; ) {
    signal?.throwIfAborted();
    const events = await log.readFold({ after, limit: pageEvents });
    const last = events.at(-1);
    if (!last) break;
    after = Math.min(last.position, upTo);
    for (const event of events) if (event.position <= after) folded.add(event);
    if (events.length < pageEvents && after < upTo)
      for (const event of events) folded.weigh(event, ROWS_OF_CUT_PAGE / events.length);
    const weights = folded.weights();
    if (weights.reduce((sum, { weight }) => sum + weight, 0) > rowsMax) {
      const tooLarge = weights.find(({ weight }) => leavesOutLarge && weight > rowsMax / 2);
      if (tooLarge) {
        left.delete(tooLarge.partition);
        folded.forget([tooLarge.partition]);
      } else if (weights.length > 1) {
        folded.forget(folded.partitions.slice(Math.ceil(weights.length / 2)));
      }
    }
    onShare(after / upTo);
    await options.onPage?.(events, after);
    await turn();
  }
};
