import type { HandoffState } from '#src/domain/handoff-state.ts';
import type { LinkState } from '#src/domain/link.ts';
import type { HistoryEntry, HistoryRow } from '#src/ports/rows.ts';
import { historyBlockOf, historyEntries } from '#src/ports/rows.ts';
import { pageOf } from '../listing.ts';
import { done, refuse } from '../outcome.ts';
import { readableHandoffs, UNOPENED } from '../personal.ts';
import { renderHandoff, renderLink } from '../render.ts';
import { iso, renderAsOf } from '../time.ts';
import type { DeskDeps, DeskHandler } from './handler.ts';
import { mayActFor } from './handler.ts';

const NO_OWNER = refuse('resource_not_found', 'There is no such owner.');

const asOfNow = (deps: DeskDeps) => renderAsOf(deps.following.asOf());

export const listLinks: DeskHandler<'listLinks'> = async (deps, input, call) => {
  if (!mayActFor(call, input.owner_id)) return NO_OWNER;
  const { rows, next_before } = await pageOf<LinkState>(deps.readModels, 'links', {
    ...input,
    scope: input.owner_id,
  });
  const data = rows.map((row) => renderLink(input.owner_id, row, call.at));
  return done({ data, next_before, as_of: asOfNow(deps) });
};

export const listHandoffs: DeskHandler<'listHandoffs'> = async (deps, input, call) => {
  if (!mayActFor(call, input.owner_id)) return NO_OWNER;
  const { rows, next_before } = await pageOf<HandoffState>(deps.readModels, 'handoffs', {
    ...input,
    scope: input.owner_id,
  });
  // Lines are only counted: what stands beside them stays closed.
  const listed = rows.map(({ sealed_line_notes: _unread, ...row }) => row);
  const data = (await readableHandoffs(deps, listed)).map((row) => {
    const help = { opened: UNOPENED, reviewToken: () => '' };
    const {
      review_url: _forTheBuyer,
      line_items,
      buyer,
      ...shown
    } = renderHandoff(input.owner_id, row, call.at, help);
    // Whoever works at the desk needs no address to see where a list stands.
    const { email: _personal, ...known } = buyer;
    return { ...shown, buyer: known, lines: line_items.length };
  });
  return done({ data, next_before, as_of: asOfNow(deps) });
};

const BLOCKS_FIRST = 8;

export const listHistory: DeskHandler<'listHistory'> = async (deps, input, call) => {
  const { owner_id, as_of, before, limit } = input;
  if (!mayActFor(call, owner_id)) return NO_OWNER;
  const below = Math.min(before ?? Infinity, as_of === undefined ? Infinity : as_of + 1);
  const found: HistoryEntry[] = [];
  let block = below === Infinity ? undefined : historyBlockOf(below - 1) + 1;
  // How much of its block an owner fills, nobody knows: all of it, or one entry.
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
  const now = asOfNow(deps);
  return done({
    data: shown.map(({ at, ...entry }) => ({ ...entry, at: iso(at) })),
    next_before: found.length > limit ? (shown.at(-1)?.position ?? null) : null,
    as_of: as_of === undefined ? now : { position: as_of, at: shown[0] ? iso(shown[0].at) : null },
  });
};
