import { join } from 'node:path';
import { afterAll } from 'vitest';
import { sqliteStore } from '#src/stores/sqlite/rows/read-model.ts';
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
