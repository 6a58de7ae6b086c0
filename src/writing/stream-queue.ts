import { LIMITS } from '#contracts/limits.ts';
import { KeyedQueue } from '#src/shared/keyed-queue.ts';

/** Longest pause before the second attempt, and before any later one, in milliseconds. */
const PAUSE_MS = 10;
const PAUSE_MS_MAX = 160;

type Options = {
  /** A monotonic clock in milliseconds. */
  monotonic(): number;
  /** A number from 0 to 1, so that processes that conflict pause for different times. */
  random(): number;
  /** Resolves after `ms`. */
  pause(ms: number): Promise<void>;
};

/**
 * Resolves to true when an attempt may begin: the first at once, each later one after a random pause. Resolves to false
 * when LIMITS.HANDLER_WAIT_MS have passed since the command was queued.
 */
export type MayAttempt = () => Promise<boolean>;

/**
 * Orders the commands of this process on each stream, so that they never conflict with each other: n commands at once
 * cost n appends, where concurrent attempts cost up to n² / 2. Conflicts with other processes remain and are repeated.
 */
export class StreamQueue {
  readonly #options: Options;
  readonly #queue = new KeyedQueue();

  constructor(options: Options) {
    this.#options = options;
  }

  /** Runs `command` after the earlier commands on `stream`. A command must not queue another one on its own stream. */
  run<Result>(
    stream: string,
    command: (mayAttempt: MayAttempt) => Promise<Result>,
  ): Promise<Result> {
    const mayAttempt = this.#attempts();
    return this.#queue.run(stream, () => command(mayAttempt));
  }

  #attempts(): MayAttempt {
    const { monotonic, random, pause } = this.#options;
    const end = monotonic() + LIMITS.HANDLER_WAIT_MS;
    let attempts = 0;
    return async () => {
      if (attempts > 0)
        await pause(random() * Math.min(PAUSE_MS * 2 ** (attempts - 1), PAUSE_MS_MAX));
      attempts += 1;
      return monotonic() < end;
    };
  }
}
