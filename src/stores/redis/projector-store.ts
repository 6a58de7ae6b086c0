/** Rows in Redis as a projector writes them, and snapshots of a partition. */
import { randomBytes } from 'node:crypto';
import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises';
import type { Position } from '#src/ports/event-log.ts';
import {
  entriesInOrder,
  type ListEntry,
  type PartitionBatch,
  type PartitionFill,
  type RowWrite,
  type Row,
  type RowJson,
  type RowKey,
  type Space,
  ALL_PARTITIONS,
  partitionOf,
  ReadModelRebuilding,
} from '#src/ports/read-model.ts';
import {
  addHash,
  HASH_DIGITS,
  noRows,
  PartitionCheck,
  RowDamaged,
  type RowDigest,
  digestText,
  entryHash,
  hexOf,
} from '#src/stores/row-digest.ts';
import { WarmRows } from './request-store.ts';
import {
  decodeCheckpoint,
  decodeRow,
  type PartitionKeys,
  parseHex,
  splitField,
  splitMember,
  type Client,
  PAGE_BYTES,
  READ_HEAD,
  script,
  encodeCheckpoint,
  encodeRow,
  fieldOf,
  type Keys,
  memberOf,
  memberOfRow,
  ADD_FILL,
  BEGIN_FILL,
  END_FILL,
  parseRow,
  rowJson,
  COMMIT,
  HEAD,
  LOAD,
  together,
  type Spaces,
} from './scripts.ts';

/** A snapshot whose reader died ends after this time. */
const LEASE_MS = 10_000;
/** Rows or members of the first command, and of each: Redis is busy for less than a millisecond. */
const AT_FIRST = 10;
const AT_ONCE = 100;
const BUSY_MS = 20;
/** The score of every member. */
const SCORE = '0';
/** Each restart means that the partition was lost meanwhile, or the reader paused for LEASE_MS. */
const RESTARTS_MAX = 10;

/**
 * ARGV: token, milliseconds. Returns checkpoint, number of rows and sum; nil when the partition is lost, and 'busy'
 * while another reads.
 */
const BEGIN = script(
  '',
  `${READ_HEAD}
  if not at then return false end
  if redis.call('EXISTS', KEYS[4]) == 1 then return 'busy' end
  redis.call('HSET', KEYS[4], 'token', ARGV[1])
  redis.call('PEXPIRE', KEYS[4], ARGV[2])
  return {at, rows, head[5]}`,
);

const IS_OWN = `${READ_HEAD}
  local isOwn = redis.call('HGET', KEYS[4], 'token') == ARGV[1]
`;

/** ARGV: token, milliseconds, HSCAN or ZSCAN, its key's index, cursor, count. Returns the cursor, and pairs. */
const PART = script(
  '',
  `${IS_OWN}
  if not isOwn or not at then return false end
  redis.call('PEXPIRE', KEYS[4], ARGV[2])
  return redis.call(ARGV[3], KEYS[tonumber(ARGV[4])], ARGV[5], 'COUNT', ARGV[6])`,
);

/** ARGV: token. Ends the snapshot; returns 1 if it was whole until now. */
const END = script(
  '',
  `${IS_OWN}
  if isOwn then redis.call('UNLINK', KEYS[4]) end
  return isOwn and at and 1 or 0`,
);

type PartitionSnapshot = {
  checkpoint: number;
  /** What was written with the checkpoint. */
  digest: RowDigest;
  /** The stored value of each field. */
  rows: Map<string, string>;
  /** The score of each member of the order. */
  members: Map<string, string>;
};

const noSnapshot = (): PartitionSnapshot => ({
  checkpoint: 0,
  digest: noRows(),
  rows: new Map(),
  members: new Map(),
});

/**
 * Reads a partition as of one checkpoint in small commands, while projectors commit to it; empty at checkpoint 0 if it
 * is lost. While a reader has a snapshot, each commit first stores the value that a row or a member of the order had
 * before, if it is the first change since then. The reader replaces what it read by these values at the end. Waits for
 * another reader of the partition. Throws RowDamaged if its head is damaged.
 */
const readSnapshot = async (client: Client, keys: PartitionKeys): Promise<PartitionSnapshot> => {
  for (let restarts = 0; restarts <= RESTARTS_MAX; ) {
    const token = randomBytes(12).toString('base64url');
    const begun = await BEGIN.run(client, keys, [token, LEASE_MS]);
    if (begun === 'busy') {
      await delay(BUSY_MS);
      continue;
    }
    if (!Array.isArray(begun)) return noSnapshot();
    const [at, rows, sum] = begun as [string, number, string];
    const digest = { rows, sum: parseHex(sum) };
    const empty = { ...noSnapshot(), checkpoint: decodeCheckpoint(keys[0], at), digest };
    const snapshot = await readParts(client, { keys, token, snapshot: empty });
    if ((await END.run(client, keys, [token])) === 1 && snapshot) return snapshot;
    restarts += 1;
  }
  throw new Error('a partition was lost again and again while it was read: try again');
};

type Reading = { keys: PartitionKeys; token: string; snapshot: PartitionSnapshot };

/** Undefined when the snapshot has ended. */
const readParts = async (
  client: Client,
  { keys, token, snapshot }: Reading,
): Promise<PartitionSnapshot | undefined> => {
  const { rows, members } = snapshot;
  const earlier = new Map<string, string>();
  const scans: [command: string, index: number, take: (name: string, value: string) => void][] = [
    ['HSCAN', 2, (field, value) => rows.set(field, value)],
    ['ZSCAN', 3, (member, score) => members.set(member, score)],
    // Last: what is added while this is read is not needed, and not wrong either.
    ['HSCAN', 4, (name, value) => earlier.set(name, value)],
  ];
  for (const [command, index, take] of scans)
    for (let cursor: string | undefined = '0', count = AT_FIRST; cursor !== undefined; ) {
      const args = [token, LEASE_MS, command, index, cursor, count];
      const reply = (await PART.run(client, keys, args)) as [string, string[]] | null;
      if (!reply) return undefined;
      const [next, flat] = reply;
      for (let i = 0; i < flat.length; i += 2) take(flat[i] ?? '', flat[i + 1] ?? '');
      const chars = flat.reduce((sum, text) => sum + text.length, 0);
      count = Math.ceil(Math.min(AT_ONCE, (count * PAGE_BYTES) / (chars + 1)));
      cursor = next === '0' ? undefined : next;
    }
  for (const [name, value] of earlier) restore(snapshot, name, value);
  return snapshot;
};

/** Names begin with `r` for a row and with `m` for a member; an empty value means that there was none. */
const restore = ({ rows, members }: PartitionSnapshot, name: string, value: string): void => {
  const key = name.slice(1);
  if (name.startsWith('r')) {
    if (value === '') rows.delete(key);
    else rows.set(key, value);
  } else if (name.startsWith('m')) {
    if (value === '') members.delete(key);
    else members.set(key, SCORE);
  }
};

/** Throws RowDamaged if a record is not what was written. */
const checkSnapshot = ({ digest, rows, members }: PartitionSnapshot): true => {
  const check = new PartitionCheck();
  for (const [field, value] of rows) {
    const [scope, key] = splitField(field);
    const { hash, sort } = decodeRow({ scope, key }, value);
    check.addRow({ scope, key }, sort, Number.parseInt(hash, 16));
  }
  for (const [member, score] of members) {
    if (score !== SCORE) throw new RowDamaged('an entry of a list is in a wrong place');
    const { entry, ...row } = splitMember(member);
    check.addEntry(row, entry);
  }
  check.requireDigest(digest);
  return true;
};

/** Rows that are encoded without a turn for the requests of this process. */
const ROWS_AT_ONCE = 1_000;

/** Rows of one command, which keeps Redis busy for about a millisecond. */
const FILLED_AT_ONCE = 250;

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

  /** Sends the rows in small commands. Leaves a partition to others that has a checkpoint, or that they begin to fill. */
  async fillPartition(space: Space, partition: number, filled: PartitionFill): Promise<void> {
    const id = this.#spaces.idOf(space) ?? (await this.#spaces.add(space));
    const keys = this.#keys.partition(id, partition);
    const name = randomBytes(12).toString('base64url');
    this.#warm.forget(`${id}/${partition}`);
    if ((await BEGIN_FILL.run(this.#writes, keys, [name])) !== 1) return;
    const { rows, position } = filled;
    const digest = noRows();
    let placed = 0;
    for (let from = 0; from < rows.length; from += ROWS_AT_ONCE) {
      const sent: Promise<unknown>[] = [];
      together(this.#writes, () => {
        for (let at = from; at < Math.min(rows.length, from + ROWS_AT_ONCE); at += FILLED_AT_ONCE) {
          const some = rows.slice(at, at + FILLED_AT_ONCE);
          const members = membersOf(some, digest);
          placed += members.length / 2;
          sent.push(ADD_FILL.run(this.#writes, keys, [name, 2, ...fieldsOf(some, digest)]));
          if (members.length > 0)
            sent.push(ADD_FILL.run(this.#writes, keys, [name, 3, ...members]));
        }
      });
      await Promise.all(sent);
      await turn();
    }
    const { rows: count, sum } = digest;
    const checkpoint = encodeCheckpoint(keys[0], position);
    await END_FILL.run(this.#writes, keys, [name, checkpoint, count, placed, hexOf(sum)]);
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
    const { checkpoint, rows, members } = await this.#snapshot(space, partition);
    const lists = new Map<string, ListEntry[]>();
    for (const member of members.keys()) {
      const { scope, key, entry } = splitMember(member);
      const own = lists.get(fieldOf(scope, key)) ?? [];
      own.push(entry);
      lists.set(fieldOf(scope, key), own);
    }
    return {
      checkpoint,
      rows: Array.from(rows, ([field, value]): RowJson => {
        const [scope, key] = splitField(field);
        return {
          scope,
          key,
          json: rowJson(value),
          entries: entriesInOrder(lists.get(field) ?? []),
        };
      }),
    };
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

/** Field and value in turn for each row, which are added to the digest. */
const fieldsOf = (rows: readonly RowWrite[], digest: RowDigest): string[] =>
  rows.flatMap((write) => {
    const value = encodeRow(write, write.sort, write.row ?? {});
    addHash(digest, Number.parseInt(value.slice(0, HASH_DIGITS), 16));
    digest.rows += 1;
    return [fieldOf(write.scope, write.key), value];
  });

/** Score and member in turn for each entry, which are added to the digest. */
const membersOf = (rows: readonly RowWrite[], digest: RowDigest): string[] =>
  rows.flatMap(({ sort, added = [], ...key }) => {
    const members = added.map((entry) => {
      addHash(digest, entryHash(key.scope, key.key, entry));
      return memberOf(key.scope, key.key, entry);
    });
    if (sort !== null) members.push(memberOfRow(key, sort));
    return members.flatMap((member) => [SCORE, member]);
  });

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

/** Throws RowDamaged. */
const decodeHead = (key: string, [at, rows, sum]: [string, number, string]): PartitionHead => {
  if (at === '') throw new RowDamaged('rows or entries of lists are missing');
  return { checkpoint: decodeCheckpoint(key, at), rows, sum: parseHex(sum) };
};
