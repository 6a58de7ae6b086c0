/** Units and texts of time, which all capabilities use. */
export const DAY_MS = 86_400_000;
export const HOUR_MS = 3_600_000;
export const MINUTE_MS = 60_000;

/** Epoch milliseconds as RFC 3339 in UTC with milliseconds. */
export const iso = (at: number): string => new Date(at).toISOString();

/** A validated RFC 3339 time as epoch milliseconds. */
export const epoch = (time: string): number => Date.parse(time);

/** Why nothing can end at that time; undefined when it can. */
export const endFault = (at: number, now: number, daysMax: number): string | undefined => {
  if (at <= now) return 'must lie in the future';
  return at > now + daysMax * DAY_MS ? `must lie within ${daysMax} days` : undefined;
};

/** The position that an answer reflects, as answers show it. */
export const renderAsOf = <P>({ position, at }: { position: P; at: number | null }) => ({
  position,
  at: at === null ? null : iso(at),
});
