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

const WINDOW_MS = 60_000;
const KEYS_MAX = 100_000;
/** What adding and taking away fractions of a millisecond leaves over. */
const ROUNDING_MS = 1e-6;

export const limiter = (perMinute: number, monotonic: () => number): Limiter => {
  const interval = WINDOW_MS / perMinute;
  const arrivals = new Map<string, number>();

  const look = (key: string, cost: 0 | 1): Verdict => {
    const now = monotonic();
    const arrival = Math.max(arrivals.get(key) ?? 0, now);
    const next = arrival + interval * cost;
    const allowed = next - now <= WINDOW_MS + ROUNDING_MS;
    if (allowed && cost > 0) {
      if (arrivals.size >= KEYS_MAX && !arrivals.has(key)) forget(now);
      arrivals.set(key, next);
    }
    const used = (allowed ? next : arrival) - now;
    return {
      allowed,
      remaining: Math.max(0, Math.floor((WINDOW_MS - used + ROUNDING_MS) / interval)),
      // Draft -11: at most `remaining` requests within this window keep a client from a 429.
      windowS: Math.max(1, Math.ceil(used / 1000)),
      retryAfterS: allowed ? 0 : Math.max(1, Math.ceil((next - now - WINDOW_MS) / 1000)),
    };
  };

  const forget = (now: number): void => {
    for (const [key, arrival] of arrivals) if (arrival <= now) arrivals.delete(key);
    // A flood of addresses must not grow the table: past the cap the oldest go first.
    for (const key of arrivals.keys()) {
      if (arrivals.size < KEYS_MAX) break;
      arrivals.delete(key);
    }
  };

  return { take: (key) => look(key, 1), peek: (key) => look(key, 0), perMinute };
};
