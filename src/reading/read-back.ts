/** Reads the log back: in pages, to the event of a time, and to the events of a request. */
import type { EventLog, Position, StoredEvent } from '#src/ports/event-log.ts';
import { present } from '#src/shared/json.ts';
import { eventLoopTurns } from '#src/shared/work.ts';

type BackLog = Pick<EventLog, 'readBack'>;

/** Events that are read at a time. */
export const AUDIT_PAGE = 1_000;

type PagesBack = {
  owner: string | undefined;
  after: Position;
  upTo: Position;
  limit?: number;
};

/** Reads the events of one owner, or of all, after `after` and up to `upTo`, in pages: the newest page first. */
export async function* pagesBack(
  log: BackLog,
  { owner, after, upTo, limit = AUDIT_PAGE }: PagesBack,
): AsyncGenerator<readonly StoredEvent[], void> {
  for (let last = upTo; last > after; ) {
    await eventLoopTurns.pause();
    const page = await log.readBack({ upTo: last, limit, ...present({ owner }) });
    yield page.filter(({ position }) => position > after);
    last = (page[0]?.position ?? 1) - 1;
  }
}

/** Bisects the log, or the events of one owner, to an event at or before the time, close to the last one. */
export const eventBefore = async (
  log: BackLog,
  { owner, time, head }: { owner?: string | undefined; time: number; head: Position },
): Promise<StoredEvent | undefined> => {
  let found: StoredEvent | undefined;
  for (let [low, high] = [0, head]; low < high; ) {
    await eventLoopTurns.pause();
    const middle = Math.ceil((low + high) / 2);
    const [event] = await log.readBack({ upTo: middle, limit: 1, ...present({ owner }) });
    if (event && event.meta.at > time) high = event.position - 1;
    else {
      found = event ?? found;
      low = middle;
    }
  }
  return found;
};

const UUID_V7 = /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/** When the request with this id arrived, in epoch milliseconds; undefined if no request can have it. */
export const timeOfRequest = (id: string): number | undefined => {
  const [, high = '', low = ''] = UUID_V7.exec(id) ?? [];
  return high === '' ? undefined : Number.parseInt(high + low, 16);
};

/**
 * How much the events of a request are earlier and later than its id: first by an ordinary difference of clocks, then by
 * the greatest one, and by a minute in which audit records are summed.
 */
const WINDOWS_MS = [
  { earlier: 2_000, later: 10_000 },
  { earlier: 300_000, later: 120_000 },
];
const SCANNED_MAX = 10_000;
/** Events of one request that are kept. */
const FOUND_MAX = 500;

/** `time`: of the request. `isOf`: whether an event belongs to the request, or records it. */
export type RequestSearch = {
  owner: string | undefined;
  time: number;
  head: Position;
  isOf(event: StoredEvent): boolean;
};

/** Events in log order. `isCut`: the search ended at its limit. */
export type FoundEvents = { events: StoredEvent[]; isCut: boolean };

/** Reads the events of a request, of one owner or of all, among those that were written about when it arrived. */
export const findEvents = async (
  log: BackLog,
  { owner, time, head, isOf }: RequestSearch,
): Promise<FoundEvents> => {
  const placeAt = async (at: number): Promise<Position> =>
    (await eventBefore(log, { owner, head, time: at }))?.position ?? 0;
  let found: FoundEvents = { events: [], isCut: false };
  for (const { earlier, later } of WINDOWS_MS) {
    const range = { after: await placeAt(time - earlier), upTo: await placeAt(time + later) };
    found = await scan(log, { owner, ...range }, isOf);
    if (found.events.length > 0) break;
  }
  return found;
};

const scan = async (
  log: BackLog,
  range: PagesBack,
  isOf: RequestSearch['isOf'],
): Promise<FoundEvents> => {
  const newestFirst: StoredEvent[] = [];
  let scanned = 0;
  let isCut = false;
  for await (const page of pagesBack(log, range)) {
    newestFirst.push(...page.filter(isOf).toReversed());
    scanned += page.length;
    isCut = scanned >= SCANNED_MAX || newestFirst.length >= FOUND_MAX;
    if (isCut) break;
  }
  return { events: newestFirst.reverse(), isCut };
};
