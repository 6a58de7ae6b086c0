/** The chain of records around a subject: click, list, RFQ, lead, outcome. */
import type { StoredEvent } from '#src/ports/event-log.ts';
import type { HandoffLeadsRow } from '#src/ports/rows.ts';
import { recordOfStream, streamOfRecord } from '#src/writing/streams.ts';
import { eventsOfLink } from '#src/tasks/attribution-question.ts';
import type { AuditingDeps } from './replays.ts';
import { pagesBack } from './moments.ts';

export type ChainEvent = { relation: 'cause' | 'subject' | 'effect'; event: StoredEvent };

type Deps = Pick<AuditingDeps, 'log' | 'readModels'>;

/** Records of one chain at most. */
const RECORDS_MAX = 50;
/** Events before the subject among which its last click is looked for. */
const CLICK_SCAN_MAX = 500;

const NAMED = ['link_id', 'handoff_id', 'lead_id', 'outbound_id'] as const;

/** The record that an event of this owner belongs to; a claim is an event of no owner. */
const recordOf = (owner: string, event: StoredEvent): string[] => {
  const record = event.owner === owner ? recordOfStream(event.stream) : undefined;
  return record === undefined ? [] : [record];
};

const namedIn = ({ data }: StoredEvent): string[] =>
  NAMED.flatMap((name) => (data as Record<string, string | undefined>)[name] ?? []);

/**
 * Reads the streams of the subject's records, of those that they name, and of those that name them, in log order. Of the
 * visits of a link, it has the last one before the subject; for the chain of a link itself, all that name it.
 */
export const readChain = async (
  deps: Deps,
  owner: string,
  subject: readonly StoredEvent[],
): Promise<{ events: ChainEvent[]; isCut: boolean }> => {
  const byPosition = new Map(subject.map((event) => [event.position, event]));
  const subjects = new Set(byPosition.keys());
  const first = Math.min(...subjects, Infinity);
  const own = new Set(subject.flatMap((event) => recordOf(owner, event)));
  const pending = [...own, ...subject.flatMap(namedIn)];
  const read = new Set<string>();
  let isCut = false;
  for (let id = pending.shift(); id !== undefined; id = pending.shift()) {
    if (read.has(id)) continue;
    if (read.size >= RECORDS_MAX) {
      isCut = true;
      break;
    }
    read.add(id);
    const events = await deps.log.readStream(streamOfRecord(owner, id));
    for (const event of events) byPosition.set(event.position, event);
    pending.push(...events.flatMap(namedIn));
    // The leads of the subject's own lists, not those of lists that led to it.
    if (!id.startsWith('hnd_') || !own.has(id)) continue;
    const leads = await deps.readModels.get<HandoffLeadsRow>('handoff-leads', owner, id);
    pending.push(...(leads?.leads ?? []));
  }
  for (const id of [...read].filter((one) => one.startsWith('lnk_'))) {
    if (own.has(id)) {
      const from = Math.min(...byPosition.keys());
      const naming = await eventsOfLink(deps.log, { ownerId: owner, linkId: id, from });
      for (const event of naming.events) byPosition.set(event.position, event);
      isCut ||= naming.more;
    } else if (Number.isFinite(first)) {
      const click = await lastClick(deps, { owner, link: id, upTo: first });
      if (click) byPosition.set(click.position, click);
    }
  }
  const events = [...byPosition.values()].sort((a, b) => a.position - b.position);
  const relationOf = (position: number): ChainEvent['relation'] => {
    if (subjects.has(position)) return 'subject';
    return position < first ? 'cause' : 'effect';
  };
  return {
    events: events.map((event) => ({ relation: relationOf(event.position), event })),
    isCut,
  };
};

const lastClick = async (
  { log }: Pick<Deps, 'log'>,
  { owner, link, upTo }: { owner: string; link: string; upTo: number },
): Promise<StoredEvent | undefined> => {
  let scanned = 0;
  for await (const page of pagesBack(log, { owner, after: 0, upTo, limit: CLICK_SCAN_MAX })) {
    const click = page.findLast(
      ({ type, data }) =>
        type === 'VisitRecorded' && (data as { link_id: string }).link_id === link,
    );
    scanned += page.length;
    if (click || scanned >= CLICK_SCAN_MAX) return click;
  }
  return undefined;
};
