import type { InputFault } from '#contracts/problems.ts';
import type { HandoffState } from '#src/domain/handoff-state.ts';
import type { Catalog } from '#src/ports/catalog.ts';
import { priceLine, quantitiesIn, totalsOf } from './price-lines.ts';

/** What was typed over the quantities of a list, by line id. */
export type TypedQuantities = ReadonlyMap<string, string>;

export type List = Pick<HandoffState, 'lines' | 'totals'>;

const QUANTITY_MAX = 100_000_000;

/** A whole number in digits, 0 for a line to be taken off; or what is wrong with what was typed. */
const readQuantity = (typed: string): number | Omit<InputFault, 'pointer'> => {
  if (!/^\d+$/.test(typed))
    return {
      code: 'not_a_quantity',
      detail: 'must be a whole number in digits, 0 to take the line off the list',
    };
  const quantity = Number(typed);
  if (quantity <= QUANTITY_MAX) return quantity;
  return { code: 'too_large', detail: `must be at most ${QUANTITY_MAX.toLocaleString('en')}` };
};

const listFault = (code: string, detail: string) => ({
  faults: [{ pointer: '/quantities', code, detail }],
});

/**
 * A list with what was typed over its quantities, and all lines of the products that this touches
 * with prices and warnings as they are now.
 */
export const withQuantities = (
  catalog: Catalog,
  state: List,
  typed: TypedQuantities,
): List | { faults: InputFault[] } => {
  const products = catalog.byId(state.lines.map(({ product_id }) => product_id));
  const faults: InputFault[] = [];
  const touched = new Set<string>();
  const wanted = state.lines.flatMap((line) => {
    const quantity = readQuantity(typed.get(line.line_id)?.trim() ?? String(line.quantity));
    if (typeof quantity === 'object') {
      faults.push({ pointer: `/quantity.${line.line_id}`, ...quantity });
      return [line];
    }
    if (quantity === line.quantity) return [line];
    if (quantity > line.quantity && !products.has(line.product_id)) {
      const most = line.quantity.toLocaleString('en');
      const detail = `must be at most ${most}, because the product is no longer offered`;
      faults.push({ pointer: `/quantity.${line.line_id}`, code: 'withdrawn', detail });
      return [line];
    }
    touched.add(line.product_id);
    return quantity === 0 ? [] : [{ ...line, quantity }];
  });
  if (faults.length > 0) return { faults };
  const inList = quantitiesIn(wanted);
  const lines = wanted.map((line) => {
    const product = touched.has(line.product_id) && products.get(line.product_id);
    return product ? priceLine(product, line, inList) : line;
  });
  if (lines.length === 0) return listFault('empty', 'at least one line must stay');
  const totals = totalsOf(lines);
  return totals.some(({ amount }) => !Number.isSafeInteger(amount))
    ? listFault('too_large', 'the total cannot be counted')
    : { lines, totals };
};

/** Whether something was typed that the list does not say already. */
export const isChanged = ({ lines }: Pick<List, 'lines'>, typed: TypedQuantities): boolean =>
  lines.some(({ line_id, quantity }) => {
    const said = typed.get(line_id)?.trim();
    return said !== undefined && said !== String(quantity);
  });

/** Whether a form asks for something else than was sent; a button pressed twice does not. */
export const isOther = (sent: Pick<List, 'lines'>, typed: TypedQuantities): boolean => {
  const quantities = new Map(sent.lines.map(({ line_id, quantity }) => [line_id, quantity]));
  return [...typed].some(([id, said]) => readQuantity(said.trim()) !== (quantities.get(id) ?? 0));
};
