import type { EventData, EventOf, ProductEventType } from '#contracts/events/index.ts';
import { accept, type Decider, reject } from './decider.ts';

type Event = EventOf<ProductEventType>;
type Published = EventData<'ProductPublished'>;

export type ProductCommand =
  | ({ type: 'PublishProduct' } & Published)
  | { type: 'WithdrawProduct'; reason: string };

export type ProductRejection = 'product_unknown';

export type ProductState = Published & { status: 'published' | 'withdrawn' };

/** A product of the catalog. What stands there already is not written again, whoever sends it. */
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

const publish = (state: ProductState | undefined, { product: asked, stock }: Published) => {
  const data = { product: asked, stock };
  if (state?.status !== 'published') return accept<Event>({ type: 'ProductPublished', data });
  if (!isSame(state.product, asked)) return accept<Event>({ type: 'ProductRevised', data });
  if (isSame(state.stock, stock)) return accept<Event>();
  const { product_id } = asked;
  return accept<Event>({ type: 'ProductStockObserved', data: { product_id, stock } });
};

/** Order of members does not make a product another one; what is absent does not either. */
const isSame = (one: object, other: object): boolean => textOf(one) === textOf(other);

const textOf = (value: object): string =>
  JSON.stringify(
    Object.entries(value)
      .filter(([, member]) => member !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );
