/** Rows of the result table, and their text form. */

export type Unit = '1/s' | 'us' | 'ms' | 's' | 'MB' | 'share' | 'count';

export type Row = {
  /** The benchmark's letter. */
  id: string;
  what: string;
  value: number;
  unit: Unit;
  /** The same measure of the control in the same run. */
  control: number | null;
  /** value / control. */
  ratio: number | null;
  goal: string | null;
  met: boolean | null;
};

/** A bound on the ratio to the control, or on the value. */
export type Goal = { of: 'ratio' | 'value' } & ({ atLeast: number } | { atMost: number });

type Measured = { id: string; what: string; value: number; unit: Unit; control?: number };

export const rowOf = (measured: Measured, goal?: Goal): Row => {
  const { id, what, value, unit, control = null } = measured;
  const ratio = control === null || control === 0 ? null : value / control;
  return { id, what, value, unit, control, ratio, ...judge(value, ratio, goal) };
};

const judge = (
  value: number,
  ratio: number | null,
  goal: Goal | undefined,
): Pick<Row, 'goal' | 'met'> => {
  if (!goal) return { goal: null, met: null };
  const judged = goal.of === 'ratio' ? (ratio ?? Number.NaN) : value;
  const name = goal.of === 'ratio' ? 'ratio ' : '';
  return 'atLeast' in goal
    ? { goal: `${name}>= ${short(goal.atLeast)}`, met: judged >= goal.atLeast }
    : { goal: `${name}<= ${short(goal.atMost)}`, met: judged <= goal.atMost };
};

/** Formats three significant digits, or an integer from 100 on. */
export const short = (value: number): string =>
  Math.abs(value) >= 100
    ? Math.round(value).toLocaleString('en')
    : String(Number(value.toPrecision(3)));

const HEAD = ['id', 'what', 'value', 'unit', 'control', 'ratio', 'goal', 'met'] as const;
const NUMBERS: ReadonlySet<string> = new Set(['value', 'control', 'ratio']);

const cellsOf = (row: Row): string[] => [
  row.id,
  row.what,
  short(row.value),
  row.unit,
  row.control === null ? '' : short(row.control),
  row.ratio === null ? '' : row.ratio.toFixed(2),
  row.goal ?? '',
  row.met === null ? '' : row.met ? 'yes' : 'no',
];

export const tableText = (rows: readonly Row[]): string => {
  const lines = [[...HEAD], ...rows.map(cellsOf)];
  const widths = HEAD.map((_, column) =>
    Math.max(...lines.map((line) => line[column]?.length ?? 0)),
  );
  const text = (line: readonly string[]): string =>
    HEAD.map((name, i) => {
      const cell = line[i] ?? '';
      return NUMBERS.has(name) ? cell.padStart(widths[i] ?? 0) : cell.padEnd(widths[i] ?? 0);
    })
      .join('  ')
      .trimEnd();
  const [head = [], ...body] = lines;
  return [text(head), widths.map((width) => '-'.repeat(width)).join('  '), ...body.map(text)].join(
    '\n',
  );
};
