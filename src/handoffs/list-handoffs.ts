import type { HandoffState } from './handoff-state.decider.ts';
import { handoffWithOutcome } from '#src/leads/observe-rfq.ts';
import { done } from '#src/shared/outcome.ts';
import { NO_TEXTS } from '#src/sealing/sealed-texts.ts';
import { pageOf } from '#src/reading/listing.ts';
import { present } from '#src/shared/present.ts';
import { renderAsOf } from '#src/shared/time.ts';
import { readableHandoffs, renderHandoff } from './render-handoff.ts';
import { type DeskHandler, mayActFor, NO_OWNER } from '#src/calls/desk-handler.ts';

const WITHOUT_BUYER = { opened: NO_TEXTS, reviewToken: () => '' };

export const listHandoffs: DeskHandler<'listHandoffs'> = async (deps, input, call) => {
  if (!mayActFor(call, input.owner_id)) return NO_OWNER;
  const { rows, next_before } = await pageOf<HandoffState>(deps.readModels, 'handoffs', {
    ...input,
    scope: input.owner_id,
  });
  // The list shows only the number of lines: their sealed notes are not opened.
  const listed = await Promise.all(
    rows.map(({ sealed_line_notes: _unread, ...row }) =>
      handoffWithOutcome(deps, input.owner_id, row),
    ),
  );
  const view = { ownerId: input.owner_id, at: call.at };
  const data = (await readableHandoffs(deps, listed)).map((row) => {
    const handoff = renderHandoff(row, view, WITHOUT_BUYER);
    const { review_url: _omitted, line_items, buyer, ...shown } = handoff;
    // The list shows no personal data, because staff do not need it to see a status.
    const { email: _personal, ...company } = buyer;
    return {
      ...shown,
      buyer: company,
      lines: line_items.length,
      ...present({ made_by_buyer: row.made_by_buyer }),
    };
  });
  return done({ data, next_before, as_of: renderAsOf(deps.following.asOf()) });
};
