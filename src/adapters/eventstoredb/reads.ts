/** Reads: bounded in number and in time, repeated while that may help. */
import { setTimeout as delay } from 'node:timers/promises';
import { BACKWARDS, END, type EventStoreDBClient } from '@eventstore/db-client';
import { LogUnavailable, type Position } from '#src/ports/event-log.ts';
import { drained } from './drain.ts';
import { failureOf, isWorthRepeating, NoPlace, orNoPlace, readError } from './failures.ts';
import type { Wanted } from './feed.ts';
import { gate } from './gate.ts';
import { positionOfEvent, startAt } from './positions.ts';
import { isOurs, type OurRecord, type Recorded } from './records.ts';
import { scanned } from './scan.ts';
import { type Timing, waits } from './timing.ts';

/**
 * A server serves 100 calls of a connection at once and lets the next ones wait, appends among them
 * (C9): the rest is for the appends' stream and the subscriptions.
 */
const READS_MAX = 64;
const PAGE_EVENTS_MAX = 4_096;
const HEAD_PAGE_EVENTS = 8;

const isOf = ({ streamId }: OurRecord, owner: string | undefined): boolean =>
  owner === undefined || streamId.startsWith(`${owner}-`);

export type Reads = ReturnType<typeof reads>;

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
        if (late || !isWorthRepeating(failureOf(error))) throw readError(what, error);
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

  const pageOnce = async (from: Position, maxCount: number): Promise<Recorded[]> => {
    const events: Recorded[] = [];
    const read = client.readAll({ fromPosition: startAt(from), maxCount });
    await drained(read, (event) => events.push(event), timing.idleMs).catch(orNoPlace(from));
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

  /** The last record at or before `after`, looked for from the nearer end; 0 when there is none. */
  const placeBefore = async (after: Position): Promise<Position> => {
    const [top] = await patiently('reading the head', () => backwardsOnce(END, 1));
    const end = top ? positionOfEvent(top) : 0;
    if (after >= end) return end;
    let place = after < end / 2 ? 0 : end;
    const isForwards = place === 0;
    for (;;) {
      const from = place;
      const page = await patiently('looking for a position', () =>
        isForwards
          ? pageOnce(from, PAGE_EVENTS_MAX)
          : backwardsOnce(startAt(from), PAGE_EVENTS_MAX),
      );
      const positions = page.map(positionOfEvent);
      if (!isForwards) place = positions.find((at) => at <= after) ?? positions.at(-1) ?? 0;
      else place = positions.findLast((at) => at <= after) ?? place;
      const isFound = isForwards ? place !== positions.at(-1) : place <= after;
      if (isFound || place === from) return place;
    }
  };

  /** The server begins at a record and nowhere else; the port takes any number. */
  const fromAnywhere = async <T>(
    after: Position,
    read: (start: Position) => Promise<T>,
  ): Promise<T> => {
    try {
      return await read(after);
    } catch (error) {
      if (!(error instanceof NoPlace)) throw error;
    }
    const place = await placeBefore(after);
    try {
      return await read(place);
    } catch (error) {
      // A record stands there: the server cannot read for another reason.
      throw error instanceof NoPlace ? new LogUnavailable('fault', 'no', error.message) : error;
    }
  };

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
    all: (after: Position, limit: number): Promise<OurRecord[]> =>
      fromAnywhere(after, async (start) => {
        const found: OurRecord[] = [];
        // A read begins with the record it is told to begin at: the one that was seen already.
        let size = Math.min(limit + 1, PAGE_EVENTS_MAX);
        for (let at = start; found.length < limit; size = Math.min(size * 4, PAGE_EVENTS_MAX)) {
          const [from, maxCount] = [at, size];
          const page = await patiently('reading the log', () => pageOnce(from, maxCount));
          const last = page.at(-1);
          for (const event of page)
            if (positionOfEvent(event) > from && isOurs(event)) found.push(event);
          if (!last || page.length < maxCount) break;
          at = positionOfEvent(last);
        }
        return found.slice(0, limit);
      }),
    /** The newest of ours up to `upTo`, at most `limit`; of an owner by looking at all of them. */
    back: (upTo: Position, limit: number, owner?: string): Promise<OurRecord[]> =>
      fromAnywhere(upTo, async (start) => {
        const found: OurRecord[] = [];
        const take = (page: readonly Recorded[]): void => {
          for (const event of page)
            if (positionOfEvent(event) <= upTo && isOurs(event) && isOf(event, owner))
              found.push(event);
        };
        // Backwards the server begins before the record that it is told to begin at.
        take(await patiently('reading the log', () => pageOnce(start, 1)));
        let size = Math.min(limit, PAGE_EVENTS_MAX);
        for (let at = start; at > 0 && found.length < limit; ) {
          const [before, maxCount] = [at, size];
          const page = await patiently('reading the log back', () =>
            backwardsOnce(startAt(before), maxCount).catch(orNoPlace(before)),
          );
          take(page);
          const last = page.at(-1);
          if (!last || page.length < maxCount) break;
          at = positionOfEvent(last);
          size = Math.min(size * 4, PAGE_EVENTS_MAX);
        }
        return found.slice(0, limit).toReversed();
      }),
    /** Ours that are wanted, after `after` and up to `upTo`, at most `limit`. */
    async scan(
      wanted: Wanted,
      { after, limit, upTo = Infinity }: { after: Position; limit: number; upTo?: number },
    ): Promise<OurRecord[]> {
      const found: OurRecord[] = [];
      if (limit <= 0 || upTo <= after) return found;
      const take = (event: Recorded): boolean => {
        if (isOurs(event)) found.push(event);
        return found.length < limit;
      };
      await fromAnywhere(after, (start) =>
        patiently('scanning the log', () => {
          // Goes on where an attempt broke off.
          const last = found.at(-1);
          const from = last ? positionOfEvent(last) : start;
          const scan = { after: from, upTo, wanted, take };
          return scanned(client, scan, timing.idleMs).catch(orNoPlace(from));
        }),
      );
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
