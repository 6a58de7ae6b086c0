/** Replaces the rows of one owner in a live read model, for an operator who repairs them beside traffic. */
import { openOwnerFold } from '#projections/owner-fold.ts';
import type { Projection } from '#projections/projection.ts';
import type { EventLog, FoldEvent, Position } from '#src/ports/event-log.ts';
import {
  type OwnerFold,
  partitionOf,
  type ProjectionStore,
  type RowJson,
  type RowKey,
  type RowWrite,
} from '#src/ports/read-model.ts';
import {
  addDifferences,
  compareRows,
  nameOfRow,
  noDifferences,
  type RowDifferences,
} from './compare-rows.ts';
import type { Engine, FollowedTarget } from './engine.ts';
import { entriesBeyond } from './fold.ts';
import { ownScopesOf } from './row-check.ts';
import { requiredCheckpoint } from './target.ts';

type OwnerRowsOptions = {
  log: Pick<EventLog, 'readFold' | 'head'>;
  store: ProjectionStore;
  projection: Projection;
  engine: Pick<Engine, 'betweenBatches' | 'passed'>;
  /** Reads the owner's events, `after` exclusive and `upTo` inclusive. */
  events(range: { after: Position; upTo: Position }): AsyncIterable<readonly FoldEvent[]>;
};

export type OwnerRows = {
  /** Rows that were compared with the owner's events. */
  compared: number;
  /** What differed before anything was replaced. */
  differences: RowDifferences;
  /** Rows that events of other owners place as well: they are left as they were. */
  shared: RowKey[];
  /** Partitions whose rows differ still: they are parked, or the process that folds them is behind. */
  notReplaced: number[];
};

const PASSES_MAX = 4;
/** Rows that are replaced between two batches of the loop, so that requests wait for few of them. */
const ROWS_AT_ONCE = 500;

const keyOf = (name: string): RowKey => {
  const [scope, key] = JSON.parse(name) as [string, string];
  return { scope, key };
};

/**
 * Replaces the rows that the owner's events place, where they differ from a fold of these events: in the owner's own scopes
 * every row, also one that no event makes; in a scope of all owners the rows that only events of this owner place. Rows are
 * compared beside the loop, and replaced between two of its batches, each partition at its checkpoint, which the same commit
 * advances to the position of the loop: so another process that folds the partition reads it again. Then compares again.
 *
 * It does not find a surplus row that no event of the owner placed in a scope of all owners, nor a list entry or a place in a
 * list that does not belong to its row: a rebuild of the read model does. Returns undefined if the owner has no events.
 */
export const replaceOwnerRows = async (
  owner: string,
  options: OwnerRowsOptions,
): Promise<OwnerRows | undefined> => {
  const { projection } = options;
  const places = await readPlaces(owner, options);
  if (!places) return undefined;
  const result: OwnerRows = {
    compared: 0,
    differences: noDifferences(),
    shared: [],
    notReplaced: [],
  };
  const shared = new Set<string>();
  for (let passes = 0; passes < PASSES_MAX; passes++) {
    const found = await compareOwn(places, options);
    if (passes === 0) {
      result.compared = found.compared;
      result.differences = found.differences;
    }
    const suspects = [...found.names].filter((name) => !places.scopes.has(keyOf(name).scope));
    for (const name of await placedByOthers(owner, suspects, options)) shared.add(name);
    const wanted = [...found.names].filter((name) => !shared.has(name));
    const partitions = Map.groupBy(wanted, (name) => partitionOf(keyOf(name).scope));
    result.notReplaced = [...partitions.keys()].toSorted((a, b) => a - b);
    if (wanted.length === 0) break;
    const fold = new OwnedFold(projection, options.events);
    for (const [partition, names] of partitions)
      for (let from = 0; from < names.length; from += ROWS_AT_ONCE) {
        const keys = names.slice(from, from + ROWS_AT_ONCE).map(keyOf);
        await replaceIn(options, fold, { partition, keys });
      }
  }
  result.shared = [...shared].sort().map(keyOf);
  return result;
};

/** The scopes of the owner alone, and the rows that the owner's events place, wherever they are. */
type Places = { scopes: ReadonlySet<string>; names: ReadonlySet<string> };

const readPlaces = async (
  owner: string,
  { log, projection, events }: OwnerRowsOptions,
): Promise<Places | undefined> => {
  const { position: upTo } = await log.head();
  const fold = openOwnerFold([projection]);
  const names = new Set<string>();
  let count = 0;
  for await (const page of events({ after: 0, upTo }))
    for (const event of page) {
      count += 1;
      for (const place of fold.placesOf(event)) names.add(nameOfRow(place));
    }
  return count > 0 ? { scopes: new Set(ownScopesOf(owner)), names } : undefined;
};

/** A fold of the owner's events, which only goes forward. */
class OwnedFold {
  readonly #fold: OwnerFold;
  readonly #events: OwnerRowsOptions['events'];
  readonly #name: string;
  #position: Position = 0;
  /** The rows by partition, until an event changes one. */
  #partitions: Map<number, RowJson[]> | undefined;

  constructor(projection: Projection, events: OwnerRowsOptions['events']) {
    this.#fold = openOwnerFold([projection]);
    this.#events = events;
    this.#name = projection.name;
  }

  async foldUpTo(upTo: Position): Promise<void> {
    if (upTo <= this.#position) return;
    for await (const page of this.#events({ after: this.#position, upTo }))
      for (const event of page) {
        this.#fold.add(event);
        this.#partitions = undefined;
      }
    this.#position = upTo;
  }

  rowsIn(partition: number): readonly RowJson[] {
    this.#partitions ??= Map.groupBy(this.#fold.rowsOf(this.#name), ({ scope }) =>
      partitionOf(scope),
    );
    return this.#partitions.get(partition) ?? [];
  }

  jsonOf(key: RowKey): string | null {
    const row = this.#fold.peek({ readModel: this.#name, ...key });
    return row === undefined ? null : JSON.stringify(row);
  }
}

/** Compares the live rows of each partition with the owner's events up to its checkpoint. Names the rows that differ. */
const compareOwn = async (
  { scopes, names }: Places,
  { store, projection, events }: OwnerRowsOptions,
): Promise<{ compared: number; differences: RowDifferences; names: Set<string> }> => {
  const { live } = await store.spaces(projection.name);
  const found = { compared: 0, differences: noDifferences(), names: new Set<string>() };
  if (live === null) return found;
  const placed = [...scopes, ...[...names].map((name) => keyOf(name).scope)];
  const isOwn = (row: RowJson): boolean => scopes.has(row.scope) || names.has(nameOfRow(row));
  const snapshots: { partition: number; checkpoint: Position; rows: RowJson[] }[] = [];
  for (const partition of new Set(placed.map(partitionOf))) {
    const { checkpoint, rows } = await store.partitionRows(live, partition);
    snapshots.push({ partition, checkpoint, rows: rows.filter(isOwn) });
  }
  const fold = new OwnedFold(projection, events);
  for (const { partition, checkpoint, rows } of snapshots.toSorted(byCheckpoint)) {
    await fold.foldUpTo(checkpoint);
    const folded = fold.rowsIn(partition);
    addDifferences(found.differences, compareRows(rows, folded));
    found.compared += rows.length;
    for (const name of namesOfDifferent(rows, folded)) found.names.add(name);
  }
  return found;
};

const byCheckpoint = (one: { checkpoint: Position }, other: { checkpoint: Position }): number =>
  one.checkpoint - other.checkpoint;

const namesOfDifferent = (rows: readonly RowJson[], folded: readonly RowJson[]): string[] => {
  const [has, wants] = [rows, folded].map(
    (side) => new Map(side.map((row) => [nameOfRow(row), row.json])),
  ) as [Map<string, string>, Map<string, string>];
  return [...new Set([...has.keys(), ...wants.keys()])].filter(
    (name) => has.get(name) !== wants.get(name),
  );
};

const PAGE_EVENTS = 1_000;

/** Returns those of the rows that events of other owners place. Reads the log, and only if there are such rows. */
const placedByOthers = async (
  owner: string,
  names: readonly string[],
  { log, projection }: OwnerRowsOptions,
): Promise<string[]> => {
  const suspects = new Set(names);
  const shared: string[] = [];
  const handled: ReadonlySet<string> = new Set(projection.handles);
  for (let after = 0; suspects.size > 0; ) {
    const page = await log.readFold({ after, limit: PAGE_EVENTS });
    const last = page.at(-1);
    if (!last) break;
    after = last.position;
    for (const event of page) {
      if (event.owner === owner || !handled.has(event.type)) continue;
      const place = projection.place(event);
      if (!place) continue;
      const keys = [place.key, ...(projection.others?.(event) ?? [])];
      for (const key of keys) {
        const name = nameOfRow({ scope: place.scope, key });
        if (suspects.delete(name)) shared.push(name);
      }
    }
  }
  return shared;
};

type Replacing = { partition: number; keys: readonly RowKey[] };

/** Replaces rows of one partition between two batches; leaves them if the partition is parked or behind. */
const replaceIn = async (
  { log, store, projection, engine }: OwnerRowsOptions,
  fold: OwnedFold,
  { partition, keys }: Replacing,
): Promise<void> => {
  // Folded beside the loop; what arrives until the next batch are few events.
  const { position: head } = await log.head();
  await fold.foldUpTo(head);
  await engine.passed(head, Infinity);
  await engine.betweenBatches(projection.name, async ({ target, position }: FollowedTarget) => {
    if (!target || target.parked.has(partition)) return;
    await fold.foldUpTo(position);
    const at = await store.checkpoints(target.space);
    const from = at[partition] ?? 0;
    if (from < requiredCheckpoint(target, partition)) return;
    const rows = await store.load(target.space, keys, at);
    if (!rows) return;
    const writes = keys.flatMap((key, i) => writeFor(projection, fold, { key, row: rows[i] }));
    const to = Math.max(from, position);
    const [outcome] = await store.commit(target.space, [{ partition, from, to, writes }]);
    if (outcome === 'committed' && target.own.has(partition)) target.checkpoints[partition] = to;
  });
};

/** Makes the write that replaces a row by that of the fold; none if they are equal. */
const writeFor = (
  { sort, lists }: Projection,
  fold: OwnedFold,
  { key, row: before }: { key: RowKey; row: object | undefined },
): RowWrite[] => {
  const json = fold.jsonOf(key);
  if ((before === undefined ? null : JSON.stringify(before)) === json) return [];
  // A copy, because a store in this process keeps the object, and later folds change it.
  const row = json === null ? null : (JSON.parse(json) as object);
  const had = (before && lists?.(before)) ?? [];
  const has = (row && lists?.(row)) ?? [];
  return [
    {
      ...key,
      row,
      sort: row === null ? null : (sort?.(row) ?? null),
      ...(lists && { added: entriesBeyond(had, has), removed: entriesBeyond(has, had) }),
    },
  ];
};
