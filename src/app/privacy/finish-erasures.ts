/** Erasures that did not come to their end: the event is on record, and the key is there. */
import { ALL_ERASURES, type ErasureRow } from '#src/ports/rows.ts';
import type { Deps } from '../pipeline/deps.ts';
import { turn } from '../shared/turns.ts';

const PAGE_ROWS = 100;

/**
 * Goes through the erased subjects, newest first and at most `newest` of them, and destroys what is
 * not destroyed in the vault; answers how many keys that were. A signal ends it between two subjects.
 * Throws what the vault and the read model throw: the next run takes up what this one left.
 */
export const finishErasures = async (
  { readModels, vault }: Pick<Deps, 'readModels' | 'vault'>,
  { newest = Infinity, signal }: { newest?: number; signal: AbortSignal },
): Promise<number> => {
  let [keys, left] = [0, newest];
  for (let before: number | undefined; left > 0; await turn()) {
    const page = await readModels.list<ErasureRow>('erasures', {
      scope: ALL_ERASURES,
      limit: Math.min(PAGE_ROWS, left),
      ...(before !== undefined && { before }),
    });
    for (const { row, sort } of page) {
      if (signal.aborted) return keys;
      // Also without a key: whoever was erased must not come back under a first one.
      const isDone = (await vault.knows(row.subject)) === 'destroyed';
      if (!isDone && (await vault.destroy(row.subject))) keys += 1;
      before = sort;
    }
    left -= page.length;
    if (page.length < PAGE_ROWS) return keys;
  }
  return keys;
};
