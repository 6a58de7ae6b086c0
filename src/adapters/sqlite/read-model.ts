import { createHash } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import type { ListQuery, LocalStore, PartitionBatch, Row, Space } from '#src/ports/read-model.ts';
import { PARTITIONS, partitionOf } from '#src/ports/read-model.ts';
import { failureOf } from './failure.ts';
import type { Cell } from './read-model-buffer.ts';
import { rowBuffer } from './read-model-buffer.ts';
import { guardedFile } from './read-model-guard.ts';
import type { KnownSpace, Spaces } from './read-model-spaces.ts';
import { noCheckpoints, spaceTable } from './read-model-spaces.ts';

export type SqliteStoreOptions = {
  file: string;
  /** Identity of the log it is a cache of; a file of another log is thrown away. */
  log?: string;
  /** Changed rows that wait in memory at most. */
  flushRowsMax?: number;
  /** Unchanged rows kept in memory, about. */
  cacheRowsMax?: number;
  /** Runs `flush` soon, once; answers how to cancel it. */
  schedule?(flush: () => void): () => void;
  /** A flush in the background failed (a full disk); its rows wait for the next. */
  onFault?(error: unknown): void;
  /** The file was damaged or foreign, and is empty now: the engine fills it again. */
  onDiscarded?(reason: string): void;
};

const FLUSH_MS = 250;
const FLUSH_ROWS_MAX = 5_000;
const CACHE_ROWS_MAX = 50_000;

const soon = (flush: () => void): (() => void) => {
  const timer = setTimeout(flush, FLUSH_MS);
  timer.unref();
  return () => clearTimeout(timer);
};

/** What has gathered in memory, and when the file gets it. */
const gathered = (options: SqliteStoreOptions) => {
  const { file: path, log = '', flushRowsMax = FLUSH_ROWS_MAX, schedule = soon } = options;
  const buffer = rowBuffer(options.cacheRowsMax ?? CACHE_ROWS_MAX);
  const onEmptied = (): void => {
    spaces.forgetAll();
    buffer.clear();
  };
  const onDiscarded = (reason: string): void => options.onDiscarded?.(reason);
  const file = guardedFile({ file: path, log, onDiscarded, onEmptied });
  const spaces: Spaces = spaceTable(file);
  let cancel: (() => void) | undefined;

  const flush = (): void => {
    cancel?.();
    cancel = undefined;
    const moved = (): KnownSpace[] => spaces.all().filter((known) => known.moved);
    if (moved().length === 0) return;
    file.use((sql) =>
      sql.transaction(() => {
        for (const cell of buffer.dirty()) sql.write(cell);
        for (const { id, checkpoints } of moved())
          for (const [partition, position] of checkpoints.entries())
            sql.moveCheckpoint(id, partition, position);
      }),
    );
    for (const known of moved()) known.moved = false;
    buffer.clean();
  };

  let failing = false;
  const flushInBackground = (): void => {
    try {
      flush();
      failing = false;
    } catch (error) {
      // Nothing is lost: the rows wait in memory, and the log has them. Tried again, but not at once.
      failing = true;
      options.onFault?.(error);
      flushSoon();
    }
  };

  const flushSoon = (): void => {
    if (buffer.dirtyRows() >= flushRowsMax && !failing) flushInBackground();
    else cancel ??= schedule(flushInBackground);
  };

  spaces.remember();
  return { buffer, file, spaces, flush, flushSoon };
};

/**
 * Read models that outlive the process. A commit changes memory; SQLite gets what has gathered,
 * rows and checkpoints in one transaction, a moment later. A crash in between loses both alike, so
 * a checkpoint in the file is never ahead of its rows.
 */
export const sqliteStore = (options: SqliteStoreOptions): LocalStore => {
  const { buffer, file, spaces, flush, flushSoon } = gathered(options);

  const flushIfThereIsRoom = (): boolean => {
    try {
      flush();
      return true;
    } catch (error) {
      if (failureOf(error) !== 'full') throw error;
      options.onFault?.(error);
      return false;
    }
  };

  const read = (id: number, scope: string, key: string): Row | undefined => {
    const known = buffer.get(id, scope, key);
    if (known) return known.row ?? undefined;
    const partition = partitionOf(scope);
    const found = file.use((sql) => sql.row(id, partition, scope, key));
    if (found) buffer.keep({ id, partition, scope, key, ...found });
    return found?.row;
  };

  const peek = (space: Space, scope: string, key: string): Row | undefined => {
    const known = spaces.find(space);
    return known && read(known.id, scope, key);
  };

  const commitOne = (known: KnownSpace, batch: PartitionBatch): 'committed' | 'stale' => {
    const { partition, from, to } = batch;
    if (known.checkpoints[partition] !== from) return 'stale';
    for (const { scope, key, row, sort } of batch.writes)
      buffer.put({ id: known.id, partition, scope, key, row, sort });
    known.checkpoints[partition] = to;
    known.moved = true;
    return 'committed';
  };

  const list = (space: Space, query: ListQuery) => {
    const written = flushIfThereIsRoom();
    const known = spaces.find(space);
    if (!known) return [];
    const places = written
      ? file.use((sql) => sql.list(known.id, query))
      : placesWithout(known, query);
    const rows: { row: Row; sort: number; key: string }[] = [];
    for (const [key, sort] of places) {
      const row = read(known.id, query.scope, key);
      if (row) rows.push({ row, sort, key });
    }
    return rows;
  };

  /** With no room for them in the file, changed rows are laid over what it has. */
  const placesWithout = ({ id }: KnownSpace, query: ListQuery): [string, number][] => {
    const isAsked = (cell: Cell): boolean => cell.id === id && cell.scope === query.scope;
    const changed = [...buffer.dirty()].filter(isAsked);
    const wider = { ...query, limit: query.limit + changed.length };
    const places = new Map(file.use((sql) => sql.list(id, wider)));
    for (const { key, row, sort } of changed)
      if (row === null || sort === null) places.delete(key);
      else if (sort < (query.before ?? Infinity) && sort >= (query.downTo ?? -Infinity))
        places.set(key, sort);
    return [...places].sort(([, one], [, other]) => other - one).slice(0, query.limit);
  };

  return {
    checkpoints: async (space) => [...(spaces.find(space)?.checkpoints ?? noCheckpoints())],
    load: async (space, keys, at) => {
      const known = spaces.find(space)?.checkpoints ?? noCheckpoints();
      const isElsewhere = (partition: number) => (known[partition] ?? 0) !== at?.[partition];
      if (at && keys.some(({ scope }) => isElsewhere(partitionOf(scope)))) return undefined;
      return keys.map(({ scope, key }) => peek(space, scope, key));
    },
    commit: async (space, batches) => {
      const known = spaces.findOrAdd(space);
      const answers = batches.map((batch) => commitOne(known, batch));
      if (known.moved) flushSoon();
      return answers;
    },
    digest: async (space, partition) => {
      flush();
      const known = spaces.find(space);
      if (!known) return { checkpoint: 0, ...digestOf([]) };
      const found = file.use((sql) => digestOf(sql.rowsOf(known.id, partition)));
      return { checkpoint: known.checkpoints[partition] ?? 0, ...found };
    },
    count: async (space) => {
      flush();
      const known = spaces.find(space);
      return known ? file.use((sql) => sql.count(known.id)) : 0;
    },
    spaces: async (name) => ({
      live: spaces.live(name),
      all: spaces.all().flatMap(({ space }) => (space.startsWith(`${name}@`) ? [space] : [])),
    }),
    goLive: async (name, space) => {
      flush();
      spaces.goLive(name, space);
    },
    drop: async (space) => {
      flush();
      const known = spaces.find(space);
      if (!known) return;
      spaces.remove(known);
      buffer.forget(known.id);
      // A slice per turn: a large space takes seconds, and the process serves meanwhile.
      for (let partition = 0; partition < PARTITIONS; partition++) {
        await turn();
        file.use((sql) => sql.dropRows(known.id, partition));
      }
    },
    flush: async () => flush(),
    close: async () => {
      flush();
      file.close();
    },
    live: spaces.live,
    peek,
    list,
  };
};

const digestOf = (
  found: Iterable<{ scope: string; key: string; text: string }>,
): { rows: number; digest: string } => {
  const hash = createHash('sha256');
  let rows = 0;
  for (const { scope, key, text } of found) {
    hash.update(`[${JSON.stringify(scope)},${JSON.stringify(key)},${text}]`);
    rows += 1;
  }
  return { rows, digest: hash.digest('hex') };
};
