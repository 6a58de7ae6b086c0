import { ALL_ERASURES, type ErasureRow } from '#src/ports/rows.ts';
import { typedEvent } from './typed-event.ts';
import type { Projection } from './projection.ts';

/** Every subject that has an erasure event. Only the vault knows whether its key is destroyed. */
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
