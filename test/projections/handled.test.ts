/** A projection that omits an event type compiles and silently skips the events: these tests detect it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { EventType } from '#contracts/registries/events.ts';
import * as events from '#contracts/registries/events.ts';
import { PROJECTIONS } from '#projections/index.ts';
import { ROOT } from '../support/source/tree.ts';

const { EVENTS } = events;

/** Event types outside of all groups: claims, visits and audit records. */
const ALONE: EventType[] = [
  'CodeClaimed',
  'DeliveryCounted',
  'PersonClaimed',
  'LeadClaimed',
  'LeadClaimReleased',
  'KnownContactSubmitted',
  'RequestBound',
  'VisitRecorded',
  'VisitsSummed',
  'ActivityRecorded',
  'CallsAudited',
  'ClockAccepted',
  'TreeMarked',
  'BuildDropped',
  'BuildSwitched',
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
  events.PUSH_EVENTS,
  events.MAIL_EVENTS,
  events.PRIVACY_EVENTS,
  events.MAILBOX_EVENTS,
  events.OWNER_EVENTS,
  events.APPLICATION_EVENTS,
  events.PLAN_EVENTS,
  events.PERSON_EVENTS,
  events.SESSION_EVENTS,
  events.SIGN_IN_EVENTS,
  events.DEVICE_LOGIN_EVENTS,
  events.REPAIR_EVENTS,
];

const CREDENTIAL_EVENTS: readonly EventType[] = [
  ...events.AGENT_EVENTS,
  ...events.KEY_EVENTS,
  ...events.DESK_TOKEN_EVENTS,
  ...events.PERSON_EVENTS,
  ...events.SESSION_EVENTS,
];

/** The event types that each of these read models has to fold. */
const FOLDED: Record<string, readonly EventType[]> = {
  links: events.LINK_EVENTS,
  codes: events.LINK_EVENTS,
  handoffs: events.HANDOFF_EVENTS,
  leads: events.LEAD_EVENTS,
  access: CREDENTIAL_EVENTS,
  credentials: CREDENTIAL_EVENTS,
  outbound: events.OUTBOUND_EVENTS,
  'open-outbound': events.OUTBOUND_EVENTS,
  'open-applications': events.APPLICATION_EVENTS,
  'open-leads': [...events.LEAD_EVENTS, ...events.PLAN_EVENTS],
  'open-mail': events.MAIL_EVENTS,
  'access-requests': [...events.AGENT_EVENTS, ...events.PLAN_EVENTS],
  tasks: events.TASK_EVENTS,
};

describe('The event types', () => {
  test('The event types are all in a group, or listed as separate', () => {
    const placed = new Set([...ALONE, ...STORIES.flat()]);
    expect([...placed].toSorted()).toEqual(Object.keys(EVENTS).toSorted());
  });

  test.each(Object.entries(FOLDED))(
    'The event types of its groups are all folded by the read model %s',
    (name, story) => {
      const handles = new Set(PROJECTIONS.find((one) => one.name === name)?.handles);
      expect(story.filter((type) => !handles.has(type))).toEqual([]);
    },
  );
});

describe('A version of a read model', () => {
  const golden = JSON.parse(
    readFileSync(join(ROOT, 'test/golden/upgrade/handled-types.json'), 'utf8'),
  ) as Record<string, EventType[]>;

  // Processes of two versions of the service share a space: the older one skips types that it does not know.
  test.each(
    PROJECTIONS.map(({ name, version, handles }) => [`${name}@${version}`, handles] as const),
  )(
    'A version of a read model handles the same event types in every version of the service: %s',
    (space, handles) => {
      expect(
        golden,
        'new version: add it to test/golden/upgrade/handled-types.json',
      ).toHaveProperty([space]);
      expect(handles.toSorted(), 'other types: raise the version').toEqual(golden[space]);
    },
  );
});
