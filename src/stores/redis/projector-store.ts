import { setImmediate as turn } from 'node:timers/promises';
import type { Position } from '#src/ports/event-log.ts';
import type {
  ListEntry,
  PartitionBatch,
  Row,
  RowJson,
  RowKey,
  Space,
} from '#src/ports/read-model.ts';
import { ALL_PARTITIONS, partitionOf, ReadModelRebuilding } from '#src/ports/read-model.ts';
import {
  decodeCheckpoint,
  decodeRow,
  encodeCheckpoint,
  encodeRow,
  fieldOf,
  type Keys,
  memberOf,
  parseHex,
  parseRow,
  rowJson,
  splitField,
} from './keys.ts';
import {
  digestText,
  entryHash,
  hexOf,
  noRows,
  RowDamaged,
  type RowDigest,
} from '#src/stores/row-digest.ts';
import { type Client, COMMIT, HEAD, LOAD, together } from './scripts.ts';
import { checkSnapshot, noSnapshot, type PartitionSnapshot, readSnapshot } from './snapshot.ts';
import type { Spaces } from './spaces.ts';
import { WarmRows } from './warm-rows.ts';

/** Rows that are encoded without a turn for the requests of this process. */
const ROWS_AT_ONCE = 1_000;

/** Rows to load of one partition, and the index of each in the result. */
type Load = { keys: RowKey[]; indexes: number[] };

type PartitionHead = RowDigest & { checkpoint: Position };

const NO_HEAD: PartitionHead = { checkpoint: 0, ...noRows() };

/** The part of the store that projectors use. Reads the table of spaces again to detect a loss. */
export class ProjectorStore {
  readonly #writes: Client;
  readonly #keys: Keys;
  readonly #spaces: Spaces;
  readonly #warm: WarmRows;

  constructor(writes: Client, keys: Keys, options: { spaces: Spaces; warmRowsMax: number }) {
    this.#writes = writes;
    this.#keys = keys;
    this.#spaces = options.spaces;
    this.#warm = new WarmRows(options.warmRowsMax);
  }

  async checkpoints(space: Space): Promise<Position[]> {
    const id = await this.#currentId(space);
    if (id === undefined) return ALL_PARTITIONS.map((): Position => 0);
    const checkpointOf = async (partition: number): Promise<Position> => {
      const { checkpoint } = await this.#head(space, id, partition);
      this.#warm.setCheckpoint(`${id}/${partition}`, checkpoint);
      return checkpoint;
    };
    return Promise.all(together(this.#writes, () => ALL_PARTITIONS.map(checkpointOf)));
  }

  async load(
    space: Space,
    wanted: readonly RowKey[],
    at?: readonly Position[],
  ): Promise<(Row | undefined)[] | undefined> {
    const rows = new Array<Row | undefined>(wanted.length).fill(undefined);
    const id = this.#spaces.idOf(space) ?? (await this.#currentId(space));
    if (id === undefined) return rows;
    const loads = new Map<number, Load>();
    for (const [index, { scope, key }] of wanted.entries()) {
      const partition = partitionOf(scope);
      const field = fieldOf(scope, key);
      const name = `${id}/${partition}`;
      if (at === undefined || this.#warm.checkpoint(name) === at[partition])
        rows[index] = this.#warm.take(name, field);
      if (rows[index]) continue;
      const load = loads.get(partition) ?? { keys: [], indexes: [] };
      loads.set(partition, load);
      load.keys.push({ scope, key });
      load.indexes.push(index);
    }
    const isLoaded = [...loads].map(async ([partition, { keys, indexes }]) => {
      const names = this.#keys.partition(id, partition);
      const checkpoint = at && encodeCheckpoint(names[0], at[partition] ?? 0);
      const args = [checkpoint ?? '', ...keys.map(({ scope, key }) => fieldOf(scope, key))];
      const values = await LOAD.run(this.#writes, names, args);
      if (!Array.isArray(values)) return false;
      return this.#guarded(space, partition, () => {
        for (const [i, key] of keys.entries()) {
          const value: unknown = values[i];
          if (typeof value === 'string') rows[indexes[i] ?? 0] = parseRow(decodeRow(key, value));
        }
        return true;
      });
    });
    return (await Promise.all(isLoaded)).every(Boolean) ? rows : undefined;
  }

  async commit(
    space: Space,
    batches: readonly PartitionBatch[],
  ): Promise<('committed' | 'stale')[]> {
    if (batches.length === 0) return [];
    // After a flush a partition starts again at 0, and the space no longer exists.
    const isStart = batches.some(({ from }) => from === 0);
    const id = (isStart ? undefined : this.#spaces.idOf(space)) ?? (await this.#spaces.add(space));
    const commits: Promise<'committed' | 'stale'>[] = [];
    for (const group of groupsOf(batches)) {
      if (commits.length > 0) await turn();
      const sent = together(this.#writes, () => group.map((batch) => this.#commitOne(id, batch)));
      // The failure is thrown below, and must not be an unhandled rejection until then.
      for (const commit of sent) commit.catch(() => {});
      commits.push(...sent);
    }
    // Awaits all, also when one fails: the next attempt must not overlap with this one.
    await Promise.allSettled(commits);
    return Promise.all(commits);
  }

  async digest(space: Space, partition: number) {
    const id = await this.#currentId(space);
    const head = id === undefined ? NO_HEAD : await this.#head(space, id, partition);
    return { checkpoint: head.checkpoint, ...digestText(head) };
  }

  async check(space: Space, partition: number): Promise<void> {
    const check = async () => checkSnapshot(await this.#snapshot(space, partition));
    if (!(await this.#guarded(space, partition, check)))
      throw new ReadModelRebuilding(`partition ${partition} of ${space} is being filled`);
  }

  async partitionRows(space: Space, partition: number) {
    const { checkpoint, rows } = await this.#snapshot(space, partition);
    return { checkpoint, rows: Array.from(rows, rowOf) };
  }

  async count(space: Space): Promise<number> {
    const id = await this.#currentId(space);
    if (id === undefined) return 0;
    const count = (partition: number) => this.#writes.hlen(this.#keys.partition(id, partition)[1]);
    return (await Promise.all(ALL_PARTITIONS.map(count))).reduce((sum, rows) => sum + rows, 0);
  }

  async #snapshot(space: Space, partition: number): Promise<PartitionSnapshot> {
    const id = await this.#currentId(space);
    return id === undefined
      ? noSnapshot()
      : readSnapshot(this.#writes, this.#keys.partition(id, partition));
  }

  /** Reads checkpoint and digest of a partition; 0 and empty if it is lost. */
  async #head(space: Space, id: string, partition: number): Promise<PartitionHead> {
    const keys = this.#keys.partition(id, partition);
    const reply = await HEAD.run(this.#writes, keys);
    if (!Array.isArray(reply)) return NO_HEAD;
    const decode = () => decodeHead(keys[0], reply as [string, number, string]);
    return (await this.#guarded(space, partition, decode)) ?? NO_HEAD;
  }

  /** Returns undefined, and removes the partition, if `work` finds a damaged record of it. */
  async #guarded<T>(
    space: Space,
    partition: number,
    work: () => T | Promise<T>,
  ): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof RowDamaged)) throw error;
      await this.#spaces.lose(space, partition, error.message);
      return undefined;
    }
  }

  async #currentId(space: Space): Promise<string | undefined> {
    await this.#spaces.refresh(this.#writes);
    return this.#spaces.idOf(space);
  }

  async #commitOne(id: string, batch: PartitionBatch): Promise<'committed' | 'stale'> {
    const { partition, from, to, writes } = batch;
    const name = `${id}/${partition}`;
    const fields = writes.map(({ scope, key }) => fieldOf(scope, key));
    const values = writes.flatMap(({ scope, key, row, sort }, i) => [
      fields[i] ?? '',
      row === null ? '' : encodeRow({ scope, key }, sort, row),
    ]);
    const change = (command: string, { scope, key }: RowKey, entry: ListEntry) => [
      command,
      memberOf(scope, key, entry),
      hexOf(entryHash(scope, key, entry)),
    ];
    const entries = writes.flatMap(({ removed = [], added = [], ...row }) => [
      ...removed.flatMap((entry) => change('ZREM', row, entry)),
      ...added.flatMap((entry) => change('ZADD', row, entry)),
    ]);
    const keys = this.#keys.partition(id, partition);
    const [before, after] = [from, to].map((position) => encodeCheckpoint(keys[0], position));
    const args = [before ?? '', after ?? '', writes.length, ...values, ...entries];
    // Rows handed out for this batch can belong to another checkpoint.
    const isMixed = (this.#warm.checkpoint(name) ?? from) !== from;
    if (isMixed || (await COMMIT.run(this.#writes, keys, args)) !== 1) {
      this.#warm.forget(name);
      return 'stale';
    }
    const keep = this.#warm.committed(name, from, to);
    for (const [i, { row }] of writes.entries()) if (row) keep(fields[i] ?? '', row);
    return 'committed';
  }
}

const groupsOf = (batches: readonly PartitionBatch[]): PartitionBatch[][] => {
  const groups: PartitionBatch[][] = [];
  let rows = Infinity;
  for (const batch of batches) {
    if (rows >= ROWS_AT_ONCE) {
      groups.push([]);
      rows = 0;
    }
    groups.at(-1)?.push(batch);
    rows += batch.writes.length;
  }
  return groups;
};

const rowOf = ([field, value]: [string, string]): RowJson => {
  const [scope, key] = splitField(field);
  return { scope, key, json: rowJson(value) };
};

/** Throws RowDamaged. */
const decodeHead = (key: string, [at, rows, sum]: [string, number, string]): PartitionHead => {
  if (at === '') throw new RowDamaged('rows or entries of lists are missing');
  return { checkpoint: decodeCheckpoint(key, at), rows, sum: parseHex(sum) };
};
