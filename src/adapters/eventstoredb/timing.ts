/** Time limits, in milliseconds. */
export type Timing = {
  /** Time to wait at startup for a server that does not answer. */
  startupMs: number;
  /** Time during which an append is repeated. With its last attempt, less than five seconds. */
  appendRepeatMs: number;
  /** Time limit of one attempt. Never shortened: a cut-off attempt has an unknown outcome. */
  attemptMs: number;
  /** Time during which a read is repeated. */
  readRepeatMs: number;
  /** Longest silence between two events of a read. */
  idleMs: number;
  /** Longest silence of a subscription before it is compared with the head of the log. */
  silenceMs: number;
  /** Time without an answer after which the log is compared with the known one before the next call. */
  pauseMs: number;
  /** Pause between two comparisons while the log is another one. */
  replacedRetryMs: number;
  /** The first pause before a repetition; each pause is twice the one before, up to `most`. */
  retryMs: readonly [first: number, most: number];
};

export const TIMING: Timing = {
  startupMs: 4_000,
  appendRepeatMs: 3_000,
  attemptMs: 1_500,
  readRepeatMs: 3_000,
  idleMs: 1_500,
  silenceMs: 5_000,
  pauseMs: 2_000,
  replacedRetryMs: 500,
  retryMs: [20, 500],
};
