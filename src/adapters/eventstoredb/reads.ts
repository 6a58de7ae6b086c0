/** Reads: bounded in number and in time, repeated while that may help. */
import { setTimeout as delay } from 'node:timers/promises';
import type { EventStoreDBClient, StreamingRead } from '@eventstore/db-client';
import { BACKWARDS, END } from '@eventstore/db-client';
import type { Position } from '#src/ports/event-log.ts';
import { failureOf, isNoPlace, isWorthRepeating, noAnswer, readError } from './failures.ts';
import type { Wanted } from './feed.ts';
import { openFeed } from './feed.ts';
import { gate } from './gate.ts';
import { positionOfEvent, startAt } from './positions.ts';
import type { OurRecord, Recorded } from './records.ts';
import { isOurs } from './records.ts';
import type { Timing } from './timing.ts';
import { waits } from './timing.ts';

/**
 * A server serves 100 calls of a connection at once and lets the next ones wait, appends among them
 * (C9): the rest is for the appends' stream and the subscriptions.
 */
const READS_MAX = 64;
const PAGE_EVENTS_MAX = 4_096;
const HEAD_PAGE_EVENTS = 8;

export type Reads = ReturnType<typeof reads>;

type Resolved = { event?: Recorded | undefined };

/** All of a read; rejects when nothing comes for `idleMs`, because reads have no deadline. */
const drained = (
  stream: StreamingRead<Resolved>,
  take: (event: Recorded) => void,
  idleMs: number,
): Promise<void> =>
  new Promise((resolve, reject) => {
    let over = false;
    const finish = (reason?: Error): void => {
      clearTimeout(timer);
      if (reason) reject(reason);
      else resolve();
    };
    const settle = (reason?: Error): void => {
      if (!over) finish(reason);
      over = true;
    };
    const stop = (reason: Error): void => {
      // A read that is cancelled ends as if it were complete.
      over = true;
      // A call that nobody waits for would keep its place at the server. The client takes it back
      // a turn later; until then it counts, or the next ones would come on top of it.
      stream.cancel().catch(() => {});
      setImmediate(() => setImmediate(finish, reason));
    };
    const timer = setTimeout(() => stop(noAnswer(idleMs)), idleMs);
    stream.on('data', ({ event }: Resolved) => {
      if (over) return;
      timer.refresh();
      try {
        if (event) take(event);
      } catch (error) {
        stop(error as Error);
      }
    });
    stream.on('error', settle);
    stream.on('end', () => settle());
  });

export const reads = (client: EventStoreDBClient, timing: Timing) => {
  const turn = gate(READS_MAX);
  let known: { position: Position; at: number | null } = { position: 0, at: null };

  /** Throws LogUnavailable when repetitions did not help in time. */
  const patiently = async <T>(what: string, attempt: () => Promise<T>): Promise<T> => {
    const until = performance.now() + timing.readRepeatMs;
    const pauses = waits(timing.retryMs);
    for (;;) {
      try {
        return await turn(attempt);
      } catch (error) {
        const pause = pauses.next();
        const late = performance.now() + pause >= until;
        if (isNoPlace(error) || late || !isWorthRepeating(failureOf(error)))
          throw readError(what, error);
        await delay(pause);
      }
    }
  };

  const streamOnce = async (stream: string, from: number, limit?: number): Promise<Recorded[]> => {
    const events: Recorded[] = [];
    const read = client.readStream(stream, {
      fromRevision: BigInt(from),
      requiresLeader: true,
      ...(limit !== undefined && { maxCount: limit }),
    });
    try {
      await drained(read, (event) => events.push(event), timing.idleMs);
      return events;
    } catch (error) {
      if (failureOf(error) === 'missing') return [];
      throw error;
    }
  };

  const pageOnce = async (after: Position, maxCount: number): Promise<Recorded[]> => {
    const events: Recorded[] = [];
    const read = client.readAll({ fromPosition: startAt(after), maxCount });
    await drained(read, (event) => events.push(event), timing.idleMs);
    return events;
  };

  const backwardsOnce = async (
    before: ReturnType<typeof startAt> | typeof END,
    maxCount: number,
  ): Promise<Recorded[]> => {
    const events: Recorded[] = [];
    const read = client.readAll({
      direction: BACKWARDS,
      fromPosition: before,
      maxCount,
      requiresLeader: true,
    });
    await drained(read, (event) => events.push(event), timing.idleMs);
    return events;
  };

  /** What `wanted` selects, by the server: 6.2.1 has no filtered read, so by a subscription. */
  const scanOnce = (
    { after, wanted }: { after: Position; wanted: Wanted },
    take: (event: Recorded) => boolean,
    upTo: Position,
  ): Promise<void> =>
    new Promise((resolve, reject) => {
      const settle = (finish: () => void): void => {
        clearTimeout(timer);
        feed.close();
        finish();
      };
      const fail = (error: unknown): void =>
        settle(() => reject((error as Error | null) ?? new Error('14 UNAVAILABLE: ended')));
      const timer = setTimeout(() => fail(noAnswer(timing.idleMs)), timing.idleMs);
      const feed = openFeed(
        client,
        { after, wanted },
        {
          event: (event) => {
            timer.refresh();
            if (positionOfEvent(event) > upTo || !take(event)) settle(resolve);
          },
          checkpoint: (position) => {
            timer.refresh();
            if (position >= upTo) settle(resolve);
          },
          caughtUp: () => settle(resolve),
          dropped: fail,
        },
      );
    });

  return {
    /** Whether the server reads for us: a stream that does not exist, so nothing of value. */
    probe: (): Promise<unknown> => turn(() => streamOnce('tributary_probe', 0, 1)),
    stream: (stream: string, from: number, limit?: number): Promise<Recorded[]> =>
      patiently(`reading ${stream}`, () => streamOnce(stream, from, limit)),
    streamOnce: (stream: string, from: number, limit: number): Promise<Recorded[]> =>
      turn(() => streamOnce(stream, from, limit)),
    async ours(stream: string, from: number): Promise<OurRecord[]> {
      const what = `reading ${stream}`;
      return (await patiently(what, () => streamOnce(stream, from))).filter(isOurs);
    },
    /** Ours after `after`, at most `limit`. */
    async all(after: Position, limit: number): Promise<OurRecord[]> {
      const found: OurRecord[] = [];
      // A read begins with the record it is told to begin at: the one that was seen already.
      let size = Math.min(limit + 1, PAGE_EVENTS_MAX);
      for (let at = after; found.length < limit; size = Math.min(size * 4, PAGE_EVENTS_MAX)) {
        const [from, maxCount] = [at, size];
        const page = await patiently('reading the log', () => pageOnce(from, maxCount));
        const fresh = page.filter((event) => positionOfEvent(event) > from);
        found.push(...fresh.filter(isOurs));
        const last = fresh.at(-1);
        if (!last || page.length < size) break;
        at = positionOfEvent(last);
      }
      return found.slice(0, limit);
    },
    /** Ours that are wanted, after `after` and up to `upTo`, at most `limit`. */
    async scan(
      wanted: Wanted,
      { after, limit, upTo = Infinity }: { after: Position; limit: number; upTo?: number },
    ): Promise<OurRecord[]> {
      const found: OurRecord[] = [];
      if (limit <= 0 || upTo <= after) return found;
      await patiently('scanning the log', () => {
        // Goes on where an attempt broke off.
        const last = found.at(-1);
        const from = last ? positionOfEvent(last) : after;
        const take = (event: Recorded): boolean => {
          if (isOurs(event)) found.push(event);
          return found.length < limit;
        };
        return scanOnce({ after: from, wanted }, take, upTo);
      });
      return found;
    },
    /** The last of ours: what the server keeps for itself may lie behind it. */
    async head(): Promise<{ position: Position; at: number | null }> {
      let before: ReturnType<typeof startAt> | typeof END = END;
      let lowest = Infinity;
      for (let limit = HEAD_PAGE_EVENTS; ; limit = Math.min(limit * 8, PAGE_EVENTS_MAX)) {
        const from = before;
        const page = await patiently('reading the head', () => backwardsOnce(from, limit));
        for (const event of page) {
          const position = positionOfEvent(event);
          if (position <= known.position) return known;
          if (!isOurs(event)) continue;
          known = { position, at: event.metadata.at };
          return known;
        }
        const last = page.at(-1);
        const seen = last ? positionOfEvent(last) : 0;
        if (seen === 0 || seen >= lowest) return known;
        lowest = seen;
        before = startAt(seen);
      }
    },
  };
};
