/** A product: imported, merged with what is stored, changed and withdrawn. */
import type { ProductChange } from '#contracts/catalog/operations.ts';
import type { EventData, EventOf, ProductEventType } from '#contracts/registries/events.ts';
import { moneyText } from '#src/shared/cells.ts';
import { accept, type Decider, reject, isSameValue } from '#src/shared/decider.ts';

type Event = EventOf<ProductEventType>;
export type Published = EventData<'ProductPublished'>;

export type ProductCommand =
  | ({ type: 'PublishProduct' } & Published)
  | { type: 'WithdrawProduct'; reason: string };

export type ProductRejection = 'product_unknown';

export type ProductState = Published & { status: 'published' | 'withdrawn' };

/** A product of the catalog. Publishing what the catalog has already adds no event. */
export const product: Decider<ProductState, ProductCommand, Event, ProductRejection> = {
  evolve(state, event) {
    if (event.type === 'ProductPublished' || event.type === 'ProductRevised')
      return { ...event.data, status: 'published' };
    if (!state) throw new Error(`${event.type} on a product that was never published`);
    return event.type === 'ProductStockObserved'
      ? { ...state, stock: event.data.stock }
      : { ...state, status: 'withdrawn' };
  },

  decide(state, command) {
    if (command.type === 'PublishProduct') return publish(state, command);
    if (!state) return reject('product_unknown', 'the catalog has no such sku');
    if (state.status === 'withdrawn') return accept();
    const { product_id } = state.product;
    return accept({ type: 'ProductWithdrawn', data: { product_id, reason: command.reason } });
  },
};

const publish = (state: ProductState | undefined, { product: next, stock }: Published) => {
  const data = { product: next, stock };
  if (state?.status !== 'published') return accept<Event>({ type: 'ProductPublished', data });
  if (!isSameValue(state.product, next)) return accept<Event>({ type: 'ProductRevised', data });
  if (isSameValue(state.stock, stock)) return accept<Event>();
  const { product_id } = next;
  return accept<Event>({ type: 'ProductStockObserved', data: { product_id, stock } });
};

export type MergeRules = {
  product_id: string;
  /** The feed; what is stored stays if it has no name. */
  source?: string | undefined;
  /** Removes what the change does not say. */
  replace: boolean;
  /** Accepts prices of 0. */
  allowFree: boolean;
};

/** A rule that a product would break, at a field of the change. */
export type MergeFault = { field: string; detail: string };

type Content = Published['product'];
type Stock = Published['stock'];
type Tiers = Content['price_tiers'];

/** The category of a product whose feed names none. */
export const NO_CATEGORY = 'Uncategorised';
/** Stock for fewer minimum orders than this is low. */
const LOW_ORDERS = 2;

const atMinimum = (tiers: Tiers, moq: number) =>
  tiers.findLast(({ min_quantity }) => min_quantity <= moq);

/** The stored tiers with another price for the minimum order. A single tier begins where the minimum order is. */
const repriced = (stored: Tiers, moq: number, unit_price: number): Tiers => {
  const tier = atMinimum(stored, moq);
  if (tier) return stored.map((one) => (one === tier ? { ...one, unit_price } : one));
  return [{ min_quantity: moq, unit_price }, ...(stored.length > 1 ? stored : [])];
};

const tierFaults = (tiers: Tiers, moq: number, price: number | undefined): MergeFault[] => {
  const faults: string[] = [];
  for (const [index, tier] of tiers.entries()) {
    const before = tiers[index - 1];
    if (!before) continue;
    if (tier.min_quantity <= before.min_quantity)
      faults.push(`quantities must rise: ${tier.min_quantity} is not above ${before.min_quantity}`);
    else if (tier.unit_price > before.unit_price)
      faults.push(`prices must not rise with quantity, and do at ${tier.min_quantity}`);
  }
  const first = tiers[0]?.min_quantity ?? 0;
  if (first > moq) faults.push(`begins at ${first}, so the minimum order of ${moq} has no price`);
  else if (price !== undefined && atMinimum(tiers, moq)?.unit_price !== price)
    faults.push(`differs from the price of the minimum order of ${moq}`);
  return faults.map((detail) => ({ field: 'price_tiers', detail }));
};

/** The tiers that the change leaves, or why it leaves none that are valid. */
const mergeTiers = (
  stored: Content | undefined,
  { currency, unit_price, price_tiers }: ProductChange['product'],
  moq: number,
): { tiers: Tiers } | { faults: MergeFault[] } => {
  const fault = (field: string, detail: string) => ({ faults: [{ field, detail }] });
  const kept = price_tiers === null ? [] : (stored?.price_tiers ?? []);
  const isOther = stored !== undefined && currency !== undefined && currency !== stored.currency;
  if (!price_tiers && unit_price === undefined) {
    if (!stored) return fault('unit_price', 'is missing, and no such product is stored');
    if (price_tiers === null) return fault('unit_price', 'is missing, and is needed without tiers');
    if (isOther) return fault('currency', `is not ${stored.currency}, and there is no price in it`);
  }
  if (!price_tiers && isOther && kept.length > 1)
    return fault('price_tiers', `are stored in ${stored.currency}; give them in ${currency}`);
  const tiers =
    price_tiers ??
    (unit_price === undefined ? kept : repriced(isOther ? [] : kept, moq, unit_price));
  const faults = tierFaults(tiers, moq, unit_price);
  if (faults.length === 0) return { tiers };
  if (price_tiers) return { faults };
  return {
    faults: faults.map(({ field, detail }) => ({
      field,
      detail: `as stored, do not fit: ${detail}; give them with the price`,
    })),
  };
};

/** A price of 0 is often an empty cell of another program. */
const freeFaults = (
  { unit_price, price_tiers }: ProductChange['product'],
  currency: string,
): MergeFault[] => {
  if (unit_price !== 0 && (price_tiers ?? []).every((tier) => tier.unit_price > 0)) return [];
  const field = unit_price === 0 ? 'unit_price' : 'price_tiers';
  const detail = `is ${moneyText({ amount: 0, currency })}; if it is right, allow it (allow_free; on the command line --allow-free)`;
  return [{ field, detail }];
};

const stockOf = (
  stored: Stock | undefined,
  { level, available_quantity }: NonNullable<ProductChange['stock']>,
  moq: number,
): Stock => {
  if (level === 'out_of_stock' || available_quantity === 0)
    return { level: 'out_of_stock', available_quantity: 0 };
  if (level !== undefined && available_quantity !== undefined) return { level, available_quantity };
  const isInStock = stored !== undefined && stored.level !== 'out_of_stock';
  const quantity =
    available_quantity ??
    (available_quantity === null || !isInStock ? null : stored.available_quantity);
  if (quantity === null) return { level: level ?? 'in_stock', available_quantity: null };
  return {
    level: level === 'low' || quantity < moq * LOW_ORDERS ? 'low' : 'in_stock',
    available_quantity: quantity,
  };
};

/** The members without those that are null or undefined. */
const given = (members: object): object =>
  Object.fromEntries(
    Object.entries(members).filter(([, value]) => value !== undefined && value !== null),
  );

/** Merges a change with what is stored, or says which rules the product would break. */
export const mergeProduct = (
  state: ProductState | undefined,
  { product: change, stock: changedStock = {} }: ProductChange,
  { product_id, source, replace, allowFree }: MergeRules,
): ({ ok: true } & Published) | { ok: false; faults: MergeFault[] } => {
  const stored = replace ? undefined : state?.product;
  const faults: MergeFault[] = [];
  const missing = (field: string) =>
    faults.push({ field, detail: 'is missing, and no such product is stored' });
  const { unit_price: _, ...content } = change;
  const merged = { ...stored, ...content };
  const {
    title,
    description = '',
    category = NO_CATEGORY,
    currency,
    moq = 1,
    increment = 1,
  } = merged;
  if (title === undefined) missing('title');
  if (currency === undefined) missing('currency');
  const stockBefore = replace ? undefined : state?.stock;
  const isStockGiven = Object.values(changedStock).some((value) => value !== undefined);
  if (!isStockGiven && !stockBefore) missing('stock');
  if (moq % increment !== 0)
    faults.push({
      field: 'moq',
      detail: `must be a multiple of the order increment: ${moq} of ${increment}`,
    });
  const priced = mergeTiers(stored, change, moq);
  if ('faults' in priced) faults.push(...priced.faults);
  else if (!allowFree) faults.push(...freeFaults(change, currency ?? ''));
  const of = source ?? state?.product.source;
  const stock = isStockGiven ? stockOf(stockBefore, changedStock, moq) : stockBefore;
  if (faults.length > 0 || 'faults' in priced || !stock) return { ok: false, faults };
  const product = {
    ...given(merged),
    product_id,
    description,
    category,
    moq,
    increment,
    price_tiers: priced.tiers,
    ...(of !== undefined && { source: of }),
  };
  return { ok: true, product: product as Content, stock };
};

/** One member that a change of a product changes. */
export type Difference = { field: string; before: unknown; after: unknown };

/** What differs between a stored product and another state of it, in the order of its members. */
export const differencesOf = (state: ProductState, next: Published): Difference[] => {
  const flat = ({ product, stock }: Published, status: string): Record<string, unknown> => ({
    status,
    ...product,
    stock: stock.level,
    available_quantity: stock.available_quantity,
  });
  const [before, after] = [flat(state, state.status), flat(next, 'published')];
  return [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter((field) => !isSameValue(before[field], after[field]))
    .map((field) => ({ field, before: before[field] ?? null, after: after[field] ?? null }));
};
