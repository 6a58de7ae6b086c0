import type { z } from 'zod';
import type { getPerformance } from '#contracts/performance/get-performance.ts';
import {
  type Dimension,
  METRICS,
  type ReportRow,
} from '#contracts/performance/performance.records.ts';
import { moneyText } from '#src/shared/cells.ts';
import type { Done } from '#src/shared/outcome.ts';
import { inTurns } from '#src/shared/turns.ts';

type Performance = z.output<typeof getPerformance.output>;
type Question = { group_by?: readonly Dimension[] };

type FileFormat = { head: string; textOf(row: ReportRow): string };

/**
 * The beginning of a formula (OWASP, CSV injection). Spreadsheets ignore spaces before it, and some read the full-width
 * forms as the signs.
 */
const FORMULA = /^(?:[\t\r]|\s*[=+\-@＝＋－＠])/;

/** Writes a CSV cell. Text that a spreadsheet would run as a formula gets an apostrophe. */
const cell = (value: string | number | null): string => {
  if (value === null) return '';
  if (typeof value === 'number') return String(value);
  const safe = FORMULA.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};

const amountsText = (amounts: Performance['totals']['rfq_value']): string =>
  amounts.map(moneyText).join('|');

/** CSV (RFC 4180) with a header that depends on the query only. Amounts are decimals with their currency. */
export const performanceCsv = (
  { comparison_totals }: Pick<Performance, 'comparison_totals'>,
  { group_by: dimensions = [] }: Question,
): FileFormat => {
  const compared = comparison_totals !== undefined;
  const names = [...METRICS, 'rfq_value', 'won_value'];
  const header = [
    'bucket_start',
    ...dimensions,
    ...names,
    ...(compared ? names.map((name) => `comparison_${name}`) : []),
  ];
  const values = (metrics: Performance['totals'] | undefined): (string | number | null)[] =>
    metrics
      ? [
          ...METRICS.map((name) => metrics[name]),
          amountsText(metrics.rfq_value),
          amountsText(metrics.won_value),
        ]
      : names.map(() => null);
  const lineOf = (cells: readonly (string | number | null)[]): string =>
    `${cells.map(cell).join(',')}\r\n`;
  return {
    head: lineOf(header),
    textOf: (row) =>
      lineOf([
        row.bucket_start,
        ...dimensions.map((name) => row.dimensions[name] ?? null),
        ...values(row.metrics),
        ...(compared ? values(row.comparison) : []),
      ]),
  };
};

const performanceNdjson = (): FileFormat => ({
  head: '',
  textOf: (row) => `${JSON.stringify(row)}\n`,
});

const FORMATS: Record<string, (answer: Performance, asked: Question) => FileFormat> = {
  'text/csv': performanceCsv,
  'application/x-ndjson': performanceNdjson,
};

/** Writes the rows of an answer as a file. It is complete before it is sent, so that a failure is a problem and no partial file. */
export const fileOf = async (
  media: string,
  { value, rows }: Pick<Done<unknown>, 'value' | 'rows'>,
  asked: object,
): Promise<string> => {
  const answer = value as Performance;
  const format = FORMATS[media]?.(answer, asked);
  if (!format) throw new Error(`nothing is written as ${media}`);
  const texts = [format.head];
  await inTurns((rows ?? answer.data) as Iterable<ReportRow>, (row) =>
    texts.push(format.textOf(row)),
  );
  return texts.join('');
};
