/** What an error of the client means for the log. */
import { ErrorType } from '@eventstore/db-client';
import { LogCorrupted, LogUnavailable, type Position } from '#src/ports/event-log.ts';

/**
 * - conflict: the stream is not where it was expected.
 * - missing: no such stream.
 * - deleted: the stream was deleted in the database. That is how a key of the vault is destroyed,
 *   and nothing else of ours does it.
 * - tooLarge: no repetition will help.
 * - denied: not with these credentials.
 * - foreign: what answers there is no EventStoreDB.
 * - refused: answered, nothing done, worth repeating.
 * - lost: no answer, or one that tells nothing: it may have been done. Worth repeating.
 * - fault: anything else; of us, or of the client.
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

// Codes of gRPC that tell nothing about what was done: CANCELLED, UNKNOWN, DEADLINE_EXCEEDED,
// NOT_FOUND without a name, RESOURCE_EXHAUSTED, ABORTED, INTERNAL, UNAVAILABLE, DATA_LOSS.
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

/** On the batch path errors lose their type and their code; the text still begins with it. */
const codeOf = (error: unknown): number | undefined => {
  if (error instanceof Error && 'code' in error && typeof error.code === 'number')
    return error.code;
  const code = /^(\d{1,2}) [A-Z_]+(?::|$)/.exec(textOf(error))?.[1];
  return code === undefined ? undefined : Number(code);
};

/** What the client cannot name it tells in the server's words. */
const byText = (text: string): Failure | undefined => {
  if (/server is (?:not ready|(?:too )?busy)|no leader info/i.test(text)) return 'refused';
  if (/maximum append (?:event )?size|message larger than max/i.test(text)) return 'tooLarge';
  if (/failed to discover|could not recognize/i.test(text)) return 'lost';
  return undefined;
};

export const failureOf = (error: unknown): Failure => {
  if (error instanceof LogUnavailable && error.cause) return failureOf(error.cause);
  const known = byText(textOf(error)) ?? BY_TYPE[typeOf(error) ?? ''];
  if (known) return known;
  const code = codeOf(error);
  if (code === PERMISSION_DENIED || code === UNAUTHENTICATED) return 'denied';
  if (code === UNIMPLEMENTED) return 'foreign';
  if (code !== undefined && LOST.has(code)) return 'lost';
  return typeOf(error) === ErrorType.UNKNOWN ? 'lost' : 'fault';
};

export const isWorthRepeating = (failure: Failure): boolean =>
  failure === 'lost' || failure === 'refused';

/** Its own words: a live subscriber took its events too slowly. It is to come back at once. */
export const isTooSlow = (error: unknown): boolean => /consumer too slow/i.test(textOf(error));

/**
 * The server could not begin where it was told to. Up to 23.10 a subscription and a read say so in
 * words of their own, which they have for other failures, too; from 24.2 on both name the position.
 */
export const isNoPlace = (error: unknown): boolean =>
  /exception was thrown by handler|unexpected \w*readallresult: error|invalid position/i.test(
    textOf(error),
  );

/** No record begins at the position, and nothing else can be read from there. */
export class NoPlace extends RangeError {
  override readonly name = 'NoPlace';
}

/** For the failure of a read from `from` on. */
export const orNoPlace =
  (from: Position) =>
  (error: unknown): never => {
    if (from > 0 && isNoPlace(error)) throw new NoPlace(`no record at ${from}: ${textOf(error)}`);
    throw error;
  };

/** What a failed read is to the caller of the port. */
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

/** Whether the port's error says that the stream was deleted. */
export const isDeleted = (error: unknown): boolean =>
  error instanceof LogCorrupted && failureOf(error.cause) === 'deleted';

/** The client's own error for a call that nobody answers; it has none for the batch path. */
export const noAnswer = (ms: number): Error =>
  new Error(`4 DEADLINE_EXCEEDED: no answer within ${ms} ms`);
