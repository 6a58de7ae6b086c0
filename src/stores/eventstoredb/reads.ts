import type { EventStoreDBClient, ResolvedEvent } from '@eventstore/db-client';
import { LogUnavailable, type Position } from '#src/ports/event-log.ts';
import { type AllFilter, type AllPage, readPage } from './all-stream.ts';
import { collect } from './collect.ts';
import {
  failureOf,
  invalidPosition,
  InvalidPosition,
  isWorthRepeating,
  noAnswer,
  readError,
} from './failures.ts';
import { feed } from './feed.ts';
import { isLogRecord, type LogRecord, type Recorded, toRecorded } from './recorded-events.ts';
import { type Timing, withRetries } from './retries.ts';
import { GROWTH, nextSize } from './page-size.ts';
import { semaphore } from './semaphore.ts';

/**
 * A server runs 100 calls of a connection at once and queues the others, appends included. The
 * remaining slots are for the stream of appends and for subscriptions.
 */
const READS_MAX = 64;
const PAGE_EVENTS_MAX = 4_096;
const SCAN_BUFFER_MAX = 256;

type Range = { after: Position; limit: number };
type Head = { position: Position; at: number | null };

/** Reads with a limit on their number and their time, repeated while that can help. */
export class Reads {
  readonly #client: EventStoreDBClient;
  readonly #timing: Timing;
  readonly #inTurn = semaphore(READS_MAX);

  constructor(client: EventStoreDBClient, timing: Timing) {
    this.#client = client;
    this.#timing = timing;
  }

  /** Resolves when the server answers reads; the stream does not exist. */
  async probe(): Promise<void> {
    await this.streamOnce('tributary_probe', 0, 1);
  }

  /** Reads a stream without repetition; empty when it does not exist. */
  streamOnce(stream: string, from: number, limit?: number): Promise<Recorded[]> {
    return this.#inTurn(() => this.#readStream(stream, from, limit));
  }

  stream(stream: string, from: number, limit?: number): Promise<Recorded[]> {
    return this.#repeat(`reading ${stream}`, () => this.#readStream(stream, from, limit));
  }

  /** The log's events after `after`, at most `limit`. */
  all({ after, limit }: Range): Promise<LogRecord[]> {
    return this.#fromAnywhere(after, async (start) => {
      const events: LogRecord[] = [];
      let last = start;
      let size = limit + 1;
      for (;;) {
        const before = events.length;
        const maxCount = Math.min(size, PAGE_EVENTS_MAX);
        // The first record of a page is the last one of the page before.
        const page = await this.#page({ from: last, maxCount }, last === start);
        for (const record of page) {
          if (record.position > last && isLogRecord(record)) events.push(record);
          last = Math.max(last, record.position);
        }
        if (events.length >= limit || page.length < maxCount) return events.slice(0, limit);
        size = nextSize(size, {
          read: page.length,
          found: events.length - before,
          missing: limit - events.length,
        });
      }
    });
  }

  /**
   * At most `limit` records from `from` on, whatever they are. Throws InvalidPosition when no record
   * begins there.
   */
  records(from: Position, limit: number): Promise<Recorded[]> {
    return this.#page({ from, maxCount: limit }, true);
  }

  /** The newest `limit` events up to `upTo`, in log order. An owner's are found by reading all. */
  back(upTo: Position, limit: number, owner?: string): Promise<LogRecord[]> {
    const isWanted = (record: Recorded): record is LogRecord =>
      record.position <= upTo &&
      isLogRecord(record) &&
      (owner === undefined || record.streamId.startsWith(`${owner}-`));
    return this.#fromAnywhere(upTo, async (start) => {
      // A backwards read excludes the record that it starts at.
      const first = await this.#pages(start, 1, false).next();
      const events = (first.value ?? []).filter(isWanted);
      if (start > 0 && events.length < limit)
        for await (const page of this.#pages(start, limit, true)) {
          events.push(...page.filter(isWanted));
          if (events.length >= limit) break;
        }
      return events.slice(0, limit).toReversed();
    });
  }

  /**
   * The events that pass `filter`, after `after` and up to `upTo`, at most `limit`. The client has no
   * filtered read, so this subscribes until it has caught up.
   */
  async scan(
    filter: AllFilter,
    { after, limit, upTo = Infinity }: Range & { upTo?: Position | undefined },
  ): Promise<LogRecord[]> {
    const events: LogRecord[] = [];
    if (limit <= 0 || upTo <= after) return events;
    const { idleMs: silenceMs } = this.#timing;
    const onSilence = async () => noAnswer(silenceMs);
    const attempt = async (from: Position): Promise<void> => {
      const options = { after: from, filter, bufferMax: SCAN_BUFFER_MAX };
      for await (const item of feed(this.#client, { ...options, silenceMs, onSilence })) {
        if (item === 'caughtUp') return;
        if ('checkpoint' in item) {
          if (item.checkpoint >= upTo) return;
          continue;
        }
        for (const record of item) {
          if (record.position > upTo) return;
          if (isLogRecord(record) && events.push(record) >= limit) return;
        }
      }
    };
    await this.#fromAnywhere(after, (start) =>
      this.#repeat('scanning the log', () => {
        // A repetition continues after the last event received.
        const from = events.at(-1)?.position ?? start;
        return attempt(from).catch(invalidPosition(from));
      }),
    );
    return events;
  }

  /**
   * Position and time of the newest record of the database, whatever it is. Subscriptions receive every
   * record, so they reach it.
   */
  async head(): Promise<Head> {
    const [newest] = await this.#page({ from: 'end', maxCount: 1, isBackwards: true });
    if (!newest) return { position: 0, at: null };
    // The times of other records are by other clocks.
    const at = isLogRecord(newest) ? newest.metadata.at : null;
    return { position: newest.position, at };
  }

  /** Throws LogUnavailable when repetition did not help in time. */
  #repeat<T>(what: string, attempt: () => Promise<T>): Promise<T> {
    const { readRepeatMs: forMs, retryMs } = this.#timing;
    const onFailure = (error: unknown, isLast: boolean): void => {
      if (isLast || !isWorthRepeating(failureOf(error))) throw readError(what, error);
    };
    return withRetries(() => this.#inTurn(attempt), { forMs, retryMs, onFailure });
  }

  async #readStream(stream: string, from: number, limit?: number): Promise<Recorded[]> {
    const read = this.#client.readStream(stream, {
      fromRevision: BigInt(from),
      requiresLeader: true,
      ...(limit !== undefined && { maxCount: limit }),
    });
    try {
      const resolved = await collect<ResolvedEvent>(read, this.#timing.idleMs);
      return resolved.flatMap(({ event }) => (event ? [toRecorded(event)] : []));
    } catch (error) {
      if (failureOf(error) === 'missing') return [];
      throw error;
    }
  }

  /**
   * Reads pages of growing size up to the end of the log. Throws InvalidPosition when no record begins
   * at `start`.
   */
  async *#pages(
    start: Position | 'end',
    firstSize: number,
    isBackwards: boolean,
  ): AsyncGenerator<Recorded[], undefined> {
    let from = start;
    for (let size = firstSize; ; size *= GROWTH) {
      const maxCount = Math.min(size, PAGE_EVENTS_MAX);
      const page = await this.#page({ from, maxCount, isBackwards }, from === start);
      yield page;
      const last = page.at(-1);
      if (!last || page.length < maxCount) return undefined;
      from = last.position;
    }
  }

  /** Throws InvalidPosition if `isUnchecked` and no record begins at `page.from`. */
  #page(page: AllPage, isUnchecked = false): Promise<Recorded[]> {
    const { from } = page;
    const unchecked = isUnchecked && from !== 'end' ? from : 0;
    return this.#repeat('reading the log', () =>
      readPage(this.#client, page, this.#timing.idleMs).catch(invalidPosition(unchecked)),
    );
  }

  /**
   * Reads from any position, as the port permits, although the server starts only at a record: after
   * InvalidPosition it reads from the last record before.
   */
  async #fromAnywhere<T>(after: Position, read: (start: Position) => Promise<T>): Promise<T> {
    try {
      return await read(after);
    } catch (error) {
      if (!(error instanceof InvalidPosition)) throw error;
    }
    const record = await this.#lastRecordUpTo(after);
    try {
      return await read(record);
    } catch (error) {
      // This is a record's position, so the read failed for another reason.
      if (!(error instanceof InvalidPosition)) throw error;
      throw new LogUnavailable('fault', 'no', error.message);
    }
  }

  /** Finds the last record at or before `after`, reading from the nearer end; 0 if there is none. */
  async #lastRecordUpTo(after: Position): Promise<Position> {
    const { position: head } = await this.head();
    if (after >= head / 2) {
      for await (const page of this.#pages('end', 1, true)) {
        const record = page.find(({ position }) => position <= after);
        if (record) return record.position;
      }
      return 0;
    }
    let last = 0;
    for await (const page of this.#pages(0, PAGE_EVENTS_MAX, false))
      for (const { position } of page) {
        if (position > after) return last;
        last = position;
      }
    return last;
  }
}
