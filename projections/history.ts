import { EVENTS, type EventType } from '#contracts/events/index.ts';
import { historyBlockOf, type HistoryRow } from '#src/ports/rows.ts';
import type { Projection } from './projection.ts';

/** Up to here entries are copied with each event: an array that grows takes half as many places more. */
const FEW_VALUES = 160;

// No promoter's: they stand under the catalog, and under names that any owner may claim.
const NOBODYS: ReadonlySet<string> = new Set<EventType>([
  'ProductPublished',
  'ProductRevised',
  'ProductStockObserved',
  'ProductWithdrawn',
  'CodeClaimed',
  'LeadClaimed',
  'LeadClaimReleased',
  'CallsAudited',
]);

/** Which events an owner has, in log order; the log itself holds what they say. */
export const history: Projection<HistoryRow> = {
  name: 'history',
  version: 2,
  handles: (Object.keys(EVENTS) as EventType[]).filter((type) => !NOBODYS.has(type)),
  place(event) {
    return { scope: event.owner, key: String(historyBlockOf(event.position)) };
  },
  evolve(row, { position, revision, type, at, stream }) {
    if (!row)
      return { block: historyBlockOf(position), entries: [position, revision, type, at, stream] };
    const { entries } = row;
    if (entries.length < FEW_VALUES)
      row.entries = entries.concat([position, revision, type, at, stream]);
    else entries.push(position, revision, type, at, stream);
    return row;
  },
  sort: (row) => row.block,
};
