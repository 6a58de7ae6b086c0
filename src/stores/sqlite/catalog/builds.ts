/** The build of the catalog that is served, and a new one beside it during a rebuild. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Catalog, OpeningCatalog, CatalogProgress } from '#src/ports/catalog.ts';
import type { EventLog, FoldEvent, Position } from '#src/ports/event-log.ts';
import { ReadModelRebuilding } from '#src/ports/read-model.ts';
import type { Pause } from '#src/ports/system.ts';
import { removeDatabase } from '#src/stores/sqlite/open.ts';
import { isDamage } from '#src/stores/sqlite/failure.ts';
import { CATALOG_VERSION, type CatalogOptions, inOneTurn, openCatalog } from './catalog.ts';

const BATCH_EVENTS = 500;

/** Folds the next events up to a position; those that are folded already change nothing. */
type FoldBatch = (events: readonly FoldEvent[], upTo: Position) => Promise<void>;

/**
 * A catalog that can be rebuilt while the current build answers. Files are named after their log,
 * because a checkpoint is meaningless in another, and after the number of their build.
 */
export type CatalogBuilds = {
  /**
   * Always the live build. If it is found damaged it is emptied, and reads throw ReadModelRebuilding
   * until the log has filled it up to its previous checkpoint.
   */
  catalog: OpeningCatalog;
  /**
   * Fills the next build from the log while this one serves and follows, then switches in one step. `read` may give it
   * the events of a reading that others share, from the first one on; only what is left is read again.
   */
  rebuild(
    log: Pick<EventLog, 'readFold'>,
    read?: (fold: FoldBatch) => Promise<void>,
  ): Promise<void>;
};

/** The build files of one log in a directory. */
class BuildFiles {
  readonly #directory: string;
  readonly #prefix: string;

  constructor(directory: string, logId: string) {
    this.#directory = directory;
    this.#prefix = `catalog-${logId.slice(0, 8)}.`;
  }

  path(build: number): string {
    return join(this.#directory, `${this.#prefix}${build}.db`);
  }

  remove(build: number): void {
    removeDatabase(this.path(build));
  }

  /** Lists the numbers of the builds, rising. */
  list(): number[] {
    const { length } = this.#prefix;
    return readdirSync(this.#directory)
      .filter((name) => name.startsWith(this.#prefix) && name.endsWith('.db'))
      .map((name) => Number(name.slice(length, -'.db'.length)))
      .filter(Number.isInteger)
      .toSorted((a, b) => a - b);
  }
}

type Opening = ReturnType<typeof openCatalog>;

class LiveBuild {
  readonly #files: BuildFiles;
  readonly #options: CatalogOptions & { pause: Pause };
  readonly opened: Promise<void>;
  opening: CatalogProgress | undefined;
  readonly #parts: Opening;
  #isClosed = false;
  #build: number;
  /** Undefined until it is open, and while the disk has no space for an empty build. */
  #live: Catalog | undefined;
  /** The checkpoint of a build that was damaged; reads wait until it is reached again. */
  #requiredCheckpoint: Position = 0;
  generation = 0;

  constructor(files: BuildFiles, options: CatalogOptions) {
    this.#files = files;
    this.#options = { pause: nextTurn, ...options };
    // The newest build: older ones were about to be removed, or the newest catches up as it serves.
    const builds = files.list();
    this.#build = builds.pop() ?? 1;
    for (const old of builds) files.remove(old);
    this.#parts = this.#open(this.#build);
    this.opened = this.#finishOpening(this.#parts.next());
    // Also when nobody waits for it.
    this.opened.catch(() => {});
  }

  get checkpoint(): Position {
    return this.#live?.checkpoint() ?? 0;
  }

  /** Throws ReadModelRebuilding if the build is damaged, after replacing it by an empty one. */
  use<Result>(work: (catalog: Catalog) => Result): Result {
    if (this.opening) throw new ReadModelRebuilding('the catalog is being opened');
    // The build is empty: it was removed.
    const catalog = (this.#live ??= inOneTurn(this.#open(this.#build)));
    try {
      return work(catalog);
    } catch (error) {
      if (!isDamage(error)) throw error;
      this.#discard(catalog, error.message);
      throw new ReadModelRebuilding('the catalog was damaged', { cause: error });
    }
  }

  read<Result>(work: (catalog: Catalog) => Result): Result {
    if (this.checkpoint < this.#requiredCheckpoint)
      throw new ReadModelRebuilding('the catalog is being filled');
    return this.use(work);
  }

  async rebuild(...[log, read]: Parameters<CatalogBuilds['rebuild']>): Promise<void> {
    await this.opened;
    const number = this.#build + 1;
    this.#files.remove(number);
    const next = inOneTurn(this.#open(number));
    try {
      await read?.((events, upTo) => this.#fold(next, events, upTo));
      await this.#fill(next, log);
    } catch (error) {
      this.#files.remove(number);
      next.close();
      throw error;
    }
    // No turn since the last comparison of checkpoints, so the live build has no newer event.
    const old = this.#live;
    this.#live = next;
    this.generation += 1;
    // Removed before it is closed, so that closing does not write it to the disk.
    this.#files.remove(this.#build);
    old?.close();
    this.#build = number;
  }

  close(): void {
    this.#isClosed = true;
    // Closes the file if it is not open yet.
    this.#parts.return(undefined as never);
    this.#live?.close();
  }

  async #finishOpening(first: ReturnType<Opening['next']>): Promise<void> {
    let part = first;
    for (; !part.done; part = this.#parts.next()) {
      this.opening = part.value;
      await this.#options.pause();
      if (this.#isClosed) return;
    }
    this.opening = undefined;
    this.#live = part.value;
  }

  async #fill(next: Catalog, log: Pick<EventLog, 'readFold'>): Promise<void> {
    const due = (): Position => Math.max(this.#requiredCheckpoint, this.checkpoint);
    while (next.checkpoint() < due()) {
      const events = await log.readFold({ after: next.checkpoint(), limit: BATCH_EVENTS });
      const upTo = Math.min(events.at(-1)?.position ?? Infinity, due());
      await this.#fold(
        next,
        events.filter(({ position }) => position <= upTo),
        upTo,
      );
    }
  }

  async #fold(next: Catalog, events: readonly FoldEvent[], upTo: Position): Promise<void> {
    for (let from = 0; from === 0 || from < events.length; from += BATCH_EVENTS) {
      const batch = events.slice(from, from + BATCH_EVENTS);
      const isLast = from + BATCH_EVENTS >= events.length;
      this.#options.beforeWrite?.();
      next.apply(batch, isLast ? upTo : (batch.at(-1)?.position ?? upTo));
      await nextTurn();
    }
  }

  #open(build: number): Opening {
    return openCatalog(this.#files.path(build), this.#options);
  }

  #discard(damaged: Catalog, reason: string): void {
    this.#requiredCheckpoint = Math.max(this.#requiredCheckpoint, damaged.checkpoint());
    this.generation += 1;
    this.#live = undefined;
    damaged.close();
    this.#files.remove(this.#build);
    this.#options.onDiscarded?.(reason);
  }
}

/** Opens the newest build of the catalog of a log. */
export const catalogBuilds = (
  directory: string,
  logId: string,
  options: CatalogOptions = {},
): CatalogBuilds => {
  const live = new LiveBuild(new BuildFiles(directory, logId), options);
  return {
    catalog: {
      byId: (ids) => live.read((catalog) => catalog.byId(ids)),
      bySku: (skus) => live.read((catalog) => catalog.bySku(skus)),
      startingWith: (...query) => live.read((catalog) => catalog.startingWith(...query)),
      skusOf: (source, range) => live.read((catalog) => catalog.skusOf(source, range)),
      withdrawn: (ids) => live.read((catalog) => catalog.withdrawn(ids)),
      categoryNamed: (category) => live.read((catalog) => catalog.categoryNamed(category)),
      namesOf: (field) => live.read((catalog) => catalog.namesOf(field)),
      search: (query) => live.read((catalog) => catalog.search(query)),
      show: (query, view) => live.read((catalog) => catalog.show(query, view)),
      count: () => live.read((catalog) => catalog.count()),
      apply(events, upTo) {
        options.beforeWrite?.();
        live.use((catalog) => catalog.apply(events, upTo));
      },
      checkpoint: () => live.checkpoint,
      version: CATALOG_VERSION,
      generation: () => live.generation,
      digest: () => live.read((catalog) => catalog.digest()),
      close: () => live.close(),
      opened: live.opened,
      opening: () => live.opening,
    },
    rebuild: (...from) => live.rebuild(...from),
  };
};
