/** Imports a feed in calls of importProducts: the command line over HTTP, and the page of the desk in this process. */
import type { z } from 'zod';
import type { catalogDeskOperations, ProductChange } from '#contracts/catalog/operations.ts';
import { LIMITS } from '#contracts/limits.ts';
import { moneyText } from '#src/shared/cells.ts';
import { columnOfField, type FeedFault } from './feed.ts';

type Operation = (typeof catalogDeskOperations)['importProducts'];
type Answer = z.output<Operation['output']>;
/** Calls importProducts with an idempotency key; throws a refusal. */
type ImportCall = (input: Omit<z.input<Operation['input']>, 'idempotency_key'>) => Promise<Answer>;
export type FeedChanges = NonNullable<Answer['changes']>;

/** Below the limits of the desk on products, bytes and members of a body, for any products. */
const BATCH = {
  products: 250,
  bytes: LIMITS.BODY_BYTES_MAX / 2,
  members: LIMITS.JSON_MEMBERS_MAX / 2,
};

/** The number of values in a JSON value, as the desk counts them. */
const membersOf = (value: unknown): number =>
  typeof value === 'object' && value !== null
    ? Object.values(value).reduce<number>((sum, member) => sum + membersOf(member), 1)
    : 1;

type Sent = { line: number; product: ProductChange };

/** Products that one call can have. */
class Batch {
  #sent: Sent[] = [];
  #bytes = 0;
  #members = 0;

  /** Adds a product, unless the batch would be too large with it. */
  add(sent: Sent): boolean {
    const bytes = this.#bytes + Buffer.byteLength(JSON.stringify(sent.product));
    const members = this.#members + membersOf(sent.product);
    const isFull =
      this.#sent.length === BATCH.products || bytes > BATCH.bytes || members > BATCH.members;
    if (isFull && this.#sent.length > 0) return false;
    this.#sent.push(sent);
    [this.#bytes, this.#members] = [bytes, members];
    return true;
  }

  take(): Sent[] {
    const sent = this.#sent;
    [this.#sent, this.#bytes, this.#members] = [[], 0, 0];
    return sent;
  }
}

/** What an import has read: its SKUs, also those of rejected rows, and the lines that were rejected. */
class ReadRows {
  readonly skus = new Set<string>();
  readonly rejected = new Set<number>();
  /** Lines that can be of any product. */
  readonly unnamed = new Set<number>();

  reject({ line, ids = [] }: FeedFault): void {
    this.rejected.add(line);
    for (const id of ids) this.skus.add(id);
    if (ids.length === 0) this.unnamed.add(line);
  }
}

/** Counts of rows: each row that was read is new, changed, unchanged or rejected. */
export type FeedTotals = {
  read: number;
  new: number;
  changed: number;
  unchanged: number;
  rejected: number;
};

export type FeedSettings = {
  source?: string | undefined;
  replace?: boolean | undefined;
  allow_free?: boolean | undefined;
  dry_run?: boolean | undefined;
  unchanged_since?: number | undefined;
};

/** Sends the products of a feed in batches, and sums up what became of them. */
export class FeedSender {
  readonly #call: ImportCall;
  readonly #settings: FeedSettings;
  readonly #hears: { onFault(fault: FeedFault): void; onChanges(changes: FeedChanges): void };
  readonly #batch = new Batch();
  readonly rows = new ReadRows();
  /** `republished`: how many of those changed had been withdrawn. */
  readonly sums = { new: 0, changed: 0, unchanged: 0, republished: 0 };
  /** The position of the first dry run. */
  position: number | undefined;

  constructor(
    call: ImportCall,
    settings: FeedSettings,
    hears: { onFault(fault: FeedFault): void; onChanges(changes: FeedChanges): void },
  ) {
    this.#call = call;
    this.#settings = settings;
    this.#hears = hears;
  }

  reject(fault: FeedFault): void {
    this.rows.reject(fault);
    this.#hears.onFault(fault);
  }

  async add(sent: Sent): Promise<void> {
    this.rows.skus.add(sent.product.product.sku);
    if (this.#batch.add(sent)) return;
    await this.send();
    this.#batch.add(sent);
  }

  async send(): Promise<void> {
    const sent = this.#batch.take();
    if (sent.length === 0) return;
    const products = sent.map(({ product }) => product);
    const answer = await this.#call({ products, ...this.#settings });
    this.position ??= answer.position;
    for (const count of ['new', 'changed', 'unchanged', 'republished'] as const)
      this.sums[count] += answer[count];
    for (const { index, sku, field, detail } of answer.rejected) {
      const line = sent[index]?.line ?? 0;
      this.reject({ line, column: columnOfField(field), reason: detail, ids: [sku] });
    }
    this.#hears.onChanges(answer.changes ?? []);
  }

  totals(): FeedTotals {
    const { republished: _, ...counts } = this.sums;
    const rejected = this.rows.rejected.size;
    return {
      read: counts.new + counts.changed + counts.unchanged + rejected,
      ...counts,
      rejected,
    };
  }
}

const valueText = (value: unknown): string => (value === null ? 'none' : JSON.stringify(value));

const tiersText = (value: unknown, currency: string): string =>
  Array.isArray(value)
    ? (value as { min_quantity: number; unit_price: number }[])
        .map(
          ({ min_quantity, unit_price }) =>
            `${min_quantity}:${moneyText({ amount: unit_price, currency })}`,
        )
        .join('|')
    : valueText(value);

/** What a product would have instead, by column of the feed, as texts. */
export const changedCells = ({ fields, currency }: FeedChanges[number]) =>
  fields.map(({ field, before, after }) => {
    const text = (value: unknown) =>
      field === 'price_tiers' ? tiersText(value, currency) : valueText(value);
    return { column: columnOfField(field), before: text(before), after: text(after) };
  });

/** Compares texts by code point, as the desk orders SKUs. */
const byCodePoint = (one: string, other: string): number =>
  Buffer.compare(Buffer.from(one), Buffer.from(other));

type Part = { present: string[]; after?: string; until?: string };

/** The SKUs of a feed in parts that together concern every SKU there can be. */
const partsOf = (skus: Iterable<string>): Part[] => {
  const sorted = [...skus].sort(byCodePoint);
  const size = LIMITS.IMPORT_PRESENT_MAX;
  return Array.from({ length: Math.max(1, Math.ceil(sorted.length / size)) }, (_, n) => {
    const present = sorted.slice(n * size, (n + 1) * size);
    const after = sorted[n * size - 1];
    const isLast = (n + 1) * size >= sorted.length;
    const until = isLast ? undefined : present.at(-1);
    return {
      present,
      ...(after !== undefined && { after }),
      ...(until !== undefined && { until }),
    };
  });
};

/** Products of a source that a feed does not have: how many, of how many, and the first of them by part. */
export type FeedAbsent = {
  absent: number;
  of_source: number;
  skus: string[];
  /** The parts of the feed that concern them. */
  concerned: Part[];
};

/** Counts the products of the source that the feed does not have. */
export const countAbsent = async (
  call: ImportCall,
  skus: Iterable<string>,
  source: string | undefined,
): Promise<FeedAbsent> => {
  const found: FeedAbsent = { absent: 0, of_source: 0, skus: [], concerned: [] };
  for (const part of partsOf(skus)) {
    const request = { products: [], source, ends_absent: true, dry_run: true, ...part };
    const { ended = 0, of_source = 0, ended_skus = [] } = await call(request);
    found.absent += ended;
    found.of_source += of_source;
    found.skus.push(...ended_skus);
    if (ended > 0) found.concerned.push(part);
  }
  return found;
};

/** Ends the products that are absent from parts of the feed. */
export const endAbsent = async (
  call: ImportCall,
  { concerned }: Pick<FeedAbsent, 'concerned'>,
  settings: Pick<FeedSettings, 'source' | 'unchanged_since'>,
): Promise<number> => {
  let total = 0;
  for (const part of concerned)
    for (let hasMore = true; hasMore; ) {
      const request = { products: [], ...settings, ends_absent: true, confirmed: true, ...part };
      const { ended = 0, has_more = false } = await call(request);
      total += ended;
      hasMore = has_more && ended > 0;
    }
  return total;
};
