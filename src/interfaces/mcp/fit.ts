import type { Done, Outcome, Refusal } from '#src/app/pipeline/outcome.ts';
import { type Cut, withinBudget } from './budget.ts';

/** An outcome as its result shows it: the record as JSON text, and what of it is missing. */
export type Fitted = { ok: true; outcome: Done<unknown>; json: string; cuts: Cut[]; how?: string };

const WHOLE = 'Resources hold whole records: tributary://handoffs/{id}, tributary://products/{id}.';
const GO_ON = 'Go on with next_cursor.';

const isRows = ({ pointer, unit }: Cut): boolean => pointer === '/data' && unit === 'rows';

/**
 * An outcome within the budget of a result. A page of a listing that is too heavy is asked for again
 * with as many rows as fit, until nothing is cut from its end: its cursor goes on behind the last row
 * that is shown, so that who follows cursors alone sees every row.
 */
export const fitted = async (
  first: Done<unknown>,
  again: (limit: number) => Promise<Outcome<unknown>>,
): Promise<Fitted | Refusal> => {
  let outcome = first;
  let left: Cut | undefined;
  for (;;) {
    const value = outcome.value as object;
    const { json, cuts } = withinBudget(value);
    const rows = 'page' in value ? cuts.find(isRows) : undefined;
    if (!rows) {
      if (left) return { ok: true, outcome, json, cuts: [left, ...cuts], how: GO_ON };
      return { ok: true, outcome, json, cuts, ...(cuts.length > 0 && { how: WHOLE }) };
    }
    left = { ...rows, of: left?.of ?? rows.of };
    const smaller = await again(left.kept);
    if (!smaller.ok) return smaller;
    outcome = smaller;
  }
};

/** What a model is told of what is missing. */
export const truncationNote = ({ cuts, how = '' }: Pick<Fitted, 'cuts' | 'how'>): string => {
  const parts = cuts.map(
    ({ pointer, kept, of, unit }) => `${pointer} shows ${kept} of ${of} ${unit}`,
  );
  return `Truncated to keep the result small: ${parts.join('; ')}. ${how}`;
};
