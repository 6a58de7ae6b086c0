/** I: `catalog import` of a real feed, from start to end of the command. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Bench } from '../bench.ts';
import { middleOf } from '../measure.ts';
import { type Row, rowOf } from '../table.ts';
import { temporaryDirectory } from '../temporary.ts';
import { feedFile, madeFile, REAL_PRODUCTS } from './wholesale.ts';

type Totals = { read: number; appended: number; unchanged: number; rejected: number };

const CLI = join(import.meta.dirname, '../../../src/cli.ts');
const ROUNDS = 3;
/** Made-up products, to show the growth. */
const SIZES = [300, 3_000, 30_000];
const run = promisify(execFile);

const importOnce = async (file: string, directory: string) => {
  const startedAt = performance.now();
  const args = ['catalog', 'import', file, '--data', directory, '--json'];
  const { stdout } = await run(process.execPath, [CLI, ...args]);
  const seconds = (performance.now() - startedAt) / 1_000;
  return { seconds, totals: JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Totals };
};

const require = (totals: Totals, wanted: Partial<Totals>): void => {
  const wrong = Object.entries(wanted).some(
    ([name, count]) => totals[name as keyof Totals] !== count,
  );
  if (wrong) throw new Error(`${JSON.stringify(totals)} instead of ${JSON.stringify(wanted)}`);
};

/** The control of both rows is the smallest feed. */
const growthRows = async (): Promise<Row[]> => {
  const seconds: number[] = [];
  for (const count of SIZES) {
    const { seconds: taken, totals } = await importOnce(madeFile(count), temporaryDirectory());
    require(totals, { appended: count, rejected: 0 });
    seconds.push(taken);
  }
  const [control = 0, ...larger] = seconds;
  return larger.map((value, index) => {
    const what = `  of ${SIZES[index + 1]?.toLocaleString('en')}, vs of ${SIZES[0]}`;
    return rowOf({ id: 'I', what, value, unit: 's', control });
  });
};

export const benchFeed: Bench = async () => {
  const { file, real } = feedFile();
  const first: number[] = [];
  const second: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const directory = temporaryDirectory();
    const fresh = await importOnce(file, directory);
    require(fresh.totals, { appended: REAL_PRODUCTS, rejected: 0 });
    first.push(fresh.seconds);
    const again = await importOnce(file, directory);
    require(again.totals, { appended: 0, unchanged: REAL_PRODUCTS });
    second.push(again.seconds);
  }
  const products = `${REAL_PRODUCTS.toLocaleString('en')} ${real ? 'real' : 'made-up'} products`;
  const measured = {
    id: 'I',
    what: `catalog import of ${products}, whole command, vs the same again`,
    value: middleOf(first, (seconds) => seconds),
    unit: 's',
    control: middleOf(second, (seconds) => seconds),
  } as const;
  return [rowOf(measured, { of: 'value', atMost: 2 }), ...(await growthRows())];
};
