import { ALL_LEADS, type LeadHintRow, listBy } from '#src/ports/rows.ts';
import type { FoldEvent } from '#src/ports/event-log.ts';
import type { ListEntry } from '#src/ports/read-model.ts';
import type { Happened } from '#contracts/registries/events.ts';
import { type Projection, recordIdOf, typedEvent } from '../projection.ts';

type Handled = 'LeadSubmitted' | 'LeadAmended' | 'SubjectErased';

const leadOfHints = (event: FoldEvent & Happened<Handled>): string | undefined =>
  event.type === 'SubjectErased' ? recordIdOf(event, 'lead', 'led') : event.data.lead_id;

/** The leads of all owners by keyed hashes of their telephone and of the domains of their company. */
export const leadHints: Projection<LeadHintRow> = {
  name: 'lead-hints',
  version: 2,
  handles: ['LeadSubmitted', 'LeadAmended', 'SubjectErased'],
  begins: ['LeadSubmitted'],
  place(event) {
    const key = leadOfHints(event as FoldEvent & Happened<Handled>);
    return key === undefined ? undefined : { scope: ALL_LEADS, key };
  },
  evolve(row, stored) {
    const { type, data } = typedEvent<Handled>(stored);
    // An amendment replaces the contact and the company.
    if (type === 'SubjectErased' || !data.hint_keys) return null;
    const { owner, position } = stored;
    return { owner, lead_id: data.lead_id, sort: row?.sort ?? position, ...data.hint_keys };
  },
  lists: ({ phone, domains, sort }) => [
    ...(phone === undefined ? [] : [[listBy({ phone }), sort] satisfies ListEntry]),
    ...domains.map((domain): ListEntry => [listBy({ domain }), sort]),
  ],
};
