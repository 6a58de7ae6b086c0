import { ALL_ERASURES, type ErasureRow } from '#src/ports/rows.ts';
import { type Projection, typedEvent } from './projection.ts';

const ENDS = ['RfqConfirmationExpired', 'RfqDropped'] as const;
type Handled = 'SubjectErased' | (typeof ENDS)[number];

/** The subjects of all erasures, and of contacts that were not confirmed. Only the vault knows whether a key is destroyed. */
export const erasures: Projection<ErasureRow> = {
  name: 'erasures',
  version: 2,
  handles: ['SubjectErased', ...ENDS],
  place(event) {
    const { type, data } = typedEvent<Handled>(event);
    return {
      scope: ALL_ERASURES,
      key: type === 'SubjectErased' ? data.subject : data.contact_subject,
    };
  },
  evolve(row, event) {
    const { type, data } = typedEvent<Handled>(event);
    if (row) return row;
    const sort = event.position;
    const { contact_subject: contact } = data;
    return type === 'SubjectErased'
      ? { subject: data.subject, ...(contact && { contact }), sort }
      : { subject: contact ?? '', sort };
  },
  sort: (row) => row.sort,
};
