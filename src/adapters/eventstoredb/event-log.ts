import { type EventLog, LogUnavailable, type Position } from '#src/ports/event-log.ts';
import type { KeyVault, MovableKeys } from '#src/ports/system.ts';
import { encodeAppend, readAnyEvent, readEvent, UPCASTS, type Upcasts } from '../event-codec.ts';
import { Appends } from './appends.ts';
import { awaitServer, createClient } from './connect.ts';
import { EventStoreKeyVault } from './key-vault.ts';
import { LiveFeed, type LiveFeedOptions } from './live-feed.ts';
import { Reads } from './reads.ts';
import { isLogRecord, type LogRecord, toFoldEvent, toStoredEvent } from './recorded-events.ts';
import { TIMING, type Timing } from './timing.ts';
import { tombstone } from './tombstones.ts';

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
  upcasts?: Upcasts;
};

export type EventStoreLog = EventLog & {
  /**
   * Opens the key vault on this log's client. It closes with the log. Throws LogUnavailable, and
   * StartupError when the keys were wrapped with another key.
   */
  keyVault(wrappingKey: Buffer): Promise<KeyVault & MovableKeys>;
};

type Parts = LiveFeedOptions & { id: string; appends: Appends };

/**
 * Opens the log in EventStoreDB or KurrentDB, from version 23.10 on. The database can contain records
 * of other applications. Open one log per process: an error of one client's appends makes the client
 * forget those of every other, which then have to be repeated. Throws StartupError within five seconds
 * when the server cannot be used.
 */
export const eventStoreLog = async (options: EventStoreLogOptions): Promise<EventStoreLog> => {
  const { url, upcasts = UPCASTS, onDropped, onHealed, subscriberEventsMax } = options;
  const timing = { ...TIMING, ...options.timing };
  const client = createClient(url);
  const reads = new Reads(client, timing);
  const id = await awaitServer({ url, client, reads, timing }).catch(async (error: unknown) => {
    await client.dispose();
    throw error;
  });
  return logOn({
    id,
    client,
    reads,
    appends: new Appends(client, reads, timing),
    timing,
    upcasts,
    head: () => reads.head(),
    onDropped,
    onHealed,
    subscriberEventsMax,
  });
};

const logOn = (parts: Parts): EventStoreLog => {
  const { id, client, upcasts, reads, appends, timing } = parts;
  const live = new LiveFeed(parts);
  let closed: Promise<void> | undefined;
  const requireOpen = (): void => {
    if (closed) throw new LogUnavailable('closed', 'no', 'the log is closed');
  };
  const close = async (): Promise<void> => {
    live.close();
    await appends.settled();
    await client.dispose();
  };
  const stored = async (records: () => Promise<LogRecord[]>) => {
    requireOpen();
    return (await records()).map((record) => readAnyEvent(upcasts, toStoredEvent(record)));
  };
  return {
    id,
    async append(stream, expected, events) {
      const encoded = encodeAppend(stream, expected, events);
      requireOpen();
      return appends.append({ stream, expected, events: encoded.events });
    },
    async readStream(stream, from = 0) {
      requireOpen();
      const records = (await reads.stream(stream, Math.max(0, from))).filter(isLogRecord);
      return records.map((record) => readEvent(upcasts, toStoredEvent(record)));
    },
    readAll: ({ types, ...range }) =>
      stored(async () => {
        if (types?.length === 0) return [];
        return types ? reads.scan({ types }, range) : reads.all(range);
      }),
    readOwner: (owner, range) => stored(() => reads.scan({ owner }, range)),
    readBack: ({ upTo, limit, owner }) => stored(() => reads.back(upTo, limit, owner)),
    subscribe: live.subscribe,
    async readFold(range) {
      requireOpen();
      return (await reads.all(range)).map((record) => toFoldEvent(upcasts, record));
    },
    async head() {
      requireOpen();
      return reads.head();
    },
    keyVault: (wrappingKey) =>
      EventStoreKeyVault.open(
        { appends, reads, tombstone: (stream) => tombstone(client, timing, stream), requireOpen },
        wrappingKey,
      ),
    close: () => (closed ??= close()),
  };
};
