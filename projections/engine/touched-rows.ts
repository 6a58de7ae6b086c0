/** The rows that a batch of events touches, while it is folded. */
import type { FoldEvent } from '#src/ports/event-log.ts';
import type { ListEntry, Row, RowKey } from '#src/ports/read-model.ts';
import type { ScopeRows } from '../projection.ts';

/** A row that a batch touches: first the key to load, then the write to commit. */
export type TouchedRow = {
  scope: string;
  key: string;
  row: Row | null;
  sort: number | null;
  /** The lists of the row in the store; undefined if it is not loaded. */
  lists: readonly ListEntry[] | undefined;
  added?: readonly ListEntry[];
  removed?: readonly ListEntry[];
  partition: number;
  isChanged: boolean;
  /** Other rows of the scope by key; allocated with the second row, because a Map is expensive. */
  others: Map<string, TouchedRow> | null;
};

/** The work of one batch. */
export type BatchWork = {
  touched: TouchedRow[];
  /** The touched rows that may exist in the store and are not loaded yet. */
  stored: TouchedRow[];
  events: FoldEvent[];
  /** The row that each event touches. */
  rows: TouchedRow[];
  /** The first touched row of each scope, which has the others. */
  scopes: Map<string, TouchedRow>;
  /** The number of touched rows of each partition. */
  counts: Int32Array;
};

/** The touched row with this key in the scope of `first`. */
export const findRow = (first: TouchedRow, key: string): TouchedRow | undefined =>
  first.key === key ? first : first.others?.get(key);

/** Adds a row to the work. `first`: the first touched row of its scope, if there is one. */
export const addTouched = (
  work: BatchWork,
  first: TouchedRow | undefined,
  touched: TouchedRow,
): TouchedRow => {
  work.touched.push(touched);
  work.counts[touched.partition] = (work.counts[touched.partition] ?? 0) + 1;
  if (first === undefined) work.scopes.set(touched.scope, touched);
  else (first.others ??= new Map()).set(touched.key, touched);
  return touched;
};

/** Adds those rows of a scope that are not touched yet. */
export const touchOthers = (work: BatchWork, first: TouchedRow, keys: readonly string[]): void => {
  const { scope, partition } = first;
  for (const key of keys)
    if (findRow(first, key) === undefined)
      work.stored.push(addTouched(work, first, touchRow({ scope, key }, partition)));
};

/** An event reads rows that its place did not name. */
export class RowsMissing extends Error {
  override readonly name = 'RowsMissing';
  keys: readonly string[] = [];
}

/** The only one: to collect a stack trace for each takes longer than to fold the event. */
const rowsMissing = new RowsMissing('rows are not loaded yet');

/** The rows of one scope during a fold; one object serves all events of a batch. */
export class OtherRows implements ScopeRows {
  readonly #work: BatchWork;
  #first: TouchedRow | undefined;

  constructor(work: BatchWork) {
    this.#work = work;
  }

  of(scope: string): this {
    this.#first = this.#work.scopes.get(scope);
    return this;
  }

  get(key: string): Row | undefined {
    const touched = this.#first && findRow(this.#first, key);
    if (touched === undefined) throw new Error(`the place of the event does not name ${key}`);
    return touched.row ?? undefined;
  }

  load(keys: readonly string[]): void {
    const first = this.#first;
    const missing = first ? keys.filter((key) => findRow(first, key) === undefined) : [];
    if (missing.length === 0) return;
    rowsMissing.keys = missing;
    throw rowsMissing;
  }

  set(key: string, row: Row | null): void {
    const first = this.#first;
    if (first === undefined) return;
    const { scope, partition } = first;
    const touched =
      findRow(first, key) ?? addTouched(this.#work, first, touchRow({ scope, key }, partition));
    touched.row = row;
    touched.isChanged = true;
  }
}

export const touchRow = ({ scope, key }: RowKey, partition: number): TouchedRow => ({
  scope,
  key,
  row: null,
  sort: null,
  lists: undefined,
  partition,
  isChanged: false,
  others: null,
});
