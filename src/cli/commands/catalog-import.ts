/** The command that imports a product feed. */
import { accessSync, constants, createReadStream, statSync } from 'node:fs';
import { type FeedFault, type FeedFormat, type ProductInput, readFeed } from '#src/catalog/feed.ts';
import { withDesk } from '#src/cli/desk.ts';
import type { Desk } from '#src/cli/transport.ts';
import type { CommonOptions } from '../options.ts';
import {
  CommandError,
  EXIT,
  formatCount,
  formatPlural,
  printNotice,
  printResult,
  startProgress,
} from '#src/cli/terminal.ts';

/** Below the desk's limit on products, and well below its limit on the bytes of a body. */
const BATCH_PRODUCTS = 250;

const FORMATS: Record<string, FeedFormat> = { csv: 'csv', tsv: 'tsv', ndjson: 'ndjson' };

type ImportOptions = CommonOptions & { strict?: boolean };
/** Counts of rows: each row that was read is appended, unchanged or rejected. */
type Totals = { read: number; appended: number; unchanged: number; rejected: number };

const NOTHING: Totals = { read: 0, appended: 0, unchanged: 0, rejected: 0 };

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
  onProduct?(product: ProductInput): Promise<void>;
  onRead?(bytes: number): void;
};

async function* bytesOf(file: string, onRead: FeedRows['onRead']): AsyncIterable<Buffer> {
  let read = 0;
  try {
    for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
      yield chunk;
      read += chunk.length;
      onRead?.(read);
    }
  } catch (error) {
    throw unreadableError(EXIT.refused, file, error);
  }
}

/** Reads a feed, and prints its faults. Throws CommandError for a fault of the whole file. */
const readRows = async (
  { file, format }: FeedFile,
  { onProduct, onRead }: FeedRows,
): Promise<{ read: number; rejected: number }> => {
  let good = 0;
  // Line numbers: a row with three faults is one rejected row.
  const rejected = new Set<number>();
  for await (const item of readFeed(format, bytesOf(file, onRead))) {
    if ('product' in item) {
      good += 1;
      await onProduct?.(item.product);
    } else if ('ofFile' in item) {
      const text = `nothing was imported: ${faultText(file, item)}`;
      throw new CommandError(EXIT.refused, text, NOTHING);
    } else if ('reason' in item) {
      rejected.add(item.line);
      printNotice(faultText(file, item));
    } else printNotice(`${file}: ignored unknown columns: ${item.unknown_columns.join(', ')}`);
  }
  return { read: good + rejected.size, rejected: rejected.size };
};

/** Reads the whole file without sending anything, and throws if it has a bad line. */
const requireClean = async (feed: FeedFile): Promise<void> => {
  const { read, rejected } = await readRows(feed, {});
  if (rejected === 0) return;
  const text = `nothing was imported: ${formatPlural(rejected, 'bad line')} in ${feed.file}`;
  throw new CommandError(EXIT.refused, text, { ...NOTHING, read, rejected: read });
};

/** Sends the products of a feed in batches. `republished`: how many appended ones had been withdrawn. */
const importFeed = async (
  desk: Desk,
  feed: FeedFile,
): Promise<{ totals: Totals; republished: number }> => {
  const sums = { appended: 0, unchanged: 0, republished: 0 };
  const describeDone = () =>
    `at least ${formatCount(sums.appended)} appended, ${formatCount(sums.unchanged)} unchanged`;
  let batch: ProductInput[] = [];
  const send = async (): Promise<void> => {
    if (batch.length === 0) return;
    const products = batch;
    batch = [];
    const answer = await desk.call('importProducts', { products });
    sums.appended += answer.appended;
    sums.unchanged += answer.unchanged;
    sums.republished += answer.republished;
  };
  const bar = startProgress({ label: feed.file, total: feed.size, unit: 'bytes', describeDone });
  try {
    const rows = await readRows(feed, {
      onRead: (bytes) => bar.update(bytes),
      async onProduct(product) {
        batch.push(product);
        if (batch.length >= BATCH_PRODUCTS) await send();
      },
    });
    await send();
    const { republished, ...counts } = sums;
    return { totals: { read: rows.read, ...counts, rejected: rows.rejected }, republished };
  } finally {
    bar.stop();
  }
};

export const importCatalog = async (file: string, options: ImportOptions): Promise<void> => {
  const feed = { file, format: formatOf(file), size: sizeOf(file) };
  if (options.strict) await requireClean(feed);
  const { totals, republished } = await withDesk(options, (desk) => importFeed(desk, feed));
  const { read, appended, unchanged, rejected } = totals;
  if (rejected > 0 && rejected === read) {
    const text = `nothing was imported: every line of ${file} is bad`;
    throw new CommandError(EXIT.refused, text, totals);
  }
  const again =
    republished > 0 ? ` (${formatCount(republished)} republished after a withdrawal)` : '';
  printResult(
    options,
    totals,
    `${formatPlural(read, 'row')} read: ${formatCount(appended)} appended${again}, ` +
      `${formatCount(unchanged)} unchanged, ${formatCount(rejected)} rejected.`,
  );
};
