/** An empty log on a server that cannot be wiped: other names, and no events before its start. */
import {
  type EventLog,
  type FoldEvent,
  replaceAppends,
  type SubscriptionItem,
} from '#src/ports/event-log.ts';

type Named = { stream: string; owner: string };

/** Prefixes every owner with `mark`, which is new in each run. Invalid names stay unchanged. */
export const insulated = (log: EventLog, mark: string, start: number): EventLog => {
  const inner = (name: string): string => (/^[$-]/.test(name) ? name : `${mark}${name}`);
  const bare = <T extends Named>(event: T): T => ({
    ...event,
    stream: event.stream.slice(mark.length),
    owner: event.owner.slice(mark.length),
  });
  const later = (after: number): number => Math.max(after, start);
  const outer = (item: SubscriptionItem): SubscriptionItem =>
    item.kind === 'events' ? { kind: 'events', events: item.events.map(bare<FoldEvent>) } : item;
  const outside: Omit<EventLog, 'append' | 'appendAll'> = {
    id: log.id,
    readStream: async (stream, ...range) =>
      (await log.readStream(inner(stream), ...range)).map(bare),
    readAll: async (options) =>
      (await log.readAll({ ...options, after: later(options.after) })).map(bare),
    readOwner: async (owner, options) =>
      (await log.readOwner(inner(owner), { ...options, after: later(options.after) })).map(bare),
    readOwnerText: async (owner, options) =>
      (await log.readOwnerText(inner(owner), { ...options, after: later(options.after) })).map(
        bare,
      ),
    readBack: async ({ owner, ...options }) => {
      const events = await log.readBack({
        ...options,
        ...(owner !== undefined && { owner: inner(owner) }),
      });
      return events.filter(({ position }) => position > start).map(bare);
    },
    readFold: async ({ after, limit }) =>
      (await log.readFold({ after: later(after), limit })).map(bare),
    readOwnerFold: async (owner, options) => {
      const range = { ...options, after: later(options.after) };
      return (await log.readOwnerFold(inner(owner), range)).map(bare);
    },
    async *subscribe({ after, signal }) {
      for await (const item of log.subscribe({ after: later(after), signal })) yield outer(item);
    },
    async head() {
      const head = await log.head();
      return head.position > start ? head : { position: 0, at: null };
    },
    close: () => log.close(),
  };
  return replaceAppends(outside, (appends) =>
    log.appendAll(appends.map((append) => ({ ...append, stream: inner(append.stream) }))),
  );
};
