/** Counts calls against the limits in one place for several processes. */
export type SharedCount = {
  /**
   * Adds `costMs` to the arrival time of `key` (GCRA). Returns by how many milliseconds it is now
   * ahead of the clock. Rejects when there is no answer in time; the cost may have been added.
   */
  add(key: string, costMs: number): Promise<number>;
  /** Returns how many processes count here, including this one; the last known number in an outage. */
  processes(): number;
};
