/** Finds what a request wrote. Its id is a UUIDv7, whose time says where in the log to look. */
import type { EventLog, StoredEvent } from '#src/ports/event-log.ts';
import { type AuditAct, actsOf } from './audit-history.ts';
import { AUDIT_PAGE, eventBefore } from './moments.ts';

export type RequestLog = Pick<EventLog, 'head' | 'readAll' | 'readOwner' | 'readBack'>;

/** What the log has of a request. `isCut`: the search ended at its limit. */
export type FoundRequest = { events: StoredEvent[]; audited: AuditAct[]; isCut: boolean };

const UUID_V7 = /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/** How much the events of other processes near the request can be earlier: first an ordinary, then the greatest difference. */
const SKEWS_MS = [2_000, 300_000];
/** The latest audit record of a request: a minute of summing, and a request that lasted. */
const LATER_MS_MAX = 120_000;
const SCANNED_MAX = 10_000;

/** Reads the events and the audit records of a request, of one owner or of all. */
export const findRequest = async (
  log: RequestLog,
  id: string,
  owner: string | undefined,
): Promise<FoundRequest> => {
  const [, high = '', low = ''] = UUID_V7.exec(id) ?? [];
  if (high === '') return { events: [], audited: [], isCut: false };
  const time = Number.parseInt(high + low, 16);
  const head = (await log.head()).position;
  let result: FoundRequest = { events: [], audited: [], isCut: false };
  for (const skew of SKEWS_MS) {
    const start = await eventBefore(log, { owner, time: time - skew, head });
    result = await scan(log, {
      id,
      owner,
      after: start?.position ?? 0,
      until: time + LATER_MS_MAX,
    });
    if (result.events.length + result.audited.length > 0) return result;
  }
  return result;
};

type Scan = { id: string; owner: string | undefined; after: number; until: number };

const scan = async (log: RequestLog, { id, owner, after, until }: Scan): Promise<FoundRequest> => {
  const found: FoundRequest = { events: [], audited: [], isCut: false };
  for (let [last, scanned] = [after, 0]; scanned < SCANNED_MAX; scanned += AUDIT_PAGE) {
    const range = { after: last, limit: AUDIT_PAGE };
    const page = owner === undefined ? await log.readAll(range) : await log.readOwner(owner, range);
    for (const event of page) {
      if (event.meta.at > until) return found;
      if (event.meta.request === id) found.events.push(event);
      found.audited.push(
        ...actsOf(event).filter((act) => act.outcome !== 'done' && act.request_id === id),
      );
    }
    if (page.length < AUDIT_PAGE) return found;
    last = page.at(-1)?.position ?? last;
  }
  return { ...found, isCut: true };
};
