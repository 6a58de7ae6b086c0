/** Lists the newest events of an owner, from the index of owners, for the desk. */
import { done } from '#src/shared/outcome.ts';
import { iso, renderAsOf } from '#src/shared/time.ts';
import { newestEntries } from '#src/reading/owner-index.ts';
import { type DeskHandler, mayActFor, NO_OWNER } from '#src/calls/desk-handler.ts';

export const listHistory: DeskHandler<'listHistory'> = async (deps, input, call) => {
  const { owner_id: owner, as_of, before, limit } = input;
  if (!mayActFor(call, owner)) return NO_OWNER;
  const below = Math.min(before ?? Infinity, as_of === undefined ? Infinity : as_of + 1);
  const entries = await newestEntries(deps.readModels, { owner, below, limit: limit + 1 });
  const shown = entries.slice(0, limit);
  const now = renderAsOf(deps.following.asOf());
  return done({
    data: shown.map(({ at, ...entry }) => ({ ...entry, at: iso(at) })),
    next_before: entries.length > limit ? (shown.at(-1)?.position ?? null) : null,
    as_of: as_of === undefined ? now : { position: as_of, at: shown[0] ? iso(shown[0].at) : null },
  });
};
