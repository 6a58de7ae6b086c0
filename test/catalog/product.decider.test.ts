import { describe, expect, it } from 'vitest';
import type { EventData } from '#contracts/registries/events.ts';
import { product } from '#src/catalog/product.decider.ts';
import { specify } from '../support/world/decider-spec.ts';

type Published = EventData<'ProductPublished'>;

const MUG: Published['product'] = {
  product_id: 'prd_1',
  sku: 'MUG-1',
  title: 'Mug',
  description: 'A mug',
  category: 'Gifts',
  currency: 'GBP',
  moq: 4,
  increment: 2,
  price_tiers: [{ min_quantity: 4, unit_price: 250 }],
};
const STOCK: Published['stock'] = { level: 'in_stock', available_quantity: 9 };
const published = { type: 'ProductPublished' as const, data: { product: MUG, stock: STOCK } };
const withdrawn = {
  type: 'ProductWithdrawn' as const,
  data: { product_id: 'prd_1', reason: 'Gone' },
};
const publish = (over: Partial<Published['product']> = {}, stock = STOCK) => ({
  type: 'PublishProduct' as const,
  product: { ...MUG, ...over },
  stock,
});
const withdraw = { type: 'WithdrawProduct' as const, reason: 'Gone' };
const spec = specify(product);

describe('A product', () => {
  it('A product is published once, and revised if its content differs', () => {
    spec.given().when(publish()).then(published);
    spec.given(published).when(publish()).then();
    const data = { product: { ...MUG, title: 'Cup' }, stock: STOCK };
    spec
      .given(published)
      .when(publish({ title: 'Cup' }))
      .then({ type: 'ProductRevised', data });
  });

  it('A product is equal regardless of the order of its members and of undefined members', () => {
    const reversed = Object.fromEntries(Object.entries(MUG).reverse()) as Published['product'];
    spec
      .given(published)
      .when(publish({ ...reversed, brand: undefined }))
      .then();
    const turned = { type: 'PublishProduct' as const, product: reversed, stock: STOCK };
    spec.given(published).when(turned).then();
  });

  it('A product records an observation if only its stock changed', () => {
    const stock = { level: 'low' as const, available_quantity: 1 };
    const observed = {
      type: 'ProductStockObserved' as const,
      data: { product_id: 'prd_1', stock },
    };
    const after = spec.given(published).when(publish({}, stock)).then(observed);
    expect(after).toEqual({ product: MUG, stock, status: 'published' });
    spec
      .given(published, observed)
      .when(publish())
      .then({
        type: 'ProductStockObserved',
        data: { product_id: 'prd_1', stock: STOCK },
      });
  });

  it('A product is withdrawn once, only if it exists, and published again by the next feed', () => {
    spec.given(published).when(withdraw).then(withdrawn);
    spec.given(published, withdrawn).when(withdraw).then();
    spec.given().when(withdraw).rejected('product_unknown');
    spec.given(published, withdrawn).when(publish()).then(published);
  });

  it('A product rejects an impossible event', () => {
    expect(() => product.evolve(undefined, { ...withdrawn, at: 1 })).toThrow(/never published/);
  });
});
