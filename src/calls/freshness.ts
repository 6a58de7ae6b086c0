/**
 * Makes sure that no caller is refused by what a process has not read yet, and that a caller reads what was acknowledged to it.
 * The pipeline asks it before each final refusal, and before each read.
 */
import { LIMITS } from '#contracts/limits.ts';
import { PROBLEMS } from '#contracts/problems.ts';
import type { EventLog, Position } from '#src/ports/event-log.ts';
import type { ReadModelFollower } from '#src/ports/read-model.ts';
import type { Clock } from '#src/ports/system.ts';
import { type Refusal, refuse, Refused } from '#src/shared/outcome.ts';
import { storeRefusal } from './failure.ts';

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
