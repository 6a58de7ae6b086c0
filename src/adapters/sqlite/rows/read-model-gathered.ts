import { setImmediate as turn } from 'node:timers/promises';
import type { Space } from '#src/ports/read-model.ts';
import { rowBuffer } from './read-model-buffer.ts';
import { guardedFile } from './read-model-guard.ts';
import { type KnownSpace, type Spaces, spaceTable } from './read-model-spaces.ts';

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
export const gathered = (options: SqliteStoreOptions) => {
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
