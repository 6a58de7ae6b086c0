/** Appends to EventStoreDB, and what an append without an answer may have done. */
import type { EventData, EventStoreDBClient } from '@eventstore/db-client';
import { NO_STREAM as MUST_NOT_EXIST } from '@eventstore/db-client';
import type { AppendResult } from '#src/ports/event-log.ts';
import { AppendTooLarge, LogCorrupted, LogUnavailable, NO_STREAM } from '#src/ports/event-log.ts';
import type { EncodedEvent } from '#src/stores/event-codec.ts';
import {
  failureOf,
  isWorthRepeating,
  readError,
  textOf,
  type Timing,
  within,
  withRetries,
} from './failures.ts';
import { isReplaced, type LogGuard } from './identity.ts';
import { positionOf, type Reads, toEventData } from './reads.ts';

const APPENDS_MAX = 4_096;
const BYTES_MAX = 67_108_864;

/**
 * The server reads the deadline as a time on its own clock and fails at once when that has passed, so
 * a short one would fail every append when the clocks differ. It limits writes to two seconds anyway;
 * our own timer limits each attempt.
 */
const DEADLINE_MS = 365 * 24 * 3_600_000;

/** The part of an attempt's time limit that the comparison before it may take. */
const CHECK_SHARE = 3;

type Request = {
  stream: string;
  expected: number;
  events: readonly EncodedEvent[];
  /** Called before each attempt; its rejection gives up. */
  confirm?: (() => Promise<void>) | undefined;
};

/** The condition of the append was not confirmed, so this attempt was not sent. */
class NotConfirmed extends Error {}

/** The commit position is missing in the answer to some repetitions. */
type Written = { revision: number; commit: bigint | undefined };

/** A conflict whose cause cannot be read yet, or an attempt that was not sent: had no effect. */
class NoEffectYet extends Error {}

export type AppendsOptions = {
  client: EventStoreDBClient;
  reads: Reads;
  timing: Timing;
  guard: LogGuard;
};

/** Requests with equal keys are the same append. */
const keyOf = ({ stream, expected, events }: Request): string =>
  `${expected} ${events.map(({ id }) => id).join()} ${stream}`;

/**
 * Appends with repetition. The client sends appends without credentials of their own over one stream
 * and does not await answers in between, so those of one turn of the event loop leave together.
 */
export class Appends {
  readonly #client: EventStoreDBClient;
  readonly #reads: Reads;
  readonly #timing: Timing;
  readonly #guard: LogGuard;
  readonly #underWay = new Map<string, Promise<AppendResult>>();
  #bytesUnderWay = 0;

  constructor({ client, reads, timing, guard }: AppendsOptions) {
    this.#client = client;
    this.#reads = reads;
    this.#timing = timing;
    this.#guard = guard;
  }

  /** Throws AppendTooLarge, LogUnavailable, LogCorrupted. */
  append(request: Request): Promise<AppendResult> {
    const key = keyOf(request);
    // The server never answers the repetition of an append that is not committed yet.
    const same = this.#underWay.get(key);
    if (same) return same;
    const bytes = request.events.reduce((sum, event) => sum + event.bytes, 0);
    if (this.#underWay.size >= APPENDS_MAX || this.#bytesUnderWay + bytes > BYTES_MAX) {
      const detail = `${this.#underWay.size} appends (${this.#bytesUnderWay} bytes) are under way`;
      return Promise.reject(new LogUnavailable('overloaded', 'no', detail));
    }
    this.#bytesUnderWay += bytes;
    const result = this.#repeat(request).finally(() => {
      this.#underWay.delete(key);
      this.#bytesUnderWay -= bytes;
    });
    this.#underWay.set(key, result);
    return result;
  }

  /** Resolves when no append is under way. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#underWay.values());
  }

  async #repeat(request: Request): Promise<AppendResult> {
    const events = request.events.map(toEventData);
    const what = `appending to ${request.stream}`;
    // Only an append that was made before can be answered at or below this position.
    const floor = this.#guard.position;
    let isPossiblyApplied = false;
    const onFailure = (error: unknown, isLast: boolean): void => {
      if (error instanceof NotConfirmed)
        throw isPossiblyApplied ? new LogUnavailable('fault', 'unknown', what) : error.cause;
      this.#guard.doubt();
      if (isReplaced(error)) {
        if (!isPossiblyApplied) throw error;
        throw new LogUnavailable('replaced', 'unknown', error.message);
      }
      const failure = error instanceof NoEffectYet ? 'refused' : failureOf(error);
      const text = `${what}: ${textOf(error)}`;
      if (failure === 'tooLarge') throw new AppendTooLarge(text);
      isPossiblyApplied ||= failure === 'lost';
      const applied = isPossiblyApplied ? 'unknown' : 'no';
      if (!isWorthRepeating(failure))
        throw isPossiblyApplied
          ? new LogUnavailable('fault', applied, text)
          : readError(what, error);
      if (!isLast) return;
      const isOverloaded = /busy/i.test(textOf(error)) && !isPossiblyApplied;
      throw new LogUnavailable(isOverloaded ? 'overloaded' : 'fault', applied, text);
    };
    const { appendRepeatMs: forMs, retryMs } = this.#timing;
    const attempt = () => this.#attempt(request, events, floor);
    const written = await withRetries(attempt, { forMs, retryMs, onFailure });
    if (written === 'conflict') return { outcome: 'conflict' };
    const { revision, commit } = written;
    const position =
      commit === undefined ? await this.#positionAt(request.stream, revision) : positionOf(commit);
    return { outcome: 'appended', revision, position };
  }

  /** Sends the append to the known log, and uses the answer only if it came from there. */
  async #attempt(
    request: Request,
    events: EventData[],
    floor: number,
  ): Promise<Written | 'conflict'> {
    const known = within(this.#timing.attemptMs / CHECK_SHARE, this.#guard.require());
    await known.catch((error: unknown) => {
      throw isReplaced(error) ? error : new NoEffectYet(textOf(error));
    });
    await request.confirm?.().catch((cause: unknown) => {
      throw new NotConfirmed(textOf(cause), { cause });
    });
    const written = await this.#send(request, events);
    if (written !== 'conflict' && (written.commit ?? Infinity) <= floor) this.#guard.doubt();
    await this.#guard.require().catch((error: unknown) => {
      if (isReplaced(error)) throw new LogUnavailable('replaced', 'unknown', error.message);
      throw new Error(`14 UNAVAILABLE: the answer cannot be confirmed: ${textOf(error)}`);
    });
    return written;
  }

  async #send(request: Request, events: EventData[]): Promise<Written | 'conflict'> {
    const { stream, expected } = request;
    try {
      const sent = this.#client.appendToStream(stream, events, {
        expectedRevision: expected === NO_STREAM ? MUST_NOT_EXIST : BigInt(expected),
        requiresLeader: true,
        deadline: DEADLINE_MS,
      });
      const { nextExpectedRevision, position } = await within(this.#timing.attemptMs, sent);
      return { revision: Number(nextExpectedRevision), commit: position?.commit };
    } catch (error) {
      if (failureOf(error) !== 'conflict') throw error;
      const result = await this.#decideConflict(request).catch((failure: unknown) => {
        throw new NoEffectYet(textOf(failure));
      });
      if (!result) throw new NoEffectYet(textOf(error));
      return result;
    }
  }

  /**
   * Reads from the leader which append came first; the revisions in the server's answer are not
   * reliable. Undefined when the other append cannot be read yet. If this leader fails before the
   * other nodes have that append, it will never be readable.
   */
  async #decideConflict(request: Request): Promise<Written | 'conflict' | undefined> {
    const { stream, expected, events } = request;
    const from = Math.max(expected, 0);
    const records = await this.#reads.streamOnce(stream, from, events.length + 1);
    if (expected !== NO_STREAM && records.length === 0) {
      // The caller has read the expected event from the known log.
      this.#guard.doubt();
      return 'conflict';
    }
    const next = expected === NO_STREAM ? records : records.slice(1);
    if (next.length === 0) return undefined;
    const last = next[events.length - 1];
    if (!last || !events.every(({ id }, index) => next[index]?.id === id)) return 'conflict';
    return { revision: last.revision, commit: BigInt(last.position) };
  }

  async #positionAt(stream: string, revision: number): Promise<number> {
    const [event] = await this.#reads.stream(stream, revision, 1);
    if (!event) throw new LogCorrupted(`revision ${revision} of ${stream} no longer exists`);
    return event.position;
  }
}
