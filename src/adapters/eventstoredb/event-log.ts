/**
 * The log in EventStoreDB or KurrentDB, from version 23.10 on. Its own database: an event is taken
 * for ours by its stream's name and its attribution. One log of it in a process: the client's
 * appends share their fate (C4), which costs repetitions.
 */
import { type EventLog, LogUnavailable, type Position } from '#src/ports/event-log.ts';
import type { KeyVault, MovableKeys } from '#src/ports/system.ts';
import { encodeAppend, UPCASTS, type Upcasts } from '../event-codec.ts';
import { appends } from './appends.ts';
import { awaitServer, clientOf } from './connect.ts';
import { eventStoreKeyVault } from './key-vault.ts';
import { reads } from './reads.ts';
import { foldedOf, storedOf } from './records.ts';
import { subscription } from './subscription.ts';
import { TIMING, type Timing } from './timing.ts';
import { tombstones } from './tombstones.ts';

export type EventStoreLogOptions = {
  /** `esdb://` or `esdb+discover://`, with credentials and TLS options as the client knows them. */
  url: string;
  timing?: Partial<Timing>;
  /** A subscriber this far behind is read for no more until it has caught up. */
  subscriberEventsMax?: number;
  /** Told of each subscription that the server dropped; it is taken up again after `position`. */
  onDropped?: (reason: string, position: Position) => void;
  /** Told of each that goes on after a drop. */
  onHealed?: (position: Position) => void;
  upcasts?: Upcasts;
};

export type EventStoreLog = EventLog & {
  /**
   * The keys of personal data beside this log, over its client: a process has one (C4). Closes with
   * the log. Throws StartupError when they were wrapped with another key, and LogUnavailable.
   */
  keyVault(wrappingKey: Buffer): Promise<KeyVault & MovableKeys>;
};

/** Throws StartupError when the server cannot be used, within five seconds. */
export const eventStoreLog = async (options: EventStoreLogOptions): Promise<EventStoreLog> => {
  const { url, upcasts = UPCASTS, onDropped, onHealed, subscriberEventsMax } = options;
  const timing = { ...TIMING, ...options.timing };
  const client = clientOf(url);
  const reader = reads(client, timing);
  const writer = appends(client, reader, timing);
  const id = await awaitServer(url, client, reader, timing).catch(async (error: unknown) => {
    await client.dispose();
    throw error;
  });
  const ending = new AbortController();
  let closing: Promise<void> | undefined;
  const requireOpen = (): void => {
    if (closing) throw new LogUnavailable('closed', 'no', 'the log is closed');
  };
  const close = async (): Promise<void> => {
    ending.abort();
    await writer.settled();
    await client.dispose();
  };
  return {
    id,
    async append(stream, expected, events) {
      const encoded = encodeAppend(stream, expected, events);
      requireOpen();
      return writer.append({ stream, expected, events: encoded.events });
    },
    async readStream(stream, from = 0) {
      requireOpen();
      const events = await reader.ours(stream, Math.max(0, from));
      return events.map((event) => storedOf(upcasts, event));
    },
    async readAll({ after, limit, types }) {
      requireOpen();
      if (types?.length === 0) return [];
      const events = await (types
        ? reader.scan({ types }, { after, limit })
        : reader.all(after, limit));
      return events.map((event) => storedOf(upcasts, event));
    },
    async readOwner(owner, { after, limit, upTo }) {
      requireOpen();
      const events = await reader.scan(
        { owner },
        { after, limit, ...(upTo !== undefined && { upTo }) },
      );
      return events.map((event) => storedOf(upcasts, event));
    },
    async readBack({ upTo, limit, owner }) {
      requireOpen();
      const events = await reader.back(upTo, limit, owner);
      return events.map((event) => storedOf(upcasts, event));
    },
    subscribe({ after, signal }: { after: Position; signal: AbortSignal }) {
      const either = AbortSignal.any([signal, ending.signal]);
      const following = {
        client,
        upcasts,
        timing,
        head: reader.head,
        ...(onDropped && { onDropped }),
        ...(onHealed && { onHealed }),
        ...(subscriberEventsMax && { queueEventsMax: subscriberEventsMax }),
      };
      return { [Symbol.asyncIterator]: () => subscription(following, after, either) };
    },
    async readFold({ after, limit }) {
      requireOpen();
      return (await reader.all(after, limit)).map((event) => foldedOf(upcasts, event));
    },
    async head() {
      requireOpen();
      return reader.head();
    },
    keyVault: (wrappingKey) =>
      eventStoreKeyVault(
        {
          append: writer.append,
          reads: reader,
          tombstone: tombstones(client, timing),
          requireOpen,
        },
        wrappingKey,
      ),
    close() {
      closing ??= close();
      return closing;
    },
  };
};
