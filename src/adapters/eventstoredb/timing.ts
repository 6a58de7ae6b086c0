/** How long each thing may take, in milliseconds. */
export type Timing = {
  /** Until a server that does not answer is given up at the start. */
  startupMs: number;
  /** An append with all its repetitions; a caller is told `unknown` then. */
  appendMs: number;
  /** One sending of it. The server itself gives up a write after 2 s. */
  attemptMs: number;
  /** A read with all its repetitions. */
  readMs: number;
  /** Between two events of a read. */
  idleMs: number;
  /** A subscription that says nothing for so long is checked against the head of the log. */
  silenceMs: number;
  /** The first wait before a repetition; it doubles up to the second. */
  retryMs: readonly [first: number, most: number];
};

export const TIMING: Timing = {
  startupMs: 4_000,
  appendMs: 4_500,
  attemptMs: 2_000,
  readMs: 4_500,
  idleMs: 2_000,
  silenceMs: 5_000,
  retryMs: [20, 500],
};

/** The waits between repetitions, one after the other. */
export const waits = ([first, most]: Timing['retryMs']) => {
  let next = first;
  return {
    next(): number {
      const wait = next;
      next = Math.min(2 * next, most);
      return wait;
    },
    restart(): void {
      next = first;
    },
  };
};
