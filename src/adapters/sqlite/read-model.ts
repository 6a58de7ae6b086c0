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
/** A few milliseconds' worth; a partition with more goes whole. */
const ROWS_IN_TURN = 250;

const soon = (flush: () => void): (() => void) => {
  const timer = setTimeout(flush, FLUSH_MS);
  timer.unref();
  return () => clearTimeout(timer);
};

/** The unit of atomicity. */
type Part = { known: KnownSpace; partition: number };

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
  let closed = false;
  let running = false;

  const movedParts = (): Part[] =>
    spaces.all().flatMap((known) => [...known.moved].map((partition) => ({ known, partition })));

  /** Rows and checkpoints of these partitions in one transaction. */
  const write = (parts: readonly Part[]): void => {
    if (parts.length === 0) return;
    file.use((sql) =>
      sql.transaction(() => {
        for (const { known, partition } of parts) {
          // The file was emptied since, and the space is unknown to it.
          if (spaces.find(known.space) !== known) continue;
          const { id, checkpoints } = known;
          for (const cell of buffer.dirty(id, partition).values()) sql.write(cell);
          sql.moveCheckpoint(id, partition, checkpoints[partition] ?? 0);
        }
      }),
    );
    for (const { known, partition } of parts) {
      known.moved.delete(partition);
      buffer.clean(known.id, partition);
    }
  };

  const flush = (space?: Space): void =>
    write(movedParts().filter(({ known }) => space === undefined || known.space === space));

  const flushPart = (known: KnownSpace, partition: number): void => {
    if (known.moved.has(partition)) write([{ known, partition }]);
  };

  /** As many of `parts` as a turn of the event loop may be kept with, and at least one. */
  const slice = (parts: Part[]): Part[] => {
    let rows = 0;
    let count = 0;
    while (count < parts.length && rows < ROWS_IN_TURN) {
      const part = parts[count];
      rows += 1 + (part ? buffer.dirty(part.known.id, part.partition).size : 0);
      count += 1;
    }
    return parts.splice(0, count).filter(({ known, partition }) => known.moved.has(partition));
  };

  let failing = false;
  const failed = (error: unknown): void => {
    // Nothing is lost: the rows wait in memory, and the log has them. Tried again, but not at once.
    failing = true;
    options.onFault?.(error);
    flushSoon();
  };

  /** Between requests: what is written at a time is bounded, so that none of them waits for long. */
  const flushInBackground = async (): Promise<void> => {
    cancel?.();
    cancel = undefined;
    if (running) return;
    running = true;
    try {
      for (const parts = movedParts(); parts.length > 0 && !closed; ) {
        write(slice(parts));
        failing = false;
        if (parts.length > 0) await turn();
      }
      running = false;
      if (buffer.dirtyRows() > 0 && !closed) flushSoon();
    } catch (error) {
      running = false;
      failed(error);
    }
  };

  const flushSoon = (): void => {
    const isMuch = buffer.dirtyRows() >= flushRowsMax && !failing;
    if (isMuch && !running) void flushInBackground();
    else cancel ??= schedule(() => void flushInBackground());
    if (isMuch && buffer.dirtyRows() >= 2 * flushRowsMax) keepUp();
  };

  /** More comes than is written between requests. */
  const keepUp = (): void => {
    try {
      const parts = movedParts();
      while (parts.length > 0 && buffer.dirtyRows() >= 2 * flushRowsMax) write(slice(parts));
    } catch (error) {
      failed(error);
    }
  };

  const close = (): void => {
    closed = true;
    cancel?.();
    flush();
    file.close();
  };

  spaces.remember();
  return { buffer, file, spaces, flush, flushPart, flushSoon, close };
};

/**
 * Read models that outlive the process. A commit changes memory; SQLite gets what has gathered,
 * rows and checkpoints in one transaction, a moment later. A crash in between loses both alike, so
 * a checkpoint in the file is never ahead of its rows.
 */
export const sqliteStore = (options: SqliteStoreOptions): LocalStore => {
  const { buffer, file, spaces, flush, flushPart, flushSoon, close } = gathered(options);

  const flushIfThereIsRoom = (known: KnownSpace, partition: number): boolean => {
    try {
      flushPart(known, partition);
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
    known.moved.add(partition);
    return 'committed';
  };

  const list = (space: Space, query: ListQuery) => {
    const before = spaces.find(space);
    if (!before) return [];
    const written = flushIfThereIsRoom(before, partitionOf(query.scope));
    // The file may have been found damaged, and emptied.
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
    const isAsked = ({ scope }: Cell): boolean => scope === query.scope;
    const changed = [...buffer.dirty(id, partitionOf(query.scope)).values()].filter(isAsked);
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
      if (known.moved.size > 0) flushSoon();
      return answers;
    },
    digest: async (space, partition) => {
      flush(space);
      const known = spaces.find(space);
      if (!known) return { checkpoint: 0, ...digestOf([]) };
      const found = file.use((sql) => digestOf(sql.rowsOf(known.id, partition)));
      return { checkpoint: known.checkpoints[partition] ?? 0, ...found };
    },
    count: async (space) => {
      flush(space);
      const known = spaces.find(space);
      return known ? file.use((sql) => sql.count(known.id)) : 0;
    },
    spaces: async (name) => ({
      live: spaces.live(name),
      all: spaces.all().flatMap(({ space }) => (space.startsWith(`${name}@`) ? [space] : [])),
    }),
    goLive: async (name, space) => {
      flush(space);
      spaces.goLive(name, space);
    },
    drop: async (space) => {
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
    close: async () => close(),
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
