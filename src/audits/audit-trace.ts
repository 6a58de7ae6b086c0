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
import { findOwner } from '#src/reading/find-owner.ts';
import { kindOfRecord, recordOfStream, streamOfRecord } from '#src/writing/streams.ts';
import { present } from '#src/shared/present.ts';
import { iso } from '#src/shared/time.ts';
import { causeOf } from './audit-diff.ts';
import { AUDITED, renderAudited } from './audited-records.ts';
import { findRequest } from './find-request.ts';
import { withPeople } from '#src/access/independence.ts';
import { type ChainEvent, readChain } from './record-chain.ts';
import type { AuditingDeps } from './replays.ts';

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
  return done({
    id,
    owner_id: owner,
    events: await withPeople(deps, traced),
    audited: await withPeople(deps, audited),
    ...present({ answer }),
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
