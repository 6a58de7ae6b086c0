/** The log in memory, for tests: forgets all when the process ends. */
import type { AppendResult, EventLog, FoldEvent, StoredEvent } from '#src/ports/event-log.ts';
import { LogUnavailable, NO_STREAM } from '#src/ports/event-log.ts';
import { encodeAppend, readAnyEvent, readEvent, UPCASTS } from '../event-codec.ts';
import { subscribers } from '../subscribers.ts';

/** As text, so that no reader shares an object with another. */
type Kept = Omit<StoredEvent, 'data' | 'meta'> & { at: number; data: string; meta: string };

const eventOf = ({ at: _at, data, meta, ...kept }: Kept): StoredEvent => ({
  ...kept,
  data: JSON.parse(data),
  meta: JSON.parse(meta),
});
const stored = (kept: Kept): StoredEvent => readAnyEvent(UPCASTS, eventOf(kept));

const folded = ({ id: _id, meta: _meta, data, ...kept }: Kept): FoldEvent => ({
  ...kept,
  data: JSON.parse(data),
});

export const memoryEventLog = (options: { id?: string } = {}): EventLog => {
  const all: Kept[] = [];
  const streams = new Map<string, Kept[]>();
  let closed = false;
  const open = (): Kept[] => {
    if (closed) throw new LogUnavailable('closed', 'no', 'the log is closed');
    return all;
  };
  const page = (after: number, limit: number) =>
    open()
      .slice(after, after + limit)
      .map(folded);
  const followers = subscribers({ head: () => all.length, page });

  const answer = (kept: Kept | undefined): AppendResult =>
    kept
      ? { outcome: 'appended', revision: kept.revision, position: kept.position }
      : { outcome: 'conflict' };

  return {
    id: options.id ?? 'memory-log',
    async append(stream, expected, events) {
      const encoded = encodeAppend(stream, expected, events);
      open();
      const own = streams.get(stream) ?? [];
      const current = own.length + NO_STREAM;
      if (expected < current) {
        const before = own.slice(expected + 1, expected + 1 + encoded.events.length);
        const same = encoded.events.every((event, index) => event.id === before[index]?.id);
        return answer(same ? before.at(-1) : undefined);
      }
      if (expected > current) return answer(undefined);
      const fresh = encoded.events.map(({ bytes: _bytes, ...event }, index): Kept => {
        const position = all.length + 1 + index;
        return { ...event, stream, owner: encoded.owner, revision: current + 1 + index, position };
      });
      all.push(...fresh);
      own.push(...fresh);
      streams.set(stream, own);
      followers.push(fresh.map(folded));
      return answer(fresh.at(-1));
    },
    async readStream(stream, from = 0) {
      open();
      return (streams.get(stream) ?? [])
        .slice(Math.max(0, from))
        .map((kept) => readEvent(UPCASTS, eventOf(kept)));
    },
    async readAll({ after, limit, types }) {
      const wanted = open()
        .slice(after)
        .filter(({ type }) => !types || types.includes(type));
      return wanted.slice(0, limit).map(stored);
    },
    async readOwner(owner, { after, limit, upTo = all.length }) {
      const wanted = open()
        .slice(after, upTo)
        .filter((kept) => kept.owner === owner);
      return wanted.slice(0, limit).map(stored);
    },
    async readBack({ upTo, limit, owner }) {
      const wanted = open()
        .slice(0, Math.max(0, upTo))
        .filter((kept) => owner === undefined || kept.owner === owner);
      return wanted.slice(Math.max(0, wanted.length - limit)).map(stored);
    },
    subscribe: (from) => followers.subscribe(from),
    readFold: async ({ after, limit }) => page(after, limit),
    async head() {
      const last = open().at(-1);
      return { position: last?.position ?? 0, at: last?.at ?? null };
    },
    async close() {
      closed = true;
      followers.close();
    },
  };
};
