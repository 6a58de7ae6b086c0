import type { Done, Outcome, Refusal } from '#src/app/pipeline/outcome.ts';
import { type Cut, cutToSize } from './cut-to-size.ts';

/** An outcome as its result shows it: the record as JSON, and what was cut from it. */
export type FittedResult = {
  ok: true;
  outcome: Done<unknown>;
  json: string;
  cuts: Cut[];
  how?: string;
};

const WHOLE = 'Resources hold whole records: tributary://handoffs/{id}, tributary://products/{id}.';
const CONTINUE = 'Go on with next_cursor.';

const isRows = ({ pointer, unit }: Cut): boolean => pointer === '/data' && unit === 'rows';

/**
 * Fits an outcome into a tool's result. A page of a list that is too large is read again with as many rows as fit, so
 * that its cursor continues after the last row shown: a client that follows the cursors sees every row.
 */
export const fitResult = async (
  first: Done<unknown>,
  readAgain: (limit: number) => Promise<Outcome<unknown>>,
): Promise<FittedResult | Refusal> => {
  let outcome = first;
  let left: Cut | undefined;
  for (;;) {
    const value = outcome.value as object;
    const { json, cuts } = cutToSize(value);
    const rows = 'page' in value ? cuts.find(isRows) : undefined;
    if (!rows) {
      if (left) return { ok: true, outcome, json, cuts: [left, ...cuts], how: CONTINUE };
      return { ok: true, outcome, json, cuts, ...(cuts.length > 0 && { how: WHOLE }) };
    }
    left = { ...rows, of: left?.of ?? rows.of };
    const smaller = await readAgain(left.kept);
    if (!smaller.ok) return smaller;
    outcome = smaller;
  }
};

/** The note about cuts for the model. */
export const truncationNote = ({ cuts, how = '' }: Pick<FittedResult, 'cuts' | 'how'>): string => {
  const parts = cuts.map(
    ({ pointer, kept, of, unit }) => `${pointer} shows ${kept} of ${of} ${unit}`,
  );
  return `Truncated to keep the result small: ${parts.join('; ')}. ${how}`;
};
