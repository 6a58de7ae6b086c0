/** The owners that the log has, for everything that goes through all of them. */
import { ALL_OWNERS, type OwnerRow } from '#src/ports/rows.ts';
import type { Projection } from './projection.ts';

/** Every owner, from the first request for access or grant of it. */
export const owners: Projection<OwnerRow> = {
  name: 'owners',
  version: 1,
  handles: ['AccessRequested', 'AccessGranted'],
  place: ({ owner }) => ({ scope: ALL_OWNERS, key: owner }),
  evolve: (row, { owner, position }) => row ?? { owner, sort: position },
  sort: (row) => row.sort,
};
