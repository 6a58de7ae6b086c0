import { createHash } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import type { Position } from '#src/ports/event-log.ts';
import type { PartitionBatch, ProjectionStore, Row, Space } from '#src/ports/read-model.ts';
import { PARTITIONS, partitionOf } from '#src/ports/read-model.ts';
import { fieldOf, jsonOf, type Keys, rowOf, scopeAndKey, valueOf } from './keys.ts';
import { AT, type Client, COMMIT, EVERYTHING, LOAD, run, together } from './scripts.ts';
import type { Spaces } from './spaces.ts';
import { warmRows } from './warm-rows.ts';

const ALL = Array.from({ length: PARTITIONS }, (_, partition) => partition);

export type Folding = Pick<ProjectionStore, 'checkpoints' | 'load' | 'commit' | 'digest' | 'count'>;

/** What projectors ask. The table of spaces is read afresh wherever a loss must be seen. */
export const folding = (
  writes: Client,
  keys: Keys,
  spaces: Spaces,
  warmRowsMax: number,
): Folding => {
  const warm = warmRows(warmRowsMax);

  const idNow = async (space: Space): Promise<string | undefined> => {
    await spaces.refresh(writes);
    return spaces.idOf(space);
  };

  const commitOne = async (id: string, batch: PartitionBatch): Promise<'committed' | 'stale'> => {
    const { partition, from, to } = batch;
    const name = `${id}/${partition}`;
    const known = warm.at(name);
    const args: (string | number)[] = [from, to];
    const fields: string[] = [];
    for (const { scope, key, row, sort } of batch.writes) {
      const field = fieldOf(scope, key);
      fields.push(field);
      args.push(field, row === null ? '' : valueOf(row, sort));
    }
    // Rows that we lent for it may belong to another checkpoint.
    const isMixed = known !== undefined && known !== from;
    if (isMixed || (await run(writes, COMMIT, keys.partition(id, partition), args)) !== 1) {
      warm.forget(name);
      return 'stale';
    }
    const keep = warm.committed(name, from, to);
    for (const [i, { row }] of batch.writes.entries()) if (row) keep(fields[i] ?? '', row);
    return 'committed';
  };

  return {
    async checkpoints(space) {
      const id = await idNow(space);
      if (id === undefined) return ALL.map((): Position => 0);
      const at = async (partition: number): Promise<Position> => {
        const found = Number((await run(writes, AT, keys.partition(id, partition))) ?? 0);
        warm.heard(`${id}/${partition}`, found);
        return found;
      };
      return Promise.all(together(writes, () => ALL.map(at)));
    },

    async load(space, wanted, at) {
      const rows = new Array<Row | undefined>(wanted.length).fill(undefined);
      const id = spaces.idOf(space) ?? (await idNow(space));
      if (id === undefined) return rows;
      const asked = new Map<number, { fields: string[]; places: number[] }>();
      for (const [i, { scope, key }] of wanted.entries()) {
        const partition = partitionOf(scope);
        const field = fieldOf(scope, key);
        const name = `${id}/${partition}`;
        if (at === undefined || warm.at(name) === at[partition]) rows[i] = warm.take(name, field);
        if (rows[i]) continue;
        const known = asked.get(partition) ?? { fields: [], places: [] };
        asked.set(partition, known);
        known.fields.push(field);
        known.places.push(i);
      }
      const loads = [...asked].map(async ([partition, { fields, places }]) => {
        const args = [at?.[partition] ?? '', ...fields];
        const values = await run(writes, LOAD, keys.partition(id, partition), args);
        if (!Array.isArray(values)) return false;
        for (const [j, value] of values.entries())
          if (typeof value === 'string') rows[places[j] ?? 0] = rowOf(value);
        return true;
      });
      return (await Promise.all(loads)).every(Boolean) ? rows : undefined;
    },

    async commit(space, batches) {
      if (batches.length === 0) return [];
      // A partition that begins may begin again, after a flush that took the space with it.
      const begins = batches.some(({ from }) => from === 0);
      const id = (begins ? undefined : spaces.idOf(space)) ?? (await spaces.add(space));
      const commits: Promise<'committed' | 'stale'>[] = [];
      for (const group of groupsOf(batches)) {
        if (commits.length > 0) await turn();
        const sent = together(writes, () => group.map((batch) => commitOne(id, batch)));
        // One that fails is told below, and not as an error that nobody caught meanwhile.
        for (const commit of sent) commit.catch(() => {});
        commits.push(...sent);
      }
      // All are waited for, also when one fails: the next try must not meet this one.
      await Promise.allSettled(commits);
      return Promise.all(commits);
    },

    async digest(space, partition) {
      const id = await idNow(space);
      const reply = id && (await run(writes, EVERYTHING, keys.partition(id, partition)));
      const [at, flat] = (reply || ['0', []]) as [string, string[]];
      return { checkpoint: Number(at), ...digestOf(flat) };
    },

    async count(space) {
      const id = await idNow(space);
      if (id === undefined) return 0;
      const rowsOf = (partition: number) => writes.hlen(keys.partition(id, partition)[1]);
      return (await Promise.all(ALL.map(rowsOf))).reduce((sum, rows) => sum + rows, 0);
    },
  };
};

/** Rows that are written out without a turn for the requests of this process. */
const ROWS_AT_ONCE = 1_000;

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

const digestOf = (flat: readonly string[]): { rows: number; digest: string } => {
  const rows: [scope: string, key: string, json: string][] = [];
  for (let i = 0; i < flat.length; i += 2)
    rows.push([...scopeAndKey(flat[i] ?? ''), jsonOf(flat[i + 1] ?? '')]);
  rows.sort(([a, k], [b, l]) => compare(a, b) || compare(k, l));
  const hash = createHash('sha256');
  for (const [scope, key, json] of rows)
    hash.update(`[${JSON.stringify(scope)},${JSON.stringify(key)},${json}]`);
  return { rows: rows.length, digest: hash.digest('hex') };
};

const compare = (a: string, b: string): number => Number(a > b) - Number(a < b);
