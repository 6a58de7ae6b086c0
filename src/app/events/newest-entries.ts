import type { ReadModels } from '#src/ports/read-model.ts';
import {
  type HistoryEntry,
  historyBlockOf,
  historyEntries,
  type HistoryRow,
} from '#src/ports/rows.ts';

const BLOCKS_FIRST = 8;

/** Reads the newest `limit` entries of an owner's history before the position `below`, newest first. */
export const newestEntries = async (
  readModels: Pick<ReadModels, 'list'>,
  { owner, below, limit }: { owner: string; below: number; limit: number },
): Promise<HistoryEntry[]> => {
  const entries: HistoryEntry[] = [];
  let block = below === Infinity ? undefined : historyBlockOf(below - 1) + 1;
  // A block has one to all of its entries from this owner, so the first read is small and the next ones grow.
  for (let blocks = Math.min(BLOCKS_FIRST, limit); ; blocks = Math.min(4 * blocks, limit)) {
    const rows = await readModels.list<HistoryRow>('history', {
      scope: owner,
      limit: blocks,
      ...(block !== undefined && { before: block }),
    });
    for (const { row } of rows)
      entries.push(
        ...historyEntries(row)
          .toReversed()
          .filter(({ position }) => position < below),
      );
    block = rows.at(-1)?.sort;
    if (rows.length < blocks || entries.length >= limit) return entries.slice(0, limit);
  }
};
