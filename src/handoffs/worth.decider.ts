/** What an RFQ is worth, line by line: pinned in the events that count, so that performance needs no other record. */
import type {
  EventData,
  EventOf,
  HandoffEventType,
  Happened,
} from '#contracts/registries/events.ts';
import { asStored } from '#src/shared/decider.ts';
import type { Money } from '#src/shared/proposal.ts';

export type ValuedLine = EventData<'RfqWon'>['lines'][number];

/** What the events of an RFQ said about its lines. */
export type Worth = {
  /** Its lines are counted as taken up. */
  taken_up?: boolean | undefined;
  /** What each line is won for now. */
  won?: ValuedLine[] | undefined;
};

type PricedLine = Pick<ValuedLine, 'line_id' | 'product_id' | 'category' | 'currency'> & {
  quantity: number;
  unit_price: number;
};

/** The lines of a list or of a quotation, with what each comes to. */
export const valuedLines = (lines: readonly PricedLine[]): ValuedLine[] =>
  lines.map(({ line_id, product_id, category, currency, quantity, unit_price }) => ({
    line_id,
    product_id,
    category,
    amount: quantity * unit_price,
    currency,
  }));

export const amountIn = (amounts: readonly Money[] = [], currency: string): number => {
  let sum = 0;
  for (const one of amounts) if (one.currency === currency) sum += one.amount;
  return sum;
};

/**
 * Divides a whole number by weights: each part is rounded down, and the units that are left go to those with the largest
 * remainders, the first of equal ones. The sum of the weights must be positive.
 */
export const divide = (amount: number, weights: readonly number[]): number[] => {
  // Products of amounts exceed what a number has exactly.
  const whole = BigInt(amount);
  const sum = weights.reduce((all, weight) => all + BigInt(weight), 0n);
  const parts = weights.map((weight) => Number((whole * BigInt(weight)) / sum));
  const rests = weights.map((weight, n) => [(whole * BigInt(weight)) % sum, n] as const);
  rests.sort(([a, i], [b, j]) => (a === b ? i - j : a < b ? 1 : -1));
  const left = amount - parts.reduce((all, part) => all + part, 0);
  for (const [, n] of rests.slice(0, left)) parts[n] = (parts[n] ?? 0) + 1;
  return parts;
};

/** Lines by whose amounts a value is divided, and what charges had beside them. */
type Scale = { lines: readonly ValuedLine[]; values: readonly Money[] };

/**
 * What each line has of other values, in proportion to the first scale that has something in the currency. Charges keep
 * their proportion; a value without any scale belongs to no line.
 */
const divideValues = (values: readonly Money[], scales: readonly Scale[]): ValuedLine[] => {
  const [{ lines } = { lines: [] }] = scales;
  const amounts = new Map<string, number>();
  for (const { currency, amount } of values) {
    const scale = scales.find((one) => amountIn(one.values, currency) > 0);
    if (!scale) continue;
    const own = scale.lines.filter((line) => line.currency === currency);
    const charges = amountIn(scale.values, currency) - amountIn(own, currency);
    const parts = divide(amount, [...own.map((line) => line.amount), charges]);
    for (const [n, { line_id }] of own.entries()) amounts.set(line_id, parts[n] ?? 0);
  }
  return lines.map((line) => ({ ...line, amount: amounts.get(line.line_id) ?? 0 }));
};

type Valued = {
  lines: readonly PricedLine[];
  worth?: Worth | undefined;
  rfq?:
    | {
        quotation?: { lines: readonly PricedLine[]; values: Money[] };
        values?: Money[] | undefined;
      }
    | undefined;
};

/** The lines that an RFQ is won with after a correction: those of the outcome before, of the quotation, or of the list. */
const correctedLines = (
  { lines, worth = {}, rfq }: Valued,
  values: readonly Money[],
): ValuedLine[] => {
  const listed = valuedLines(lines);
  const scales: Scale[] = [{ lines: listed, values: listed }];
  const { quotation } = rfq ?? {};
  if (quotation) scales.unshift({ lines: valuedLines(quotation.lines), values: quotation.values });
  if (worth.won && rfq?.values) scales.unshift({ lines: worth.won, values: rfq.values });
  return divideValues(values, scales);
};

const withLines = (state: Valued, event: EventOf<HandoffEventType>): EventOf<HandoffEventType> => {
  const { lines, worth = {}, rfq } = state;
  switch (event.type) {
    case 'RfqTakenUp':
      return worth.taken_up
        ? event
        : { ...event, data: { ...event.data, lines: valuedLines(lines) } };
    case 'RfqWon':
      return { ...event, data: { ...event.data, lines: valuedLines(rfq?.quotation?.lines ?? []) } };
    case 'RfqOutcomeCorrected': {
      const { from, to } = event.data;
      const isOpen = to.state === 'won' || to.state === 'in_progress';
      const taken_up = !worth.taken_up && isOpen ? valuedLines(lines) : undefined;
      const after =
        to.state === 'won'
          ? { ...to, lines: to.lines ?? correctedLines(state, to.values ?? []) }
          : to;
      const before = from.state === 'won' ? asStored({ ...from, lines: worth.won }) : from;
      return { ...event, data: asStored({ ...event.data, from: before, to: after, taken_up }) };
    }
    default:
      return event;
  }
};

/** Pins the lines in the events that count them. */
export const pinLines = <Event extends EventOf<HandoffEventType>>(
  state: Valued,
  events: readonly Event[],
): Event[] => events.map((event) => withLines(state, event) as Event);

/** Folds an event into the worth of its RFQ. */
export const foldWorth = (
  worth: Worth | undefined,
  event: Happened<HandoffEventType>,
): Worth | undefined => {
  switch (event.type) {
    case 'RfqTakenUp':
      return { ...worth, taken_up: true };
    case 'RfqWon':
      return asStored({ ...worth, won: event.data.lines });
    case 'RfqOutcomeCorrected': {
      const { to, taken_up } = event.data;
      return asStored({ ...worth, won: to.lines, ...(taken_up && { taken_up: true }) });
    }
    default:
      return worth;
  }
};
