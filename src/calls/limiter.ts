import { PROBLEMS } from '#contracts/problems.ts';
import { type Refusal, refuse } from '#src/shared/outcome.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '#src/shared/time.ts';

/** The result of one check of a limit, with the values of the RateLimit headers. */
export type Verdict = { allowed: boolean; remaining: number; windowS: number; retryAfterS: number };

/** At most `count` calls of a key in each period. */
export type Rate = { readonly count: number; readonly per: keyof typeof PERIODS_MS };

export type Limiter = {
  take(key: string): Verdict;
  /** Checks the limit without counting the call. */
  peek(key: string): Verdict;
  readonly rate: Rate;
};

const PERIODS_MS = { second: 1_000, minute: MINUTE_MS, hour: HOUR_MS, day: DAY_MS };
export const KEYS_MAX = 100_000;
/**
 * Bounds the error of adding up the times of calls in a process that has run for months, as a share of the period.
 * Limits of more than a million calls in a period would be exceeded by one call.
 */
const ROUNDING = 1e-6;

/** A period in milliseconds, and the part of it that each call takes. */
export type Spacing = { periodMs: number; intervalMs: number };

export const spacingOf = ({ count, per }: Rate): Spacing => {
  const periodMs = PERIODS_MS[per];
  return { periodMs, intervalMs: periodMs / count };
};

/** True when a theoretical arrival time this far ahead of now is within the limit. */
export const fits = (aheadMs: number, { periodMs }: Spacing): boolean =>
  aheadMs <= periodMs * (1 + ROUNDING);

/** `usedMs` and `wantedMs`: how far ahead of now the arrival time is, and would be with this call. */
export const verdictOf = (
  allowed: boolean,
  { usedMs, wantedMs }: { usedMs: number; wantedMs: number },
  { periodMs, intervalMs }: Spacing,
): Verdict => ({
  allowed,
  remaining: Math.max(0, Math.floor((periodMs * (1 + ROUNDING) - usedMs) / intervalMs)),
  // Draft -11: at most `remaining` requests within this window keep a client from a 429.
  windowS: Math.max(1, Math.ceil(usedMs / 1000)),
  retryAfterS: allowed ? 0 : Math.max(1, Math.ceil((wantedMs - periodMs) / 1000)),
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

/**
 * A limit for one process by GCRA: one number per key, the theoretical arrival time, and no window
 * that resets. Uses monotonic milliseconds, so a clock step neither frees nor blocks a client.
 */
export const limiter = (rate: Rate, monotonic: () => number): Limiter => {
  const spacing = spacingOf(rate);
  const arrivals = new Map<string, number>();

  const check = (key: string, cost: 0 | 1): Verdict => {
    const now = monotonic();
    const arrival = Math.max(arrivals.get(key) ?? 0, now);
    const next = arrival + spacing.intervalMs * cost;
    const allowed = fits(next - now, spacing);
    if (allowed && cost > 0) {
      if (arrivals.size >= KEYS_MAX && !arrivals.has(key)) evict(arrivals, (at) => at <= now);
      arrivals.set(key, next);
    }
    const usedMs = (allowed ? next : arrival) - now;
    return verdictOf(allowed, { usedMs, wantedMs: next - now }, spacing);
  };

  return { take: (key) => check(key, 1), peek: (key) => check(key, 0), rate };
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

export const tooMany = (verdict: Verdict, { rate }: Pick<Limiter, 'rate'>): Refusal =>
  refuse('rate_limited', `At most ${rate.count} per ${rate.per}.`, {
    retryAfterS: verdict.retryAfterS,
  });

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
