import { DIRECT_OWNER } from '#contracts/fields.ts';
import type { HandoffState } from './handoff-state.decider.ts';
import { review as reviewedHandoff, type ReviewState } from './review.decider.ts';
import { isOpen } from './handoff.decider.ts';
import { isUnconfirmed } from './rfq-state.decider.ts';
import type { CatalogProduct, ProductHits, ProductSearch } from '#src/ports/catalog.ts';
import type { ReviewTokenRow } from '#src/ports/rows.ts';
import { stateOf } from '#src/writing/fold.ts';
import { priceLine, quantitiesIn } from '#src/catalog/price-lines.ts';
import { done, refuse } from '#src/shared/outcome.ts';
import { readableHandoff } from './render-handoff.ts';
import { streamOf } from '#src/writing/streams.ts';
import { reviewTokenHash } from '#src/shared/review-token.ts';
import type { HolderHandler } from '#src/calls/desk-handler.ts';
import {
  isChanged,
  type List,
  type EnteredQuantities,
  withQuantities,
} from './entered-quantities.ts';
import type { Deps } from '#src/calls/call.ts';

export type Review = {
  handoffId: string;
  ownerId: string;
  /** The agent's name, for "prepared by". */
  preparedBy: string;
  /** Whether a promoter is credited with the list. */
  isCredited: boolean;
  state: ReviewState;
  open: boolean;
  expired: boolean;
  /** Lines whose product has another price or stock now than when the list was priced, by line id. */
  changed: Map<string, LineNow>;
  /** The published products of the lines and removed lines of an open list, by id; of a closed list none. */
  products: ReadonlyMap<string, CatalogProduct>;
  /** The list with the quantities that the buyer entered, where those can be priced. */
  entered: List;
  /** The first products that match the words of the buyer's search, and how many do; undefined without words. */
  search: ({ words: string } & Pick<ProductHits, 'products' | 'total'>) | undefined;
  /** Whether an entered quantity differs from the list. */
  isChanged: boolean;
  /** Until when a sent RFQ waits for the confirmation of its mailbox, in epoch milliseconds. */
  awaitedUntil: number | undefined;
};

/** The present price and stock of a line's product. */
type LineNow =
  | { unit_price: number; currency: string; warnings: string[] }
  | { withdrawn: { reason: string | undefined } };

/** A search for a product to add. */
const SEARCH: ProductSearch = { sort: 'relevance', limit: 10, offset: 0, facets: [] };

const TOKEN = /^[0-9a-f]{40}$/;
export const NO_LIST = refuse(
  'resource_not_found',
  'There is no such list. Check that the link is complete.',
);

const rowOf = async (
  { readModels }: Pick<Deps, 'readModels'>,
  token: string,
): Promise<ReviewTokenRow | undefined> =>
  TOKEN.test(token)
    ? readModels.get<ReviewTokenRow>('review-tokens', reviewTokenHash(token), '')
    : undefined;

/** Finds the handoff that the token of a review link opens, and its owner. */
export const findHandoff = async (
  deps: Pick<Deps, 'readModels'>,
  token: string,
): Promise<ReviewTokenRow | undefined> => {
  const row = await rowOf(deps, token);
  return row?.confirms === undefined ? row : undefined;
};

/** Finds the handoff whose RFQ the token of a mailed link confirms, and the number of the sending. */
export const findMailedLink = async (
  deps: Pick<Deps, 'readModels'>,
  token: string,
): Promise<Required<ReviewTokenRow> | undefined> => {
  const { confirms, ...row } = (await rowOf(deps, token)) ?? {};
  return confirms === undefined || !('owner' in row) ? undefined : { ...row, confirms };
};

/** Compares a list with the catalog: the lines that differ, by line id. */
export const differencesFromCatalog = (
  catalog: Deps['catalog'],
  lines: HandoffState['lines'],
): Review['changed'] => {
  const products = catalog.byId(lines.map(({ product_id }) => product_id));
  const unpublished = lines.flatMap(({ product_id }) =>
    products.has(product_id) ? [] : [product_id],
  );
  const withdrawn = catalog.withdrawn(unpublished);
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

/** Makes the buyer's view of a list, priced with the entered quantities. */
export const makeReview = async (
  deps: Deps,
  list: { ownerId: string; state: ReviewState; quantities?: EnteredQuantities; words?: string },
): Promise<Review> => {
  const { ownerId, state: stored, quantities: entered = new Map(), words = '' } = list;
  const { catalog, credentials, clock } = deps;
  const open = isOpen(stored, clock.now());
  const isUndecided = stored.status === 'awaiting_buyer' || stored.status === 'in_review';
  const state = await readableHandoff(deps, stored);
  const priced = open ? withQuantities(catalog, state, { entered }) : state;
  const offered = [...stored.lines, ...(stored.removed ?? [])];
  return {
    handoffId: stored.handoff_id,
    ownerId,
    isCredited: ownerId !== DIRECT_OWNER,
    preparedBy: credentials.agent(stored.agent_id)?.name ?? stored.agent_id,
    state,
    open,
    expired: isUndecided && !open,
    changed: differencesFromCatalog(catalog, stored.lines),
    products: open ? catalog.byId(offered.map(({ product_id }) => product_id)) : new Map(),
    entered: 'faults' in priced ? state : priced,
    search:
      open && words !== '' ? { words, ...catalog.search({ ...SEARCH, q: words }) } : undefined,
    isChanged: isChanged(state, entered),
    awaitedUntil: isUnconfirmed(stored.rfq, clock.now())
      ? stored.rfq?.confirmation?.until
      : undefined,
  };
};

/** Shows the list of a review link. It changes nothing, because mail scanners and chat previews also open links. */
export const reviewHandoff: HolderHandler<'reviewHandoff', Review> = async (
  deps,
  input,
  { caller },
) => {
  const row = await findHandoff(deps, caller.token);
  if (!row) return NO_LIST;
  const { owner: ownerId, handoff_id } = row;
  const stream = streamOf(ownerId, 'handoff', handoff_id);
  const state = await stateOf(deps, { stream, decider: reviewedHandoff });
  return state ? done(await makeReview(deps, { ownerId, state, ...input })) : NO_LIST;
};
