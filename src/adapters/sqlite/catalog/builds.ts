import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import type { Catalog } from '#src/ports/catalog.ts';
import type { EventLog } from '#src/ports/event-log.ts';
import { sqliteCatalog } from './catalog.ts';

const BATCH_EVENTS = 500;

/**
 * A catalog that can be built afresh beside the one that answers. Files are named after their log,
 * because a checkpoint means nothing in another, and after their build.
 */
export type CatalogBuilds = {
  /** Always the build that answers. */
  catalog: Catalog;
  /** Fills the next build from the log while this one serves and follows, then switches in one step. */
  rebuild(log: Pick<EventLog, 'readFold'>): Promise<void>;
};

/** `directory` undefined keeps it in memory. */
export const catalogBuilds = (
  directory: string | undefined,
  logId: string,
  onDiscarded?: (reason: string) => void,
): CatalogBuilds => {
  const stem = `catalog-${logId.slice(0, 8)}.`;
  const known = directory === undefined ? [] : buildsIn(directory, stem);
  let build = known.at(-1) ?? 1;
  const fileOf = (number: number): string =>
    directory === undefined ? ':memory:' : join(directory, `${stem}${number}.db`);
  let live = sqliteCatalog(fileOf(build), onDiscarded);

  const remove = (number: number): void => {
    if (directory === undefined) return;
    for (const suffix of ['', '-wal', '-shm']) rmSync(fileOf(number) + suffix, { force: true });
  };
  // Of several, the newest: an older one was about to be removed, or it catches up as it answers.
  for (const old of known.slice(0, -1)) remove(old);

  return {
    catalog: {
      byId: (ids) => live.byId(ids),
      bySku: (skus) => live.bySku(skus),
      withdrawn: (ids) => live.withdrawn(ids),
      hasCategory: (category) => live.hasCategory(category),
      search: (query) => live.search(query),
      show: (query, view) => live.show(query, view),
      count: () => live.count(),
      apply: (events, upTo) => live.apply(events, upTo),
      checkpoint: () => live.checkpoint(),
      digest: () => live.digest(),
      clear: () => live.clear(),
      close: () => live.close(),
    },
    async rebuild(log) {
      remove(build + 1);
      const next = sqliteCatalog(fileOf(build + 1));
      try {
        while (next.checkpoint() < live.checkpoint()) {
          const events = await log.readFold({ after: next.checkpoint(), limit: BATCH_EVENTS });
          const upTo = Math.min(events.at(-1)?.position ?? Infinity, live.checkpoint());
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
      // Removed first: nobody waits for the disk to have what is gone.
      remove(build);
      old.close();
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
