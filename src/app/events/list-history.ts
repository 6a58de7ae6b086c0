import type { HistoryEntry, HistoryRow } from '#src/ports/rows.ts';
import { historyBlockOf, historyEntries } from '#src/ports/rows.ts';
import { type DeskHandler, mayActFor, NO_OWNER } from '../pipeline/desk-handler.ts';
import { done } from '../pipeline/outcome.ts';
import { iso, renderAsOf } from '../shared/time.ts';

const BLOCKS_FIRST = 8;

export const listHistory: DeskHandler<'listHistory'> = async (deps, input, call) => {
  const { owner_id, as_of, before, limit } = input;
  if (!mayActFor(call, owner_id)) return NO_OWNER;
  const below = Math.min(before ?? Infinity, as_of === undefined ? Infinity : as_of + 1);
  const entries: HistoryEntry[] = [];
  let block = below === Infinity ? undefined : historyBlockOf(below - 1) + 1;
  // A block has one to all of its entries from this owner, so the first read is small and the next ones grow.
  for (let blocks = Math.min(BLOCKS_FIRST, limit + 1); ; blocks = Math.min(4 * blocks, limit + 1)) {
    const rows = await deps.readModels.list<HistoryRow>('history', {
      scope: owner_id,
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
    if (rows.length < blocks || entries.length > limit) break;
  }
  const shown = entries.slice(0, limit);
  const now = renderAsOf(deps.following.asOf());
  return done({
    data: shown.map(({ at, ...entry }) => ({ ...entry, at: iso(at) })),
    next_before: entries.length > limit ? (shown.at(-1)?.position ?? null) : null,
    as_of: as_of === undefined ? now : { position: as_of, at: shown[0] ? iso(shown[0].at) : null },
  });
};
