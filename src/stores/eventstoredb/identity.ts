/** The identity of the log on a server, and its comparison with the log that this installation remembers. */
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type EventStoreDBClient, jsonEvent, NO_STREAM, ANY } from '@eventstore/db-client';
import { LogUnavailable } from '#src/ports/event-log.ts';
import {
  type LogMark,
  NO_LOG,
  type LogMemory,
  type SeenEvent,
  newerMark,
  placesAsSubject,
} from '#src/stores/log-memory.ts';
import { hostsOf } from '#src/system/hosts.ts';
import {
  failureOf,
  isDeleted,
  type Timing,
  isWorthRepeating,
  readError,
  textOf,
  within,
  withRetries,
} from './failures.ts';
import { isLogRecord, type Reads, type Recorded } from './reads.ts';

/** The name has no dash and the type begins with `$`, so neither belongs to an owner or to the log. */
const IDENTITY_STREAM = 'tributary_log';
const IDENTITY_TYPE = '$TributaryLog';

/** Reads one event of a stream; empty when there is none. */
export type ReadOne = (stream: string, revision: number) => Promise<Recorded[]>;

/** Returns the identity of the log; undefined when the database has none. */
export const readIdentity = async (readOne: ReadOne): Promise<string | undefined> => {
  const [first] = await readOne(IDENTITY_STREAM, 0);
  return (first?.data as { id?: string } | undefined)?.id;
};

/** Reads the log's identity, and creates it in a database that has none. */
export const readOrCreateIdentity = async (
  client: EventStoreDBClient,
  reads: Reads,
): Promise<string> => {
  const readOne: ReadOne = (stream, revision) => reads.streamOnce(stream, revision, 1);
  const existing = await readIdentity(readOne);
  if (existing) return existing;
  // When two processes start on an empty server one append succeeds, and both read its result.
  const id = randomBytes(16).toString('hex');
  const event = jsonEvent({ type: IDENTITY_TYPE, data: { id } });
  await client
    .appendToStream(IDENTITY_STREAM, event, { expectedRevision: NO_STREAM, requiresLeader: true })
    .catch((error: unknown) => {
      if (failureOf(error) !== 'conflict') throw error;
    });
  const created = await readIdentity(readOne);
  if (!created) throw new Error('14 UNAVAILABLE: the identity of the log cannot be read yet');
  return created;
};

/** Whether the newest event of the mark is where it was seen. */
const hasNewest = async ({ newest }: LogMark, readOne: ReadOne): Promise<boolean> => {
  if (!newest) return true;
  const { stream, revision, event, position } = newest;
  try {
    const [record] = await readOne(stream, revision);
    return record?.id === event && record.position === position;
  } catch (error) {
    // An operator deleted the stream in the database; that happens only in the same log.
    if (failureOf(error) === 'deleted' || isDeleted(error)) return true;
    throw error;
  }
};

/** The database that the processes of this log found at its address. `id`: null when it contains no log. */
type FoundLog = { id: string | null; isKnown: boolean };

/** Compares the log on the server with the mark: its identity, and its newest event. */
export const findLog = async (mark: LogMark, readOne: ReadOne): Promise<FoundLog> => {
  const [id, isComplete] = await Promise.all([readIdentity(readOne), hasNewest(mark, readOne)]);
  return { id: id ?? null, isKnown: id === mark.id && isComplete };
};

/** Explains that the server holds a different log from the remembered one, and what the operator can do. */
export const describeReplacement = (
  { url, names }: { url: string; names: readonly string[] },
  mark: LogMark,
  found: FoundLog,
): string => {
  const at = `EventStoreDB at ${hostsOf(url)}`;
  const { id, newest } = mark;
  const difference =
    found.id === null
      ? 'has no log'
      : found.id === id
        ? `has log ${id} without an event that it had ` +
          `(revision ${newest?.revision} of ${newest?.stream}, at position ${newest?.position})`
        : `has log ${found.id}`;
  const subject = names.length === 0 ? 'This process' : placesAsSubject(names);
  return (
    `${at} ${difference}. ${subject} ${names.length > 1 ? 'belong' : 'belongs'} to log ${id}, so nothing is ` +
    'written. If the address, the volume or the backup is the wrong one, correct it and start again. To ' +
    'continue with the log that is there, stop all processes and run ' +
    `\`tributary log adopt ${id} ${found.id ?? NO_LOG}\`.`
  );
};

type LogGuardOptions = {
  url: string;
  mark: LogMark;
  memory: LogMemory;
  reads: Pick<Reads, 'stream'>;
  timing: Pick<Timing, 'pauseMs' | 'replacedRetryMs'>;
  /** Called when another log is found. */
  onReplaced: ((text: string) => void) | undefined;
};

export const isReplaced = (error: unknown): error is LogUnavailable =>
  error instanceof LogUnavailable && error.reason === 'replaced';

/**
 * Detects that the server behind the address holds a different log: an empty one, an older copy of this one, or a
 * different database. Compares it with the mark after each failed call, each new connection and each pause.
 */
export class LogGuard {
  readonly #options: LogGuardOptions;
  #mark: LogMark;
  /** Incremented by each event after which the server may be another one. */
  #doubts = 0;
  /** The value of `#doubts` before the last successful comparison. */
  #settled = 0;
  #answeredAt = performance.now();
  #comparing: Promise<void> | undefined;
  #replacement: string | undefined;

  constructor(options: LogGuardOptions) {
    this.#options = options;
    this.#mark = options.mark;
  }

  /** Why nothing is written; undefined while the server holds the known log. */
  get replacement(): string | undefined {
    return this.#replacement;
  }

  /** The position of the newest event that was read or acknowledged. */
  get position(): number {
    return this.#mark.newest?.position ?? 0;
  }

  /** Requires a comparison before the next call, and before any pending answer is used. */
  doubt(): void {
    this.#doubts += 1;
  }

  /** Remembers an event of the known log: of an acknowledged append, or read. */
  saw(newest: SeenEvent): void {
    if (newest.position <= this.position) return;
    this.#mark = { id: this.#mark.id, newest };
    this.#options.memory.remember(this.#mark);
  }

  /** Remembers the newest event among records that somebody derives rows from; returns the records. */
  sawRecords<R extends readonly Recorded[]>(records: R): R {
    const last = records.findLast(isLogRecord);
    if (last) {
      const { position, streamId: stream, revision, id: event } = last;
      this.saw({ position, stream, revision, event });
    }
    return records;
  }

  /**
   * Resolves when the server holds the known log; at once unless there is a doubt. Throws LogUnavailable:
   * `replaced` when it has another one.
   */
  async require(): Promise<void> {
    // A connection can be replaced unseen while no call is made.
    if (performance.now() - this.#answeredAt > this.#options.timing.pauseMs) this.doubt();
    while (!this.#isSettled())
      await (this.#comparing ??= this.#compare().finally(() => (this.#comparing = undefined)));
  }

  /** Like `require`, but waits while the log is another one. Rejects when `signal` aborts. */
  async awaitKnown(signal: AbortSignal): Promise<void> {
    for (;;) {
      try {
        return await this.require();
      } catch (error) {
        if (!isReplaced(error)) throw error;
        await delay(this.#options.timing.replacedRetryMs, undefined, { signal });
      }
    }
  }

  /** Makes a call whose answer is used only if it came from the known log. */
  async run<T>(call: () => Promise<T>): Promise<T> {
    await this.require();
    try {
      const answer = await call();
      this.#answeredAt = performance.now();
      await this.require();
      return answer;
    } catch (error) {
      this.doubt();
      throw error;
    }
  }

  #isSettled(): boolean {
    return this.#settled === this.#doubts && this.#replacement === undefined;
  }

  async #compare(): Promise<void> {
    const { reads, memory } = this.#options;
    const doubts = this.#doubts;
    const mark = await this.#newestMark();
    const found = await findLog(mark, (stream, revision) =>
      reads.stream(stream, revision, 1),
    ).catch((error: unknown) => {
      throw this.#replacement === undefined ? error : replaced(this.#replacement);
    });
    this.#answeredAt = performance.now();
    this.#settled = doubts;
    if (found.isKnown) {
      this.#replacement = undefined;
      return;
    }
    const text = describeReplacement({ ...this.#options, names: memory.names }, mark, found);
    if (this.#replacement === undefined) this.#options.onReplaced?.(text);
    this.#replacement = text;
    throw replaced(text);
  }

  /** The own mark, or that of another process of this log which saw a later event. */
  async #newestMark(): Promise<LogMark> {
    const shared = await this.#options.memory.recall();
    if (shared?.id === this.#mark.id) this.#mark = newerMark(this.#mark, shared);
    return this.#mark;
  }
}

const replaced = (text: string): LogUnavailable => new LogUnavailable('replaced', 'no', text);

/**
 * Hard-deletes a stream: it can never be read from or written to again. Resolves to false if it was
 * deleted before. Throws LogUnavailable; the stream may then be deleted, and a repetition finds out.
 */
export const tombstone = (
  client: EventStoreDBClient,
  { appendRepeatMs: forMs, attemptMs, retryMs }: Timing,
  stream: string,
): Promise<boolean> => {
  const what = `deleting ${stream}`;
  let isPossiblyDone = false;
  const attempt = async (): Promise<boolean> => {
    const options = { expectedRevision: ANY, requiresLeader: true, deadline: attemptMs } as const;
    try {
      await within(attemptMs, client.tombstoneStream(stream, options));
      return true;
    } catch (error) {
      if (failureOf(error) === 'deleted') return isPossiblyDone;
      throw error;
    }
  };
  const onFailure = (error: unknown, isLast: boolean): void => {
    const failure = failureOf(error);
    if (!isWorthRepeating(failure)) throw readError(what, error);
    isPossiblyDone ||= failure === 'lost';
    const applied = isPossiblyDone ? 'unknown' : 'no';
    if (isLast) throw new LogUnavailable('fault', applied, `${what}: ${textOf(error)}`);
  };
  return withRetries(attempt, { forMs, retryMs, onFailure });
};
