/** The operations that import products and withdraw them. */
import type { z } from 'zod';
import { type catalogDeskOperations, needsConfirmation } from '#contracts/catalog/operations.ts';
import { LIMITS } from '#contracts/limits.ts';
import type { Deps } from '#src/calls/handlers.ts';
import type { DeskHandler, DeskInput } from '#src/calls/desk-handler.ts';
import {
  differencesOf,
  type MergeFault,
  mergeProduct,
  type MergeRules,
  product as productDecider,
  type ProductState,
  type Published,
} from './product.decider.ts';
import { LogUnavailable, type Position, type StoredEvent } from '#src/ports/event-log.ts';
import type { DeskCall } from '#src/shared/call.ts';
import { decideAndAppend, issue, changeRecord } from '#src/writing/decide-and-append.ts';
import { foldOf, nameOf, streamOf } from '#src/writing/streams.ts';
import { answerOnce, claimKeyOrResume } from '#src/writing/idempotency.ts';
import { refuseRejected } from '#src/writing/rejections.ts';
import { done, isRefusal, type Refusal, refuse } from '#src/shared/outcome.ts';

type Input = DeskInput<'importProducts'>;
type Entry = Input['products'][number];
type DeskAnswer = z.output<(typeof catalogDeskOperations)['importProducts']['output']>;

/** The owner of the product streams. */
const CATALOG = 'catalog';

export const productIdOfSku = (sku: string): string => `prd_${nameOf('product', sku)}`;
const streamOfSku = (sku: string): string => streamOf(CATALOG, 'product', productIdOfSku(sku));

const NO_PRODUCT = refuse('resource_not_found', 'The catalog has no such sku.');
const CHANGED_SINCE = refuse('state_conflict', 'The product was changed since the import began.');
const BREAKS_RULES = refuse('validation_failed', 'The product breaks a rule of the catalog.');

const ENDED_REASON = 'No longer offered';

type Rejected = DeskAnswer['rejected'][number];
/** What became of a product, or would become of it. */
type Effect = {
  kind: 'new' | 'changed' | 'republished' | 'unchanged' | 'rejected';
  rejected?: Rejected[];
  change?: NonNullable<DeskAnswer['changes']>[number];
};

const rulesOf = ({ source, replace, allow_free }: Input, sku: string): MergeRules => ({
  product_id: productIdOfSku(sku),
  source,
  replace,
  allowFree: allow_free,
});

const rejectedBy = (faults: readonly MergeFault[], index: number, sku: string): Effect => ({
  kind: 'rejected',
  rejected: faults.map((fault) => ({ index, sku, ...fault })),
});

const kindOf = (before: ProductState | undefined, isChanged: boolean): Effect['kind'] => {
  if (!isChanged) return 'unchanged';
  if (!before) return 'new';
  return before.status === 'withdrawn' ? 'republished' : 'changed';
};

/** Says what the import of a product would change. */
const preview = (input: Input, { entry, index, state }: Planned): Effect => {
  const { sku } = entry.product;
  const merged = mergeProduct(state, entry, rulesOf(input, sku));
  if (!merged.ok) return rejectedBy(merged.faults, index, sku);
  const fields = state ? differencesOf(state, merged) : [];
  const kind = kindOf(state, fields.length > 0 || !state);
  if (kind === 'unchanged') return { kind };
  const change = kind === 'new' ? ('new' as const) : ('changed' as const);
  const { currency } = merged.product;
  return { kind, change: { sku, change, currency, fields: fields as Change['fields'] } };
};

type Change = NonNullable<DeskAnswer['changes']>[number];
type Planned = { entry: Entry; index: number; state: ProductState | undefined };

/** Reads the streams of these SKUs. */
const readAll = (deps: Deps, skus: readonly string[]): Promise<(readonly StoredEvent[])[]> =>
  Promise.all(skus.map((sku) => deps.log.readStream(streamOfSku(sku))));

/** Waits for all writes before it throws for one that too many others prevented. */
const allWritten = async <One extends { ok: boolean }>(
  writing: readonly Promise<One>[],
  refusals: readonly unknown[],
): Promise<One[]> => {
  await Promise.allSettled(writing);
  const written = await Promise.all(writing);
  if (written.some((one) => !one.ok && !refusals.includes(one)))
    throw new LogUnavailable(
      'overloaded',
      'no',
      'too many writers changed one product at the same time',
    );
  return written;
};

const NOT_AS_SHOWN: MergeFault = {
  field: 'sku',
  detail: 'was changed after the preview. Look at a new preview',
};

/** Rejects a product that would change otherwise than the dry run showed, because others have changed it since. */
const faultsOfPreview = (
  { unchanged_since = Infinity }: Input,
  now: { position: Position; state: ProductState | undefined; merged: Published },
): MergeFault[] =>
  now.position > unchanged_since && now.state && differencesOf(now.state, now.merged).length > 0
    ? [NOT_AS_SHOWN]
    : [];

/** Appends the changes of each product, and says what became of it. */
const publish = async (
  deps: Deps,
  call: DeskCall,
  { input, since }: { input: Input; since: Position },
): Promise<Effect[]> => {
  const { products } = input;
  // Reads all streams before the first append, so that the log keeps the order of the import.
  const streams = await readAll(
    deps,
    products.map(({ product }) => product.sku),
  );
  const rejected = new Map<number, Effect>();
  const written = await allWritten(
    products.map((entry, index) =>
      decideAndAppend(deps, call, {
        stream: streamOfSku(entry.product.sku),
        decider: productDecider,
        expected: streams[index] ?? [],
        command: (state, stored) => {
          const position = stored.at(-1)?.position ?? 0;
          if (position > since) return CHANGED_SINCE;
          const { sku } = entry.product;
          const merged = mergeProduct(state, entry, rulesOf(input, sku));
          const faults = merged.ok
            ? faultsOfPreview(input, { position, state, merged })
            : merged.faults;
          if (merged.ok && faults.length === 0)
            return issue({
              type: 'PublishProduct' as const,
              product: merged.product,
              stock: merged.stock,
            });
          rejected.set(index, rejectedBy(faults, index, sku));
          return BREAKS_RULES;
        },
      }),
    ),
    [CHANGED_SINCE, BREAKS_RULES],
  );
  return written.map(
    (one, index) =>
      (!one.ok && rejected.get(index)) || {
        kind: kindOf(one.ok ? one.before : undefined, one.ok && one.position !== undefined),
      },
  );
};

const faultIn = ({ products, source, ends_absent, dry_run }: Input): Refusal | undefined => {
  const invalid = (pointer: string, code: string, detail: string) =>
    refuse('validation_failed', 'The import is not valid.', {
      errors: [{ pointer, code, detail }],
    });
  const skus = new Set<string>();
  for (const [index, { product }] of products.entries()) {
    if (skus.has(product.sku))
      return invalid(`/products/${index}/product/sku`, 'duplicate', 'occurs twice in this import');
    skus.add(product.sku);
  }
  if (ends_absent && !dry_run && source === undefined)
    return invalid('/source', 'required', 'ends_absent ends the products of one source; name it');
  return undefined;
};

type Absent = Pick<DeskAnswer, 'ended' | 'of_source' | 'ended_skus' | 'has_more'>;

/** The products of the source that this import does not name, once the catalog has everything that was written. */
const findAbsent = async (deps: Deps, input: Input): Promise<Absent | Refusal> => {
  const { source = '', after, until, present = [], products, confirmed, dry_run } = input;
  const { position } = await deps.log.head();
  if (!(await deps.following.passed(position, LIMITS.CONSISTENCY_WAIT_MS_MAX)))
    return refuse('read_model_rebuilding', 'The catalog is behind the log.', { retryAfterS: 1 });
  const named = new Set([...present, ...products.map(({ product }) => product.sku)]);
  const ofSource = deps.catalog.skusOf(source, { after, until });
  const absent = ofSource.filter((sku) => !named.has(sku));
  const [ended, of_source] = [absent.length, ofSource.length];
  if (!dry_run && !confirmed && needsConfirmation(ended, of_source))
    return refuse(
      'state_conflict',
      `${ended} of ${of_source} products of ${source} are absent from the feed, more than a fifth. Nothing was ` +
        'changed. If the feed is complete, send confirmed: true.',
    );
  const ended_skus = absent.slice(0, LIMITS.IMPORT_PRODUCTS_MAX);
  return { ended, of_source, ended_skus, has_more: ended > ended_skus.length };
};

/** Withdraws products that are still of the source. */
const endProducts = async (
  deps: Deps,
  call: DeskCall,
  { skus, source, since }: { skus: readonly string[]; source: string | undefined; since: Position },
): Promise<string[]> => {
  const streams = await readAll(deps, skus);
  const written = await allWritten(
    skus.map((sku, index) =>
      decideAndAppend(deps, call, {
        stream: streamOfSku(sku),
        decider: productDecider,
        expected: streams[index] ?? [],
        command: (state, stored) =>
          state?.product.source !== source || (stored.at(-1)?.position ?? 0) > since
            ? CHANGED_SINCE
            : issue({ type: 'WithdrawProduct' as const, reason: ENDED_REASON }),
      }),
    ),
    [CHANGED_SINCE],
  );
  return skus.filter((_, index) => {
    const one = written[index];
    return one?.ok && one.position !== undefined;
  });
};

const summed = (effects: readonly Effect[]) => {
  const count = (...kinds: Effect['kind'][]): number =>
    effects.filter(({ kind }) => kinds.includes(kind)).length;
  return {
    read: effects.length,
    new: count('new'),
    changed: count('changed', 'republished'),
    republished: count('republished'),
    unchanged: count('unchanged'),
    rejected: effects.flatMap(({ rejected = [] }) => rejected),
  };
};

const dryRun = async (deps: Deps, input: Input, absent: Absent): Promise<DeskAnswer> => {
  const { products } = input;
  const { position } = await deps.log.head();
  const streams = await readAll(
    deps,
    products.map(({ product }) => product.sku),
  );
  const effects = products.map((entry, index) =>
    preview(input, { entry, index, state: foldOf(productDecider, streams[index] ?? []) }),
  );
  const changes = effects.flatMap(({ change }) => change ?? []);
  return { ...summed(effects), changes, position, ...absent };
};

/**
 * Imports products, idempotent by key and by content: a product that is stored already appends nothing.
 * A retry of an interrupted import continues it, and skips products that were changed since it began.
 */
export const importProducts: DeskHandler<'importProducts'> = async (deps, input, call) => {
  const fault = faultIn(input);
  if (fault) return fault;
  const findOrNothing = async (): Promise<Absent | Refusal> =>
    input.ends_absent ? findAbsent(deps, input) : {};
  if (input.dry_run) {
    const absent = await findOrNothing();
    return isRefusal(absent) ? absent : done(await dryRun(deps, input, absent));
  }
  const work = async () => {
    const absent = await findOrNothing();
    if (isRefusal(absent)) return absent;
    const bound = await claimKeyOrResume(deps, call, CATALOG);
    if (!bound.ok) return bound;
    const { since = Infinity } = bound;
    const imported = summed(await publish(deps, call, { input, since }));
    if (!absent.ended_skus) return done(imported);
    const { source } = input;
    const shown = Math.min(since, input.unchanged_since ?? Infinity);
    const skus = await endProducts(deps, call, { skus: absent.ended_skus, source, since: shown });
    return done({ ...imported, ...absent, ended: skus.length, ended_skus: skus });
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
