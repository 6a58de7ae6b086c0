import { DIRECT_OWNER } from '#contracts/fields.ts';
import type { HandoffState } from '#src/domain/handoff-state.ts';
import { isOpen } from '#src/domain/handoff.ts';
import { isUnconfirmed } from '#src/domain/outcomes/rfq-state.ts';
import type { CatalogProduct } from '#src/ports/catalog.ts';
import type { ReviewTokenRow } from '#src/ports/rows.ts';
import type { Deps } from '../pipeline/deps.ts';
import { priceLine, quantitiesIn } from './price-lines.ts';
import { done, refuse } from '../pipeline/outcome.ts';
import { readableHandoff } from './render-handoff.ts';
import { handoffOf } from '../records/streams.ts';
import { reviewTokenHash } from './review-token.ts';
import type { BuyerHandler } from './buyer-handler.ts';
import {
  isChanged,
  type List,
  type EnteredQuantities,
  withQuantities,
} from './entered-quantities.ts';

/** A handoff as its buyer sees it. */
export type Review = {
  handoffId: string;
  ownerId: string;
  /** The agent's name, for "prepared by". */
  preparedBy: string;
  /** Whether a promoter is credited with the list. */
  isCredited: boolean;
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
  /** Until when a sent RFQ waits for the confirmation of its mailbox, in epoch milliseconds. */
  awaitedUntil: number | undefined;
};

/** The present price and stock of a line's product. */
type LineNow =
  | { unit_price: number; currency: string; warnings: string[] }
  | { withdrawn: { reason: string | undefined } };

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
  list: { ownerId: string; state: HandoffState; quantities?: EnteredQuantities },
): Promise<Review> => {
  const { ownerId, state: stored, quantities = new Map() } = list;
  const { catalog, credentials, clock } = deps;
  const open = isOpen(stored, clock.now());
  const isUndecided = stored.status === 'awaiting_buyer' || stored.status === 'in_review';
  const state = await readableHandoff(deps, stored);
  const entered = open ? withQuantities(catalog, state, quantities) : state;
  return {
    handoffId: stored.handoff_id,
    ownerId,
    isCredited: ownerId !== DIRECT_OWNER,
    preparedBy: credentials.agent(stored.agent_id)?.name ?? stored.agent_id,
    state,
    open,
    expired: isUndecided && !open,
    changed: differencesFromCatalog(catalog, stored.lines),
    products: open ? catalog.byId(stored.lines.map(({ product_id }) => product_id)) : new Map(),
    entered: 'faults' in entered ? state : entered,
    isChanged: isChanged(state, quantities),
    awaitedUntil: isUnconfirmed(stored.rfq, clock.now())
      ? stored.rfq?.confirmation?.until
      : undefined,
  };
};

/** Shows the list of a review link. It changes nothing, because mail scanners and chat previews open links, too. */
export const reviewHandoff: BuyerHandler<'reviewHandoff'> = async (
  deps,
  { quantities },
  { caller },
) => {
  const row = await findHandoff(deps, caller.token);
  const state = row && (await handoffOf(deps, row.owner, row.handoff_id));
  return row && state
    ? done(await makeReview(deps, { ownerId: row.owner, state, quantities }))
    : NO_LIST;
};
