import type { z } from 'zod';
import type { getPerformance } from '#contracts/operations/get-performance.ts';
import type { Dimension } from '#contracts/records/performance.ts';
import { METRICS } from '#contracts/records/performance.ts';
import { decimalOf } from '#src/app/feed-cells.ts';

type Performance = z.output<typeof getPerformance.output>;
type Question = { group_by?: readonly Dimension[] };

/**
 * A cell that a spreadsheet will not run: text that begins like a formula gets an apostrophe in
 * front (OWASP, CSV injection), and everything is quoted where it must be.
 */
const cell = (value: string | number | null): string => {
  if (value === null) return '';
  if (typeof value === 'number') return String(value);
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};

const moneyText = (amounts: Performance['totals']['rfq_value']): string =>
  amounts.map(({ amount, currency }) => `${decimalOf(amount, currency)} ${currency}`).join('|');

/**
 * RFC 4180 with a header, which is that of the question whatever was found; amounts as decimals, like
 * those of a feed, currencies side by side.
 */
export const performanceCsv = (
  { data, comparison_totals }: Performance,
  { group_by: dimensions = [] }: Question,
): string => {
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
          moneyText(metrics.rfq_value),
          moneyText(metrics.won_value),
        ]
      : names.map(() => null);
  const rows = data.map((row) => [
    row.bucket_start,
    ...dimensions.map((name) => row.dimensions[name] ?? null),
    ...values(row.metrics),
    ...(compared ? values(row.comparison) : []),
  ]);
  return [header, ...rows].map((row) => `${row.map(cell).join(',')}\r\n`).join('');
};

/** One row a line, as in JSON. */
export const performanceNdjson = ({ data }: Performance): string =>
  data.map((row) => `${JSON.stringify(row)}\n`).join('');

/** How a query's answer is written in each of its other representations; `asked` is what was asked. */
export const FORMATS: Record<string, (value: never, asked: object) => string> = {
  'text/csv': performanceCsv,
  'application/x-ndjson': performanceNdjson,
};
