/** A product: imported, changed and withdrawn. */
import type { EventData, EventOf, ProductEventType } from '#contracts/registries/events.ts';
import { accept, type Decider, reject, isSameValue } from '#src/shared/decider.ts';

type Event = EventOf<ProductEventType>;
type Published = EventData<'ProductPublished'>;

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
