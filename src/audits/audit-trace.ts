/** The operation that shows what a record was caused by. */
import type { z } from 'zod';
import { AUDITED_KIND_NAMES } from '#contracts/audits/operations.ts';
import type { DeskOperations } from '#contracts/registries/desk.ts';
import { SYSTEM_OWNERS } from '#contracts/fields.ts';
import type { EventData } from '#contracts/registries/events.ts';
import { foldEventOf, type StoredEvent } from '#src/ports/event-log.ts';
import type { OwnerFold, RowPlace, Row } from '#src/ports/read-model.ts';
import type { DeskCall } from '#src/shared/call.ts';
import { type DeskHandler, mayActFor } from '#src/calls/desk-handler.ts';
import { done, refuse } from '#src/shared/outcome.ts';
import { findOwner, ownerSpaces } from '#src/reading/find-owner.ts';
import { kindOfRecord, recordOfStream, streamOfRecord } from '#src/writing/streams.ts';
import { receiptsOf } from '#src/proof/receipts.ts';
import { present } from '#src/shared/json.ts';
import { iso } from '#src/shared/time.ts';
import { causeOf } from './audit-diff.ts';
import { AUDITED, renderAudited } from './audited-records.ts';
import { withPeople } from '#src/access/independence.ts';
import type { AuditingDeps } from './replays.ts';
import { DESK } from '#src/calls/audit.ts';
import { type AuditAct, actsOf } from './audit-history.ts';
import { findEvents, type FoundEvents, pagesBack, timeOfRequest } from '#src/reading/read-back.ts';
import type { HandoffLeadsRow } from '#src/ports/rows.ts';
import { eventsOfLink } from '#src/tasks/attribution-question.ts';

type Answer = z.output<DeskOperations['auditTrace']['output']>;
type Traced = Answer['events'][number];
type Touched = Traced['rows'][number];
/** What a trace is about: the events of a record or of a request, of one owner. */
type Subject = Pick<Answer, 'audited' | 'more'> & { owner: string; events: StoredEvent[] };

const NOT_FOUND = refuse(
  'resource_not_found',
  'No record and no request in the log has this id. A request that wrote no event, like a read of a person at the desk, ' +
    'is found by its audit record within two minutes of its time.',
);

const RECORD = /^(lnk|hnd|led|out)_[0-9a-z]{24}$/;

/** Events of one trace at most. */
const SHOWN_MAX = 200;

/** Read models whose rows belong to many records: what one event changes in them is not told from its chain alone. */
const SHARED: ReadonlySet<string> = new Set(['performance', 'history', 'handoff-leads']);

export const auditTrace: DeskHandler<'auditTrace', AuditingDeps> = async (
  deps,
  { id, owner_id },
  call,
) => {
  const subject = RECORD.test(id)
    ? await recordSubject(deps, call, { id, owner: owner_id })
    : await requestSubject(deps, call, { id, owner: owner_id });
  if (!subject || !mayActFor(call, subject.owner)) return NOT_FOUND;
  const { owner, audited } = subject;
  const chain = await readChain(deps, owner, subject.events);
  const shown = chain.events.slice(0, SHOWN_MAX);
  const { traced, answer } = await follow(deps, owner, shown);
  const written = RECORD.test(id)
    ? []
    : subject.events.filter((each) => mayActFor(call, each.owner));
  const receipts = written.length > 0 ? receiptsOf(deps.proof(), written) : undefined;
  return done({
    id,
    owner_id: owner,
    events: await withPeople(deps, traced),
    audited: await withPeople(deps, audited),
    ...present({ answer, receipts }),
    more: subject.more || chain.isCut || chain.events.length > SHOWN_MAX,
  });
};

const recordSubject = async (
  deps: AuditingDeps,
  call: DeskCall,
  { id, owner }: { id: string; owner: string | undefined },
): Promise<Subject | undefined> => {
  const found = owner ?? (await findOwner(deps, call, { kind: kindOfRecord(id), id }));
  if (found === undefined) return undefined;
  const events = await deps.log.readStream(streamOfRecord(found, id));
  return events.length === 0 ? undefined : { owner: found, events, audited: [], more: false };
};

const requestSubject = async (
  deps: AuditingDeps,
  call: DeskCall,
  query: { id: string; owner: string | undefined },
): Promise<Subject | undefined> => {
  const { events, audited, isCut } = await findRequest(deps, call, query);
  const position = audited[0]?.position;
  const first = events.find((event) => !SYSTEM_OWNERS.includes(event.owner)) ?? events[0];
  if (first) return { owner: first.owner, events, audited, more: isCut };
  if (position === undefined) return undefined;
  const [record] = await deps.log.readBack({ upTo: position, limit: 1 });
  return record && { owner: record.owner, events: [], audited, more: isCut };
};

/** Folds the chain in log order, and describes each event with the rows that it changes. */
const follow = async (
  deps: Pick<AuditingDeps, 'replays'>,
  owner: string,
  chain: readonly ChainEvent[],
): Promise<{ traced: Traced[]; answer: Answer['answer'] }> => {
  const fold = deps.replays.parts.all();
  const subject = chain.filter(({ relation }) => relation === 'subject').map(({ event }) => event);
  const answered = subject.find(({ meta }) => meta.idem !== undefined);
  const lastAnswered = subject.findLast(({ meta }) => meta.request === answered?.meta.request);
  const traced: Traced[] = [];
  let answer: Answer['answer'];
  for (const { event, relation } of chain) {
    const rows = touch(fold, event);
    traced.push({ relation, ...describe(event), rows });
    if (event === lastAnswered) answer = await answerOf(fold, owner, event);
  }
  return { traced, answer: answer ?? storedAnswer(subject) };
};

const describe = (event: StoredEvent): Omit<Traced, 'relation' | 'rows'> => {
  const { position, type, stream, data, meta } = event;
  return {
    position,
    at: iso(meta.at),
    type,
    stream,
    ...present({ record: recordOfStream(stream), key_id: meta.key, client: meta.client }),
    ...causeOf(event),
    surface: meta.surface,
    operation: meta.operation,
    data: data as Record<string, unknown>,
  };
};

/** Folds the event, and compares each of its rows before and after. */
const touch = (fold: OwnerFold, event: StoredEvent): Touched[] => {
  const folded = foldEventOf(event);
  const places = fold.placesOf(folded);
  // Folds may change a row in place.
  const before = places.map((place) => structuredClone(fold.peek(place)));
  fold.add(folded);
  return places.map((place, index) => compare(place, before[index], fold.peek(place)));
};

const compare = (
  { readModel, scope, key }: RowPlace,
  before: Row | undefined,
  after: Row | undefined,
): Touched => {
  const place = { read_model: readModel, scope, key };
  if (SHARED.has(readModel)) return { ...place, change: 'added_to' };
  if (!after) return { ...place, change: before ? 'removed' : 'unchanged' };
  if (!before) return { ...place, change: 'made' };
  const [earlier, later] = [before, after] as Record<string, unknown>[];
  const members = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    (name) => JSON.stringify(earlier?.[name]) !== JSON.stringify(later?.[name]),
  );
  return members.length === 0
    ? { ...place, change: 'unchanged' }
    : { ...place, change: 'changed', members };
};

/** The record as the request left it, which is what its retry is answered. */
const answerOf = async (
  fold: OwnerFold,
  owner: string,
  event: StoredEvent,
): Promise<Answer['answer']> => {
  const places = fold.placesOf(foldEventOf(event));
  for (const kind of AUDITED_KIND_NAMES) {
    const { readModel, scope } = AUDITED[kind];
    const place = places.find((one) => one.readModel === readModel && one.scope === scope(owner));
    const row = place && fold.peek(place);
    if (!row) continue;
    const { record } = await renderAudited(kind, row, { ownerId: owner, at: event.meta.at });
    return { operation: event.meta.operation, value: record };
  }
  return undefined;
};

/** The answer that a command stored with its key. */
const storedAnswer = (subject: readonly StoredEvent[]): Answer['answer'] => {
  for (const { type, data, meta } of subject) {
    const { answer } = data as Partial<EventData<'RequestBound'>>;
    if (type === 'RequestBound' && answer) return { operation: meta.operation, value: answer };
  }
  return undefined;
};

/** What the log has of a request, in log order. `isCut`: the search ended at its limit. */
type FoundRequest = { events: StoredEvent[]; audited: AuditAct[]; isCut: boolean };

/** The audit records of a request in an event. */
const auditedIn = (event: StoredEvent, id: string): AuditAct[] =>
  actsOf(event)
    .filter((act) => act.outcome !== 'done' && act.request_id === id)
    .toReversed();

/**
 * Reads the events and the audit records of a request: of one owner, or of all. A log with an index by owner is searched
 * owner by owner, and has no index for the others: products, and claims of names.
 */
export const findRequest = async (
  deps: Pick<AuditingDeps, 'log' | 'readModels'>,
  call: DeskCall,
  { id, owner }: { id: string; owner: string | undefined },
): Promise<FoundRequest> => {
  const { events, isCut } = await findWritten(deps, call, { id, owner });
  return {
    events: events.filter(({ meta }) => meta.request === id),
    audited: events.flatMap((event) => auditedIn(event, id)),
    isCut,
  };
};

/** The same, as the events that have them. */
export const findWritten = async (
  deps: Pick<AuditingDeps, 'log' | 'readModels'>,
  call: DeskCall,
  { id, owner }: { id: string; owner: string | undefined },
): Promise<FoundEvents> => {
  const { log } = deps;
  const nothing = { events: [], isCut: false };
  const time = timeOfRequest(id);
  if (time === undefined) return nothing;
  const isOf = (event: StoredEvent): boolean =>
    event.meta.request === id || auditedIn(event, id).length > 0;
  const request = { time, head: (await log.head()).position, isOf };
  if (owner !== undefined || !log.hasOwnerIndex) return findEvents(log, { ...request, owner });
  const searchAll = async (owners: readonly string[]): Promise<FoundEvents | undefined> => {
    const searches = owners.map((one) => findEvents(log, { ...request, owner: one }));
    return (await Promise.all(searches)).find(({ events }) => events.length > 0);
  };
  for await (const spaces of ownerSpaces(deps, call)) {
    const found = await searchAll(spaces);
    if (found) return found;
  }
  return (await searchAll([DESK].filter((one) => mayActFor(call, one)))) ?? nothing;
};

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
