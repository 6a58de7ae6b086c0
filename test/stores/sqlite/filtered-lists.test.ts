import { join } from 'node:path';
import { afterAll, describe, vi } from 'vitest';
import { sqliteStore, WriteBehind } from '#src/stores/sqlite/rows/read-model.ts';
import { filteredListConformance } from '../../conformance/filtered-lists.ts';
import { directories } from '../../support/processes/directories.ts';
import { LISTED } from '../../support/oracle/listed-leads.ts';
import { readersOf } from '../../support/world/readers.ts';

const temporary = directories('tributary-lists-');
afterAll(() => temporary.removeAll());

filteredListConformance(
  'sqlite',
  async () => {
    const store = sqliteStore({ file: join(temporary.fresh(), 'rows.db') });
    return { store, readModels: readersOf(store, LISTED), close: () => store.close() };
  },
  { numRuns: 10 },
);

describe('A disk that is full', () => {
  filteredListConformance(
    'sqlite, with some of the rows in memory only',
    async () => {
      const full = Object.assign(new Error('full'), { code: 'ERR_SQLITE_ERROR', errcode: 13 });
      vi.spyOn(WriteBehind.prototype, 'flush').mockReturnValue();
      vi.spyOn(WriteBehind.prototype, 'flushPartition').mockImplementation(() => {
        throw full;
      });
      // Some rows are in the file when the disk becomes full.
      const store = sqliteStore({ file: join(temporary.fresh(), 'rows.db'), flushRowsMax: 10 });
      const close = async (): Promise<void> => {
        vi.restoreAllMocks();
        await store.close();
      };
      return { store, readModels: readersOf(store, LISTED), close };
    },
    { numRuns: 10 },
  );
});
