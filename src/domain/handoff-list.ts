/** The lines of a list, and what an event says of a change of them: no more than is other than before. */
import type { EventData } from '#contracts/events/index.ts';
import type { HandoffLine, HandoffState } from './handoff-state.ts';
import { withNotesOf, withoutNotes } from './handoff-texts.ts';

type Lines = EventData<'HandoffCreated'>['lines'];
type Totals = EventData<'HandoffCreated'>['totals'];
type Change = Omit<EventData<'HandoffListRevisedByBuyer'>, 'totals'>;
type LineNews = NonNullable<EventData<'RfqSubmittedByBuyer'>['news']>[number];

/** How often a list can be changed, and how many lines all changes of it may hold. */
export type MostRevisions = { revisions: number; lines: number };

/** What is other in a list that kept its order and got no line. */
export const changeOf = (before: Lines, after: Lines): Pick<Change, 'changed' | 'removed'> => {
  const known = new Map(before.map((line) => [line.line_id, line]));
  const kept = new Set(after.map(({ line_id }) => line_id));
  const changed = after.filter((line) => !isSame(line, known.get(line.line_id)));
  const removed = before.flatMap(({ line_id }) => (kept.has(line_id) ? [] : [line_id]));
  return {
    ...(changed.length > 0 && { changed: withoutNotes(changed) }),
    ...(removed.length > 0 && { removed }),
  };
};

/** What a change leaves of a list. */
export const revised = (state: HandoffState, change: Change): Partial<HandoffState> => {
  const { lines, changed = [], removed } = change;
  const list_revision = state.list_revision + 1;
  if (lines) return { lines: withNotesOf(state.lines, lines), list_revision };
  const gone = new Set(removed);
  const news = new Map(changed.map((line) => [line.line_id, line]));
  return {
    lines: state.lines
      .filter(({ line_id }) => !gone.has(line_id))
      .map((line) => {
        const now = news.get(line.line_id) ?? line;
        return line.note === undefined ? now : { ...now, note: line.note };
      }),
    list_revision,
    lines_revised: (state.lines_revised ?? 0) + changed.length,
  };
};

/** Whoever reads a list reads all its changes: past these bounds no more are taken. */
export const isSpent = (
  { list_revision, lines_revised = 0 }: HandoffState,
  most: MostRevisions,
): boolean => list_revision > most.revisions || lines_revised >= most.lines;

/** The list with what the catalog had to say of it when the RFQ was sent. */
export const withNews = (lines: HandoffLine[], news: readonly LineNews[]): HandoffLine[] => {
  const byLine = new Map(news.map((one) => [one.line_id, one]));
  return lines.map((line) => {
    const told = byLine.get(line.line_id);
    if (!told) return line;
    const { price, warnings } = told;
    const isOther = price?.amount !== line.unit_price || price.currency !== line.currency;
    return { ...line, warnings, ...(price && isOther && { price_when_sent: price }) };
  });
};

/** Whatever their order. */
export const sameTotals = (a: Totals, b: Totals): boolean =>
  a.length === b.length &&
  a.every(({ amount, currency }) =>
    b.some((other) => other.currency === currency && other.amount === amount),
  );

export const sameQuantities = (a: Lines, b: Lines): boolean =>
  a.length === b.length &&
  a.every((line, i) => line.line_id === b[i]?.line_id && line.quantity === b[i]?.quantity);

const COMPARED = [
  'product_id',
  'sku',
  'title',
  'product_revision',
  'quantity',
  'unit_price',
  'tier_min_quantity',
  'currency',
] as const satisfies readonly (keyof Lines[number])[];

const isSame = (line: Lines[number], known: Lines[number] | undefined): boolean =>
  known !== undefined &&
  COMPARED.every((name) => line[name] === known[name]) &&
  (line.warnings ?? []).join() === (known.warnings ?? []).join();
