/** Rows in Redis as requests read them. */
import type { Position } from '#src/ports/event-log.ts';
import {
  type ListedRow,
  type ListQuery,
  type RemotePage,
  type RemoteRead,
  type Row,
  type Space,
  PARTITIONS,
  partitionOf,
  ReadModelRebuilding,
} from '#src/ports/read-model.ts';
import { LruCache } from '#src/stores/caches.ts';
import { RowDamaged } from '#src/stores/row-digest.ts';
import { CircuitBreaker, bytesOf, type Connections, connect } from './connect.ts';
import {
  decodeCheckpoint,
  decodeMember,
  decodeRow,
  fieldOf,
  type Keys,
  orderRange,
  parseRow,
  FIND,
  PAGE,
  PAGE_BYTES,
  type Script,
  type Spaces,
  keysOf,
  RENEW_MEMBER,
} from './scripts.ts';

const NO_ROWS: RemotePage = { rows: [], isCut: false };
/** Characters of all cached answers; decoded, at most about 100 MiB. */
const CACHE_CHARS_MAX = 33_554_432;
/** The least that an answer counts, for its key and its objects. */
const ANSWER_CHARS_MIN = CACHE_CHARS_MAX / 1_024;

type Reply = readonly (string | null)[];
/** `at`: the checkpoint as Redis has it. */
type CachedAnswer = { id: string; at: string; checkpoint: number; value: unknown };

type RequestStoreOptions = {
  connections: Connections;
  keys: Keys;
  spaces: Spaces;
  waitMs: number;
};

type Query<Value> = {
  name: string;
  scope: string;
  script: Script;
  args: readonly (string | number)[];
  decode(reply: Reply): Value;
  none: Value;
};

/** The part of the store that requests use: one script each, within four times `waitMs`. */
export class RequestStore {
  readonly #options: RequestStoreOptions;
  readonly #tableBreaker: CircuitBreaker;
  /** In a cluster each partition can be on a server of its own, and fail on its own. */
  readonly #partitionBreakers: CircuitBreaker[];
  /** While a partition's checkpoint is unchanged Redis sends only that, and the rows come from here. */
  readonly #answers = new LruCache<string, CachedAnswer>(CACHE_CHARS_MAX);

  constructor(options: RequestStoreOptions) {
    this.#options = options;
    const { keys, waitMs } = options;
    const { reads, isCluster } = options.connections;
    const breaker = (key: string): CircuitBreaker =>
      new CircuitBreaker({
        silenceMsMax: waitMs,
        waitMsMax: 2 * waitMs,
        probe: () => reads.exists(key),
        bytes: () => bytesOf(reads),
      });
    this.#tableBreaker = breaker(keys.spaces);
    this.#partitionBreakers = Array.from({ length: isCluster ? PARTITIONS : 0 }, (_, partition) =>
      breaker(keys.partition('', partition)[0]),
    );
  }

  find(name: string, scope: string, key: string): Promise<RemoteRead<Row | undefined>> {
    const decode = ([value]: Reply) =>
      typeof value === 'string' ? parseRow(decodeRow({ scope, key }, value)) : undefined;
    const args = [fieldOf(scope, key)];
    return this.#query({ name, scope, script: FIND, args, decode, none: undefined });
  }

  page(name: string, query: ListQuery): Promise<RemoteRead<RemotePage>> {
    const { scope, limit, isAscending } = query;
    const args = [scope, ...orderRange(query), limit, isAscending ? 'oldest' : ''];
    const decode = (reply: Reply) => decodePage(query, reply);
    return this.#query({ name, scope, script: PAGE, args, decode, none: NO_ROWS });
  }

  refresh(): Promise<void> {
    return unavailableOnError('the table of spaces', () => this.#readTable());
  }

  close(): void {
    for (const breaker of [this.#tableBreaker, ...this.#partitionBreakers]) breaker.close();
  }

  #readTable(): Promise<void> {
    const { spaces, connections } = this.#options;
    return this.#tableBreaker.call(() => spaces.refresh(connections.reads));
  }

  /** Queries the live space; once more if that is not the one this process knows. */
  #query<Value>(query: Query<Value>): Promise<RemoteRead<Value>> {
    return unavailableOnError(query.name, async () => {
      const start = performance.now();
      const answer = await this.#queryOnce(query);
      if (answer.checkpoint !== undefined) return answer;
      await this.#readTable();
      if (performance.now() - start > this.#options.waitMs)
        throw new Error('no time for a second query');
      return this.#queryOnce(query);
    });
  }

  async #queryOnce<Value>(query: Query<Value>): Promise<RemoteRead<Value>> {
    const { name, scope, script } = query;
    const { connections, keys, spaces } = this.#options;
    const live = spaces.live(name);
    if (!live) return { space: null, checkpoint: undefined, value: query.none };
    const { space, id } = live;
    const cacheKey = `${name}\n${query.args.join('\n')}`;
    const last = this.#answers.get(cacheKey);
    const cached = last?.id === id ? last : undefined;
    const partition = partitionOf(scope);
    const args = [...query.args, cached?.at ?? ''];
    const names = keys.partition(id, partition);
    const breaker = this.#partitionBreakers[partition] ?? this.#tableBreaker;
    const reply = await breaker.call(() => script.run(connections.reads, names, args));
    if (cached && typeof reply === 'string')
      return { space, checkpoint: cached.checkpoint, value: cached.value as Value };
    if (!Array.isArray(reply)) return { space, checkpoint: undefined, value: query.none };
    const [at, ...values] = reply as [string, ...Reply];
    const { checkpoint, value } = this.#guarded(space, partition, () => ({
      checkpoint: decodeCheckpoint(names[0], at),
      value: query.decode(values),
    }));
    const chars = values.reduce((sum, text) => sum + (text?.length ?? 0), 0);
    // The parts of a long listing are read once, and would replace all others.
    if (chars < PAGE_BYTES)
      this.#answers.set(cacheKey, { id, at, checkpoint, value }, Math.max(chars, ANSWER_CHARS_MIN));
    return { space, checkpoint, value };
  }

  /** Throws RowDamaged, and has the partition removed, if `decode` does. */
  #guarded<T>(space: Space, partition: number, decode: () => T): T {
    try {
      return decode();
    } catch (error) {
      // The request does not wait for it; if it fails, the next reader repeats it.
      if (error instanceof RowDamaged)
        this.#options.spaces.lose(space, partition, error.message).catch(() => {});
      throw error;
    }
  }
}

const unavailableOnError = async <T>(what: string, read: () => Promise<T>): Promise<T> => {
  try {
    return await read();
  } catch (error) {
    throw new ReadModelRebuilding(`${what} cannot be read: ${String(error)}`, { cause: error });
  }
};

const decodePage = ({ scope, list }: ListQuery, [cut, ...reply]: Reply): RemotePage => {
  const rows: ListedRow[] = [];
  for (let i = 0; i < reply.length; i += 2) {
    const { sort, key } = decodeMember(reply[i] ?? '');
    const row = decodeRow({ scope, key }, reply[i + 1] ?? '');
    if (list === undefined && row.sort !== sort)
      throw new RowDamaged('a list does not fit its rows');
    rows.push({ row: parseRow(row), sort, key });
  }
  return { rows, isCut: cut === 'cut' };
};

/** What is known of one partition. The number names its rows in the cache; a new one drops them. */
type Known = { checkpoint: Position; number: number };

/**
 * The rows that this process committed last, so that folding the next event of a busy row needs no
 * round trip. A row is handed out once and returns with the commit that Redis confirmed. A partition's
 * rows are valid as long as its checkpoint in Redis is the one that this process set: another process
 * that changes them moves the checkpoint. `partition` is a name that includes the space.
 */
export class WarmRows {
  readonly #rows: LruCache<string, Row>;
  readonly #partitions = new Map<string, Known>();
  #numbers = 0;

  constructor(rowsMax: number) {
    this.#rows = new LruCache(rowsMax);
  }

  /** Removes and returns a row. */
  take(partition: string, field: string): Row | undefined {
    const key = `${this.#partitions.get(partition)?.number}/${field}`;
    const row = this.#rows.get(key);
    this.#rows.delete(key);
    return row;
  }

  /** The last known checkpoint of the partition. */
  checkpoint(partition: string): Position | undefined {
    return this.#partitions.get(partition)?.checkpoint;
  }

  /** Records a confirmed commit. Returns the function that stores one row of it. */
  committed(partition: string, from: Position, to: Position): (field: string, row: Row) => void {
    const current = this.#partitions.get(partition);
    const known = current?.checkpoint === from ? current : this.#begin(partition);
    known.checkpoint = to;
    return (field, row) => this.#rows.set(`${known.number}/${field}`, row, 1);
  }

  /** Drops the partition's rows if Redis has another checkpoint. */
  setCheckpoint(partition: string, checkpoint: Position): void {
    if (this.checkpoint(partition) !== checkpoint) this.#begin(partition).checkpoint = checkpoint;
  }

  forget(partition: string): void {
    this.#partitions.delete(partition);
  }

  #begin(partition: string): Known {
    const known = { checkpoint: 0, number: this.#numbers++ };
    this.#partitions.set(partition, known);
    return known;
  }
}

/** The projectors that fold one set of read models now. Each member has to renew in time. */
export type Membership = {
  /** Joins, or stays a member, for `ttlMs`. Resolves to the names of all members, sorted. */
  renew(ttlMs: number): Promise<string[]>;
  /** Leaves before the time is up. */
  leave(): Promise<void>;
  close(): Promise<void>;
};

type MembershipOptions = {
  url: URL;
  /** Identity of the log. */
  log: string;
  /** The read models folded here; projectors of other versions have a membership of their own. */
  set: string;
  /** Name of this process, unique among the members. */
  name: string;
  onFault?(error: unknown): void;
};

export const redisMembership = async (options: MembershipOptions): Promise<Membership> => {
  const { url, log, set, name, onFault = () => {} } = options;
  const { writes, close } = await connect(url, onFault);
  const key = keysOf(log).projectors(set);
  return {
    renew: async (ttlMs) =>
      ((await RENEW_MEMBER.run(writes, [key], [name, ttlMs])) as string[]).toSorted(),
    leave: async () => void (await writes.zrem(key, name)),
    close: async () => close(),
  };
};
