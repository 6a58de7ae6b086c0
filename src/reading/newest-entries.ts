import type { ReadModels } from '#src/ports/read-model.ts';
import {
  EVENTS_PER_HISTORY_ROW,
  type HistoryEntry,
  historyEntries,
  type HistoryRow,
  NEWEST_HISTORY,
} from '#src/ports/rows.ts';

/** Reads the newest `limit` entries of an owner's history before the position `below`, newest first. Reads twice. */
export const newestEntries = async (
  readModels: Pick<ReadModels, 'get' | 'list'>,
  { owner, below, limit }: { owner: string; below: number; limit: number },
): Promise<HistoryEntry[]> => {
  const newest = await readModels.get<HistoryRow>('history', owner, NEWEST_HISTORY);
  const first = newest ? (newest.entries[0] as number) : Infinity;
  // The newest row may become one of the others between the two reads; its entries must not come twice.
  const rows = await readModels.list<HistoryRow>('history', {
    scope: owner,
    before: Math.min(below, first),
    limit: Math.ceil(limit / EVENTS_PER_HISTORY_ROW) + 1,
  });
  return [...(newest ? [newest] : []), ...rows.map(({ row }) => row)]
    .flatMap((row) => historyEntries(row).toReversed())
    .filter(({ position }) => position < below)
    .slice(0, limit);
};
