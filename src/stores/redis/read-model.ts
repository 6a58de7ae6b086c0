/** Rows of read models in Redis: implements the port of their store. */
import type { RemoteStore } from '#src/ports/read-model.ts';
import { connect } from './connect.ts';
import { keysOf, Spaces, type Versioned } from './scripts.ts';
import { ProjectorStore } from './projector-store.ts';
import { RequestStore } from './request-store.ts';

export type RedisStoreOptions = {
  /** redis:// or rediss://; any node of a cluster. */
  url: URL;
  /** Identity of the log whose rows these are; rows of other logs are not visible. */
  log: string;
  /** The projection versions of this process, each of which has a live space. Default: version 1. */
  projections?: readonly Versioned[];
  /** Called with the reason when rows are damaged and removed; the engine fills their partition again. */
  onDiscarded?(reason: string): void;
  /** Awaited before rows are written. */
  beforeWrite?(): Promise<void>;
  /** Called once for each outage, in which nothing is lost. */
  onFault?(error: unknown): void;
  /** How long a request waits for an answer, in milliseconds. */
  readMs?: number;
  /** Approximate number of rows kept in memory for the next fold. */
  warmRowsMax?: number;
};

const READ_MS = 50;
const WARM_ROWS_MAX = 50_000;
/** With 1,000 events, each partition's script would write only a handful of rows. */
const FILL_EVENTS = 16_000;
/** A script that loads or writes a batch of this many rows keeps Redis busy for less than a millisecond. */
const COMMIT_ROWS_MAX = 250;

/**
 * Opens read models in Redis, shared by many processes. They are a cache of the log: after a flush, a
 * kill, a stall, when full, or restored from an older copy, the store answers correctly or not at all,
 * and is filled again. Throws StartupError within five seconds when the server cannot be used.
 */
export const redisStore = async (options: RedisStoreOptions): Promise<RemoteStore> => {
  const { url, log, onFault = () => {}, readMs = READ_MS } = options;
  const { warmRowsMax = WARM_ROWS_MAX, projections, onDiscarded } = options;
  const connections = await connect(url, onFault);
  const { writes } = connections;
  const keys = keysOf(log);
  const spaces = new Spaces(writes, keys, { projections, onDiscarded });
  const requests = new RequestStore({ connections, keys, spaces, waitMs: readMs });
  const projector = new ProjectorStore(writes, keys, { spaces, warmRowsMax });
  // What an unfinished drop left is harmless: the next start tries again.
  await spaces.finishDrops().catch(onFault);
  return {
    fillEvents: FILL_EVENTS,
    commitRowsMax: COMMIT_ROWS_MAX,
    find: (name, scope, key) => requests.find(name, scope, key),
    page: (name, query) => requests.page(name, query),
    refresh: () => requests.refresh(),
    checkpoints: (space) => projector.checkpoints(space),
    load: (space, rowKeys, at) => projector.load(space, rowKeys, at),
    async commit(space, batches) {
      await options.beforeWrite?.();
      return projector.commit(space, batches);
    },
    async fillPartition(space, partition, filled) {
      await options.beforeWrite?.();
      await projector.fillPartition(space, partition, filled);
    },
    digest: (space, partition) => projector.digest(space, partition),
    check: (space, partition) => projector.check(space, partition),
    partitionRows: (space, partition) => projector.partitionRows(space, partition),
    count: (space) => projector.count(space),
    async spaces(name) {
      await spaces.refresh(writes);
      return { live: spaces.live(name)?.space ?? null, all: spaces.all(name) };
    },
    goLive: (space) => spaces.goLive(space),
    drop: (space) => spaces.remove(space),
    // Whether confirmed rows survive a restart depends on the settings of Redis.
    flush: async () => {},
    async close() {
      requests.close();
      connections.close();
    },
  };
};
