import type { InputFault } from '#contracts/problems.ts';
import type { HandoffState } from './handoff-state.decider.ts';
import type { Catalog } from '#src/ports/catalog.ts';
import { priceLine, quantitiesIn, totalsOf } from '#src/catalog/price-lines.ts';

/** The quantities that a buyer entered, as text, by line id. */
export type EnteredQuantities = ReadonlyMap<string, string>;

export type List = Pick<HandoffState, 'lines' | 'totals'>;

const QUANTITY_MAX = 100_000_000;

/** Reads an entered quantity, 0 to remove the line, or reports its fault. */
const readQuantity = (entered: string): number | Omit<InputFault, 'pointer'> => {
  if (!/^\d+$/.test(entered))
    return {
      code: 'not_a_quantity',
      detail: 'must be a whole number in digits, 0 to remove the line from the list',
    };
  const quantity = Number(entered);
  if (quantity <= QUANTITY_MAX) return quantity;
  return { code: 'too_large', detail: `must be at most ${QUANTITY_MAX.toLocaleString('en')}` };
};

const listFault = (code: string, detail: string) => ({
  faults: [{ pointer: '/quantities', code, detail }],
});

/**
 * Replaces the quantities of a list by the entered ones, and adds lines. All lines of the products whose quantity changes
 * get the present prices and warnings.
 */
export const withQuantities = (
  catalog: Catalog,
  state: List,
  { entered, added = [] }: { entered: EnteredQuantities; added?: List['lines'] },
): List | { faults: InputFault[] } => {
  const products = catalog.byId([...state.lines, ...added].map(({ product_id }) => product_id));
  const faults: InputFault[] = [];
  const changedProducts = new Set(added.map(({ product_id }) => product_id));
  const quantified = state.lines.flatMap((line) => {
    const quantity = readQuantity(entered.get(line.line_id)?.trim() ?? String(line.quantity));
    if (typeof quantity === 'object') {
      faults.push({ pointer: `/quantity.${line.line_id}`, ...quantity });
      return [line];
    }
    if (quantity === line.quantity) return [line];
    if (quantity > line.quantity && !products.has(line.product_id)) {
      const max = line.quantity.toLocaleString('en');
      const detail = `must be at most ${max}, because the product is no longer offered`;
      faults.push({ pointer: `/quantity.${line.line_id}`, code: 'withdrawn', detail });
      return [line];
    }
    changedProducts.add(line.product_id);
    return quantity === 0 ? [] : [{ ...line, quantity }];
  });
  if (faults.length > 0) return { faults };
  const requested = [...quantified, ...added];
  const inList = quantitiesIn(requested);
  const lines = requested.map((line) => {
    const product = changedProducts.has(line.product_id) && products.get(line.product_id);
    return product ? priceLine(product, line, inList) : line;
  });
  if (lines.length === 0) return listFault('empty', 'at least one line must stay');
  const totals = totalsOf(lines);
  return totals.some(({ amount }) => !Number.isSafeInteger(amount))
    ? listFault('too_large', 'the total exceeds 2^53 - 1')
    : { lines, totals };
};

export const isChanged = ({ lines }: Pick<List, 'lines'>, entered: EnteredQuantities): boolean =>
  lines.some(({ line_id, quantity }) => {
    const text = entered.get(line_id)?.trim();
    return text !== undefined && text !== String(quantity);
  });

/** Whether a form requests other quantities than those that were sent. A double click does not. */
export const isOtherRequest = (sent: Pick<List, 'lines'>, entered: EnteredQuantities): boolean => {
  const quantities = new Map(sent.lines.map(({ line_id, quantity }) => [line_id, quantity]));
  return [...entered].some(([id, text]) => readQuantity(text.trim()) !== (quantities.get(id) ?? 0));
};
