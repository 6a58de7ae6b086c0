/** The history of each owner's events, which lists and audits read. */
import { type EventType, EVENTS } from '#contracts/registries/events.ts';
import {
  EVENTS_PER_HISTORY_ROW,
  type HistoryRow,
  NEWEST_HISTORY,
  VALUES_PER_HISTORY_ENTRY,
} from '#src/ports/rows.ts';
import type { Projection } from './projection.ts';

const ROW_VALUES = EVENTS_PER_HISTORY_ROW * VALUES_PER_HISTORY_ENTRY;

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
  'PersonClaimed',
]);

/**
 * The positions and types of an owner's events, in log order; their data is only in the log. Rows have a fixed number of
 * events, so that an event rewrites a small row however much came before, and a page reads few rows however rare the
 * owner's events are in the log.
 */
export const history: Projection<HistoryRow> = {
  name: 'history',
  version: 13,
  handles: (Object.keys(EVENTS) as EventType[]).filter((type) => !WITHOUT_OWNER.has(type)),
  place(event) {
    return { scope: event.owner, key: NEWEST_HISTORY };
  },
  evolve(row, { position, revision, type, at, stream }, others) {
    // A copy, because V8 reserves half of an array's length when it grows.
    const entries = (row?.entries ?? []).concat(position, revision, type, at, stream);
    if (entries.length < ROW_VALUES) return { entries };
    others.set(String(position), { entries });
    return null;
  },
  sort: ({ entries }) => (entries.length < ROW_VALUES ? null : (entries[0] as number)),
};
