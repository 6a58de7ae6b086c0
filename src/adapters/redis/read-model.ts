import { createHash } from 'node:crypto';
import type { Position } from '#src/ports/event-log.ts';
import type {
  Found,
  ListQuery,
  PartitionBatch,
  RemoteStore,
  Row,
  RowKey,
  Space,
} from '#src/ports/read-model.ts';
import { PARTITIONS, partitionOf, ReadModelRebuilding } from '#src/ports/read-model.ts';
import { connect } from './connect.ts';
import type { Gate } from './gate.ts';
import { gate } from './gate.ts';
import {
  fieldOf,
  jsonOf,
  keysOf,
  orderRange,
  placeOf,
  rowOf,
  scopeAndKey,
  valueOf,
} from './keys.ts';
import type { Script } from './scripts.ts';
import { AT, COMMIT, EVERYTHING, FIND, PAGE, run } from './scripts.ts';
import { spaceTable } from './spaces.ts';
import { warmRows } from './warm-rows.ts';

export type RedisStoreOptions = {
  /** redis:// or rediss://; any node of a cluster. */
  url: URL;
  /** Identity of the log it is a cache of; the rows of other logs are not seen. */
  log: string;
  /** The server is away, said once per outage; nothing is lost by it. */
  onFault?(error: unknown): void;
  /** How long a request waits for an answer. */
  readMs?: number;
  /** Rows kept in memory for the next fold, about. */
  warmRowsMax?: number;
};

const READ_MS = 50;
const WARM_ROWS_MAX = 50_000;

const ALL = Array.from({ length: PARTITIONS }, (_, partition) => partition);

/**
 * Read models in Redis, shared by many processes. It is a cache of the log: flushed, killed,
 * stalled, restored from an older copy or full, it answers right or not at all, and is filled again.
 * Throws StartupError when the server cannot be used.
 */
export const redisStore = async (options: RedisStoreOptions): Promise<RemoteStore> => {
  const { url, log, onFault = () => {}, readMs = READ_MS } = options;
  const connections = await connect(url, onFault);
  const { reads, writes, isCluster } = connections;
  const keys = keysOf(log);
  const spaces = spaceTable(writes, keys);
  const warm = warmRows(options.warmRowsMax ?? WARM_ROWS_MAX);
  // In a cluster each partition may be on a server of its own, and fail on its own.
  const tableGate = gate(readMs, () => reads.exists(keys.spaces));
  const gates: Gate[] = isCluster
    ? ALL.map((partition) => gate(readMs, () => reads.exists(keys.partition('', partition)[0])))
    : [];

  const refresh = (): Promise<void> => tableGate.ask(() => spaces.refresh(reads));

  /** Asks the space that answers; once more when it is not what this process believed. */
  const answer = async (
    name: string,
    scope: string,
    script: Script,
    args: (string | number)[],
  ): Promise<{ space: Space | null; reply: unknown[] | undefined }> => {
    const partition = partitionOf(scope);
    const ask = async () => {
      const live = spaces.live(name);
      if (!live) return { space: null, reply: undefined };
      const places = keys.partition(live.id, partition);
      const reply = await (gates[partition] ?? tableGate).ask(() =>
        run(reads, script, places, args),
      );
      return { space: live.space, reply: Array.isArray(reply) ? reply : undefined };
    };
    try {
      const found = await ask();
      if (found.reply) return found;
      await refresh();
      return await ask();
    } catch (error) {
      throw new ReadModelRebuilding(`${name} cannot be read: ${String(error)}`, { cause: error });
    }
  };

  const find = async (
    name: string,
    scope: string,
    key: string,
  ): Promise<Found<Row | undefined>> => {
    const { space, reply } = await answer(name, scope, FIND, [fieldOf(scope, key)]);
    if (!reply) return { space, checkpoint: undefined, value: undefined };
    const [at, value] = reply as [string, string | null];
    return { space, checkpoint: Number(at), value: value === null ? undefined : rowOf(value) };
  };

  const page = async (name: string, { scope, before, downTo, limit }: ListQuery) => {
    const range = orderRange(scope, before, downTo);
    const { space, reply } = await answer(name, scope, PAGE, [scope, ...range, limit]);
    if (!reply) return { space, checkpoint: undefined, value: [] };
    const [at, ...found] = reply as string[];
    const value: { row: Row; sort: number; key: string }[] = [];
    for (let i = 0; i < found.length; i += 2)
      value.push({ row: rowOf(found[i + 1] ?? ''), ...placeOf(found[i] ?? '') });
    return { space, checkpoint: Number(at), value };
  };

  const load = async (space: Space, wanted: readonly RowKey[]): Promise<(Row | undefined)[]> => {
    if (spaces.idOf(space) === undefined) await spaces.refresh(writes);
    const id = spaces.idOf(space);
    const rows = new Array<Row | undefined>(wanted.length).fill(undefined);
    if (id === undefined) return rows;
    const asked = new Map<number, { fields: string[]; places: number[] }>();
    for (const [i, { scope, key }] of wanted.entries()) {
      const partition = partitionOf(scope);
      const field = fieldOf(scope, key);
      rows[i] = warm.take(`${id}/${partition}`, field);
      if (rows[i]) continue;
      const known = asked.get(partition) ?? { fields: [], places: [] };
      asked.set(partition, known);
      known.fields.push(field);
      known.places.push(i);
    }
    await Promise.all(
      [...asked].map(async ([partition, { fields, places }]) => {
        const values = await writes.hmget(keys.partition(id, partition)[1], ...fields);
        for (const [j, value] of values.entries())
          if (typeof value === 'string') rows[places[j] ?? 0] = rowOf(value);
      }),
    );
    return rows;
  };

  const commitOne = async (id: string, batch: PartitionBatch): Promise<'committed' | 'stale'> => {
    const { partition, from, to } = batch;
    const name = `${id}/${partition}`;
    const known = warm.at(name);
    // Rows of ours may be in it that do not belong to that checkpoint.
    if (known !== undefined && known !== from) {
      warm.forget(name);
      return 'stale';
    }
    const args: (string | number)[] = [from, to];
    for (const { scope, key, row, sort } of batch.writes)
      args.push(fieldOf(scope, key), row === null ? '' : valueOf(row, sort));
    const taken = await run(writes, COMMIT, keys.partition(id, partition), args);
    if (taken !== 1) {
      warm.forget(name);
      return 'stale';
    }
    const keep = warm.committed(name, from, to);
    for (const { scope, key, row } of batch.writes) if (row) keep(fieldOf(scope, key), row);
    return 'committed';
  };

  const commit = async (space: Space, batches: readonly PartitionBatch[]) => {
    if (batches.length === 0) return [];
    // A partition that begins may begin again, after a flush that took the space with it.
    const begins = batches.some(({ from }) => from === 0);
    const id = (begins ? undefined : spaces.idOf(space)) ?? (await spaces.add(space));
    // All are waited for, also when one fails: the next try must not meet this one.
    const settled = await Promise.allSettled(batches.map((batch) => commitOne(id, batch)));
    const answers: ('committed' | 'stale')[] = [];
    for (const one of settled) {
      if (one.status === 'rejected') throw one.reason;
      answers.push(one.value);
    }
    return answers;
  };

  const checkpoints = async (space: Space): Promise<Position[]> => {
    await spaces.refresh(writes);
    const id = spaces.idOf(space);
    if (id === undefined) return ALL.map(() => 0);
    return Promise.all(
      ALL.map(async (partition) => {
        const at = Number((await run(writes, AT, keys.partition(id, partition))) ?? 0);
        warm.heard(`${id}/${partition}`, at);
        return at;
      }),
    );
  };

  const digest = async (space: Space, partition: number) => {
    await spaces.refresh(writes);
    const id = spaces.idOf(space);
    const reply = id && (await run(writes, EVERYTHING, keys.partition(id, partition)));
    const [at, flat] = (reply || ['0', []]) as [string, string[]];
    return { checkpoint: Number(at), ...digestOf(flat) };
  };

  const count = async (space: Space): Promise<number> => {
    await spaces.refresh(writes);
    const id = spaces.idOf(space);
    if (id === undefined) return 0;
    const rows = await Promise.all(
      ALL.map((partition) => writes.hlen(keys.partition(id, partition)[1])),
    );
    return rows.reduce((sum, each) => sum + each, 0);
  };

  try {
    await spaces.finishDrops();
  } catch (error) {
    onFault(error);
  }
  return {
    checkpoints,
    load,
    commit,
    digest,
    count,
    async spaces(name) {
      await spaces.refresh(writes);
      return { live: spaces.live(name)?.space ?? null, all: spaces.all(name) };
    },
    goLive: spaces.goLive,
    drop: (space) => spaces.remove(space.slice(0, space.indexOf('@')), space),
    // Redis has what it confirmed; how it outlives a restart is a matter of its settings.
    flush: async () => {},
    async close() {
      for (const each of [tableGate, ...gates]) each.close();
      connections.close();
    },
    find,
    page,
    refresh,
  };
};

const digestOf = (flat: readonly string[]): { rows: number; digest: string } => {
  const rows: [scope: string, key: string, json: string][] = [];
  for (let i = 0; i < flat.length; i += 2)
    rows.push([...scopeAndKey(flat[i] ?? ''), jsonOf(flat[i + 1] ?? '')]);
  rows.sort(([a, k], [b, l]) => (a === b ? Number(k > l) - Number(k < l) : a < b ? -1 : 1));
  const hash = createHash('sha256');
  for (const [scope, key, json] of rows)
    hash.update(`[${JSON.stringify(scope)},${JSON.stringify(key)},${json}]`);
  return { rows: rows.length, digest: hash.digest('hex') };
};
