/** Finds the events of an owner by its history, for a log on a server, which has no index by owner. */
import { SYSTEM_OWNERS } from '#contracts/fields.ts';
import { LIMITS } from '#contracts/limits.ts';
import { DESK } from '#src/calls/audit.ts';
import type { Deps } from '#src/calls/handlers.ts';
import {
  type EventLog,
  type EventTime,
  eventTimeOf,
  type Position,
  type StoredEvent,
  UnknownEventType,
} from '#src/ports/event-log.ts';
import { type ReadModels, ReadModelRebuilding } from '#src/ports/read-model.ts';
import {
  EVENTS_PER_HISTORY_ROW,
  type HistoryEntry,
  historyEntries,
  type HistoryRow,
  NEWEST_HISTORY,
} from '#src/ports/rows.ts';

/** Reads the newest `limit` entries of an owner's history before the position `below`, newest first. Reads twice. */
export const newestEntries = async (
  readModels: Pick<ReadModels, 'get' | 'list'>,
  { owner, below, limit }: { owner: string; below: number; limit: number },
): Promise<HistoryEntry[]> => {
  const newest = await readModels.get<HistoryRow>('history', owner, NEWEST_HISTORY);
  const first = newest ? (newest.entries[0] as number) : Infinity;
  // The newest row may become one of the others between the two reads; its entries must not come twice.
  const rows = await readModels.list<HistoryRow>('history', {
    scope: owner,
    before: Math.min(below, first),
    limit: Math.ceil(limit / EVENTS_PER_HISTORY_ROW) + 1,
  });
  return [...(newest ? [newest] : []), ...rows.map(({ row }) => row)]
    .flatMap((row) => historyEntries(row).toReversed())
    .filter(({ position }) => position < below)
    .slice(0, limit);
};

type Index = Pick<Deps, 'readModels' | 'following'>;
type OwnerQuery = { owner: string; upTo: Position; limit: number };

/** Whether the read model `history` contains this owner's events. */
const hasHistory = (owner: string): boolean => owner === DESK || !SYSTEM_OWNERS.includes(owner);

/**
 * Wraps a log on a server, whose own `readBack` of one owner reads the events of all owners. This one costs a list of the
 * owner's `history` and a read of each stream in it. The events come from the log, and must be those that the history
 * names. It asks the log itself while the history does not show the position, or names other events than the log has.
 */
export const withOwnerIndex = (log: EventLog, index: Index): Deps['log'] => ({
  ...log,
  hasOwnerIndex: true,
  async readBack({ owner, ...range }) {
    if (owner === undefined) return log.readBack(range);
    const query = { owner, ...range };
    const read = (entries: HistoryEntry[]) => eventsOf(log, entries);
    return (await readByHistory(log, index, { ...query, read })) ?? log.readBack(query);
  },
  async readTimesBack(query) {
    const read = async (entries: HistoryEntry[]): Promise<EventTime[]> => entries.toReversed();
    return (
      (await readByHistory(log, index, { ...query, read })) ??
      (await log.readBack(query)).map(eventTimeOf)
    );
  },
});

type Reading<Item> = OwnerQuery & {
  read(entries: HistoryEntry[]): Promise<Item[] | undefined>;
};

/** Reads what the owner's history names; undefined if the log must be asked. */
const readByHistory = async <Item>(
  log: EventLog,
  { readModels, following }: Index,
  { owner, upTo, limit, read }: Reading<Item>,
): Promise<Item[] | undefined> => {
  if (!hasHistory(owner) || limit <= 0) return undefined;
  if (upTo > following.asOf().position) {
    const head = (await log.head()).position;
    if (!(await following.passed(Math.min(upTo, head), LIMITS.CONSISTENCY_WAIT_MS_MAX)))
      return undefined;
  }
  try {
    return await read(await newestEntries(readModels, { owner, below: upTo + 1, limit }));
  } catch (error) {
    if (error instanceof ReadModelRebuilding || error instanceof UnknownEventType) return undefined;
    throw error;
  }
};

/** Reads the events of the entries, in log order; undefined if the log has others in their places. */
const eventsOf = async (
  log: Pick<EventLog, 'readStream'>,
  entries: readonly HistoryEntry[],
): Promise<StoredEvent[] | undefined> => {
  // The newest events of an owner include the newest ones of each stream, so that a stream is read in one piece.
  const streams = Map.groupBy(entries, ({ stream }) => stream);
  const reads = Array.from(streams, ([stream, own]) =>
    log.readStream(stream, own.at(-1)?.revision, own.length),
  );
  const events = (await Promise.all(reads)).flat().sort((a, b) => a.position - b.position);
  const isSame = entries.every(({ position }, at) => events.at(-1 - at)?.position === position);
  return isSame && events.length === entries.length ? events : undefined;
};
