/** The numbers of a promoter as its pages show them: their names, their rates, and tables of them by link or campaign. */
import { html } from 'hono/html';
import type { Dimension, Metric } from '#contracts/performance/records.ts';
import { moneyText } from '#src/shared/cells.ts';
import { done, isRefusal, type Outcome } from '#src/shared/outcome.ts';
import { changeText, funnel, lineChart, rateText, tiles } from '#src/web/charts.ts';
import type { Html } from '#src/web/layout.ts';
import { type Content, dataTable, hrefWith } from '#src/web/parts.ts';
import {
  type Answer,
  dayText,
  daysOf,
  homeOf,
  type Period,
  periodQuery,
  recordsQuery,
  type Read,
  writer,
} from './owner-frame.pages.ts';

type CountedPeriod = Answer<'showPerformance'>;
type Numbers = CountedPeriod['totals'];
type Row = CountedPeriod['data'][number];

const NUMBERS = [
  'clicks_valid',
  'handoffs_created',
  'lists_created',
  'rfqs_submitted',
  'rfqs_won',
  'won_value',
] as const;

/** Counts the period, with the one before it. */
export const countDays = (read: Read, owner_id: string, period: Period, filter: object = {}) =>
  read('showPerformance', {
    owner_id,
    ...daysOf(period),
    ...filter,
    metrics: [...NUMBERS],
    compare_to: 'previous_period',
  });

/** Counts the period by a dimension, the rows with most visits first. */
export const countBy = (
  read: Read,
  owner_id: string,
  {
    period,
    by,
    ...more
  }: { period: Period; by: Dimension; limit?: number; agent_id?: string; campaign?: string },
) =>
  read('showPerformance', {
    owner_id,
    ...daysOf(period),
    ...more,
    group_by: [by],
    granularity: 'total',
    order_by: 'clicks_valid',
    metrics: [...NUMBERS],
    names: 1,
  });

const { count } = writer;
const of = (numbers: Numbers, name: Metric): number => numbers[name] ?? 0;
const listCount = (numbers: Numbers): number =>
  of(numbers, 'handoffs_created') + of(numbers, 'lists_created');

export const amountsText = (amounts: Numbers['won_value']): string =>
  (amounts ?? []).map(({ amount, currency }) => writer.money(amount, currency)).join(' + ') || '–';

const valueChange = (now: Numbers['won_value'] = [], before: Numbers['won_value'] = []): string => {
  const [one, ...others] = now;
  const [other, ...more] = before;
  // Amounts of several currencies are never added up, nor compared.
  const isAlone = others.length + more.length === 0 && one?.currency === other?.currency;
  if (isAlone && one && other) return changeText(one.amount, other.amount);
  if (now.length + before.length === 0) return 'unchanged';
  return before.length === 0 ? 'none before' : `${amountsText(before)} before`;
};

/** The five numbers of a period, with their change. */
export const fiveNumbers = (
  owner: string,
  period: Period,
  { totals, comparison_totals: before = {} }: CountedPeriod,
): Html => {
  const query = periodQuery(period);
  const records = recordsQuery(period);
  const rfqs = `${homeOf(owner)}/rfqs`;
  const tile = (label: string, [now, earlier]: readonly [number, number], href: string) => ({
    label,
    value: count(now),
    change: changeText(now, earlier),
    href,
  });
  const pair = (name: Metric) => [of(totals, name), of(before, name)] as const;
  return tiles(`Numbers of ${period.text}`, [
    tile('Visits', pair('clicks_valid'), hrefWith(`${homeOf(owner)}/links`, query)),
    tile(
      'Lists',
      [listCount(totals), listCount(before)],
      hrefWith(`${homeOf(owner)}/lists`, records),
    ),
    tile('RFQs', pair('rfqs_submitted'), hrefWith(rfqs, records)),
    tile('Won', pair('rfqs_won'), hrefWith(rfqs, { ...records, state: 'won' })),
    {
      label: 'Value won',
      value: amountsText(totals.won_value),
      change: valueChange(totals.won_value, before.won_value),
      href: hrefWith(rfqs, { ...records, state: 'won' }),
    },
  ]);
};

/** Which period the change is measured against. */
export const comparedText = ({ comparison_period: before }: CountedPeriod): string =>
  before === undefined
    ? ''
    : `Changes are against ${dayText(before.from)} to ${dayText(before.to)}. Days are those of UTC.`;

/** Visits by day. Each number leads to the links of its day. */
export const visitsByDay = (
  owner: string,
  period: Period,
  { data, totals }: CountedPeriod,
): Html => {
  const points = data.map(({ bucket_start: day, metrics }) => ({
    name: dayText(day),
    value: of(metrics, 'clicks_valid'),
    href: hrefWith(`${homeOf(owner)}/links`, { from: day, to: day }),
  }));
  const best = points.reduce((a, b) => (b.value > a.value ? b : a), points[0] ?? EMPTY);
  const visits = of(totals, 'clicks_valid');
  const sentence =
    visits === 0
      ? `There was no visit in ${period.text}.`
      : `${count(visits)} ${visits === 1 ? 'visit' : 'visits'} in ${period.text}; most on ${best.name}, with ${count(best.value)}.`;
  return lineChart({ title: 'Visits by day', sentence }, points);
};
const EMPTY = { name: '', value: 0, href: '' };

/** From a visit to a won RFQ. */
export const fromVisitToWin = (owner: string, period: Period, { totals }: CountedPeriod): Html => {
  const query = periodQuery(period);
  const records = recordsQuery(period);
  const rfqs = `${homeOf(owner)}/rfqs`;
  const visits = of(totals, 'clicks_valid');
  const sent = of(totals, 'rfqs_submitted');
  const rate = rateText(sent, visits);
  const sentence =
    rate === undefined
      ? 'Without visits there is no rate.'
      : `${count(sent)} ${sent === 1 ? 'RFQ' : 'RFQs'} for ${count(visits)} ${visits === 1 ? 'visit' : 'visits'}: ${rate}.`;
  return funnel({ title: 'From a visit to a win', sentence }, [
    {
      name: 'Visits',
      many: 'visits',
      value: visits,
      href: hrefWith(`${homeOf(owner)}/links`, query),
    },
    {
      name: 'Lists',
      many: 'lists',
      value: listCount(totals),
      href: hrefWith(`${homeOf(owner)}/lists`, records),
    },
    { name: 'RFQs', many: 'RFQs', value: sent, href: hrefWith(rfqs, records) },
    {
      name: 'Won',
      many: 'won RFQs',
      value: of(totals, 'rfqs_won'),
      href: hrefWith(rfqs, { ...records, state: 'won' }),
    },
  ]);
};

const COLUMNS = ['Visits', 'Lists', 'RFQs', 'Rate', 'Won', 'Value won'];

const cells = (metrics: Numbers): Content[] => [
  count(of(metrics, 'clicks_valid')),
  count(listCount(metrics)),
  count(of(metrics, 'rfqs_submitted')),
  rateText(of(metrics, 'rfqs_submitted'), of(metrics, 'clicks_valid')) ?? '–',
  count(of(metrics, 'rfqs_won')),
  amountsText(metrics.won_value),
];

type Counted = {
  caption: string;
  /** What the first column names. */
  head: string;
  name(row: Row): Content;
  empty: Content;
};

/** A table of numbers, the rate of RFQs to visits among them. */
export const numbersTable = ({ caption, head, name, empty }: Counted, rows: readonly Row[]): Html =>
  html`<div class="numbers">${dataTable(
    caption,
    [{ head }, ...COLUMNS.map((each) => ({ head: each, isNumber: true }))],
    { rows: rows.map((row) => [name(row), ...cells(row.metrics)]), empty },
  )}</div>`;

/** The name of a link, which leads to it. */
export const linkName =
  (owner: string, period: Period) =>
  ({ dimensions: { link_id: id }, names }: Row): Content => {
    if (id === null || id === undefined) return 'Without a link';
    const campaign = names?.campaign;
    return html`<a href="${hrefWith(`${homeOf(owner)}/links/${id}`, periodQuery(period))}">${
      names?.link_id ?? 'A link'
    }</a>${campaign && html`<span class="hint">${campaign}</span>`}`;
  };

export const NUMBER_HEADS = [
  'visits',
  'visits_unique',
  'lists',
  'rfqs',
  'won',
  'value_won',
] as const;

/** The numbers of a row, for a file. */
export const numbersLine = (metrics: Numbers) => [
  of(metrics, 'clicks_valid'),
  of(metrics, 'clicks_unique'),
  listCount(metrics),
  of(metrics, 'rfqs_submitted'),
  of(metrics, 'rfqs_won'),
  (metrics.won_value ?? []).map(moneyText).join('|'),
];

/** Most rows of one page of a report. */
const PAGE_ROWS = 1_000;
const FILE_PAGES_MAX = 10;

/** Counts the period by a dimension for a file: all rows, also those of links and campaigns without events. */
export const countAll = async (
  read: Read,
  owner_id: string,
  { period, by }: { period: Period; by: 'link_id' | 'campaign' },
): Promise<Outcome<Row[]>> => {
  const rows: Row[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < FILE_PAGES_MAX; page += 1) {
    const report = await read('showPerformance', {
      owner_id,
      ...daysOf(period),
      group_by: [by],
      granularity: 'total',
      include: 'empty',
      names: 1,
      limit: PAGE_ROWS,
      ...(cursor !== undefined && { cursor }),
    });
    if (isRefusal(report)) return report;
    rows.push(...report.value.data);
    cursor = report.value.page.next_cursor ?? undefined;
    if (cursor === undefined) break;
  }
  return done(rows);
};
