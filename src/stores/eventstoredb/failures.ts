/** Classification of the client's errors, and what they become at the port. */
import { setTimeout as delay } from 'node:timers/promises';
import { ErrorType } from '@eventstore/db-client';
import { LogCorrupted, LogUnavailable, type Position } from '#src/ports/event-log.ts';

/**
 * - conflict: the stream is not at the expected revision.
 * - missing: the stream does not exist.
 * - deleted: the stream was deleted in the database. Tributary does that only to destroy a key.
 * - tooLarge: the append exceeds the server's limit.
 * - denied: the credentials do not permit the call.
 * - foreign: the server is not EventStoreDB.
 * - refused: the server answered and did nothing; worth repeating.
 * - lost: no answer, or one that leaves the outcome open; worth repeating.
 * - fault: any other error; a bug here or in the client.
 */
type Failure =
  | 'conflict'
  | 'missing'
  | 'deleted'
  | 'tooLarge'
  | 'denied'
  | 'foreign'
  | 'refused'
  | 'lost'
  | 'fault';

const BY_TYPE: { readonly [type: string]: Failure } = {
  [ErrorType.WRONG_EXPECTED_VERSION]: 'conflict',
  [ErrorType.STREAM_NOT_FOUND]: 'missing',
  [ErrorType.STREAM_DELETED]: 'deleted',
  [ErrorType.MAXIMUM_APPEND_SIZE_EXCEEDED]: 'tooLarge',
  [ErrorType.ACCESS_DENIED]: 'denied',
  [ErrorType.UNAVAILABLE]: 'lost',
  [ErrorType.DEADLINE_EXCEEDED]: 'lost',
  [ErrorType.TIMEOUT]: 'lost',
  [ErrorType.CANCELLED]: 'lost',
  [ErrorType.NOT_LEADER]: 'lost',
};

// gRPC codes that leave the outcome open: CANCELLED, UNKNOWN, DEADLINE_EXCEEDED, NOT_FOUND without
// a name, RESOURCE_EXHAUSTED, ABORTED, INTERNAL, UNAVAILABLE, DATA_LOSS.
const LOST = new Set([1, 2, 4, 5, 8, 10, 13, 14, 15]);
const PERMISSION_DENIED = 7;
const UNIMPLEMENTED = 12;
const UNAUTHENTICATED = 16;

export const textOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

const typeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'type' in error && typeof error.type === 'string'
    ? error.type
    : undefined;

/** Errors of the batch path have no type and no code; their text still begins with the code. */
const codeOf = (error: unknown): number | undefined => {
  if (error instanceof Error && 'code' in error && typeof error.code === 'number')
    return error.code;
  const code = /^(\d{1,2}) [A-Z_]+(?::|$)/.exec(textOf(error))?.[1];
  return code === undefined ? undefined : Number(code);
};

/** Errors that the client has no type for carry the server's text. */
const byText = (text: string): Failure | undefined => {
  if (/server is (?:not ready|(?:too )?busy)|no leader info/i.test(text)) return 'refused';
  if (/maximum append (?:event )?size|message larger than max/i.test(text)) return 'tooLarge';
  if (/failed to discover|could not recognize/i.test(text)) return 'lost';
  return undefined;
};

export const failureOf = (error: unknown): Failure => {
  if (error instanceof LogUnavailable && error.cause) return failureOf(error.cause);
  const failure = byText(textOf(error)) ?? BY_TYPE[typeOf(error) ?? ''];
  if (failure) return failure;
  const code = codeOf(error);
  if (code === PERMISSION_DENIED || code === UNAUTHENTICATED) return 'denied';
  if (code === UNIMPLEMENTED) return 'foreign';
  if (code !== undefined && LOST.has(code)) return 'lost';
  return typeOf(error) === ErrorType.UNKNOWN ? 'lost' : 'fault';
};

export const isWorthRepeating = (failure: Failure): boolean =>
  failure === 'lost' || failure === 'refused';

/** Reports that the server cut off a slow live subscriber, which may reconnect at once. */
export const isTooSlow = (error: unknown): boolean => /consumer too slow/i.test(textOf(error));

/**
 * Reports that the server cannot start at the given position. Up to 23.10 the texts are generic and
 * also used for other failures; from 24.2 on they name the position.
 */
export const isInvalidPosition = (error: unknown): boolean =>
  /exception was thrown by handler|unexpected \w*readallresult: error|invalid position/i.test(
    textOf(error),
  );

/** No record begins at the position, so the server cannot read from it. */
export class InvalidPosition extends RangeError {
  override readonly name = 'InvalidPosition';
}

/** Handles the failure of a read from `from`; 0 for a position that is a record's. */
export const invalidPosition =
  (from: Position) =>
  (error: unknown): never => {
    if (from > 0 && isInvalidPosition(error))
      throw new InvalidPosition(`no record at ${from}: ${textOf(error)}`);
    throw error;
  };

export const readError = (what: string, error: unknown): Error => {
  const text = `${what}: ${textOf(error)}`;
  switch (failureOf(error)) {
    case 'deleted':
      return new LogCorrupted(`${text}. The stream was deleted in the database.`, { cause: error });
    case 'fault':
      return error instanceof Error ? error : new Error(text);
    default:
      return Object.assign(new LogUnavailable('fault', 'no', text), { cause: error });
  }
};

/** Reports whether an error of the port means that the stream was deleted. */
export const isDeleted = (error: unknown): boolean =>
  error instanceof LogCorrupted && failureOf(error.cause) === 'deleted';

/** The error of a call without an answer, worded like the client's, which has none for appends. */
export const noAnswer = (ms: number): Error =>
  new Error(`4 DEADLINE_EXCEEDED: no answer within ${ms} ms`);

/** Time limits, in milliseconds. */
export type Timing = {
  /** Time to wait at startup for a server that does not answer. */
  startupMs: number;
  /** Time during which an append is repeated. With its last attempt, less than five seconds. */
  appendRepeatMs: number;
  /** Time limit of one attempt. Never shortened: a cut-off attempt has an unknown outcome. */
  attemptMs: number;
  /** Time during which a read is repeated. */
  readRepeatMs: number;
  /** Longest silence between two events of a read. */
  idleMs: number;
  /** Longest silence of a subscription before it is compared with the head of the log. */
  silenceMs: number;
  /** Time without an answer after which the log is compared with the known one before the next call. */
  pauseMs: number;
  /** Pause between two comparisons while the log is another one. */
  replacedRetryMs: number;
  /** The first pause before a repetition; each pause is twice the one before, up to `most`. */
  retryMs: readonly [first: number, most: number];
};

export const TIMING: Timing = {
  startupMs: 4_000,
  appendRepeatMs: 3_000,
  attemptMs: 1_500,
  readRepeatMs: 3_000,
  idleMs: 1_500,
  silenceMs: 5_000,
  pauseMs: 2_000,
  replacedRetryMs: 500,
  retryMs: [20, 500],
};

/** Exponential backoff: each pause is twice the one before, up to a maximum. */
export const backoff = ([first, most]: Timing['retryMs']) => {
  let pause = first;
  return {
    next(): number {
      const current = pause;
      pause = Math.min(2 * pause, most);
      return current;
    },
    reset(): void {
      pause = first;
    },
  };
};

type RetryOptions = {
  /** Time after which no further attempt begins, in milliseconds. */
  forMs: number;
  retryMs: Timing['retryMs'];
  /** Throws what the caller receives; returns to repeat. It must throw when `isLast`. */
  onFailure(error: unknown, isLast: boolean): void;
};

/** Repeats `attempt` until it succeeds or `onFailure` throws. */
export const withRetries = async <T>(
  attempt: () => Promise<T>,
  { forMs, retryMs, onFailure }: RetryOptions,
): Promise<T> => {
  const end = performance.now() + forMs;
  const pauses = backoff(retryMs);
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      const pause = pauses.next();
      onFailure(error, performance.now() + pause >= end);
      await delay(pause);
    }
  }
};

/**
 * Rejects unless `call` settles within `ms`. The client's batch path ignores deadlines,
 * and a half-open connection reports none.
 */
export const within = <T>(ms: number, call: Promise<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    // Created here, because the stack of an error costs more than the rest of an append.
    const timer = setTimeout(() => reject(noAnswer(ms)), ms);
    call.then(resolve, reject).finally(() => clearTimeout(timer));
  });

type Semaphore = <T>(run: () => Promise<T>) => Promise<T>;

/** A FIFO semaphore: runs at most `limit` calls at once. */
export const semaphore = (limit: number): Semaphore => {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (run) => {
    if (running >= limit) await new Promise<void>((resolve) => waiting.push(resolve));
    else running += 1;
    try {
      return await run();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else running -= 1;
    }
  };
};
