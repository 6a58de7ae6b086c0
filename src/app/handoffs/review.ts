import type { HandoffState } from '#src/domain/handoff-state.ts';
import { isOpen } from '#src/domain/handoff.ts';
import type { ReviewTokenRow } from '#src/ports/rows.ts';
import type { Deps } from '../pipeline/deps.ts';
import { priceLine, quantitiesIn } from './price-lines.ts';
import type { Outcome } from '../pipeline/outcome.ts';
import { done, refuse } from '../pipeline/outcome.ts';
import { readableHandoff } from './render-handoff.ts';
import { handoffOf } from '../records/streams.ts';
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
  /** Of lines whose product has another price or stock now than when the list was priced, by line id. */
  changed: Map<string, LineNow>;
};

/** A line as the catalog has its product now. */
type LineNow =
  | { unit_price: number; currency: string; warnings: string[] }
  | { withdrawn: { reason: string | undefined } };

const TOKEN = /^[0-9a-f]{40}$/;
export const GONE = 'There is no such list. Check that the link is complete.';

/** Which handoff a token opens, and whose. */
export const namedBy = async (
  { readModels }: Pick<Deps, 'readModels'>,
  token: string,
): Promise<ReviewTokenRow | undefined> =>
  TOKEN.test(token)
    ? readModels.get<ReviewTokenRow>('review-tokens', reviewTokenHash(token), '')
    : undefined;

/** What the catalog has to say of a list since it was priced, by line id. */
export const changesOf = (
  catalog: Deps['catalog'],
  lines: HandoffState['lines'],
): Review['changed'] => {
  const products = catalog.byId(lines.map(({ product_id }) => product_id));
  const gone = lines.flatMap(({ product_id }) => (products.has(product_id) ? [] : [product_id]));
  const withdrawn = catalog.withdrawn(gone);
  const inList = quantitiesIn(lines);
  const changed: Review['changed'] = new Map();
  for (const line of lines) {
    const product = products.get(line.product_id);
    if (!product) {
      changed.set(line.line_id, { withdrawn: { reason: withdrawn.get(line.product_id)?.reason } });
      continue;
    }
    const { unit_price, currency, warnings = [] } = priceLine(product, line, inList);
    const isSame =
      unit_price === line.unit_price &&
      currency === line.currency &&
      warnings.join() === (line.warnings ?? []).join();
    if (!isSame) changed.set(line.line_id, { unit_price, currency, warnings });
  }
  return changed;
};

export const reviewOf = async (
  deps: Deps,
  ownerId: string,
  state: HandoffState,
): Promise<Review> => {
  const at = deps.clock.now();
  const waiting = state.status === 'awaiting_buyer' || state.status === 'in_review';
  return {
    handoffId: state.handoff_id,
    ownerId,
    preparedBy: deps.credentials.agent(state.agent_id)?.name ?? state.agent_id,
    state: await readableHandoff(deps, state),
    open: isOpen(state, at),
    expired: waiting && !isOpen(state, at),
    changed: changesOf(deps.catalog, state.lines),
  };
};

/** The list behind a review link. Changes nothing: mail scanners and chat previews ask, too. */
export const review = async (deps: Deps, token: string): Promise<Outcome<Review>> => {
  const named = await namedBy(deps, token);
  const state = named && (await handoffOf(deps, named.owner, named.handoff_id));
  return named && state
    ? done(await reviewOf(deps, named.owner, state))
    : refuse('resource_not_found', GONE);
};
