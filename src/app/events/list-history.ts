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
  const found: HistoryEntry[] = [];
  let block = below === Infinity ? undefined : historyBlockOf(below - 1) + 1;
  // An owner may fill a whole block or one entry of it, so the first read is small and then grows.
  for (let blocks = Math.min(BLOCKS_FIRST, limit + 1); ; blocks = Math.min(4 * blocks, limit + 1)) {
    const rows = await deps.readModels.list<HistoryRow>('history', {
      scope: owner_id,
      limit: blocks,
      ...(block !== undefined && { before: block }),
    });
    for (const { row } of rows)
      found.push(
        ...historyEntries(row)
          .toReversed()
          .filter(({ position }) => position < below),
      );
    block = rows.at(-1)?.sort;
    if (rows.length < blocks || found.length > limit) break;
  }
  const shown = found.slice(0, limit);
  const now = renderAsOf(deps.following.asOf());
  return done({
    data: shown.map(({ at, ...entry }) => ({ ...entry, at: iso(at) })),
    next_before: found.length > limit ? (shown.at(-1)?.position ?? null) : null,
    as_of: as_of === undefined ? now : { position: as_of, at: shown[0] ? iso(shown[0].at) : null },
  });
};
