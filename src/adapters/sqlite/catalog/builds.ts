import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import type { Catalog } from '#src/ports/catalog.ts';
import type { EventLog, Position } from '#src/ports/event-log.ts';
import { ReadModelRebuilding } from '#src/ports/read-model.ts';
import { isDamage } from '../failure.ts';
import { sqliteCatalog } from './catalog.ts';
import { CATALOG_VERSION } from './schema.ts';

const BATCH_EVENTS = 500;

/**
 * A catalog that can be built afresh beside the one that answers. Files are named after their log,
 * because a checkpoint means nothing in another, and after their build.
 */
export type CatalogBuilds = {
  /**
   * Always the build that answers. One that is found damaged is emptied, and until the log has filled
   * it as far as it was, to read it throws ReadModelRebuilding.
   */
  catalog: Catalog;
  /** Fills the next build from the log while this one serves and follows, then switches in one step. */
  rebuild(log: Pick<EventLog, 'readFold'>): Promise<void>;
};

/** `directory` undefined keeps it in memory. */
export const catalogBuilds = (
  directory: string | undefined,
  logId: string,
  onDiscarded: (reason: string) => void = () => {},
): CatalogBuilds => {
  const stem = `catalog-${logId.slice(0, 8)}.`;
  const known = directory === undefined ? [] : buildsIn(directory, stem);
  let build = known.at(-1) ?? 1;
  const fileOf = (number: number): string =>
    directory === undefined ? ':memory:' : join(directory, `${stem}${number}.db`);
  const open = (): Catalog => sqliteCatalog(fileOf(build), onDiscarded);
  /** Undefined while a disk has no room for an empty one. */
  let live: Catalog | undefined = open();
  let generation = 0;
  /** What it had when it was found damaged. */
  let owed: Position = 0;

  const remove = (number: number): void => {
    if (directory === undefined) return;
    for (const suffix of ['', '-wal', '-shm']) rmSync(fileOf(number) + suffix, { force: true });
  };
  // Of several, the newest: an older one was about to be removed, or it catches up as it answers.
  for (const old of known.slice(0, -1)) remove(old);

  const checkpoint = (): Position => live?.checkpoint() ?? 0;

  const discard = (damaged: Catalog, reason: string): void => {
    owed = Math.max(owed, damaged.checkpoint());
    generation += 1;
    live = undefined;
    damaged.close();
    remove(build);
    onDiscarded(reason);
  };

  const use = <Result>(work: (catalog: Catalog) => Result): Result => {
    const catalog = (live ??= open());
    try {
      return work(catalog);
    } catch (error) {
      if (!isDamage(error)) throw error;
      discard(catalog, error.message);
      throw new ReadModelRebuilding('the catalog was damaged', { cause: error });
    }
  };

  const read = <Result>(work: (catalog: Catalog) => Result): Result => {
    if (checkpoint() < owed) throw new ReadModelRebuilding('the catalog is being filled');
    return use(work);
  };

  return {
    catalog: {
      byId: (ids) => read((catalog) => catalog.byId(ids)),
      bySku: (skus) => read((catalog) => catalog.bySku(skus)),
      withdrawn: (ids) => read((catalog) => catalog.withdrawn(ids)),
      hasCategory: (category) => read((catalog) => catalog.hasCategory(category)),
      search: (query) => read((catalog) => catalog.search(query)),
      show: (query, view) => read((catalog) => catalog.show(query, view)),
      count: () => read((catalog) => catalog.count()),
      apply: (events, upTo) => use((catalog) => catalog.apply(events, upTo)),
      checkpoint,
      version: CATALOG_VERSION,
      generation: () => generation,
      digest: () => read((catalog) => catalog.digest()),
      close: () => live?.close(),
    },
    async rebuild(log) {
      remove(build + 1);
      const next = sqliteCatalog(fileOf(build + 1));
      const due = (): Position => Math.max(owed, checkpoint());
      try {
        while (next.checkpoint() < due()) {
          const events = await log.readFold({ after: next.checkpoint(), limit: BATCH_EVENTS });
          const upTo = Math.min(events.at(-1)?.position ?? Infinity, due());
          next.apply(
            events.filter(({ position }) => position <= upTo),
            upTo,
          );
          await turn();
        }
      } catch (error) {
        remove(build + 1);
        next.close();
        throw error;
      }
      // No turn between the last comparison and the switch: nothing can have come in.
      const old = live;
      live = next;
      generation += 1;
      // Removed first: nobody waits for the disk to have what is gone.
      remove(build);
      old?.close();
      build += 1;
    },
  };
};

const buildsIn = (directory: string, stem: string): number[] =>
  readdirSync(directory)
    .flatMap((name) =>
      name.startsWith(stem) && name.endsWith('.db') ? [Number(name.slice(stem.length, -3))] : [],
    )
    .filter(Number.isInteger)
    .toSorted((a, b) => a - b);
