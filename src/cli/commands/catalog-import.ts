/** The command that imports a product feed. */
import { accessSync, constants, createReadStream, statSync } from 'node:fs';
import { needsConfirmation, type ProductChange } from '#contracts/catalog/operations.ts';
import { type FeedFault, type FeedFormat, readFeed } from '#src/catalog/feed.ts';
import {
  changedCells,
  countAbsent,
  endAbsent,
  type FeedChanges,
  FeedSender,
  type FeedTotals,
} from '#src/catalog/feed-sender.ts';
import { withDesk } from '#src/cli/desk.ts';
import { isAgreed } from '#src/cli/effects.ts';
import type { Desk, DeskRequest } from '#src/cli/transport.ts';
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
/** Products of the source that the feed does not have: how many, of how many, and how many of them ended. */
type Absent = { absent: number; of_source: number; ended: number };

const NOTHING: FeedTotals & { ended: number } = {
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

const changeText = (changed: FeedChanges[number]): string => {
  const { sku, change } = changed;
  if (change === 'new') return `new ${sku}`;
  const texts = changedCells(changed).map(
    ({ column, before, after }) => `${column} ${before} -> ${after}`,
  );
  return `changed ${sku}: ${texts.join('; ')}`;
};

type Pass = { dryRun: boolean; showsChanges: boolean };
type Asked = { feed: FeedFile; options: ImportOptions };

/** Reads the feed to its end, and sends its products. */
const sendFeed = async (desk: Desk, asked: Asked, pass: Pass): Promise<FeedSender> => {
  const { feed, options } = asked;
  const { source, replace, allowFree, json } = options;
  const sender = new FeedSender(
    (input) => desk.call('importProducts', input),
    { source, replace, allow_free: allowFree, dry_run: pass.dryRun },
    {
      onFault: (fault) => printNotice(faultText(feed.file, fault)),
      onChanges(changes) {
        if (!pass.showsChanges) return;
        for (const change of changes) print(json ? JSON.stringify(change) : changeText(change));
      },
    },
  );
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

const SHOWN_SKUS = 10;

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
  const { source, endsAbsent = false, dryRun = false, yes = false, json = false } = options;
  const { rows } = sender;
  const call = (input: DeskRequest<'importProducts'>) => desk.call('importProducts', input);
  const found = await countAbsent(call, rows.skus, source);
  const { absent, of_source } = found;
  const counts = { absent, of_source };
  if (endsAbsent && dryRun)
    for (const sku of found.skus)
      print(json ? JSON.stringify({ sku, change: 'ended' }) : `ended ${sku}`);
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
  return { ...counts, ended: await endAbsent(call, found, { source }) };
};

const totalsText = (
  { read, unchanged, rejected, ...totals }: FeedTotals & { ended: number },
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
