/** Classification of the client's errors, and what they become at the port. */
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
export type Failure =
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
