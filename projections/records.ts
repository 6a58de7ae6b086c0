/** Read models of the records of all kinds: by what people name one. */
import type { FoldEvent } from '#src/ports/event-log.ts';
import { ALL_RECORDS, listOfBeginning, listBy, type NamedRow } from '#src/ports/rows.ts';
import { referenceData } from '#src/ports/reference.ts';
import { type Projection, typedEvent } from './projection.ts';

const BEGINS = ['HandoffCreated', 'BuyerListCreated', 'LeadSubmitted'] as const;

const idOf = (event: FoldEvent): string => {
  const { type, data } = typedEvent<(typeof BEGINS)[number]>(event);
  return type === 'LeadSubmitted' ? data.lead_id : data.handoff_id;
};

/** The owner of each handoff and lead, by the reference of its id and by how the id begins. */
export const namedRecords: Projection<NamedRow> = {
  name: 'named-records',
  version: 1,
  handles: BEGINS,
  begins: BEGINS,
  place: (event) => ({ scope: ALL_RECORDS, key: idOf(event) }),
  evolve(_row, event) {
    return { owner: event.owner, record: idOf(event), sort: event.position };
  },
  sort: (row) => row.sort,
  lists: ({ record, sort }) => [
    [listBy({ reference: referenceData(record) }), sort],
    [listOfBeginning(record), sort],
  ],
};
