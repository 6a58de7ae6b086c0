/**
 * What stores that fail, or are behind the log, mean for a call: failures become refusals, no caller is refused by what a process
 * has not read yet, and a caller reads what was acknowledged to it. The pipeline asks before each final refusal, and before each
 * read.
 */
import {
  AppendTooLarge,
  LogCorrupted,
  LogIndexDamaged,
  LogUnavailable,
  UnknownEventType,
  type EventLog,
  type Position,
} from '#src/ports/event-log.ts';
import {
  ReadModelParked,
  ReadModelRebuilding,
  type ReadModelFollower,
} from '#src/ports/read-model.ts';
import { type Outcome, type Refusal, refuse, Refused } from '#src/shared/outcome.ts';
import { LIMITS } from '#contracts/limits.ts';
import { PROBLEMS } from '#contracts/problems.ts';
import type { Clock } from '#src/ports/system.ts';

/** Retry interval of failures that a person has to repair. */
const PARKED_RETRY_S = 60;

/** Does work that writes nothing and maps failures of the stores. */
export const mappingFailures = async <Value>(
  work: () => Promise<Outcome<Value>>,
): Promise<Outcome<Value>> => {
  try {
    return await work();
  } catch (error) {
    return storeRefusal(error);
  }
};

const HALF_WRITTEN = refuse(
  'storage_unavailable',
  'Part of this call was written, or may have been. Send it again with the same key to complete it.',
  { retryAfterS: 1, extra: { outcome: 'unknown' } },
);

/** Maps an error of the log or of a read model to a refusal; throws any other error again. */
export const storeRefusal = (error: unknown, hasWritten = false): Refusal => {
  if (error instanceof Refused) return error.refusal;
  if (error instanceof LogUnavailable && error.reason === 'replaced')
    return replacedLog(hasWritten || error.applied === 'unknown');
  if (hasWritten && (error instanceof LogUnavailable || error instanceof ReadModelRebuilding))
    return HALF_WRITTEN;
  if (error instanceof LogUnavailable) return unavailable(error);
  if (error instanceof UnknownEventType) return newerRecord(error, hasWritten);
  if (error instanceof LogIndexDamaged) return damagedIndex(error, hasWritten);
  if (error instanceof LogCorrupted) return unreadableLog(error, hasWritten);
  // The limit depends on the log.
  if (error instanceof AppendTooLarge)
    return refuse('payload_too_large', 'The record is too large for the log.');
  if (error instanceof ReadModelParked)
    return refuse(
      'read_model_rebuilding',
      'The read model cannot apply an event; an operator must repair it.',
      { retryAfterS: PARKED_RETRY_S },
    );
  if (error instanceof ReadModelRebuilding)
    return refuse('read_model_rebuilding', 'The read model is being filled.', { retryAfterS: 1 });
  throw error;
};

/** The refusal of a call that needs a part of the log that is damaged, or that the disk does not return. */
const unreadableLog = (cause: Error, hasWritten: boolean): Refusal =>
  refuse(
    'storage_unavailable',
    'A part of the log that this call needs is damaged or cannot be read; an operator must repair it.',
    { retryAfterS: PARKED_RETRY_S, extra: { outcome: hasWritten ? 'unknown' : 'none' }, cause },
  );

/** The refusal of a call that an index of the log would answer wrongly. The log is building it again. */
const damagedIndex = (cause: Error, hasWritten: boolean): Refusal =>
  refuse(
    'storage_unavailable',
    'log index damaged: an index does not fit its records, and is built again from them.',
    { retryAfterS: 5, extra: { outcome: hasWritten ? 'unknown' : 'none' }, cause },
  );

/** The refusal of a call on a record that a newer version changed: a process of that version can serve it. */
const newerRecord = (cause: Error, hasWritten: boolean): Refusal =>
  refuse(
    'storage_unavailable',
    'A newer version of the service changed this record, and the process that answers cannot read the change.',
    { retryAfterS: PARKED_RETRY_S, extra: { outcome: hasWritten ? 'unknown' : 'none' }, cause },
  );

export const CLOCK_BEHIND = refuse(
  'clock_behind',
  'The newest event is more than five minutes ahead of the clock of this process.',
  { retryAfterS: PARKED_RETRY_S, extra: { outcome: 'none' } },
);

/** Refuses a call that needs the log while the server has another log. */
export const replacedLog = (isUnknown: boolean): Refusal =>
  refuse(
    'log_replaced',
    'The log server holds a different log from the one this service was started with.',
    {
      retryAfterS: PARKED_RETRY_S,
      extra: { outcome: isUnknown ? 'unknown' : 'none' },
    },
  );

export const unavailable = ({ reason, applied }: LogUnavailable): Refusal => {
  switch (reason) {
    case 'full':
      return refuse('storage_full', 'The disk of the log is full.', {
        retryAfterS: 5,
        extra: { outcome: 'none' },
      });
    case 'overloaded':
      return refuse('overloaded', 'The write queue is full.', { retryAfterS: 1 });
    case 'closed':
      return refuse('shutting_down', 'The log is closing.', { retryAfterS: 2 });
    case 'clock':
      return CLOCK_BEHIND;
    case 'replaced':
      return replacedLog(applied === 'unknown');
    case 'fault':
      return refuse('storage_unavailable', 'The log did not answer.', {
        retryAfterS: 1,
        extra: { outcome: applied === 'unknown' ? 'unknown' : 'none' },
      });
  }
};

/** What a process whose log is on a server knows of that log. Another process may have written since. */
export type Freshness = {
  /** Where the read models of this process are. */
  position(): Position;
  /**
   * Compares `seen` with the head that the log has after this call began. Resolves to `current` if nothing followed it,
   * and to `advanced` once the read models have that head; to `behind` if they do not within
   * LIMITS.CONSISTENCY_WAIT_MS_MAX. Throws LogUnavailable.
   */
  compare(seen: Position): Promise<'current' | 'advanced' | 'behind'>;
};

/** The head is asked for once in this time, so that somebody who guesses codes or keys costs the server next to nothing. */
const GATHER_MS = 10;

type Parts = {
  log: Pick<EventLog, 'head'>;
  following: Pick<ReadModelFollower, 'asOf' | 'passed'>;
  clock: Pick<Clock, 'monotonic'>;
  pause(ms: number): Promise<void>;
};

export const freshness = ({ log, following, clock, pause }: Parts): Freshness => {
  let askedAt = -Infinity;
  /** The question that has not been sent yet, which all callers until then share. */
  let next: Promise<Position> | undefined;
  const ask = async (): Promise<Position> => {
    await pause(Math.max(0, askedAt + GATHER_MS - clock.monotonic()));
    next = undefined;
    askedAt = clock.monotonic();
    return (await log.head()).position;
  };
  return {
    position: () => following.asOf().position,
    async compare(seen) {
      const head = await (next ??= ask());
      if (seen >= head) return 'current';
      const isFolded = await following.passed(head, LIMITS.CONSISTENCY_WAIT_MS_MAX);
      return isFolded ? 'advanced' : 'behind';
    },
  };
};

const BEHIND = refuse(
  'read_model_rebuilding',
  'This process has not read everything yet that the log had when the request came, so it cannot tell whether that is so.',
  { retryAfterS: 1 },
);

/**
 * Waits until the read models have all that the log has now, for an answer that would be wrong if it lacked a row: it looks for
 * everything of a kind. Throws Refused after LIMITS.CONSISTENCY_WAIT_MS_MAX, and LogUnavailable.
 */
export const requireCurrent = async ({
  log,
  following,
}: Pick<Parts, 'log' | 'following'>): Promise<void> => {
  const { position } = await log.head();
  if (!(await following.passed(position, LIMITS.CONSISTENCY_WAIT_MS_MAX)))
    throw new Refused(BEHIND);
};

type Answer = { ok: true } | Refusal;

const isFinal = (answer: Answer): boolean => !answer.ok && PROBLEMS[answer.code].retryable !== true;

type Asking<A> = {
  /** The second question, if it differs from the first. */
  again?: () => A | Promise<A>;
  /** Whether the first question has changed something, so that its answer stands and it is not asked again. */
  hasActed?: () => boolean;
};

/**
 * Answers a question from the read models. A final refusal counts only if this process had read what the log had when the
 * question came; otherwise the question is asked again once it has. Embedded, a process has always read its log, and `fresh`
 * is undefined.
 *
 * @example
 * const link = await askCurrent(deps.freshness, () => findLink(code));
 */
export const askCurrent = async <A extends Answer>(
  fresh: Freshness | undefined,
  question: () => A | Promise<A>,
  { again = question, hasActed = () => false }: Asking<A> = {},
): Promise<A | Refusal> => {
  if (!fresh) return question();
  const seen = fresh.position();
  const answer = await question();
  if (!isFinal(answer) || hasActed()) return answer;
  try {
    const state = await fresh.compare(seen);
    if (state === 'current') return answer;
    return state === 'advanced' ? await again() : BEHIND;
  } catch (error) {
    return storeRefusal(error);
  }
};

/** The newest position that this process acknowledged to callers, by owner, as long as its read models do not have it. */
export type AcknowledgedWrites = {
  note(owner: string, position: Position): void;
  /** The newest one of an owner, or without an owner of all; undefined if the read models have it. */
  newest(owner?: string): Position | undefined;
};

/** Keeps no more than what the read models of this process still have to read. */
export const acknowledgedWrites = ({
  asOf,
}: Pick<ReadModelFollower, 'asOf'>): AcknowledgedWrites => {
  /** In the order of the positions, because an owner moves to the end with each one. */
  const positions = new Map<string, Position>();
  const forget = (): void => {
    const { position: read } = asOf();
    for (const [owner, position] of positions) {
      if (position > read) return;
      positions.delete(owner);
    }
  };
  return {
    note(owner, position) {
      forget();
      const known = positions.get(owner) ?? 0;
      positions.delete(owner);
      positions.set(owner, Math.max(known, position));
    },
    newest(owner) {
      forget();
      return owner === undefined ? [...positions.values()].at(-1) : positions.get(owner);
    },
  };
};
