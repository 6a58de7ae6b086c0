import { LIMITS } from '#contracts/limits.ts';
import type { EventLog, Position } from '#src/ports/event-log.ts';
import type { Clock } from '#src/ports/system.ts';

/**
 * Whether what this process knows of credentials is what the log says: one that is cut off from its
 * log, or stood still, does not hear that a key was revoked.
 */
export type Confirmation = {
  /** False once the log has confirmed nothing for LIMITS.CREDENTIALS_UNCONFIRMED_MS_MAX. */
  holds(): boolean;
  /**
   * After a pause: resolves when the log has confirmed anew what is known, or when that was awaited for
   * a second. Undefined while nothing is in doubt, and where waiting has been of no use.
   */
  awaited(): Promise<void> | undefined;
};

const ASK_MS = 500;
/** Older than this, the process or the log stood still. */
const DOUBT_MS = 1_000;
const AWAITED_MS_MAX = 1_000;

/**
 * Asks the log for its head, all the time. The answer confirms what is folded up to there, as of the
 * moment of the question: that of the answer may lie far behind it, and so may an event that arrives.
 */
export const confirmation = (deps: {
  log: Pick<EventLog, 'head'>;
  /** True once the credentials are folded up to `position`. */
  passed(position: Position, waitMs: number): Promise<boolean>;
  clock: Pick<Clock, 'monotonic'>;
  signal: AbortSignal;
  /** Runs `task` after `ms`, and keeps no process alive. */
  schedule(task: () => void, ms: number): void;
}): Confirmation => {
  const { log, passed, clock, signal, schedule } = deps;
  let confirmedAt = clock.monotonic();
  /** What was confirmed last when somebody began to wait. */
  let awaitedAfter = -Infinity;
  let asking: Promise<void> | undefined;
  let waiting: Promise<void> | undefined;

  const age = (): number => clock.monotonic() - confirmedAt;

  const askOnce = async (): Promise<void> => {
    const askedAt = clock.monotonic();
    const { position } = await log.head();
    if (await passed(position, DOUBT_MS)) confirmedAt = askedAt;
  };
  const ask = (): Promise<void> =>
    (asking ??= askOnce()
      .catch(() => undefined)
      .finally(() => (asking = undefined)));
  const askOn = async (): Promise<void> => {
    await ask();
    if (!signal.aborted) schedule(() => void askOn(), ASK_MS);
  };

  const settled = async (): Promise<void> => {
    await ask();
    // What was under way may have been asked before the pause.
    if (age() > DOUBT_MS) await ask();
  };
  const wait = async (): Promise<void> => {
    awaitedAfter = confirmedAt;
    const late = new Promise<void>((resolve) => schedule(resolve, AWAITED_MS_MAX));
    await Promise.race([settled(), late]);
    waiting = undefined;
  };

  void askOn();
  return {
    holds: () => age() <= LIMITS.CREDENTIALS_UNCONFIRMED_MS_MAX,
    awaited() {
      if (age() <= DOUBT_MS) return undefined;
      if (!waiting && awaitedAfter < confirmedAt) waiting = wait();
      return waiting;
    },
  };
};
