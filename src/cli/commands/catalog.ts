import { accessSync, constants, createReadStream, type Stats, statSync } from 'node:fs';
import type { Command } from 'commander';
import type { FeedFault, FeedFormat, FeedItem, ProductInput } from '#src/app/catalog/feed.ts';
import { readFeed } from '#src/app/catalog/feed.ts';
import { type Common, write } from '../command.ts';
import { atDesk, type Desk } from '../desk/desk-client.ts';
import { EXIT, Failure } from '../terminal/exit.ts';
import { count, finish, note, plural } from '../terminal/output.ts';
import { progress, type Progress } from '../terminal/progress.ts';

/** Below the desk's limit on products, and well below its limit on the bytes of a body. */
const BATCH_PRODUCTS = 250;

const FORMATS: Record<string, FeedFormat> = { csv: 'csv', tsv: 'tsv', ndjson: 'ndjson' };

type Import = Common & { strict?: boolean };
/** Each row that was read is one of the other three. */
type Totals = { read: number; appended: number; unchanged: number; rejected: number };
/** What people are told beside: how many of those appended had been withdrawn. */
type Imported = { totals: Totals; republished: number };

const formatOf = (file: string): FeedFormat => {
  const ending = /\.([a-z]+)$/i.exec(file)?.[1]?.toLowerCase() ?? '';
  const format = FORMATS[ending];
  if (format) return format;
  throw new Failure(EXIT.usage, `${file}: the ending must be .csv, .tsv or .ndjson`);
};

const unreadable = (exit: number, file: string, error: unknown): Failure =>
  new Failure(exit, `${file} cannot be read: ${(error as Error).message}`);

/** Before anything is opened: what this user may not read is told like a mistyped name. */
const sizeOf = (file: string): number => {
  let found: Stats | undefined;
  try {
    found = statSync(file, { throwIfNoEntry: false });
    if (found) accessSync(file, constants.R_OK);
  } catch (error) {
    throw unreadable(EXIT.usage, file, error);
  }
  if (found?.isFile()) return found.size;
  throw new Failure(EXIT.usage, `${file} ${found ? 'is not a file' : 'does not exist'}`);
};

const NOTHING: Totals = { read: 0, appended: 0, unchanged: 0, rejected: 0 };

const faultText = (file: string, { line, column, reason }: FeedFault): string =>
  `${file}:${line}: ${column === undefined ? '' : `${column} `}${reason}`;

/** Faults are told as they are found, that of a whole file thrown. A row with three is one rejected row. */
const judge = (file: string) => {
  const rejected = new Set<number>();
  return {
    rejected,
    /** The product of an item that has one. */
    product(item: FeedItem): ProductInput | undefined {
      if ('product' in item) return item.product;
      if ('ofFile' in item)
        throw new Failure(EXIT.refused, `nothing was imported: ${faultText(file, item)}`, NOTHING);
      if ('reason' in item) {
        rejected.add(item.line);
        note(faultText(file, item));
      } else note(`${file}: passed over: ${item.unknown_columns.join(', ')} (no such columns)`);
      return undefined;
    },
  };
};

/** The bytes of a file, with the bar moving as they are read. */
async function* bytesOf(file: string, shown?: Progress): AsyncIterable<Buffer> {
  let read = 0;
  try {
    for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
      yield chunk;
      read += chunk.length;
      shown?.update(read);
    }
  } catch (error) {
    throw unreadable(EXIT.refused, file, error);
  }
}

/** Reads all of the file and sends nothing: what --strict asks for first. */
const requireClean = async (file: string, format: FeedFormat): Promise<void> => {
  const { rejected, product } = judge(file);
  let read = 0;
  for await (const item of readFeed(format, bytesOf(file))) if (product(item)) read += 1;
  if (rejected.size === 0) return;
  const rows = read + rejected.size;
  const totals = { read: rows, appended: 0, unchanged: 0, rejected: rows };
  const text = `nothing was imported: ${plural(rejected.size, 'bad line')} in ${file}`;
  throw new Failure(EXIT.refused, text, totals);
};

const send = async (desk: Desk, products: ProductInput[], imported: Imported): Promise<void> => {
  if (products.length === 0) return;
  const { appended, unchanged, republished = 0 } = await desk.call('importProducts', { products });
  imported.totals.appended += appended;
  imported.totals.unchanged += unchanged;
  imported.republished += republished;
};

const importFile = async (file: string, options: Import): Promise<Imported> => {
  const format = formatOf(file);
  const size = sizeOf(file);
  if (options.strict) await requireClean(file, format);
  return atDesk(options, async (desk) => {
    const totals = { ...NOTHING };
    const imported = { totals, republished: 0 };
    // What is under way then is taken or not: nobody is left to hear of it.
    const soFar = () =>
      `at least ${count(totals.appended)} appended, ${count(totals.unchanged)} unchanged`;
    const shown = progress(file, size, 'bytes', soFar);
    const { rejected, product } = judge(file);
    let batch: ProductInput[] = [];
    try {
      for await (const item of readFeed(format, bytesOf(file, shown))) {
        const good = product(item);
        if (!good) continue;
        totals.read += 1;
        batch.push(good);
        if (batch.length < BATCH_PRODUCTS) continue;
        await send(desk, batch, imported);
        batch = [];
      }
      await send(desk, batch, imported);
    } finally {
      shown.stop();
    }
    totals.rejected = rejected.size;
    totals.read += rejected.size;
    return imported;
  });
};

const importedText = ({ totals, republished }: Imported): string => {
  const { read, appended, unchanged, rejected } = totals;
  const again = republished > 0 ? ` (${count(republished)} republished after a withdrawal)` : '';
  return (
    `${plural(read, 'row')} read: ${count(appended)} appended${again}, ` +
    `${count(unchanged)} unchanged, ${count(rejected)} rejected.`
  );
};

/** Publishing products from a feed, and taking one out again. */
export const catalogCommands = (program: Command): void => {
  const catalog = program.command('catalog').description('published products');
  write(catalog, 'import <file>', 'publish the products of a CSV, TSV or NDJSON feed')
    .option('--strict', 'import nothing when any line is bad')
    .addHelpText(
      'after',
      '\nBad lines are told with number and reason, and the good ones go in: the exit status is 0\n' +
        'unless none did. What the catalog already has appends nothing: import again at any time.',
    )
    .action(async (file: string, options: Import) => {
      const imported = await importFile(file, options);
      const { totals } = imported;
      if (totals.rejected > 0 && totals.rejected === totals.read)
        throw new Failure(
          EXIT.refused,
          `nothing was imported: every line of ${file} is bad`,
          totals,
        );
      finish(options, totals, importedText(imported));
    });
  write(catalog, 'withdraw <sku>', 'take a product out of the catalog')
    .requiredOption('--reason <text>', 'shown to buyers who hold it in a list')
    .addHelpText(
      'after',
      '\nThe next import of a feed that has it publishes it again: take it out of the feed first.',
    )
    .action(async (sku: string, options: Common & { reason: string }) => {
      const asked = { sku, reason: options.reason };
      const answer = await atDesk(options, (desk) => desk.call('withdrawProduct', asked));
      finish(options, answer, `${answer.sku} is ${answer.status}.`);
    });
};
