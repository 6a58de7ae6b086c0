/** The list that a visitor puts together, in the address of landing pages: the log has nothing of it yet. */
import { LIMITS } from '#contracts/limits.ts';
import { firstOf, type SentValue } from './visitor.pages.ts';

export type ListLine = { product_id: string; quantity: number };

/** The query parameter of the list: `id~quantity` joined by dots, the ids without their prefix. */
export const LIST_PARAMETER = 'list';

const PREFIX = 'prd_';
const LINE = /^([0-9a-z]{24})~([1-9]\d{0,8})$/;
const QUANTITY = /^[1-9]\d{0,8}$/;
const QUANTITY_MAX = 100_000_000;

export const quantityIn = (text: string): number | undefined => {
  const quantity = QUANTITY.test(text.trim()) ? Number(text) : Number.POSITIVE_INFINITY;
  return quantity <= QUANTITY_MAX ? quantity : undefined;
};

/** Reads the list of an address, with one line for each product. Leaves out what is malformed or beyond the limit. */
export const linesIn = (sent: SentValue): readonly ListLine[] => {
  const quantities = new Map<string, number>();
  for (const part of (firstOf(sent) ?? '').split('.')) {
    const [, id, digits = ''] = LINE.exec(part) ?? [];
    const quantity = quantityIn(digits);
    if (id !== undefined && quantity !== undefined) quantities.set(PREFIX + id, quantity);
  }
  return [...quantities]
    .map(([product_id, quantity]) => ({ product_id, quantity }))
    .slice(0, LIMITS.LIST_LINES_MAX);
};

export const listValue = (lines: readonly ListLine[]): string =>
  lines
    .map(({ product_id, quantity }) => `${product_id.slice(PREFIX.length)}~${quantity}`)
    .join('.');

/** The list with a line of this product, in the place of an earlier one; undefined beyond the limit. */
export const withLine = (
  lines: readonly ListLine[],
  line: ListLine,
): readonly ListLine[] | undefined => {
  const others = lines.filter(({ product_id }) => product_id !== line.product_id);
  return others.length < LIMITS.LIST_LINES_MAX ? [...others, line] : undefined;
};
