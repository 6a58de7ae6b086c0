import type { EventData } from '#contracts/events/index.ts';
import type { StoredEvent } from '#src/ports/event-log.ts';
import { LogUnavailable, NO_STREAM } from '#src/ports/event-log.ts';
import { attribute } from '../attribution.ts';
import type { DeskCall } from '../call.ts';
import { unkeyed } from '../call.ts';
import { awaitOwnWrite } from '../consistency.ts';
import { digestOf, nameOf } from '../hash.ts';
import { done, refuse } from '../outcome.ts';
import type { DeskDeps, DeskHandler, DeskInput } from './handler.ts';

type Entry = DeskInput<'importProducts'>['products'][number];
type Change = 'appended' | 'unchanged';

const streamOfSku = (sku: string): string => `catalog-product_${nameOf('product', sku)}`;
const productIdOf = (sku: string): string => `prd_${nameOf('product', sku)}`;

const ATTEMPTS_MAX = 4;

/** Order of members does not make a product another one; what is absent does not either. */
const contentOf = (product: object): string =>
  digestOf(
    JSON.stringify(
      Object.entries(product)
        .filter(([, value]) => value !== undefined)
        .sort(([a], [b]) => (a < b ? -1 : 1)),
    ),
  );

/** Appends what is new of one product, and nothing when nothing is; `found` is what was read of it. */
const publish = async (
  deps: DeskDeps,
  call: DeskCall,
  { product, stock }: Entry,
  found: readonly StoredEvent[],
): Promise<Change> => {
  const stream = streamOfSku(product.sku);
  const full = { product_id: productIdOf(product.sku), ...product };
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const stored = attempt === 0 ? found : await deps.log.readStream(stream);
    const last = stored.findLast(({ type }) => type !== 'ProductStockObserved');
    const type = last && last.type !== 'ProductWithdrawn' ? 'ProductRevised' : 'ProductPublished';
    const before = last as { data: EventData<'ProductPublished'> } | undefined;
    const sameContent =
      type === 'ProductRevised' && before && contentOf(before.data.product) === contentOf(full);
    const newest = stored.at(-1) as { data: { stock?: Entry['stock'] } } | undefined;
    const seen = newest?.data.stock;
    const sameStock =
      seen?.level === stock.level && seen.available_quantity === stock.available_quantity;
    if (sameContent && sameStock) return 'unchanged';
    const event = sameContent
      ? { type: 'ProductStockObserved', data: { product_id: full.product_id, stock } }
      : { type, data: { product: full, stock } };
    const result = await deps.log.append(
      stream,
      stored.length === 0 ? NO_STREAM : stored.length - 1,
      attribute(call, [event], deps.ids),
    );
    if (result.outcome === 'appended') return 'appended';
  }
  throw new LogUnavailable('overloaded', 'no', `product ${product.sku} is written by many at once`);
};

/**
 * Idempotent by content rather than by key: what stands in the log already is not written again,
 * whoever sends it, so a broken import is simply sent again.
 */
export const importProducts: DeskHandler<'importProducts'> = async (deps, { products }, call) => {
  const skus = new Set<string>();
  for (const [index, { product }] of products.entries()) {
    const { sku, moq, increment, price_tiers } = product;
    if (skus.has(sku) || price_tiers.length === 0 || moq < 1 || increment < 1)
      return refuse('validation_failed', 'Some products are not valid.', {
        errors: [
          {
            pointer: `/products/${index}`,
            code: skus.has(sku) ? 'duplicate' : 'invalid',
            detail: 'needs its own sku, a price tier, and a moq and increment of at least 1',
          },
        ],
      });
    skus.add(sku);
  }
  const importing = unkeyed(call);
  // A server answers reads in any order; with all of them at hand the log keeps that of the import.
  const found = await Promise.all(
    products.map(({ product }) => deps.log.readStream(streamOfSku(product.sku))),
  );
  const changes = await Promise.all(
    products.map((entry, n) => publish(deps, importing, entry, found[n] ?? [])),
  );
  const appended = changes.filter((change) => change === 'appended').length;
  const { position } = await deps.log.head();
  return done(
    { read: products.length, appended, unchanged: products.length - appended },
    appended > 0 ? { position } : {},
  );
};

export const withdrawProduct: DeskHandler<'withdrawProduct'> = async (
  deps,
  { sku, reason },
  call,
) => {
  const stream = streamOfSku(sku);
  const stored = await deps.log.readStream(stream);
  if (stored.length === 0) return refuse('resource_not_found', 'The catalog has no such sku.');
  const answer = { sku, status: 'withdrawn' as const };
  if (stored.at(-1)?.type === 'ProductWithdrawn') return done(answer);
  const data = { product_id: productIdOf(sku), reason };
  const events = attribute(call, [{ type: 'ProductWithdrawn', data }], deps.ids);
  const result = await deps.log.append(stream, stored.length - 1, events);
  if (result.outcome === 'conflict')
    return refuse('state_conflict', 'The product was changed at this moment; look again.');
  await awaitOwnWrite(deps, result.position);
  return done(answer, { position: result.position });
};
