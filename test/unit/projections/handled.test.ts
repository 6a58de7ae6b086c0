/** An event that a projection forgot compiles, and is silently not folded: here it is told. */
import { describe, expect, test } from 'vitest';
import type { EventType } from '#contracts/events/index.ts';
import * as events from '#contracts/events/index.ts';
import { PROJECTIONS } from '#projections/index.ts';

const { EVENTS } = events;

/** Nobody's story: claims of a name, bindings of a key, and what is on record only. */
const ALONE: EventType[] = [
  'CodeClaimed',
  'LeadClaimed',
  'LeadClaimReleased',
  'RequestBound',
  'VisitRecorded',
  'ActivityRecorded',
  'CallsAudited',
];

const STORIES: readonly (readonly EventType[])[] = [
  events.LINK_EVENTS,
  events.HANDOFF_EVENTS,
  events.LEAD_EVENTS,
  events.AGENT_EVENTS,
  events.KEY_EVENTS,
  events.DESK_TOKEN_EVENTS,
  events.PRODUCT_EVENTS,
  events.OUTBOUND_EVENTS,
  events.OUTREACH_EVENTS,
  events.TASK_EVENTS,
];

/** Which stories each of them must know from end to end. */
const FOLDED: Record<string, readonly EventType[]> = {
  links: events.LINK_EVENTS,
  codes: events.LINK_EVENTS,
  handoffs: events.HANDOFF_EVENTS,
  leads: events.LEAD_EVENTS,
  access: [...events.AGENT_EVENTS, ...events.KEY_EVENTS, ...events.DESK_TOKEN_EVENTS],
  credentials: [...events.AGENT_EVENTS, ...events.KEY_EVENTS, ...events.DESK_TOKEN_EVENTS],
  outbound: events.OUTBOUND_EVENTS,
  'open-outbound': events.OUTBOUND_EVENTS,
  tasks: events.TASK_EVENTS,
};

describe('every type of event', () => {
  test('belongs to a story, or to none on purpose', () => {
    const placed = new Set([...ALONE, ...STORIES.flat()]);
    expect([...placed].toSorted()).toEqual(Object.keys(EVENTS).toSorted());
  });

  test.each(Object.entries(FOLDED))('of its stories is folded by %s', (name, story) => {
    const handles = new Set(PROJECTIONS.find((one) => one.name === name)?.handles);
    expect(story.filter((type) => !handles.has(type))).toEqual([]);
  });
});
