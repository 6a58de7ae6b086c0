import type { EventData } from '#contracts/registries/events.ts';
import { LEAD_QUESTION_SCOPE } from '#contracts/tasks/skills.ts';
import { done, refuse, scopeMissing } from '#src/shared/outcome.ts';
import { handoffOf, leadIdOf, leadOf, linkOf } from '#src/writing/streams.ts';
import { renderAsOf } from '#src/shared/time.ts';
import { eventChain, type Subject } from './event-chain.ts';
import type { TaskHandler, TaskInput } from './task-handler.ts';
import type { Deps } from '#src/calls/call.ts';

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
  if (!event) return undefined;
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
