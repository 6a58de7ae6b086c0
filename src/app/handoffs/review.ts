import type { HandoffState } from '#src/domain/handoff-state.ts';
import { isOpen } from '#src/domain/handoff.ts';
import type { CatalogProduct } from '#src/ports/catalog.ts';
import type { ReviewTokenRow } from '#src/ports/rows.ts';
import type { Deps } from '../pipeline/deps.ts';
import { priceLine, quantitiesIn } from './price-lines.ts';
import { done, refuse } from '../pipeline/outcome.ts';
import { readableHandoff } from './render-handoff.ts';
import { handoffOf } from '../records/streams.ts';
import { reviewTokenHash } from './review-token.ts';
import type { BuyerHandler } from './buyer-handler.ts';
import { isChanged, type List, type TypedQuantities, withQuantities } from './typed-quantities.ts';

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
  changed: Map<string, LineNow>;
  /** The published products of an open list, by id; of a closed list none. */
  products: ReadonlyMap<string, CatalogProduct>;
  /** The list with the quantities that the buyer entered, where those can be priced. */
  entered: List;
  /** Whether an entered quantity differs from the list. */
  isChanged: boolean;
};

/** A line as the catalog has its product now. */
type LineNow =
  | { unit_price: number; currency: string; warnings: string[] }
  | { withdrawn: { reason: string | undefined } };

const TOKEN = /^[0-9a-f]{40}$/;
export const NO_LIST = refuse(
  'resource_not_found',
  'There is no such list. Check that the link is complete.',
);

/** Finds the handoff that a token opens, and its owner. */
export const findHandoff = async (
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

/** Makes what a buyer sees of a list, priced with the quantities that were entered. */
export const reviewOf = async (
  deps: Deps,
  ownerId: string,
  stored: HandoffState,
  quantities: TypedQuantities = new Map(),
): Promise<Review> => {
  const { catalog, credentials, clock } = deps;
  const open = isOpen(stored, clock.now());
  const waiting = stored.status === 'awaiting_buyer' || stored.status === 'in_review';
  const state = await readableHandoff(deps, stored);
  const entered = open ? withQuantities(catalog, state, quantities) : state;
  return {
    handoffId: stored.handoff_id,
    ownerId,
    preparedBy: credentials.agent(stored.agent_id)?.name ?? stored.agent_id,
    state,
    open,
    expired: waiting && !open,
    changed: changesOf(catalog, stored.lines),
    products: open ? catalog.byId(stored.lines.map(({ product_id }) => product_id)) : new Map(),
    entered: 'faults' in entered ? state : entered,
    isChanged: isChanged(state, quantities),
  };
};

/** The list behind a review link. Changes nothing: mail scanners and chat previews ask, too. */
export const reviewHandoff: BuyerHandler<'reviewHandoff'> = async (
  deps,
  { quantities },
  { caller },
) => {
  const found = await findHandoff(deps, caller.token);
  const state = found && (await handoffOf(deps, found.owner, found.handoff_id));
  return found && state ? done(await reviewOf(deps, found.owner, state, quantities)) : NO_LIST;
};
