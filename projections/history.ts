import { EVENTS, type EventType } from '#contracts/events/index.ts';
import { historyBlockOf, type HistoryRow } from '#src/ports/rows.ts';
import type { Projection } from './projection.ts';

/** Below this length, a row copies its array per event, because V8 grows an array by half of its length. */
const FEW_VALUES = 160;

// Events that belong to no owner: those of the catalog, and of streams that all owners share.
const WITHOUT_OWNER: ReadonlySet<string> = new Set<EventType>([
  'ProductPublished',
  'ProductRevised',
  'ProductStockObserved',
  'ProductWithdrawn',
  'CodeClaimed',
  'LeadClaimed',
  'LeadClaimReleased',
  'MailboxMailed',
  'MailboxBlocked',
]);

/** The positions and types of an owner's events, in log order; their data is only in the log. */
export const history: Projection<HistoryRow> = {
  name: 'history',
  version: 8,
  handles: (Object.keys(EVENTS) as EventType[]).filter((type) => !WITHOUT_OWNER.has(type)),
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
