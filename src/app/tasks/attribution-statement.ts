import type { EventData } from '#contracts/events/index.ts';
import type { Subject } from './attributed-subject.ts';

export const RULE = 'pinned at the event: a later change rewrites nothing';

/** Explains an attribution in fixed text with ids. */
export const statementOf = (subject: Subject): string => {
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
