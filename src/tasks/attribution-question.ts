/** Answers what an event is attributed to, by the chain of events before it. */
import {
  type EventData,
  type EventType,
  HANDOFF_EVENTS,
  LEAD_EVENTS,
  LINK_EVENTS,
  type RfqEventType,
} from '#contracts/registries/events.ts';
import { type AttributionAnswer, LEAD_QUESTION_SCOPE } from '#contracts/tasks/skills.ts';
import type { Deps } from '#src/calls/handlers.ts';
import { RFQ_EVENTS_SHOWN } from '#src/handoffs/rfq.decider.ts';
import type { StoredEvent } from '#src/ports/event-log.ts';
import { done, refuse, scopeMissing } from '#src/shared/outcome.ts';
import { iso, renderAsOf } from '#src/shared/time.ts';
import {
  recordOfStream,
  streamOfRecord,
  handoffOf,
  leadIdOf,
  leadOf,
  linkOf,
} from '#src/writing/streams.ts';
import type { TaskHandler, TaskInput } from './read-task.ts';

/** What a question is about, and the records that it came from. */
type Subject = {
  kind: AttributionAnswer['subject']['kind'];
  id: string;
  link_id?: string | undefined;
  handoff_id?: string | undefined;
  lead_id?: string | undefined;
  event?: StoredEvent;
};

type Chain = Pick<AttributionAnswer, 'chain' | 'more'>;

const SHOWN_MAX = 100;
/** Limit of the events read to find those of a link; the answer says when there may be more. */
const SCANNED_MAX = 10_000;
const PAGE = 1_000;

/** Fields that attribution depends on. No personal data, no text of a buyer, no reason. */
const FACTS = [
  'agent_id',
  'link_id',
  'handoff_id',
  'lead_id',
  'source',
  'dims',
  'signals',
  'device',
  'trigger',
  'target',
] as const;

/**
 * Events that agents may know of: what their own records became. Of an RFQ they see that it is open and its outcome, so no
 * step between is shown, and not when it happened.
 */
const SHOWN: ReadonlySet<string> = new Set<EventType>([
  ...LINK_EVENTS,
  'VisitRecorded',
  ...HANDOFF_EVENTS.filter((type) =>
    type in RFQ_EVENTS_SHOWN
      ? RFQ_EVENTS_SHOWN[type as RfqEventType]
      : type !== 'RfqSubmittedByBuyer',
  ),
  ...LEAD_EVENTS.filter((type) => type !== 'LeadMoveProposed' && type !== 'LeadMoveRefused'),
]);

/** Events that led to the subject or followed from it, in the order of the log. */
const eventChain = async (
  { log }: Pick<Deps, 'log'>,
  subject: Subject,
  { ownerId, mayReadLeads }: { ownerId: string; mayReadLeads: boolean },
): Promise<Chain> => {
  const { link_id, handoff_id, lead_id, event } = subject;
  const records = [link_id, handoff_id, lead_id].filter((id) => id !== undefined);
  const readRecord = (id: string) => log.readStream(streamOfRecord(ownerId, id));
  const stored = (await Promise.all(records.map(readRecord)))
    .flat()
    .filter(({ type }) => SHOWN.has(type));
  if (event) stored.push(event);
  let more = false;
  const [first] = stored;
  if (subject.kind === 'link' && first) {
    const from = first.position;
    const byLink = await eventsOfLink(log, { ownerId, linkId: subject.id, from });
    const positions = new Set(stored.map(({ position }) => position));
    const isShown = ({ position, type }: StoredEvent): boolean =>
      !positions.has(position) && (mayReadLeads || !type.startsWith('Lead'));
    stored.push(...byLink.events.filter(isShown));
    more = byLink.more;
  }
  stored.sort((a, b) => a.position - b.position);
  return {
    chain: stored.slice(0, SHOWN_MAX).map(shown),
    more: more || stored.length > SHOWN_MAX,
  };
};

/** Events that name the link, after its creation at the position `from`. */
export const eventsOfLink = async (
  log: Deps['log'],
  { ownerId, linkId, from }: { ownerId: string; linkId: string; from: number },
): Promise<{ events: StoredEvent[]; more: boolean }> => {
  const events: StoredEvent[] = [];
  let after = from;
  for (let scanned = 0; scanned < SCANNED_MAX; ) {
    const page = await log.readOwner(ownerId, { after, limit: PAGE });
    for (const event of page)
      if (SHOWN.has(event.type) && (event.data as { link_id?: string }).link_id === linkId)
        events.push(event);
    if (events.length > SHOWN_MAX) return { events, more: true };
    if (page.length === 0) return { events, more: false };
    scanned += page.length;
    after = page.at(-1)?.position ?? after;
  }
  return { events, more: true };
};

const shown = ({ position, type, stream, data, meta }: StoredEvent): Chain['chain'][number] => ({
  position,
  at: iso(meta.at),
  type,
  record: recordOfStream(stream) ?? stream.slice(stream.indexOf('-') + 1),
  facts: Object.fromEntries(
    FACTS.flatMap((name) => {
      const value = (data as Record<string, unknown>)[name];
      return value === undefined ? [] : [[name, value]];
    }),
  ),
});

type Question = TaskInput<'answerAttributionQuestion'>;

const RULE = 'pinned at the event: a later change rewrites nothing';
const NOT_FOUND = refuse('resource_not_found', 'No record of yours has this id or position.');

/** Explains why a record or a click of the owner is attributed as it is, from the log itself. */
export const answerAttributionQuestion: TaskHandler<'answerAttributionQuestion'> = async (
  deps,
  input,
  { caller, operation },
) => {
  const asOf = deps.following.asOf();
  const subject = await subjectOf(deps, caller.ownerId, input);
  if (!subject) return NOT_FOUND;
  const mayReadLeads = caller.scopes.has(LEAD_QUESTION_SCOPE);
  if (subject.kind === 'lead' && !mayReadLeads)
    return scopeMissing(operation, LEAD_QUESTION_SCOPE, caller);
  const { ownerId } = caller;
  const { chain, more } = await eventChain(deps, subject, { ownerId, mayReadLeads });
  return done({
    subject: { kind: subject.kind, id: subject.id },
    statement: statementOf(subject),
    rule: { name: RULE, classifier_version: deps.classifierVersion },
    chain,
    more,
    as_of: renderAsOf(asOf),
  });
};

const subjectOf = async (
  deps: Deps,
  ownerId: string,
  { link_id, handoff_id, lead_id, external_id, position }: Question,
): Promise<Subject | undefined> => {
  if (link_id !== undefined) {
    const record = await linkOf(deps, ownerId, link_id);
    return record && { kind: 'link', id: link_id, link_id };
  }
  if (handoff_id !== undefined) {
    const record = await handoffOf(deps, ownerId, handoff_id);
    return record && { kind: 'handoff', id: handoff_id, handoff_id, link_id: record.link_id };
  }
  if (position !== undefined) return subjectAt(deps, ownerId, position);
  const id = lead_id ?? leadIdOf(ownerId, external_id ?? '');
  const record = await leadOf(deps, ownerId, id);
  if (!record) return undefined;
  return { kind: 'lead', id, lead_id: id, handoff_id: record.handoff_id, link_id: record.link_id };
};

/** Subject of the event at a position; only clicks, links, handoffs and leads are attributed. */
const subjectAt = async (
  deps: Deps,
  ownerId: string,
  position: number,
): Promise<Subject | undefined> => {
  const at = { after: position - 1, upTo: position, limit: 1 };
  const [event] = await deps.log.readOwner(ownerId, at);
  if (!event || !SHOWN.has(event.type)) return undefined;
  const { lead_id, handoff_id, link_id } = event.data as Question;
  if (event.type === 'VisitRecorded')
    return { kind: 'click', id: String(position), link_id, event };
  const named = [{ lead_id }, { handoff_id }, { link_id }].find((one) =>
    Object.values(one).some((id) => id !== undefined),
  );
  return named && subjectOf(deps, ownerId, named);
};

/** Explains an attribution in fixed text with ids. */
const statementOf = (subject: Subject): string => {
  const { kind, id, link_id, handoff_id } = subject;
  switch (kind) {
    case 'link':
      return (
        `Link ${id} was created by the agent that its first event names. What comes over it counts ` +
        'for that agent, under the dimensions that the event pins.'
      );
    case 'click':
      return `The click at position ${id} came over link ${link_id}. ${clickSays(subject)}`;
    case 'handoff':
      return (
        `Handoff ${id} ${cameFrom(link_id)}. It counts for the agent that created it, under the ` +
        'dimensions that its first event pins; so does an RFQ that its buyer sends.'
      );
    case 'lead':
      return (
        `Lead ${id} ${handoff_id === undefined ? cameFrom(link_id) : `names handoff ${handoff_id} as its source`}. ` +
        'It counts for the agent that submitted it, under the dimensions that its first event pins.'
      );
  }
};

const cameFrom = (link_id: string | undefined): string =>
  link_id === undefined ? 'names no link as its source' : `names link ${link_id} as its source`;

const clickSays = ({ event }: Subject): string => {
  const { signals = [] } = (event?.data ?? {}) as Partial<EventData<'VisitRecorded'>>;
  return signals.length === 0
    ? 'It counts in clicks_raw and clicks_valid: nothing marks it as made by a machine; once per ' +
        'visitor, link and UTC day it counts in clicks_unique.'
    : `It counts in clicks_raw only: ${signals.join(', ')}.`;
};
