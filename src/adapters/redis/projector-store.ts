import { setImmediate as turn } from 'node:timers/promises';
import type { Position } from '#src/ports/event-log.ts';
import type { PartitionBatch, Row, RowJson, RowKey, Space } from '#src/ports/read-model.ts';
import { PARTITIONS, partitionOf } from '#src/ports/read-model.ts';
import {
  decodeRow,
  decodeSort,
  encodeRow,
  fieldOf,
  type Keys,
  memberOf,
  rowJson,
  splitField,
  splitMember,
} from './keys.ts';
import { addHash, digestText, entryHash, hashOf, noRows, rowText } from '../row-digest.ts';
import { AT, type Client, COMMIT, LOAD, together } from './scripts.ts';
import { type PartitionSnapshot, readSnapshot } from './snapshot.ts';
import type { Spaces } from './spaces.ts';
import { WarmRows } from './warm-rows.ts';

const ALL = Array.from({ length: PARTITIONS }, (_, partition) => partition);

/** Rows that are encoded without a turn for the requests of this process. */
const ROWS_AT_ONCE = 1_000;

/** Fields to load of one partition, and the index of each in the result. */
type Load = { fields: string[]; indexes: number[] };

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
    if (id === undefined) return ALL.map((): Position => 0);
    const checkpoint = async (partition: number): Promise<Position> => {
      const reply = await AT.run(this.#writes, this.#keys.partition(id, partition));
      const position = Number(reply ?? 0);
      this.#warm.setCheckpoint(`${id}/${partition}`, position);
      return position;
    };
    return Promise.all(together(this.#writes, () => ALL.map(checkpoint)));
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
      const load = loads.get(partition) ?? { fields: [], indexes: [] };
      loads.set(partition, load);
      load.fields.push(field);
      load.indexes.push(index);
    }
    const isLoaded = [...loads].map(async ([partition, { fields, indexes }]) => {
      const args = [at?.[partition] ?? '', ...fields];
      const values = await LOAD.run(this.#writes, this.#keys.partition(id, partition), args);
      if (!Array.isArray(values)) return false;
      for (const [i, value] of values.entries())
        if (typeof value === 'string') rows[indexes[i] ?? 0] = decodeRow(value);
      return true;
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
    const { checkpoint, rows, members } = await this.#snapshot(space, partition);
    return { checkpoint, ...digestOf(rows, members) };
  }

  async partitionRows(space: Space, partition: number) {
    const { checkpoint, rows } = await this.#snapshot(space, partition);
    return { checkpoint, rows: Array.from(rows, rowOf) };
  }

  async count(space: Space): Promise<number> {
    const id = await this.#currentId(space);
    if (id === undefined) return 0;
    const count = (partition: number) => this.#writes.hlen(this.#keys.partition(id, partition)[1]);
    return (await Promise.all(ALL.map(count))).reduce((sum, rows) => sum + rows, 0);
  }

  async #snapshot(space: Space, partition: number): Promise<PartitionSnapshot> {
    const id = await this.#currentId(space);
    return id === undefined
      ? { checkpoint: 0, rows: new Map(), members: new Set() }
      : readSnapshot(this.#writes, this.#keys.partition(id, partition));
  }

  async #currentId(space: Space): Promise<string | undefined> {
    await this.#spaces.refresh(this.#writes);
    return this.#spaces.idOf(space);
  }

  async #commitOne(id: string, batch: PartitionBatch): Promise<'committed' | 'stale'> {
    const { partition, from, to, writes } = batch;
    const name = `${id}/${partition}`;
    const fields = writes.map(({ scope, key }) => fieldOf(scope, key));
    const values = writes.flatMap(({ row, sort }, i) => [
      fields[i] ?? '',
      row === null ? '' : encodeRow(row, sort),
    ]);
    const entries = writes.flatMap(({ scope, key, removed = [], added = [] }) => [
      ...removed.flatMap((entry) => ['ZREM', memberOf(scope, key, entry)]),
      ...added.flatMap((entry) => ['ZADD', memberOf(scope, key, entry)]),
    ]);
    const keys = this.#keys.partition(id, partition);
    const args = [from, to, writes.length, ...values, ...entries];
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

const digestOf = (
  rows: ReadonlyMap<string, string>,
  members: ReadonlySet<string>,
): { rows: number; digest: string } => {
  const digest = noRows();
  for (const [field, value] of rows) {
    const [scope, key] = splitField(field);
    digest.rows += 1;
    const [sort, row] = [decodeSort(value), decodeRow(value)];
    addHash(digest, hashOf(rowText({ scope, key, sort, row })));
  }
  for (const member of members) {
    const [scope, list, sort, key] = splitMember(member) ?? [];
    if (scope !== undefined && list !== undefined && sort !== undefined)
      addHash(digest, entryHash(scope, key ?? '', [list, sort]));
  }
  return digestText(digest);
};
