import { PROBLEMS } from '#contracts/problems.ts';
import { type Refusal, refuse } from '#src/shared/outcome.ts';

/** The result of one check of a limit, with the values of the RateLimit headers. */
export type Verdict = { allowed: boolean; remaining: number; windowS: number; retryAfterS: number };

export type Limiter = {
  take(key: string): Verdict;
  /** Checks the limit without counting the call. */
  peek(key: string): Verdict;
  readonly perMinute: number;
};

export const WINDOW_MS = 60_000;
export const KEYS_MAX = 100_000;
/** The greatest error of adding and subtracting fractions of a millisecond. */
const ROUNDING_MS = 1e-6;

/** True when a theoretical arrival time this far ahead of now is within the limit. */
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

/** Evicts expired entries, then the oldest, so that a flood of addresses cannot grow the table. */
export const evict = <Entry>(
  table: Map<string, Entry>,
  isExpired: (entry: Entry) => boolean,
): void => {
  for (const [key, entry] of table) if (isExpired(entry)) table.delete(key);
  for (const key of table.keys()) {
    if (table.size < KEYS_MAX) break;
    table.delete(key);
  }
};

/** A limit of `count` calls in a period longer than a minute, in milliseconds, for one process. */
export const longLimiter = (
  { count, periodMs }: { count: number; periodMs: number },
  monotonic: () => number,
): Pick<Limiter, 'take'> => {
  const minutes = periodMs / WINDOW_MS;
  // A clock that is slower by that factor makes a minute of the period.
  const slow = limiter(count, () => monotonic() / minutes);
  return {
    take(key) {
      const verdict = slow.take(key);
      return { ...verdict, retryAfterS: Math.ceil(verdict.retryAfterS * minutes) };
    },
  };
};

/**
 * A limit for one process by GCRA: one number per key, the theoretical arrival time, and no window
 * that resets. Uses monotonic milliseconds, so a clock step neither frees nor blocks a client.
 */
export const limiter = (perMinute: number, monotonic: () => number): Limiter => {
  const interval = WINDOW_MS / perMinute;
  const arrivals = new Map<string, number>();

  const check = (key: string, cost: 0 | 1): Verdict => {
    const now = monotonic();
    const arrival = Math.max(arrivals.get(key) ?? 0, now);
    const next = arrival + interval * cost;
    const allowed = fits(next - now);
    if (allowed && cost > 0) {
      if (arrivals.size >= KEYS_MAX && !arrivals.has(key)) evict(arrivals, (at) => at <= now);
      arrivals.set(key, next);
    }
    const used = (allowed ? next : arrival) - now;
    return verdictOf(allowed, { used, wanted: next - now, interval });
  };

  return { take: (key) => check(key, 1), peek: (key) => check(key, 0), perMinute };
};

const GROUPS = 8;
const NETWORK_GROUPS = 4;

/** The network of one customer: an IPv4 address as it is, or the /64 of an IPv6 address. */
export const networkOf = (address: string): string => {
  if (!address.includes(':') || address.includes('.')) return address;
  const [left = [], right] = address
    .split('::')
    .map((half) => (half === '' ? [] : half.split(':')));
  const zeros = right ? GROUPS - left.length - right.length : 0;
  const groups = [...left, ...Array<string>(Math.max(0, zeros)).fill('0'), ...(right ?? [])];
  return `${groups.slice(0, NETWORK_GROUPS).join(':')}::`;
};

export const tooMany = (verdict: Verdict, { perMinute }: Pick<Limiter, 'perMinute'>): Refusal =>
  refuse('rate_limited', `At most ${perMinute} a minute.`, { retryAfterS: verdict.retryAfterS });

/** Counts a link to a mailbox that anybody can have typed against its network; the refusal beyond the limit. */
export const refuseLink = (limit: Pick<Limiter, 'take'>, address: string): Refusal | undefined => {
  const { allowed, retryAfterS } = limit.take(networkOf(address));
  return allowed
    ? undefined
    : refuse('rate_limited', 'Too many links were asked for from this network today.', {
        retryAfterS,
      });
};

/**
 * Counts a refused credential against its network, and answers 429 instead of `refusal` beyond the limit.
 * Only refusals are counted, so a caller with a valid credential cannot be locked out by another client of the same network.
 */
export const limitByAddress = (limiter: Limiter, address: string, refusal: Refusal): Refusal => {
  // The service is at fault for these, not the caller.
  if (PROBLEMS[refusal.code].status >= 500) return refusal;
  const verdict = limiter.take(networkOf(address));
  return verdict.allowed ? refusal : tooMany(verdict, limiter);
};
