/** How long each thing may take, in milliseconds. */
export type Timing = {
  /** Until a server that does not answer is given up at the start. */
  startupMs: number;
  /** Until an append is repeated no more. With its last attempt, less than five seconds. */
  appendRepeatMs: number;
  /** One sending of it. Always whole: a last one cut short would leave unknown what was refused. */
  attemptMs: number;
  /** Until a read is repeated no more. */
  readRepeatMs: number;
  /** Between two events of a read. */
  idleMs: number;
  /** A subscription that says nothing for so long is checked against the head of the log. */
  silenceMs: number;
  /** The first wait before a repetition; it doubles up to the second. */
  retryMs: readonly [first: number, most: number];
};

export const TIMING: Timing = {
  startupMs: 4_000,
  appendRepeatMs: 3_000,
  attemptMs: 1_500,
  readRepeatMs: 3_000,
  idleMs: 1_500,
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
