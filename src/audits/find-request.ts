/** Finds what a request wrote. Its id is a UUIDv7, whose time says where in the log to look. */
import type { StoredEvent } from '#src/ports/event-log.ts';
import { DESK } from '#src/calls/audit.ts';
import type { DeskCall } from '#src/shared/call.ts';
import { mayActFor } from '#src/calls/desk-handler.ts';
import { type AuditAct, actsOf } from './audit-history.ts';
import { eventBefore, type OwnerLog, pagesBack } from './moments.ts';
import { ownerSpaces } from '#src/reading/find-owner.ts';
import type { AuditingDeps } from './replays.ts';

/** What the log has of a request, in log order. `isCut`: the search ended at its limit. */
export type FoundRequest = { events: StoredEvent[]; audited: AuditAct[]; isCut: boolean };

const UUID_V7 = /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/**
 * How much the events of a request are earlier and later than its id: first by an ordinary difference of clocks, then by
 * the greatest one, and by a minute in which audit records are summed.
 */
const WINDOWS_MS = [
  { earlier: 2_000, later: 10_000 },
  { earlier: 300_000, later: 120_000 },
];
const SCANNED_MAX = 10_000;

const isFound = ({ events, audited }: FoundRequest): boolean => events.length + audited.length > 0;

/**
 * Reads the events and the audit records of a request: of one owner, or of all. A log with an index by owner is searched
 * owner by owner, and has no index for the others: products, and claims of names.
 */
export const findRequest = async (
  deps: Pick<AuditingDeps, 'log' | 'readModels'>,
  call: DeskCall,
  { id, owner }: { id: string; owner: string | undefined },
): Promise<FoundRequest> => {
  const { log } = deps;
  const nothing = { events: [], audited: [], isCut: false };
  const [, high = '', low = ''] = UUID_V7.exec(id) ?? [];
  if (high === '') return nothing;
  const request = { id, time: Number.parseInt(high + low, 16), head: (await log.head()).position };
  if (owner !== undefined || !log.hasOwnerIndex) return search(log, { ...request, owner });
  const searchAll = async (owners: readonly string[]): Promise<FoundRequest | undefined> => {
    const searches = owners.map((one) => search(log, { ...request, owner: one }));
    return (await Promise.all(searches)).find(isFound);
  };
  for await (const spaces of ownerSpaces(deps, call)) {
    const found = await searchAll(spaces);
    if (found) return found;
  }
  return (await searchAll([DESK].filter((one) => mayActFor(call, one)))) ?? nothing;
};

type Request = { id: string; owner: string | undefined; time: number; head: number };

const search = async (log: OwnerLog, { time, ...request }: Request): Promise<FoundRequest> => {
  const placeAt = async (at: number): Promise<number> =>
    (await eventBefore(log, { ...request, time: at }))?.position ?? 0;
  let found: FoundRequest = { events: [], audited: [], isCut: false };
  for (const { earlier, later } of WINDOWS_MS) {
    const range = { after: await placeAt(time - earlier), upTo: await placeAt(time + later) };
    found = await scan(log, { ...request, ...range });
    if (isFound(found)) break;
  }
  return found;
};

/** Events of one request that are kept. */
const FOUND_MAX = 500;

type Scan = Pick<Request, 'id' | 'owner'> & { after: number; upTo: number };

const scan = async (log: OwnerLog, { id, ...range }: Scan): Promise<FoundRequest> => {
  const newestFirst: StoredEvent[] = [];
  const audited: AuditAct[] = [];
  let scanned = 0;
  let isCut = false;
  for await (const page of pagesBack(log, range)) {
    for (const event of page.toReversed()) {
      if (event.meta.request === id) newestFirst.push(event);
      audited.push(
        ...actsOf(event).filter((act) => act.outcome !== 'done' && act.request_id === id),
      );
    }
    scanned += page.length;
    isCut = scanned >= SCANNED_MAX || newestFirst.length >= FOUND_MAX;
    if (isCut) break;
  }
  return { events: newestFirst.reverse(), audited: audited.reverse(), isCut };
};
