import { moneyText } from '#src/shared/cells.ts';
import { visible } from '#src/shared/visible.ts';
import { formatTable } from '../terminal/output.ts';

export type ListPage<Row extends object = object> = {
  data: readonly Row[];
  next_before?: number | null;
};

/** Makes every invisible character visible: a terminal obeys control characters that somebody else wrote. */
export const formatSafely = (text: string): string =>
  visible(text).shown.replaceAll('\n', '⟨U+000A⟩');

export const isMoney = (value: object): value is { amount: number; currency: string } =>
  'amount' in value && 'currency' in value;

const valueText = (value: unknown): string => {
  if (value === null || value === undefined) return '-';
  if (typeof value === 'string') return formatSafely(value);
  if (typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return value.map(valueText).join(',') || '-';
  if (isMoney(value)) return moneyText(value);
  return Object.values(value).map(valueText).join(' ');
};

const memberAt = (row: object, path: string): unknown =>
  path
    .split('.')
    .reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], row);

const headingOf = (path: string): string =>
  path
    .replace(/^\w+\./, '')
    .replace(/_id$/, '')
    .replaceAll('_', ' ')
    .toUpperCase();

const scalarsOf = (row: object): string =>
  Object.entries(row)
    .flatMap(([name, value]) => (typeof value === 'object' ? [] : name))
    .join(' ');

/**
 * Formats a page as a table. `columns`: paths of members, separated by spaces; default: the members of the
 * first row that are neither lists nor objects.
 */
export const formatPage = ({ data, next_before }: ListPage, columns?: string): string => {
  const [first] = data;
  if (!first) return 'None.';
  const paths = (columns ?? scalarsOf(first)).split(' ');
  const table = formatTable([
    paths.map(headingOf),
    ...data.map((row) => paths.map((path) => valueText(memberAt(row, path)))),
  ]);
  return typeof next_before === 'number' ? `${table}\nMore: --before ${next_before}` : table;
};

/** Formats an answer by the names of its members; each object of a list has a line. */
const formatRecord = (answer: object): string =>
  formatTable(
    Object.entries(answer).flatMap(([name, value]) => {
      const items = Array.isArray(value) && typeof value[0] === 'object' ? value : [value];
      return items.map((item, i) => [i === 0 ? name : '', valueText(item)]);
    }),
  );

export const formatAnswer = (answer: object, columns?: string): string =>
  'data' in answer && Array.isArray(answer.data)
    ? formatPage(answer as ListPage, columns)
    : formatRecord(answer);
