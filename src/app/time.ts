/** Epoch milliseconds to RFC 3339 in UTC with milliseconds. */
export const iso = (at: number): string => new Date(at).toISOString();

/** A validated RFC 3339 time to epoch milliseconds. */
export const epoch = (time: string): number => Date.parse(time);

export const DAY_MS = 86_400_000;
export const HOUR_MS = 3_600_000;

/** Where the log stood, as answers show it. */
export const renderAsOf = <P>({ position, at }: { position: P; at: number | null }) => ({
  position,
  at: at === null ? null : iso(at),
});
