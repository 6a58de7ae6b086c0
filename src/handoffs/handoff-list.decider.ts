/** The lines of a handoff, and the events that change them, which contain only the lines that differ. */
import type { EventData } from '#contracts/registries/events.ts';
import type { HandoffLine, HandoffState } from './handoff-state.decider.ts';

type Lines = EventData<'HandoffCreated'>['lines'];
type Totals = EventData<'HandoffCreated'>['totals'];
type ListChange = Omit<EventData<'HandoffListRevisedByBuyer'>, 'totals'>;
type LineNews = NonNullable<EventData<'RfqSubmittedByBuyer'>['news']>[number];

/** How often a list can be changed, and how many lines all changes together can contain. */
export type RevisionLimits = { revisions: number; lines: number };

/** The difference between two lists. Lines of `before` have the same order in `after`. */
export const differenceOf = (
  before: Lines,
  after: Lines,
): Pick<ListChange, 'changed' | 'removed' | 'added'> => {
  const linesBefore = new Map(before.map((line) => [line.line_id, line]));
  const idsAfter = new Set(after.map(({ line_id }) => line_id));
  const added = after.filter(({ line_id }) => !linesBefore.has(line_id));
  const changed = after.filter((line) => {
    const other = linesBefore.get(line.line_id);
    return other && !isSameLine(line, other);
  });
  const removed = before.flatMap(({ line_id }) => (idsAfter.has(line_id) ? [] : [line_id]));
  return {
    ...(changed.length > 0 && { changed }),
    ...(removed.length > 0 && { removed }),
    ...(added.length > 0 && { added }),
  };
};

/** Applies a change to the list. A line that is put back gets its earlier place. */
export const applyChange = (state: HandoffState, change: ListChange): Partial<HandoffState> => {
  const { changed = [], removed, added = [] } = change;
  const removedIds = new Set(removed);
  const changedLines = new Map(changed.map((line) => [line.line_id, line]));
  const kept = state.lines
    .filter(({ line_id }) => !removedIds.has(line_id))
    .map((line) => changedLines.get(line.line_id) ?? line);
  return {
    lines:
      added.length === 0
        ? kept
        : [...kept, ...added].sort((a, b) => Number(a.line_id) - Number(b.line_id)),
    list_revision: state.list_revision + 1,
    lines_revised: (state.lines_revised ?? 0) + changed.length + added.length,
  };
};

/** Whether the list has reached its limits. They bound the cost of reading it, which reads all its changes. */
export const isRevisionLimitReached = (
  { list_revision, lines_revised = 0 }: HandoffState,
  limits: RevisionLimits,
): boolean => list_revision > limits.revisions || lines_revised >= limits.lines;

/** The list with the warnings and prices that the catalog had when the RFQ was sent. */
export const withNews = (lines: HandoffLine[], news: readonly LineNews[]): HandoffLine[] => {
  const newsByLine = new Map(news.map((one) => [one.line_id, one]));
  return lines.map((line) => {
    const lineNews = newsByLine.get(line.line_id);
    if (!lineNews) return line;
    const { price, warnings } = lineNews;
    const isOtherPrice = price?.amount !== line.unit_price || price.currency !== line.currency;
    return { ...line, warnings, ...(price && isOtherPrice && { price_when_sent: price }) };
  });
};

/** Whether two totals are equal, in whatever order. Each has a currency once. */
export const isSameTotals = (a: Totals, b: Totals): boolean =>
  a.length === b.length &&
  a.every(({ amount, currency }) =>
    b.some((other) => other.currency === currency && other.amount === amount),
  );

export const isSameQuantities = (a: Lines, b: Lines): boolean =>
  a.length === b.length &&
  a.every((line, i) => line.line_id === b[i]?.line_id && line.quantity === b[i]?.quantity);

const COMPARED_MEMBERS = [
  'product_id',
  'sku',
  'title',
  'product_revision',
  'quantity',
  'unit_price',
  'tier_min_quantity',
  'currency',
] as const satisfies readonly (keyof Lines[number])[];

const isSameLine = (line: Lines[number], other: Lines[number]): boolean =>
  COMPARED_MEMBERS.every((name) => line[name] === other[name]) &&
  (line.warnings ?? []).join() === (other.warnings ?? []).join();
