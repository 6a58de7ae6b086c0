/** The log on EventStoreDB: implements the port of the log by its reads, appends and subscriptions. */
import { UPCASTS, type Upcasts } from '#contracts/registries/events.ts';
import {
  type AppendResult,
  type EventLog,
  eventTextOf,
  LogCorrupted,
  LogUnavailable,
  type Position,
  replaceAppends,
} from '#src/ports/event-log.ts';
import type { KeyringStore, KeyVault, MovableKeys } from '#src/ports/system.ts';
import {
  type EncodedAppend,
  encodeAppends,
  readAnyEvent,
  readEvent,
} from '#src/stores/event-codec.ts';
import { type LogMark, LogMemory } from '#src/stores/log-memory.ts';
import { Appends } from './appends.ts';
import { awaitServer, createClient } from './connect.ts';
import { eventStoreKeyring, EventStoreKeyVault } from './key-vault.ts';
import { LiveFeed, type LiveFeedOptions } from './subscription.ts';
import { isReplaced, LogGuard, tombstone } from './identity.ts';
import { Reads, isLogRecord, type LogRecord, toFoldEvent, toStoredEvent } from './reads.ts';
import { TIMING, type Timing } from './failures.ts';

export type EventStoreLogOptions = {
  /** `esdb://` or `esdb+discover://`, with the credentials and TLS options of the client. */
  url: string;
  timing?: Partial<Timing>;
  /** Events that are buffered for a slow subscriber. */
  subscriberEventsMax?: number;
  /** Called when the server drops a subscription, which continues after `position`. */
  onDropped?: (reason: string, position: Position) => void;
  /** Called when a subscription continues after a drop. */
  onHealed?: (position: Position) => void;
  /** Called when the server holds a different log from this one. */
  onReplaced?: (text: string) => void;
  upcasts?: Upcasts;
  /** What this installation remembers of its log; by default nothing, so any log is accepted. */
  memory?: LogMemory;
};

export type EventStoreLog = EventLog & {
  readonly keyring: KeyringStore;
  /**
   * Opens the key vault on this log's client. It closes with the log. Throws LogUnavailable, and
   * StartupError when the keys were wrapped with other keys.
   */
  keyVault(wrappingKeys: readonly Buffer[]): Promise<KeyVault & MovableKeys>;
};

type Parts = LiveFeedOptions & {
  mark: LogMark;
  memory: LogMemory;
  guard: LogGuard;
  appends: Appends;
};

/**
 * Opens the log in EventStoreDB or KurrentDB, from version 23.10 on. The database can contain records
 * of other applications. Open one log per process: an error of one client's appends makes the client
 * forget those of every other, which then have to be repeated. Throws StartupError within five seconds
 * when the server cannot be used, or holds a different log from the remembered one. Closes `memory`.
 */
export const eventStoreLog = async (options: EventStoreLogOptions): Promise<EventStoreLog> => {
  const { url, upcasts = UPCASTS, onDropped, onHealed, onReplaced, subscriberEventsMax } = options;
  const { memory = new LogMemory() } = options;
  const timing = { ...TIMING, ...options.timing };
  let guard: LogGuard | undefined;
  const client = createClient(url, {
    onChanged: () => guard?.doubt(),
    beforeAppend: async () => guard?.require(),
  });
  const reads = new Reads(client, timing);
  try {
    const mark = await awaitServer({ url, client, reads, timing, memory });
    guard = new LogGuard({ url, mark, memory, reads, timing, onReplaced });
    await memory.open(mark);
    return logOn({
      mark,
      memory,
      client,
      reads,
      guard,
      appends: new Appends({ client, reads, timing, guard }),
      timing,
      upcasts,
      head: () => reads.head(),
      onDropped,
      onHealed,
      subscriberEventsMax,
    });
  } catch (error) {
    await client.dispose();
    throw error;
  }
};

const logOn = (parts: Parts): EventStoreLog => {
  const { client, upcasts, reads, guard, appends, timing, memory } = parts;
  const live = new LiveFeed(parts);
  let closed: Promise<void> | undefined;
  const requireOpen = (): void => {
    if (closed) throw new LogUnavailable('closed', 'no', 'the log is closed');
  };
  const read = <T>(records: () => Promise<T>): Promise<T> => {
    requireOpen();
    return guard.run(records);
  };
  const folded = async (records: () => Promise<LogRecord[]>) =>
    guard.sawRecords(await read(records)).map((record) => toFoldEvent(upcasts, record));
  const stored = async (records: () => Promise<LogRecord[]>) =>
    (await read(records)).map((record) => readAnyEvent(upcasts, toStoredEvent(record)));
  const stream: Reads['stream'] = (...range) => read(() => reads.stream(...range));
  const log: Omit<EventStoreLog, 'append' | 'appendAll'> = {
    id: parts.mark.id,
    async readStream(stream, from = 0, limit) {
      const records = await read(() => reads.stream(stream, Math.max(0, from), limit));
      return records.filter(isLogRecord).map((record) => readEvent(upcasts, toStoredEvent(record)));
    },
    readAll: ({ types, ...range }) =>
      stored(async () => {
        if (types?.length === 0) return [];
        return types ? reads.scan({ types }, range) : reads.all(range);
      }),
    readOwner: (owner, range) => stored(() => reads.scan({ owner }, range)),
    readOwnerText: async (owner, range) =>
      (await stored(() => reads.scan({ owner }, range))).map(eventTextOf),
    readBack: ({ upTo, limit, owner }) => stored(() => reads.back(upTo, limit, owner)),
    subscribe: live.subscribe,
    readFold: (range) => folded(() => reads.all(range)),
    readOwnerFold: (owner, range) => folded(() => reads.scan({ owner }, range)),
    head: knownHead(() => read(() => reads.head())),
    replacement: () => guard.replacement,
    remember: () => memory.storeNow(),
    remembered: () => memory.stored(),
    keyring: eventStoreKeyring({ appends, stream }),
    keyVault: (wrappingKeys) =>
      EventStoreKeyVault.open(
        {
          appends,
          stream,
          tombstone: (stream) => guard.run(() => tombstone(client, timing, stream)),
          requireOpen,
        },
        wrappingKeys,
      ),
    close: () => (closed ??= closeAll(parts, live)),
  };
  const appendOne = async (append: EncodedAppend): Promise<AppendResult> => {
    requireOpen();
    return appendAndRemember(parts, append);
  };
  return replaceAppends(log, async (appends) =>
    appendInOrder(encodeAppends(appends, upcasts), appendOne),
  );
};

const closeAll = async (
  { appends, memory, client }: Parts,
  live: Pick<LiveFeed, 'close'>,
): Promise<void> => {
  live.close();
  await appends.settled();
  await memory.close();
  await client.dispose();
};

/** Appends one after the other until one conflicts or fails, which is unknown if others were written before. */
const appendInOrder = async (
  [first, ...others]: readonly EncodedAppend[],
  appendOne: (append: EncodedAppend) => Promise<AppendResult>,
): Promise<AppendResult> => {
  if (!first) throw new TypeError('nothing to append');
  let result = await appendOne(first);
  for (const append of others) {
    if (result.outcome === 'conflict') break;
    result = await appendOne(append).catch((error: unknown) => {
      if (!(error instanceof LogUnavailable || error instanceof LogCorrupted)) throw error;
      const reason = error instanceof LogUnavailable ? error.reason : 'fault';
      throw Object.assign(new LogUnavailable(reason, 'unknown', error.message), { cause: error });
    });
    if (result.outcome === 'conflict') return { ...result, isPartial: true };
  }
  return result;
};

const appendAndRemember = async (
  { appends, guard }: Parts,
  append: EncodedAppend,
): Promise<AppendResult> => {
  const result = await appends.append(append);
  const { stream, events } = append;
  const event = events.at(-1)?.id;
  if (result.outcome === 'appended' && event !== undefined) {
    const { position, revision } = result;
    guard.saw({ position, stream, revision, event });
  }
  return result;
};

/** Reads the head; while the log is replaced, returns the last one of the known log. */
const knownHead = (read: EventLog['head']): EventLog['head'] => {
  let last: Awaited<ReturnType<EventLog['head']>> = { position: 0, at: null };
  return async () => {
    try {
      last = await read();
    } catch (error) {
      if (!isReplaced(error)) throw error;
    }
    return last;
  };
};
