import { ALL_ERASURES, type ErasureRow } from '#src/ports/rows.ts';
import { typedEvent } from './typed-event.ts';
import type { Projection } from './projection.ts';

/** Every subject whose erasure is on record. Whether its key is gone, the vault alone knows. */
export const erasures: Projection<ErasureRow> = {
  name: 'erasures',
  version: 1,
  handles: ['SubjectErased'],
  place: (event) => ({
    scope: ALL_ERASURES,
    key: typedEvent<'SubjectErased'>(event).data.subject,
  }),
  evolve(row, event) {
    const { subject } = typedEvent<'SubjectErased'>(event).data;
    return row ?? { subject, sort: event.position };
  },
  sort: (row) => row.sort,
};
