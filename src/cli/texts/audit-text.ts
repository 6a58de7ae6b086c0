/** Texts of audits, for people. Every text of an agent or a buyer is shown with its invisible characters. */
import { METRICS } from '#contracts/performance/performance.records.ts';
import { moneyText } from '#src/shared/cells.ts';
import type { DeskAnswer } from '#src/cli/desk/desk-transport.ts';
import { formatTable, style } from '../terminal/output.ts';
import { formatPage, formatSafely } from './answer-text.ts';
import { formatData } from './event-text.ts';

type State = DeskAnswer<'auditState'>;
type Performance = DeskAnswer<'auditPerformance'>;
type Diff = DeskAnswer<'auditDiff'>;
type Act = DeskAnswer<'auditHistory'>['data'][number];
type Trace = DeskAnswer<'auditTrace'>;
type AsOf = { position: number; at: string | null };

const timeText = (at: string): string => at.replace('T', ' ').replace(/\.\d+Z$/, 'Z');

const asOfText = ({ position, at }: AsOf): string =>
  `As of position ${position}${at === null ? ', before the first event' : `, ${timeText(at)}`}.`;

type Named = { actor_name?: string | undefined; agent_name?: string | undefined };
type Agent = { agent_id?: string | undefined; agent_name?: string | undefined };

/** Name of the acting agent or desk user. */
const actorName = ({ actor_name, agent_name }: Named): string => {
  const name = actor_name ?? agent_name;
  return name === undefined ? '-' : formatSafely(name);
};

const byName = ({ agent_id, agent_name }: Agent): string =>
  [agent_name === undefined ? [] : formatSafely(agent_name), agent_id ?? []].flat().join(' ') ||
  '-';

type Metrics = Performance['totals'];

const amountsText = (amounts: Metrics['won_value']): string =>
  amounts.map(moneyText).join(' ') || '-';

const auditHeadingOf = (name: string): string => name.replaceAll('_', ' ').toUpperCase();

/** A table of rows that have the same members, whose names are the headings. */
const tableOf = (rows: readonly Record<string, string>[]): string =>
  formatTable([
    Object.keys(rows[0] ?? {}).map(auditHeadingOf),
    ...rows.map((row) => Object.values(row)),
  ]);

/** A table of the metrics that are not zero in any row. */
const metricsTable = (
  heads: readonly string[],
  rows: readonly { cells: readonly string[]; metrics: Metrics }[],
): string => {
  const used = METRICS.filter((name) => rows.some(({ metrics }) => metrics[name] > 0));
  const amounts = (['rfq_value', 'won_value'] as const).filter((name) =>
    rows.some(({ metrics }) => metrics[name].length > 0),
  );
  if (used.length + amounts.length === 0) return 'None.';
  return formatTable([
    [...heads, ...used, ...amounts].map(auditHeadingOf),
    ...rows.map(({ cells, metrics }) => [
      ...cells.map(formatSafely),
      ...used.map((name) => String(metrics[name])),
      ...amounts.map((name) => amountsText(metrics[name])),
    ]),
  ]);
};

const countedText = ({
  data,
  totals,
  period,
}: Pick<Performance, 'data' | 'totals' | 'period'>): string => {
  const dimensions = Object.keys(data[0]?.dimensions ?? {});
  const rows = data.map(({ bucket_start, dimensions: values, metrics }) => ({
    cells: [bucket_start, ...Object.values(values).map((value) => value ?? '-')],
    metrics,
  }));
  const total = { cells: ['total', ...dimensions.map(() => '')], metrics: totals };
  const heads = [period.granularity, ...dimensions];
  return `Performance from ${period.from} to ${period.to} (${period.time_zone})\n${metricsTable(heads, [...rows, total])}`;
};

export const auditStateText = ({ data, performance, next_before, as_of }: State): string =>
  [
    asOfText(as_of),
    formatPage(
      {
        data: data.map((row) => ({ ...row, agent: byName(row) })),
        next_before,
      },
      'kind id name status agent',
    ),
    ...(performance ? ['', countedText(performance)] : []),
  ].join('\n');

export const auditPerformanceText = (answer: Performance): string => {
  const { next_cursor } = answer.page;
  const more = next_cursor === null ? [] : [`More: --cursor ${next_cursor}`];
  return [asOfText(answer.as_of), countedText(answer), ...more].join('\n');
};

const auditedRequestText = ({
  actor,
  actor_name,
  request_id,
}: { actor: string; request_id: string } & Named): string =>
  [actor, actor_name === undefined ? [] : formatSafely(actor_name), request_id].flat().join('  ');

export const auditDiffText = ({ changes, numbers, next_after, from, to }: Diff): string => {
  const records = changes.map((change) => ({
    position: String(change.position),
    time: timeText(change.at),
    change: change.change,
    kind: change.kind,
    name: formatSafely(change.name),
    status: change.from === change.to ? change.to : `${change.from ?? ''} > ${change.to}`,
    event: change.type,
    actor: change.actor,
    actor_name: actorName(change),
    request: change.request_id,
  }));
  const days = numbers.map(({ day, metric, currency, from: earlier, to: later, ...cause }) => {
    const shown = (amount: number): string =>
      currency === undefined ? String(amount) : moneyText({ amount, currency });
    return {
      day,
      number: metric,
      from: shown(earlier),
      to: shown(later),
      last_event: String(cause.position),
      actor_and_request: auditedRequestText(cause),
    };
  });
  return [
    `From: ${asOfText(from)}`,
    `To:   ${asOfText(to)}`,
    '',
    records.length === 0 ? 'No record changed.' : tableOf(records),
    ...(next_after === null ? [] : [`More: --after ${next_after}`]),
    ...(days.length === 0 ? [] : ['', tableOf(days)]),
  ].join('\n');
};

/** The cells of an act, by their headings. */
const actRow = (act: Act) => ({
  position: String(act.position),
  time: timeText(act.at),
  actor: act.actor,
  actor_name: actorName(act),
  key: act.key_id ?? '-',
  surface: act.surface,
  act: act.outcome === 'done' ? act.type : act.operation,
  outcome:
    (act.code ?? act.outcome) + (act.count !== undefined && act.count > 1 ? ` x${act.count}` : ''),
  record: act.record ?? (act.asked === undefined ? '-' : formatSafely(act.asked)),
  request: act.request_id,
});

export const actCells = (act: Act): string[] => Object.values(actRow(act));

export const auditHistoryText = ({
  data,
  next_before,
  as_of,
}: DeskAnswer<'auditHistory'>): string =>
  [
    asOfText(as_of),
    data.length === 0 ? 'None.' : tableOf(data.map(actRow)),
    ...(next_before === null ? [] : [`More: --before ${next_before}`]),
  ].join('\n');

const rowsText = (rows: Trace['events'][number]['rows']): string[] =>
  rows.map(({ read_model, scope, key, change, members = [] }) => {
    const changed = members.length === 0 ? '' : `: ${members.join(', ')}`;
    return `           ${read_model} ${[scope, key].filter(Boolean).join('/')} ${change.replaceAll('_', ' ')}${changed}`;
  });

export const auditTraceText = ({ id, owner_id, events, audited, answer, more }: Trace): string => {
  const marks = { cause: ' ', subject: '*', effect: ' ' };
  const chain = events.flatMap((event) => [
    `${marks[event.relation]} ${String(event.position).padStart(6)}  ${timeText(event.at)}  ` +
      `${style('bold', event.type)}  ${event.surface}/${event.operation}  ${auditedRequestText(event)}`,
    `           ${formatData({ data: event.data, stream: event.stream, actor: event.actor })}`,
    ...rowsText(event.rows),
  ]);
  return [
    `${id} of ${owner_id}; its own events are marked with *`,
    ...chain,
    ...(more ? ['There are more events than are shown.'] : []),
    ...(audited.length === 0 ? [] : ['', tableOf(audited.map(actRow))]),
    ...(answer
      ? [
          '',
          `A retry of ${answer.operation} is answered:`,
          `  ${formatSafely(JSON.stringify(answer.value))}`,
        ]
      : []),
  ].join('\n');
};
