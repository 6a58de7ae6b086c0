/** What clients take of their limits, counted in one place for several processes. */
export type SharedCount = {
  /**
   * Adds `costMs` to the arrival time of `key` (GCRA); answers how far that is ahead of now then, in
   * milliseconds. Rejects when there is no answer in time: it may have been added, or not.
   */
  add(key: string, costMs: number): Promise<number>;
  /** How many processes count here, this one among them: at least 1. The last known while it is away. */
  processes(): number;
};
