/** The log in memory, for tests: it is lost when the process ends. */
import { UPCASTS, type Upcasts } from '#contracts/registries/events.ts';
import {
  type AppendResult,
  type EventLog,
  type EventText,
  type FoldEvent,
  LogUnavailable,
  NO_STREAM,
  replaceAppends,
  type StoredEvent,
  StreamAdvanced,
  type StreamRevision,
} from '#src/ports/event-log.ts';
import {
  type EncodedAppend,
  encodeAppends,
  foldedType,
  readAnyEvent,
  readEvent,
  Subscribers,
  upcastData,
} from '#src/stores/event-codec.ts';

/** Data and attribution as JSON text, so that readers share no object. */
type MemoryRecord = EventText & { at: number; v: number };

type MemoryLog = { records: MemoryRecord[]; streams: Map<string, MemoryRecord[]> };

const converters = (upcasts: Upcasts) => {
  const toStored = (
    { at: _at, v: _v, data, meta, ...record }: MemoryRecord,
    read = readEvent,
  ): StoredEvent => read(upcasts, { ...record, data: JSON.parse(data), meta: JSON.parse(meta) });
  return {
    toStored,
    toAny: (record: MemoryRecord): StoredEvent => toStored(record, readAnyEvent),
    toFold: ({ id: _id, meta: _meta, v, data, type, ...record }: MemoryRecord): FoldEvent => ({
      ...record,
      type: foldedType(upcasts, { type, v }),
      data: upcastData(upcasts, { type, v }, JSON.parse(data)),
    }),
  };
};

const toText = ({ at: _at, v: _v, ...record }: MemoryRecord): EventText => record;

const resultOf = (record: MemoryRecord | undefined): AppendResult =>
  record
    ? { outcome: 'appended', revision: record.revision, position: record.position }
    : { outcome: 'conflict' };

const pick = (
  records: readonly MemoryRecord[],
  limit: number,
  isWanted: (record: MemoryRecord) => boolean,
): MemoryRecord[] => records.filter(isWanted).slice(0, Math.max(0, limit));

export const memoryEventLog = (options: { id?: string; upcasts?: Upcasts } = {}): EventLog => {
  const { toStored, toAny, toFold } = converters(options.upcasts ?? UPCASTS);
  const stored: MemoryLog = { records: [], streams: new Map() };
  const { records, streams } = stored;
  let isClosed = false;
  const open = (): readonly MemoryRecord[] => {
    if (isClosed) throw new LogUnavailable('closed', 'no', 'the log is closed');
    return records;
  };
  const page = (after: number, limit: number): FoldEvent[] =>
    Array.from(open().slice(after, after + limit), toFold);
  const ownRecords = (
    owner: string,
    { after, limit, upTo = records.length }: Parameters<EventLog['readOwner']>[1],
  ): MemoryRecord[] => pick(open().slice(after, upTo), limit, (record) => record.owner === owner);
  const subscribers = new Subscribers({ head: () => records.length, page });
  const appendAll: EventLog['appendAll'] = async (appends) => {
    const encoded = encodeAppends(appends, options.upcasts);
    open();
    const decided = encoded.map(({ stream, expected, unchanged, events }) => {
      requireUnchanged(unchanged, streams);
      return decideRepetition(streams.get(stream) ?? [], expected, events);
    });
    if (decided.some((result) => result?.outcome === 'conflict')) return { outcome: 'conflict' };
    const added = encoded.flatMap((append, index) => (decided[index] ? [] : addTo(stored, append)));
    subscribers.push(added.map(toFold));
    return decided.at(-1) ?? resultOf(added.at(-1));
  };
  const log = {
    id: options.id ?? 'memory-log',
    async readStream(stream, from = 0, limit = Infinity) {
      open();
      const first = Math.max(0, from);
      const own = streams.get(stream) ?? [];
      return own.slice(first, first + limit).map((record) => toStored(record));
    },
    readAll: async ({ after, limit, types }) =>
      pick(open().slice(after), limit, ({ type }) => !types || types.includes(type)).map(toAny),
    readOwner: async (owner, range) => ownRecords(owner, range).map(toAny),
    readOwnerText: async (owner, range) => ownRecords(owner, range).map(toText),
    readBack: async ({ upTo, limit, owner }) => {
      const newestFirst = open().slice(0, Math.max(0, upTo)).toReversed();
      const isWanted = (record: MemoryRecord): boolean =>
        owner === undefined || record.owner === owner;
      return pick(newestFirst, limit, isWanted).map(toAny).reverse();
    },
    subscribe: subscribers.subscribe,
    readFold: async ({ after, limit }) => page(after, limit),
    readOwnerFold: async (owner, range) => ownRecords(owner, range).map(toFold),
    async head() {
      const last = open().at(-1);
      return { position: last?.position ?? 0, at: last?.at ?? null };
    },
    async close() {
      isClosed = true;
      subscribers.close();
    },
  } satisfies Omit<EventLog, 'append' | 'appendAll'>;
  return replaceAppends(log, appendAll);
};

/** Adds events after those of their stream, and returns their records. */
const addTo = (
  { records, streams }: MemoryLog,
  { stream, owner, events }: EncodedAppend,
): MemoryRecord[] => {
  const own = streams.get(stream) ?? [];
  const added = events.map(({ bytes: _bytes, ...event }, index): MemoryRecord => {
    const position = records.length + 1 + index;
    return { ...event, stream, owner, revision: own.length + index, position };
  });
  records.push(...added);
  own.push(...added);
  streams.set(stream, own);
  return added;
};

const requireUnchanged = (
  unchanged: readonly StreamRevision[],
  streams: ReadonlyMap<string, readonly MemoryRecord[]>,
): void => {
  for (const { stream, revision } of unchanged)
    if ((streams.get(stream)?.length ?? 0) + NO_STREAM > revision)
      throw new StreamAdvanced(`${stream} has a later event`);
};

/** Returns undefined if `expected` is the last revision of the stream, so that the append applies. */
const decideRepetition = (
  own: readonly MemoryRecord[],
  expected: number,
  events: readonly { id: string }[],
): AppendResult | undefined => {
  const current = own.length + NO_STREAM;
  if (expected === current) return undefined;
  const stored = own.slice(expected + 1, expected + 1 + events.length);
  const isSame = expected < current && events.every(({ id }, index) => id === stored[index]?.id);
  return resultOf(isSame ? stored.at(-1) : undefined);
};
