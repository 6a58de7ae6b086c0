import type { HandoffState } from '#src/domain/handoff.ts';
import { isOpen } from '#src/domain/handoff.ts';
import type { ReviewTokenRow } from '#src/ports/rows.ts';
import type { Deps } from './deps.ts';
import { priceLine, quantitiesIn } from './lines.ts';
import type { Outcome, Refusal } from './outcome.ts';
import { done, refuse } from './outcome.ts';
import { handoffOf } from './records.ts';
import { reviewTokenHash } from './review-token.ts';

/** A handoff as its buyer sees it. */
export type Review = {
  handoffId: string;
  ownerId: string;
  /** The agent's name, for "prepared by". */
  preparedBy: string;
  state: HandoffState;
  open: boolean;
  expired: boolean;
  /** Lines whose product has another price or stock now than when the list was priced, by line id. */
  changed: Map<string, { unit_price: number; warnings: string[] } | 'withdrawn'>;
};

const TOKEN = /^[0-9a-f]{40}$/;
export const GONE = 'There is no such list. Check that the link is complete.';

/** The handoff that a token opens, from the log itself. */
export const handoffBehind = async (
  deps: Deps,
  token: string,
): Promise<{ ownerId: string; state: HandoffState } | Refusal> => {
  if (!TOKEN.test(token)) return refuse('resource_not_found', GONE);
  const row = await deps.readModels.get<ReviewTokenRow>(
    'review-tokens',
    reviewTokenHash(token),
    '',
  );
  const state = row && (await handoffOf(deps, row.owner, row.handoff_id));
  return row && state ? { ownerId: row.owner, state } : refuse('resource_not_found', GONE);
};

export const reviewOf = (deps: Deps, ownerId: string, state: HandoffState): Review => {
  const at = deps.clock.now();
  const products = deps.catalog.byId(state.lines.map(({ product_id }) => product_id));
  const inList = quantitiesIn(state.lines);
  const changed: Review['changed'] = new Map();
  for (const line of state.lines) {
    const product = products.get(line.product_id);
    if (!product) changed.set(line.line_id, 'withdrawn');
    else {
      const now = priceLine(product, line, inList);
      const warnings = now.warnings ?? [];
      if (now.unit_price !== line.unit_price || warnings.join() !== (line.warnings ?? []).join())
        changed.set(line.line_id, { unit_price: now.unit_price, warnings });
    }
  }
  const waiting = state.status === 'awaiting_buyer' || state.status === 'in_review';
  return {
    handoffId: state.handoff_id,
    ownerId,
    preparedBy: deps.credentials.agent(state.agent_id)?.name ?? state.agent_id,
    state,
    open: isOpen(state, at),
    expired: waiting && !isOpen(state, at),
    changed,
  };
};

/** The list behind a review link. Changes nothing: mail scanners and chat previews ask, too. */
export const review = async (deps: Deps, token: string): Promise<Outcome<Review>> => {
  const found = await handoffBehind(deps, token);
  return 'ok' in found ? found : done(reviewOf(deps, found.ownerId, found.state));
};
