import type { Done, Outcome } from '#src/app/outcome.ts';
import type { Cut } from './budget.ts';
import { withinBudget } from './budget.ts';

type Page = { page: { next_cursor: string | null; has_more: boolean } };

/** An outcome as its result shows it: the record as JSON text, and what of it is missing. */
export type Fitted = { outcome: Done<unknown>; json: string; cuts: Cut[]; how?: string };

const WHOLE = 'Resources hold whole records: tributary://handoffs/{id}, tributary://products/{id}.';

/**
 * An outcome within the budget of a result. A page that begins a listing and is too heavy is asked
 * for again with as many rows as fit, so that its cursor goes on behind them; a cursor is bound to its
 * limit, so any later page says where to start again.
 */
export const fitted = async (
  first: Done<unknown>,
  input: Record<string, unknown>,
  again: (limit: number) => Promise<Outcome<unknown>>,
): Promise<Fitted> => {
  const value = first.value as object;
  const { json, cuts } = withinBudget(value);
  if (cuts.length === 0) return { outcome: first, json, cuts };
  const rows = cuts.find(({ pointer, unit }) => pointer === '/data' && unit === 'rows');
  if (!rows || !('page' in value)) return { outcome: first, json, cuts, how: WHOLE };
  const limit = rows.kept;
  const smaller = input['cursor'] === undefined ? await again(limit) : undefined;
  if (smaller?.ok) {
    const fit = withinBudget(smaller.value as object);
    const how = `Go on with next_cursor and limit ${limit}.`;
    return { outcome: smaller, json: fit.json, cuts: [rows, ...fit.cuts], how };
  }
  const { page } = value as Page;
  const ended = { ...value, page: { ...page, next_cursor: null, has_more: true } };
  const how = `Start the listing again with limit ${limit}: then next_cursor goes on behind it.`;
  return { outcome: first, ...withinBudget(ended), how };
};

/** What a model is told of what is missing. */
export const truncationNote = ({ cuts, how = '' }: Pick<Fitted, 'cuts' | 'how'>): string => {
  const parts = cuts.map(
    ({ pointer, kept, of, unit }) => `${pointer} shows ${kept} of ${of} ${unit}`,
  );
  return `Truncated to keep the result small: ${parts.join('; ')}. ${how}`;
};
