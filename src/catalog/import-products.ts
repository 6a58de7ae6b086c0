/** The operations that import products and withdraw them. */
import type { Deps } from '#src/calls/handlers.ts';
import type { DeskHandler, DeskInput } from '#src/calls/desk-handler.ts';
import { product as productDecider } from './product.decider.ts';
import { LogUnavailable, type Position } from '#src/ports/event-log.ts';
import type { DeskCall } from '#src/shared/call.ts';
import { decideAndAppend, issue, changeRecord } from '#src/writing/decide-and-append.ts';
import { nameOf, streamOf } from '#src/writing/streams.ts';
import { answerOnce, claimKeyOrResume } from '#src/writing/idempotency.ts';
import { refuseRejected } from '#src/writing/rejections.ts';
import { done, type Refusal, refuse } from '#src/shared/outcome.ts';

type Entry = DeskInput<'importProducts'>['products'][number];

/** The owner of the product streams. */
const CATALOG = 'catalog';

export const productIdOfSku = (sku: string): string => `prd_${nameOf('product', sku)}`;
const streamOfSku = (sku: string): string => streamOf(CATALOG, 'product', productIdOfSku(sku));

const NO_PRODUCT = refuse('resource_not_found', 'The catalog has no such sku.');
const CHANGED_SINCE = refuse('state_conflict', 'The product was changed since the import began.');

/** Appends the changes of each product; counts the products that changed and those that had been withdrawn. */
const publish = async (
  deps: Deps,
  call: DeskCall,
  { products, since }: { products: readonly Entry[]; since: Position },
): Promise<{ appended: number; republished: number }> => {
  // Reads all streams before the first append, so that the log keeps the order of the import.
  const streams = await Promise.all(
    products.map(({ product }) => deps.log.readStream(streamOfSku(product.sku))),
  );
  const publishing = products.map(({ product, stock }, n) =>
    decideAndAppend(deps, call, {
      stream: streamOfSku(product.sku),
      decider: productDecider,
      expected: streams[n] ?? [],
      command: (_state, stored) =>
        (stored.at(-1)?.position ?? 0) > since
          ? CHANGED_SINCE
          : issue({
              type: 'PublishProduct' as const,
              product: { product_id: productIdOfSku(product.sku), ...product },
              stock,
            }),
    }),
  );
  // Waits for all of them before it throws for one.
  await Promise.allSettled(publishing);
  const written = await Promise.all(publishing);
  if (written.some((one) => !one.ok && one !== CHANGED_SINCE))
    throw new LogUnavailable(
      'overloaded',
      'no',
      'too many writers changed one product at the same time',
    );
  const appended = written.filter((one) => one.ok && one.position !== undefined);
  const republished = appended.filter((one) => one.ok && one.before?.status === 'withdrawn');
  return { appended: appended.length, republished: republished.length };
};

const faultIn = (products: readonly Entry[]): Refusal | undefined => {
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
  return undefined;
};

/**
 * Imports products, idempotent by key and by content: a product that is stored already appends nothing.
 * A retry of an interrupted import continues it, and skips products that were changed since it began.
 */
export const importProducts: DeskHandler<'importProducts'> = async (deps, { products }, call) => {
  const fault = faultIn(products);
  if (fault) return fault;
  const work = async () => {
    const bound = await claimKeyOrResume(deps, call, CATALOG);
    if (!bound.ok) return bound;
    const { since = Infinity } = bound;
    const { appended, republished } = await publish(deps, call, { products, since });
    const unchanged = products.length - appended;
    return done({ read: products.length, appended, unchanged, republished });
  };
  return answerOnce(deps, call, { stream: CATALOG, work });
};

export const withdrawProduct: DeskHandler<'withdrawProduct'> = (deps, { sku, reason }, call) =>
  changeRecord(deps, call, {
    ownerId: call.ownerId,
    stream: streamOfSku(sku),
    decider: productDecider,
    command: () => issue({ type: 'WithdrawProduct' as const, reason }),
    refusal: (rejection) => refuseRejected(rejection, NO_PRODUCT),
    render: () => ({ sku, status: 'withdrawn' as const }),
  });
