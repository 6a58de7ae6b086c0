import type { HandoffState } from '#src/domain/handoff-state.ts';
import { type DeskHandler, mayActFor, NO_OWNER } from '../pipeline/desk-handler.ts';
import { done } from '../pipeline/outcome.ts';
import { UNOPENED } from '../privacy/sealed-texts.ts';
import { pageOf } from '../read-models/listing.ts';
import { renderAsOf } from '../shared/time.ts';
import { readableHandoffs, renderHandoff } from './render-handoff.ts';

export const listHandoffs: DeskHandler<'listHandoffs'> = async (deps, input, call) => {
  if (!mayActFor(call, input.owner_id)) return NO_OWNER;
  const { rows, next_before } = await pageOf<HandoffState>(deps.readModels, 'handoffs', {
    ...input,
    scope: input.owner_id,
  });
  // The list shows only the number of lines: their sealed notes are not opened.
  const listed = rows.map(({ sealed_line_notes: _unread, ...row }) => row);
  const data = (await readableHandoffs(deps, listed)).map((row) => {
    const help = { opened: UNOPENED, reviewToken: () => '' };
    const {
      review_url: _forTheBuyer,
      line_items,
      buyer,
      ...shown
    } = renderHandoff(input.owner_id, row, call.at, help);
    // Staff do not need the address of a buyer to see the status of a list.
    const { email: _personal, ...known } = buyer;
    return { ...shown, buyer: known, lines: line_items.length };
  });
  return done({ data, next_before, as_of: renderAsOf(deps.following.asOf()) });
};
