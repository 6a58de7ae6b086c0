/**
 * GCRA: one number per key, the theoretical arrival time. Exact at the edges, no window to reset.
 * Monotonic milliseconds, so that a stepping clock neither frees nor locks anyone.
 */
export type Verdict = { allowed: boolean; remaining: number; windowS: number; retryAfterS: number };

export type Limiter = {
  take(key: string): Verdict;
  /** Looks without taking. */
  peek(key: string): Verdict;
  readonly perMinute: number;
};

export const WINDOW_MS = 60_000;
export const KEYS_MAX = 100_000;
/** What adding and taking away fractions of a millisecond leaves over. */
const ROUNDING_MS = 1e-6;

/** Whether a next arrival this far ahead is within the limit. */
export const fits = (aheadMs: number): boolean => aheadMs <= WINDOW_MS + ROUNDING_MS;

/** `used` and `wanted`: how far ahead of now the arrival time is, and would be with this call. */
export const verdictOf = (
  allowed: boolean,
  { used, wanted, interval }: { used: number; wanted: number; interval: number },
): Verdict => ({
  allowed,
  remaining: Math.max(0, Math.floor((WINDOW_MS - used + ROUNDING_MS) / interval)),
  // Draft -11: at most `remaining` requests within this window keep a client from a 429.
  windowS: Math.max(1, Math.ceil(used / 1000)),
  retryAfterS: allowed ? 0 : Math.max(1, Math.ceil((wanted - WINDOW_MS) / 1000)),
});

/** A flood of addresses must not grow the table: what is over goes, and past the cap the oldest. */
export const makeRoom = <Entry>(
  table: Map<string, Entry>,
  isOver: (entry: Entry) => boolean,
): void => {
  for (const [key, entry] of table) if (isOver(entry)) table.delete(key);
  for (const key of table.keys()) {
    if (table.size < KEYS_MAX) break;
    table.delete(key);
  }
};

export const limiter = (perMinute: number, monotonic: () => number): Limiter => {
  const interval = WINDOW_MS / perMinute;
  const arrivals = new Map<string, number>();

  const look = (key: string, cost: 0 | 1): Verdict => {
    const now = monotonic();
    const arrival = Math.max(arrivals.get(key) ?? 0, now);
    const next = arrival + interval * cost;
    const allowed = fits(next - now);
    if (allowed && cost > 0) {
      if (arrivals.size >= KEYS_MAX && !arrivals.has(key)) makeRoom(arrivals, (at) => at <= now);
      arrivals.set(key, next);
    }
    const used = (allowed ? next : arrival) - now;
    return verdictOf(allowed, { used, wanted: next - now, interval });
  };

  return { take: (key) => look(key, 1), peek: (key) => look(key, 0), perMinute };
};
