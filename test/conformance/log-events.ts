/** Creates events for tests of the log, and reads its subscriptions. */
import type {
  EventLog,
  FoldEvent,
  Meta,
  NewEvent,
  SubscriptionItem,
} from '#src/ports/event-log.ts';

let ids = 0;
export const freshId = (): string => {
  ids += 1;
  return `00000000-0000-7000-8000-${ids.toString(16).padStart(12, '0')}`;
};

export const metaAt = (at: number): Meta => ({
  at,
  actor: 'agt_1',
  surface: 'rest',
  operation: 'submitLead',
  request: 'req_1',
  v: 1,
});

export const bound = (fingerprint: string, id = freshId()): NewEvent => ({
  id,
  type: 'RequestBound',
  data: { stream: 'anna-lead_1', fingerprint },
  meta: metaAt(1_700_000_000_000),
});

export const several = (count: number): NewEvent[] =>
  Array.from({ length: count }, (_, n) => bound(`f${n}`));
export const printOf = (event: { data: object }): unknown =>
  (event.data as { fingerprint?: string }).fingerprint;
export const positionsOf = (events: readonly { position: number }[]): number[] =>
  events.map((e) => e.position);

/** Subscribes until `done` returns true; returns all items. */
export const follow = async (
  log: EventLog,
  after: number,
  done: (item: SubscriptionItem, events: FoldEvent[]) => boolean | Promise<boolean>,
): Promise<{ events: FoldEvent[]; items: SubscriptionItem[] }> => {
  const events: FoldEvent[] = [];
  const items: SubscriptionItem[] = [];
  const { signal } = new AbortController();
  for await (const item of log.subscribe({ after, signal })) {
    items.push(item);
    if (item.kind === 'events') events.push(...item.events);
    if (await done(item, events)) break;
  }
  return { events, items };
};
