import { LIMITS } from '#contracts/limits.ts';
import type { EventLog, Position } from '#src/ports/event-log.ts';
import type { Clock } from '#src/ports/system.ts';

/**
 * Whether the credentials that this process has read are those of the log. A process that is cut off from its
 * log, or was paused, does not learn that a key was revoked.
 */
export type Confirmation = {
  /** False when the last confirmation is older than LIMITS.CREDENTIALS_UNCONFIRMED_MS_MAX. */
  holds(): boolean;
  /** Whether the last confirmation is at most a second old, as a write requires. */
  isRecent(): boolean;
  /**
   * After a pause: resolves with the next confirmation, or after a second. Undefined while the last confirmation is
   * recent, and after a wait that brought none.
   */
  awaited(): Promise<void> | undefined;
};

const ASK_MS = 500;
/** A confirmation that is older than this means that the process or the log was paused. */
const DOUBT_MS = 1_000;
const AWAITED_MS_MAX = 1_000;

/**
 * Reads the head of the log again and again. An answer confirms the credentials as of the moment of the request,
 * once they are folded up to that head: the answer itself may have been delayed.
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
  /** The last confirmation when the last wait began. */
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
    // The request under way may have been sent before the pause.
    if (age() > DOUBT_MS) await ask();
  };
  const wait = async (): Promise<void> => {
    awaitedAfter = confirmedAt;
    const late = new Promise<void>((resolve) => schedule(resolve, AWAITED_MS_MAX));
    await Promise.race([settled(), late]);
    waiting = undefined;
  };

  void askOn();
  const isRecent = (): boolean => age() <= DOUBT_MS;

  return {
    holds: () => age() <= LIMITS.CREDENTIALS_UNCONFIRMED_MS_MAX,
    isRecent,
    awaited() {
      if (isRecent()) return undefined;
      if (!waiting && awaitedAfter < confirmedAt) waiting = wait();
      return waiting;
    },
  };
};
