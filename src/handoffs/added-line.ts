import { LIMITS } from '#contracts/limits.ts';
import type { InputFault } from '#contracts/problems.ts';
import type { HandoffLine } from './handoff-state.decider.ts';
import type { ReviewState } from './review.decider.ts';
import type { Catalog, CatalogProduct } from '#src/ports/catalog.ts';
import { lineIdAt, priceLine } from '#src/catalog/price-lines.ts';

/** What the buyer wants back on the list, by the id of the removed line, or new on it, by the id of a product. */
type Addition = { restore?: string | undefined; add?: string | undefined };

const fault = (pointer: string, code: string, detail: string) => ({
  faults: [{ pointer, code, detail }],
});

const smallestOf = ({ moq, increment }: CatalogProduct): number =>
  Math.ceil(moq / increment) * increment;

/** A line id that the list never had: the notes of a list are stored by line id. */
const nextLineId = (lines: readonly HandoffLine[]): string =>
  lineIdAt(Math.max(...lines.map(({ line_id }) => Number(line_id))));

/**
 * Prices the line that an addition puts on the list: a removed line with its last quantity, also if the addition names
 * only its product; otherwise a new line with the smallest quantity. No line if nothing is added, or the line is back
 * already.
 */
export const lineToAdd = (
  catalog: Catalog,
  { lines, removed = [], made_by_buyer }: ReviewState,
  { restore, add }: Addition,
): { lines: HandoffLine[] } | { faults: InputFault[] } => {
  const isListed = lines.some(({ line_id }) => line_id === restore);
  if (isListed || (restore === undefined && add === undefined)) return { lines: [] };
  const same = lines.find(({ product_id }) => product_id === add);
  if (same)
    return fault(
      `/quantity.${same.line_id}`,
      'on_list',
      'can be changed here, because the product is on the list already',
    );
  const before = removed.findLast(({ line_id, product_id }) =>
    restore === undefined ? product_id === add : line_id === restore,
  );
  const productId = before?.product_id ?? add ?? '';
  const product = catalog.byId([productId]).get(productId);
  if (!product)
    return fault('/q', 'not_published', 'the product is not offered, so it cannot be added');
  const max = made_by_buyer ? LIMITS.LIST_LINES_MAX : LIMITS.HANDOFF_LINES_MAX;
  if (lines.length >= max)
    return fault(
      '/q',
      'too_many',
      `a list has at most ${max.toLocaleString('en')} lines: take one off before you add another`,
    );
  const { line_id, quantity } = before ?? {
    line_id: nextLineId([...lines, ...removed]),
    quantity: smallestOf(product),
  };
  return { lines: [priceLine(product, { line_id, quantity }, new Map())] };
};
