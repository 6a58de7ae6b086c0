import type { RestOperationId } from '#contracts/index.ts';
import type { EventLog, Position } from '#src/ports/event-log.ts';
import type { Clock } from '#src/ports/system.ts';
import type { Following } from '../read-models/following.ts';

/** An answer to a query, as it left. */
export type Answer = {
  operation: RestOperationId;
  /** The owner whose events the answer is a fold of. */
  subject: string;
  text: string;
  bytes: number;
  position: Position;
  token: string;
};

/**
 * Answers that would come out the same again: kept until something happens to whom they
 * speak of. Reads of one owner repeat far more often than its history moves.
 */
export type Answers = {
  find(key: string): Answer | undefined;
  /**
   * Keeps what was asked for before, a moment ago. Most questions are asked once: to keep their
   * answers, too, would cost every collection of garbage more than it spares. `make` is called when
   * it is kept.
   */
  keep(key: string, make: () => Answer): void;
};

const ANSWERS_MAX = 4_096;
const BYTES_MAX = 67_108_864;
const BODY_BYTES_MAX = 65_536;
const SUBJECTS_MAX = 100_000;
/** States that only time changes (a lapsed claim, a new day) show after this, at the latest. */
const AGE_MS_MAX = 1_000;

/** Questions that are remembered, in each of two generations. */
const ASKED_MAX = 8_192;

/** Events that change nothing an agent can read. */
const SILENT = new Set(['ActivityRecorded', 'RequestBound']);

/** Tells whether a question was asked before, within the time that its answer would have been kept. */
const questions = (clock: Pick<Clock, 'now'>) => {
  let young = new Set<string>();
  let old = new Set<string>();
  let turnedAt = clock.now();
  return (key: string): boolean => {
    const age = clock.now() - turnedAt;
    if (age < 0 || age >= AGE_MS_MAX || young.size >= ASKED_MAX) {
      old = age < 2 * AGE_MS_MAX ? young : new Set();
      young = new Set();
      turnedAt = clock.now();
    }
    if (young.has(key)) return true;
    young.add(key);
    return old.has(key);
  };
};

export const keptAnswers = (deps: {
  log: Pick<EventLog, 'subscribe'>;
  clock: Clock;
  following: Following;
  signal: AbortSignal;
}): Answers => {
  const { log, clock, following, signal } = deps;
  const answers = new Map<string, Answer & { at: number }>();
  const isAskedAgain = questions(clock);
  /** Of all that was put in since it was empty. */
  let bytes = 0;
  const moved = new Map<string, Position>();
  // Nothing is known of what happened before: an answer from then is not kept.
  let unknownUpTo = following.asOf().position;

  const follow = async (): Promise<void> => {
    for await (const item of log.subscribe({ after: unknownUpTo, signal })) {
      if (item.kind !== 'events') continue;
      for (const { owner, type, position } of item.events)
        if (!SILENT.has(type)) moved.set(owner, position);
      if (moved.size > SUBJECTS_MAX) {
        unknownUpTo = item.events.at(-1)?.position ?? unknownUpTo;
        moved.clear();
      }
    }
  };
  // Without the log's news nothing may be kept: every answer is then made afresh.
  follow().catch(() => {
    unknownUpTo = Infinity;
  });

  return {
    find(key) {
      const kept = answers.get(key);
      if (!kept) return undefined;
      const age = clock.now() - kept.at;
      const news = Math.max(moved.get(kept.subject) ?? 0, unknownUpTo);
      if (age >= 0 && age < AGE_MS_MAX && kept.position >= news) return kept;
      answers.delete(key);
      return undefined;
    },
    keep(key, make) {
      if (!isAskedAgain(key)) return;
      const answer = make();
      if (answer.bytes > BODY_BYTES_MAX) return;
      if (answers.size >= ANSWERS_MAX || bytes + answer.bytes > BYTES_MAX) {
        answers.clear();
        bytes = 0;
      }
      bytes += answer.bytes;
      answers.set(key, { ...answer, at: clock.now() });
    },
  };
};
