/**
 * Appends. Those of one turn of the event loop leave together: the client puts every append without
 * credentials of its own on one stream, and waits for none before it sends the next.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { EventData, EventStoreDBClient } from '@eventstore/db-client';
import { NO_STREAM as NO_STREAM_THERE } from '@eventstore/db-client';
import type { AppendResult } from '#src/ports/event-log.ts';
import { AppendTooLarge, LogCorrupted, LogUnavailable, NO_STREAM } from '#src/ports/event-log.ts';
import type { EncodedEvent } from '../event-codec.ts';
import type { Failure } from './failures.ts';
import { failureOf, isWorthRepeating, noAnswer, readError, textOf } from './failures.ts';
import { positionOf, positionOfEvent } from './positions.ts';
import type { Reads } from './reads.ts';
import { dataOf } from './records.ts';
import { type Timing, waits } from './timing.ts';

const APPENDS_MAX = 4_096;
const BYTES_MAX = 67_108_864;

/**
 * The server takes the deadline for a time on its own clock and answers at once when that has
 * passed (C3): with a near one, two clocks that differ by more refuse every append. It caps it at
 * two seconds anyway. When we have waited enough our own timer tells.
 */
const DEADLINE_MS = 365 * 24 * 3_600_000;

type Request = { stream: string; expected: number; events: readonly EncodedEvent[] };

type Answer =
  | { kind: 'appended'; revision: number; position: bigint | undefined }
  | { kind: Failure; error: unknown };

/** The same events to the same place: one append, whoever asks for it. */
const keyOf = ({ stream, expected, events }: Request): string =>
  `${expected} ${events.map(({ id }) => id).join()} ${stream}`;

export const appends = (client: EventStoreDBClient, reads: Reads, timing: Timing) => {
  const underWay = new Map<string, Promise<AppendResult>>();
  let bytesUnderWay = 0;

  /** Sends it once. Never rejects. */
  const send = ({ stream, expected }: Request, events: EventData[]): Promise<Answer> => {
    const sent = client.appendToStream(stream, events, {
      expectedRevision: expected === NO_STREAM ? NO_STREAM_THERE : BigInt(expected),
      requiresLeader: true,
      deadline: DEADLINE_MS,
    });
    return new Promise((resolve) => {
      const settle = (answer: Answer): void => {
        clearTimeout(timer);
        resolve(answer);
      };
      const failed = (error: unknown): void => settle({ kind: failureOf(error), error });
      // The client's call on the batch path has no deadline at all (C1).
      const { attemptMs } = timing;
      const timer = setTimeout(() => failed(noAnswer(attemptMs)), attemptMs);
      sent.then(
        ({ nextExpectedRevision: revision, position }) =>
          settle({ kind: 'appended', revision: Number(revision), position: position?.commit }),
        failed,
      );
    });
  };

  /** A repetition of an old append may be answered without the position it once got. */
  const appended = async (
    { stream }: Request,
    { revision, position }: { revision: number; position: bigint | undefined },
  ): Promise<AppendResult> => {
    if (position !== undefined)
      return { outcome: 'appended', revision, position: positionOf(position) };
    const [event] = await reads.stream(stream, revision, 1);
    if (!event) throw new LogCorrupted(`revision ${revision} of ${stream} is not there any more`);
    return { outcome: 'appended', revision, position: positionOfEvent(event) };
  };

  /**
   * Who was first, by what the leader shows; what the server says of versions is not believed
   * (C12). undefined: what is in the way cannot be read yet, and may never be, should this leader
   * fall before others have it.
   */
  const decided = async (request: Request): Promise<AppendResult | undefined> => {
    const { stream, expected, events } = request;
    const from = Math.max(expected, 0);
    const found = await reads.streamOnce(stream, from, events.length + 1);
    if (expected !== NO_STREAM && found.length === 0) return { outcome: 'conflict' };
    const next = expected === NO_STREAM ? found : found.slice(1);
    if (next.length === 0) return undefined;
    const last = next[events.length - 1];
    if (!last || !events.every(({ id }, index) => next[index]?.id === id))
      return { outcome: 'conflict' };
    const revision = Number(last.revision);
    return { outcome: 'appended', revision, position: positionOfEvent(last) };
  };

  const refusal = (
    { stream }: Request,
    { kind, error }: Exclude<Answer, { kind: 'appended' }>,
    maybe: boolean,
  ): Error => {
    const what = `appending to ${stream}`;
    if (kind === 'tooLarge') return new AppendTooLarge(`${what}: ${textOf(error)}`);
    // Refused now, which says nothing of an earlier attempt.
    if (maybe) return new LogUnavailable('fault', 'unknown', `${what}: ${textOf(error)}`);
    return readError(what, error);
  };

  const run = async (request: Request): Promise<AppendResult> => {
    const events = request.events.map(dataOf);
    const until = performance.now() + timing.appendRepeatMs;
    const pauses = waits(timing.retryMs);
    let maybe = false;
    for (;;) {
      const answer = await send(request, events);
      if (answer.kind === 'appended') return appended(request, answer);
      let { error } = answer;
      let kind: Failure = answer.kind;
      if (kind === 'conflict') {
        const result = await decided(request).catch((failed: unknown) => {
          error = failed;
          kind = 'refused';
          return undefined;
        });
        if (result) return result;
      } else if (!isWorthRepeating(kind)) throw refusal(request, answer, maybe);
      maybe ||= kind === 'lost';
      const pause = pauses.next();
      if (performance.now() + pause >= until) {
        const reason = /busy/i.test(textOf(error)) && !maybe ? 'overloaded' : 'fault';
        const detail = `appending to ${request.stream}: ${textOf(error)}`;
        throw new LogUnavailable(reason, maybe ? 'unknown' : 'no', detail);
      }
      await delay(pause);
    }
  };

  return {
    /** Throws AppendTooLarge, LogUnavailable, LogCorrupted. */
    append(request: Request): Promise<AppendResult> {
      const key = keyOf(request);
      // A second sending while the first is not committed would be dropped without an answer.
      const same = underWay.get(key);
      if (same) return same;
      const bytes = request.events.reduce((sum, event) => sum + event.bytes, 0);
      if (underWay.size >= APPENDS_MAX || bytesUnderWay + bytes > BYTES_MAX) {
        const detail = `${underWay.size} appends (${bytesUnderWay} bytes) are under way`;
        return Promise.reject(new LogUnavailable('overloaded', 'no', detail));
      }
      bytesUnderWay += bytes;
      const result = run(request).finally(() => {
        underWay.delete(key);
        bytesUnderWay -= bytes;
      });
      underWay.set(key, result);
      return result;
    },
    /** Resolves when every append is answered. */
    async settled(): Promise<void> {
      await Promise.allSettled(underWay.values());
    },
  };
};
