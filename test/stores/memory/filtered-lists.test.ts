import { memoryStore } from '../../support/memory-read-model.ts';
import { filteredListConformance } from '../../conformance/filtered-lists.ts';
import { LISTED } from '../../support/oracle/listed-leads.ts';
import { readersOf } from '../../support/world/readers.ts';

filteredListConformance(
  'memory',
  async () => {
    const store = memoryStore();
    return { store, readModels: readersOf(store, LISTED), close: () => store.close() };
  },
  { numRuns: 60 },
);
