import { createHash } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import type { ListQuery, LocalStore, PartitionBatch, Row, Space } from '#src/ports/read-model.ts';
import { PARTITIONS, partitionOf } from '#src/ports/read-model.ts';
import { failureOf } from '../failure.ts';
import type { Cell } from './read-model-buffer.ts';
import { gathered, type SqliteStoreOptions } from './read-model-gathered.ts';
import { type KnownSpace, noCheckpoints } from './read-model-spaces.ts';

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
      const before = spaces.find(space);
      if (before) flushPart(before, partition);
      // The file may have been found damaged, and emptied.
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
