import type { RemoteStore, Space } from '#src/ports/read-model.ts';
import { connect } from './connect.ts';
import { folding } from './folding.ts';
import { keysOf } from './keys.ts';
import { reading } from './reading.ts';
import { spaceTable, type Versioned } from './spaces.ts';

export type RedisStoreOptions = {
  /** redis:// or rediss://; any node of a cluster. */
  url: URL;
  /** Identity of the log it is a cache of; the rows of other logs are not seen. */
  log: string;
  /** The versions that answer here; each version of a projection has a live space. Without: the first. */
  projections?: readonly Versioned[];
  /** The server is away, said once per outage; nothing is lost by it. */
  onFault?(error: unknown): void;
  /** How long a request waits for an answer. */
  readMs?: number;
  /** Rows kept in memory for the next fold, about. */
  warmRowsMax?: number;
};

const READ_MS = 50;
const WARM_ROWS_MAX = 50_000;
/** Of a thousand, each partition gets a script for a handful of rows. */
const FILL_EVENTS = 16_000;

/**
 * Read models in Redis, shared by many processes. It is a cache of the log: flushed, killed,
 * stalled, full or restored from an older copy, it answers right or not at all, and is filled again.
 * Throws StartupError, within five seconds, when the server cannot be used.
 */
export const redisStore = async (options: RedisStoreOptions): Promise<RemoteStore> => {
  const { url, log, onFault = () => {}, readMs = READ_MS } = options;
  const connections = await connect(url, onFault);
  const keys = keysOf(log);
  const { writes } = connections;
  const spaces = spaceTable(writes, keys, options.projections);
  const { close, ...reads } = reading(connections, keys, spaces, readMs);
  try {
    await spaces.finishDrops();
  } catch (error) {
    // What a drop left takes room and harms nobody: the next start tries again.
    onFault(error);
  }
  return {
    fillEvents: FILL_EVENTS,
    ...reads,
    ...folding(writes, keys, spaces, options.warmRowsMax ?? WARM_ROWS_MAX),
    async spaces(name) {
      await spaces.refresh(writes);
      return { live: spaces.live(name)?.space ?? null, all: spaces.all(name) };
    },
    goLive: (name: string, space: Space) => spaces.goLive(name, space),
    drop: (space) => spaces.remove(space),
    // Redis has what it confirmed; how that outlives a restart is a matter of its settings.
    flush: async () => {},
    async close() {
      close();
      connections.close();
    },
  };
};
