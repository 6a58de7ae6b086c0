/** The command that imports a product feed. */
import { accessSync, constants, createReadStream, statSync } from 'node:fs';
import { needsConfirmation, type ProductChange } from '#contracts/catalog/operations.ts';
import { LIMITS } from '#contracts/limits.ts';
import { columnOfField, type FeedFault, type FeedFormat, readFeed } from '#src/catalog/feed.ts';
import { withDesk } from '#src/cli/desk.ts';
import { isAgreed } from '#src/cli/effects.ts';
import type { Desk, DeskAnswer } from '#src/cli/transport.ts';
import { moneyText } from '#src/shared/cells.ts';
import type { CommonOptions } from '../options.ts';
import {
  canAsk,
  CommandError,
  EXIT,
  formatCount,
  formatPlural,
  print,
  printNotice,
  startProgress,
} from '#src/cli/terminal.ts';

/** Below the limits of the desk on products, bytes and members of a body, for any products. */
const BATCH = {
  products: 250,
  bytes: LIMITS.BODY_BYTES_MAX / 2,
  members: LIMITS.JSON_MEMBERS_MAX / 2,
};

const FORMATS: Record<string, FeedFormat> = { csv: 'csv', tsv: 'tsv', ndjson: 'ndjson' };

type ImportOptions = CommonOptions & {
  strict?: boolean;
  source?: string;
  replace?: boolean;
  dryRun?: boolean;
  allowFree?: boolean;
  endsAbsent?: boolean;
  yes?: boolean;
};
/** Counts of rows: each row that was read is new, changed, unchanged or rejected. */
type Totals = { read: number; new: number; changed: number; unchanged: number; rejected: number };
/** Products of the source that the feed does not have: how many, of how many, and how many of them ended. */
type Absent = { absent: number; of_source: number; ended: number };

const NOTHING: Totals & { ended: number } = {
  read: 0,
  new: 0,
  changed: 0,
  unchanged: 0,
  rejected: 0,
  ended: 0,
};

const formatOf = (file: string): FeedFormat => {
  const ending = /\.([a-z]+)$/i.exec(file)?.[1]?.toLowerCase() ?? '';
  const format = FORMATS[ending];
  if (format) return format;
  throw new CommandError(EXIT.usage, `${file}: the ending must be .csv, .tsv or .ndjson`);
};

const unreadableError = (exit: number, file: string, error: unknown): CommandError =>
  new CommandError(exit, `${file} cannot be read: ${(error as Error).message}`);

/** Returns the size in bytes, and throws a usage error for a file that this user cannot read. */
const sizeOf = (file: string): number => {
  let stats;
  try {
    stats = statSync(file, { throwIfNoEntry: false });
    if (stats) accessSync(file, constants.R_OK);
  } catch (error) {
    throw unreadableError(EXIT.usage, file, error);
  }
  if (stats?.isFile()) return stats.size;
  throw new CommandError(EXIT.usage, `${file} ${stats ? 'is not a file' : 'does not exist'}`);
};

const faultText = (file: string, { line, column, reason }: FeedFault): string =>
  `${file}:${line}: ${column === undefined ? '' : `${column} `}${reason}`;

type FeedFile = { file: string; format: FeedFormat; size: number };
type FeedRows = {
  /** Called for each good row, in order. */
  onProduct(product: ProductChange, line: number): Promise<void>;
  onFault(fault: FeedFault): void;
  onRead(bytes: number): void;
};

async function* bytesOf(file: string, onRead: FeedRows['onRead']): AsyncIterable<Buffer> {
  let read = 0;
  try {
    for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
      yield chunk;
      read += chunk.length;
      onRead(read);
    }
  } catch (error) {
    throw unreadableError(EXIT.refused, file, error);
  }
}

/** Reads a feed, and prints its faults. Throws CommandError for a fault of the whole file. */
const readRows = async (
  { file, format }: FeedFile,
  { onProduct, onFault, onRead }: FeedRows,
): Promise<void> => {
  for await (const item of readFeed(format, bytesOf(file, onRead))) {
    if ('product' in item) await onProduct(item.product, item.line);
    else if ('ofFile' in item) {
      const text = `nothing was imported: ${faultText(file, item)}`;
      throw new CommandError(EXIT.refused, text, NOTHING);
    } else if ('reason' in item) onFault(item);
    else if ('note' in item) printNotice(faultText(file, { ...item, reason: item.note }));
    else printNotice(`${file}: ignored unknown columns: ${item.unknown_columns.join(', ')}`);
  }
};

/** The number of values in a JSON value, as the desk counts them. */
const membersOf = (value: unknown): number =>
  typeof value === 'object' && value !== null
    ? Object.values(value).reduce<number>((sum, member) => sum + membersOf(member), 1)
    : 1;

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

type Changes = NonNullable<DeskAnswer<'importProducts'>['changes']>;

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

const changeText = ({ sku, change, fields, currency }: Changes[number]): string => {
  if (change === 'new') return `new ${sku}`;
  const texts = fields.map(({ field, before, after }) => {
    const text = (value: unknown) =>
      field === 'price_tiers' ? tiersText(value, currency) : valueText(value);
    return `${columnOfField(field)} ${text(before)} -> ${text(after)}`;
  });
  return `changed ${sku}: ${texts.join('; ')}`;
};

type Pass = { dryRun: boolean; showsChanges: boolean };
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

/** Sends the products of a feed in batches, and sums up what became of them. */
class FeedSender {
  readonly #desk: Desk;
  readonly #asked: Asked;
  readonly #pass: Pass;
  readonly #batch = new Batch();
  readonly rows = new ReadRows();
  /** `republished`: how many of those changed had been withdrawn. */
  readonly sums = { new: 0, changed: 0, unchanged: 0, republished: 0 };

  constructor(desk: Desk, asked: Asked, pass: Pass) {
    this.#desk = desk;
    this.#asked = asked;
    this.#pass = pass;
  }

  reject(fault: FeedFault): void {
    this.rows.reject(fault);
    printNotice(faultText(this.#asked.feed.file, fault));
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
    const { source, replace, allowFree, json } = this.#asked.options;
    const answer = await this.#desk.call('importProducts', {
      products: sent.map(({ product }) => product),
      source,
      replace,
      allow_free: allowFree,
      dry_run: this.#pass.dryRun,
    });
    for (const count of ['new', 'changed', 'unchanged', 'republished'] as const)
      this.sums[count] += answer[count];
    for (const { index, sku, field, detail } of answer.rejected) {
      const line = sent[index]?.line ?? 0;
      this.reject({ line, column: columnOfField(field), reason: detail, ids: [sku] });
    }
    if (!this.#pass.showsChanges) return;
    for (const change of answer.changes ?? [])
      print(json ? JSON.stringify(change) : changeText(change));
  }

  totals(): Totals {
    const { republished: _, ...counts } = this.sums;
    const rejected = this.rows.rejected.size;
    return {
      read: counts.new + counts.changed + counts.unchanged + rejected,
      ...counts,
      rejected,
    };
  }
}

type Asked = { feed: FeedFile; options: ImportOptions };

/** Reads the feed to its end, and sends its products. */
const sendFeed = async (desk: Desk, asked: Asked, pass: Pass): Promise<FeedSender> => {
  const { feed } = asked;
  const sender = new FeedSender(desk, asked, pass);
  const describeDone = () =>
    `at least ${formatCount(sender.sums.new)} new, ${formatCount(sender.sums.changed)} changed`;
  const bar = startProgress({ label: feed.file, total: feed.size, unit: 'bytes', describeDone });
  try {
    await readRows(feed, {
      onRead: (read) => bar.update(read),
      onFault: (fault) => sender.reject(fault),
      onProduct: (product, line) => sender.add({ product, line }),
    });
    await sender.send();
    return sender;
  } finally {
    bar.stop();
  }
};

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

/** Counts the products of the source that the feed does not have, and shows some of them. */
const countAbsent = async (
  desk: Desk,
  parts: readonly Part[],
  { source, endsAbsent = false, dryRun = false, json = false }: ImportOptions,
): Promise<{ absent: number; of_source: number; skus: string[]; concerned: Part[] }> => {
  const found = { absent: 0, of_source: 0, skus: [] as string[], concerned: [] as Part[] };
  for (const part of parts) {
    const request = { products: [], source, ends_absent: true, dry_run: true, ...part };
    const {
      ended = 0,
      of_source = 0,
      ended_skus = [],
    } = await desk.call('importProducts', request);
    found.absent += ended;
    found.of_source += of_source;
    if (found.skus.length < SHOWN_SKUS) found.skus.push(...ended_skus.slice(0, SHOWN_SKUS));
    if (ended > 0) found.concerned.push(part);
    if (!endsAbsent || !dryRun) continue;
    for (const sku of ended_skus)
      print(json ? JSON.stringify({ sku, change: 'ended' }) : `ended ${sku}`);
  }
  return found;
};

const SHOWN_SKUS = 10;

/** Ends the products that are absent from parts of the feed. */
const endAbsent = async (
  desk: Desk,
  parts: readonly Part[],
  source: string | undefined,
): Promise<number> => {
  let total = 0;
  for (const part of parts)
    for (let hasMore = true; hasMore; ) {
      const request = { products: [], source, ends_absent: true, confirmed: true, ...part };
      const { ended = 0, has_more = false } = await desk.call('importProducts', request);
      total += ended;
      hasMore = has_more && ended > 0;
    }
  return total;
};

const absentText = (
  found: { absent: number; of_source: number; skus: string[] },
  source?: string,
) => {
  const shown = found.skus.slice(0, SHOWN_SKUS);
  const more = found.absent > shown.length ? ', …' : '';
  const of = source === undefined ? 'products without a source' : `products of ${source}`;
  return `${formatCount(found.absent)} of ${formatCount(found.of_source)} ${of} are not in the feed: ${shown.join(', ')}${more}`;
};

/** Counts what the feed no longer has and, if asked to, ends it. A part of a feed that was rejected stays. */
const settleAbsent = async (
  desk: Desk,
  sender: FeedSender,
  options: ImportOptions,
): Promise<Absent> => {
  const { source, endsAbsent = false, dryRun = false, yes = false } = options;
  const { rows } = sender;
  const found = await countAbsent(desk, partsOf(rows.skus), options);
  const { absent, of_source, concerned } = found;
  const counts = { absent, of_source };
  if (absent === 0) return { ...counts, ended: 0 };
  printNotice(absentText(found, source));
  if (!endsAbsent) {
    printNotice(
      source === undefined
        ? 'They stay for sale. To end what a feed no longer has, import it with --source NAME, then with --ends-absent too.'
        : 'They stay for sale. --ends-absent withdraws them.',
    );
    return { ...counts, ended: 0 };
  }
  const notEnded = (reason: string): CommandError => {
    const totals = { ...sender.totals(), ...counts, ended: 0 };
    if (!options.json) print(totalsText(totals, sender.sums));
    return new CommandError(EXIT.refused, `nothing was ended: ${reason}`, totals);
  };
  const [unnamed] = rows.unnamed;
  if (unnamed !== undefined)
    throw notEnded(
      `line ${unnamed} can be of any product, because its id cannot be read. Correct it, and import the feed again.`,
    );
  if (dryRun) return { ...counts, ended: absent };
  if (needsConfirmation(absent, of_source) && !yes) {
    const why = 'this is more than a fifth of them, as if the feed were cut off.';
    if (!canAsk(options)) throw notEnded(`${why} If it is complete, repeat with --yes.`);
    const lines = ['They leave search, pages and landing pages, although', why];
    if (!(await isAgreed({ lines: [lines.join(' ')] }))) throw notEnded('it was not confirmed.');
  }
  return { ...counts, ended: await endAbsent(desk, concerned, source) };
};

const totalsText = (
  { read, unchanged, rejected, ...totals }: Totals & { ended: number },
  { dryRun = false, republished }: { dryRun?: boolean; republished: number },
): string => {
  const again =
    republished > 0 ? ` (${formatCount(republished)} republished after a withdrawal)` : '';
  const counts =
    `${formatCount(totals.new)} new, ${formatCount(totals.changed)} changed${again}, ` +
    `${formatCount(unchanged)} unchanged, ${formatCount(totals.ended)} ended, ${formatCount(rejected)} rejected.`;
  return `${formatPlural(read, 'row')} read: ${counts}${dryRun ? ' Dry run: nothing was written.' : ''}`;
};

/** Reads the whole file without a write, and throws if a row would be rejected. */
const requireClean = async (desk: Desk, asked: Asked): Promise<void> => {
  const sender = await sendFeed(desk, asked, { dryRun: true, showsChanges: false });
  const totals = sender.totals();
  if (totals.rejected === 0) return;
  const { file } = asked.feed;
  const text = `nothing was imported: ${formatPlural(totals.rejected, 'bad line')} in ${file}`;
  throw new CommandError(EXIT.refused, text, {
    ...NOTHING,
    read: totals.read,
    rejected: totals.read,
  });
};

export const importCatalog = async (file: string, options: ImportOptions): Promise<void> => {
  const feed = { file, format: formatOf(file), size: sizeOf(file) };
  const { dryRun = false, endsAbsent, source, strict } = options;
  if (endsAbsent && source === undefined)
    throw new CommandError(
      EXIT.usage,
      '--ends-absent ends the products of one source: name it with --source NAME',
    );
  const asked = { feed, options };
  const { totals, republished } = await withDesk(options, async (desk) => {
    if (strict && !dryRun) await requireClean(desk, asked);
    const sender = await sendFeed(desk, asked, { dryRun, showsChanges: dryRun });
    const sent = sender.totals();
    if (sent.rejected > 0 && sent.rejected === sent.read) {
      const text = `nothing was imported: every line of ${file} is bad`;
      throw new CommandError(EXIT.refused, text, { ...sent, ended: 0 });
    }
    const absent = await settleAbsent(desk, sender, options);
    return { totals: { ...sent, ...absent }, republished: sender.sums.republished };
  });
  if (!options.json) print(totalsText(totals, { dryRun, republished }));
  if (totals.rejected > 0) {
    const text = `${formatPlural(totals.rejected, 'line')} of ${file} ${totals.rejected === 1 ? 'was' : 'were'} rejected`;
    throw new CommandError(EXIT.differs, text, totals);
  }
  if (options.json) print(JSON.stringify(totals));
};
