/** Erasures that were interrupted after their event and before their key was destroyed. */
import { ALL_ERASURES, type ErasureRow } from '#src/ports/rows.ts';
import { turn } from '#src/shared/turns.ts';
import type { Deps } from '#src/calls/call.ts';

const PAGE_ROWS = 100;

/**
 * Destroys the keys of erased subjects that still have one, newest first and at most `newest` subjects; answers the
 * number of keys. `signal` stops it between two subjects. Throws what the vault and the read model
 * throw; the next run continues.
 */
export const finishErasures = async (
  { readModels, vault }: Pick<Deps, 'readModels' | 'vault'>,
  newest: number,
  signal: AbortSignal,
): Promise<number> => {
  let [keys, remaining] = [0, newest];
  for (let before: number | undefined; remaining > 0; await turn()) {
    const page = await readModels.list<ErasureRow>('erasures', {
      scope: ALL_ERASURES,
      limit: Math.min(PAGE_ROWS, remaining),
      ...(before !== undefined && { before }),
    });
    for (const { row, sort } of page) {
      if (signal.aborted) return keys;
      // A subject without a key is marked as well, so that it cannot get a first one later.
      for (const subject of row.contact ? [row.subject, row.contact] : [row.subject]) {
        const isDone = (await vault.knows(subject)) === 'destroyed';
        if (!isDone && (await vault.destroy(subject))) keys += 1;
      }
      before = sort;
    }
    remaining -= page.length;
    if (page.length < PAGE_ROWS) return keys;
  }
  return keys;
};
