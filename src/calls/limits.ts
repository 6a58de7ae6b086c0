/** Limits of calls: by rate, by number at once, and by the waiting time of the process. */
import { PROBLEMS } from '#contracts/problems.ts';
import type { Waits, SharedCount } from '#src/ports/system.ts';
import type { Budget } from '#src/shared/call.ts';
import { type Refusal, refuse } from '#src/shared/outcome.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '#src/shared/time.ts';

/** Takes a place for one call of a key: a function that frees it, or a refusal. */
export type Concurrency = (key: string) => (() => void) | Refusal;

/**
 * Limits the calls of each key that are in progress in this process. A refusal asks for the time that the oldest of
 * them has taken so far, at least one second, because its end cannot be predicted.
 */
export const concurrency = (max: number, monotonic: () => number): Concurrency => {
  /** When each call in progress began, oldest first. */
  const inProgress = new Map<string, Set<{ since: number }>>();
  return (key) => {
    const calls = inProgress.get(key) ?? new Set();
    if (calls.size >= max) {
      const [oldest] = calls;
      const ms = monotonic() - (oldest?.since ?? 0);
      const retryAfterS = Math.max(1, Math.ceil(ms / 1_000));
      return refuse('rate_limited', `At most ${max} such calls at once.`, { retryAfterS });
    }
    const call = { since: monotonic() };
    inProgress.set(key, calls.add(call));
    return () => {
      calls.delete(call);
      if (calls.size === 0) inProgress.delete(key);
    };
  };
};

/** The result of one check of a limit, with the values of the RateLimit headers. */
type Verdict = { allowed: boolean; remaining: number; windowS: number; retryAfterS: number };

/** At most `count` calls of a key in each period. */
type Rate = { readonly count: number; readonly per: keyof typeof PERIODS_MS };

export type Limiter = {
  take(key: string): Verdict;
  /** Checks the limit without counting the call. */
  peek(key: string): Verdict;
  readonly rate: Rate;
};

const PERIODS_MS = { second: 1_000, minute: MINUTE_MS, hour: HOUR_MS, day: DAY_MS };
const KEYS_MAX = 100_000;
/**
 * Bounds the error of adding up the times of calls in a process that has run for months, as a share of the period.
 * Limits of more than a million calls in a period would be exceeded by one call.
 */
const ROUNDING = 1e-6;

/** A period in milliseconds, and the part of it that each call takes. */
type Spacing = { periodMs: number; intervalMs: number };

export const spacingOf = ({ count, per }: Rate): Spacing => {
  const periodMs = PERIODS_MS[per];
  return { periodMs, intervalMs: periodMs / count };
};

/** True when a theoretical arrival time this far ahead of now is within the limit. */
const fits = (aheadMs: number, { periodMs }: Spacing): boolean =>
  aheadMs <= periodMs * (1 + ROUNDING);

/** `usedMs` and `wantedMs`: how far ahead of now the arrival time is, and would be with this call. */
const verdictOf = (
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
const evict = <Entry>(table: Map<string, Entry>, isExpired: (entry: Entry) => boolean): void => {
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
export const limiter = (
  rate: Rate,
  monotonic: () => number,
): Omit<Limiter, 'take'> & { take(key: string, amount?: number): Verdict } => {
  const spacing = spacingOf(rate);
  const arrivals = new Map<string, number>();

  const check = (key: string, cost: number): Verdict => {
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

  return {
    take: (key: string, amount = 1) => check(key, amount),
    peek: (key) => check(key, 0),
    rate,
  };
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

/**
 * Refuses a request that would wait too long in this process. Without a budget, the operation is not known yet, and only
 * the wait for the event loop counts.
 */
export type Overload = (budget?: Budget) => Refusal | undefined;

/** Refused clients return in different seconds, because they would otherwise be one burst again. */
const RETRY_AFTER_S = [1, 2, 3];

/** A visitor whose redirect is refused does not come back, so redirects are refused last. */
const REDIRECT_FACTOR = 4;

const queueOf = (waits: Waits, budget: Budget | undefined): number => {
  if (budget === undefined) return 0;
  return budget === 'read' ? waits.reads() : waits.appends();
};

/** A process with fewer calls is not overloaded: the machine is slow, and refusing a few calls would not relieve it. */
const FEW_CALLS = 16;

/** Admits requests by the milliseconds that they would wait, unless only few wait. */
export const overload = (waits: Waits, maxMs: number): Overload => {
  const detail = `A request would wait for more than ${maxMs} ms before the service handles it.`;
  // Made once: a refusal must cost far less than an answer.
  const refusals = RETRY_AFTER_S.map((retryAfterS) =>
    refuse('overloaded', detail, { retryAfterS }),
  );
  let refused = 0;
  return (budget) => {
    const max = budget === 'redirect' ? maxMs * REDIRECT_FACTOR : maxMs;
    if (waits.eventLoop() + queueOf(waits, budget) <= max) return undefined;
    if (waits.calls.count < FEW_CALLS) return undefined;
    refused += 1;
    return refusals[refused % refusals.length];
  };
};

/** The part of a limit that may wait to be sent, over all processes. */
const UNSENT_SHARE = 0.025;
/** The part of a limit that may pass beyond a process's share before the count has confirmed it. */
const UNCONFIRMED_SHARE = 0.05;
/** Age at which the next call refreshes what this process knows of the others. */
const FRESH_MS = 1_000;
const RETRY_MS = 1_000;

type Entry = {
  /** Arrival time of calls to all processes, as far as this process knows. */
  view: number;
  /** Arrival time of calls to this process, as if its share were the whole limit. */
  own: number;
  unsent: number;
  sending: number;
  sentAt: number;
};

/**
 * One limit for all processes that decides without waiting. Each process decides by its own view of
 * a key's arrival time, adds the calls that it allowed to the shared count in the background, and
 * learns from the answer what the others allowed. The error is bounded: calls that are not sent yet
 * are a small part of the limit, divided among the processes, plus those of one round trip, and they
 * are counted afterwards. While the count is unavailable, each process allows its share of the limit.
 */
export class SharedLimiter implements Limiter {
  readonly rate: Rate;
  readonly #monotonic: () => number;
  readonly #count: SharedCount;
  readonly #name: string;
  readonly #spacing: Spacing;
  readonly #entries = new Map<string, Entry>();
  #isAway = false;
  #retryAt = 0;

  constructor(
    rate: Rate,
    monotonic: () => number,
    { count, name }: { count: SharedCount; name: string },
  ) {
    this.rate = rate;
    this.#monotonic = monotonic;
    this.#count = count;
    this.#name = name;
    this.#spacing = spacingOf(rate);
  }

  take(key: string): Verdict {
    return this.#check(key, 1);
  }

  peek(key: string): Verdict {
    return this.#check(key, 0);
  }

  #check(key: string, cost: 0 | 1): Verdict {
    const now = this.#monotonic();
    const entry = this.#entryOf(key, now);
    const processes = this.#count.processes();
    const view = Math.max(entry.view, now);
    const next = view + this.#spacing.intervalMs * cost;
    const ownNext = Math.max(entry.own, now) + this.#spacing.intervalMs * processes * cost;
    const unconfirmed = entry.unsent + entry.sending + cost;
    // However slowly the count answers, beyond a few unconfirmed calls only the share is allowed.
    const isConfirmed =
      unconfirmed <= Math.max(1, (this.rate.count * UNCONFIRMED_SHARE) / processes);
    const isWithinShare = (!this.#isAway && isConfirmed) || fits(ownNext - now, this.#spacing);
    const allowed = fits(next - now, this.#spacing) && isWithinShare;
    if (allowed && cost > 0) {
      entry.view = next;
      entry.own = Math.min(ownNext, now + this.#spacing.periodMs);
      entry.unsent += 1;
      if (this.#isDue(entry, now)) void this.#send(key, entry);
    }
    const usedMs = (allowed ? next : view) - now;
    return verdictOf(allowed, { usedMs, wantedMs: next - now }, this.#spacing);
  }

  #entryOf(key: string, now: number): Entry {
    let entry = this.#entries.get(key);
    if (entry) return entry;
    if (this.#entries.size >= KEYS_MAX) evict(this.#entries, ({ view }) => view <= now);
    entry = { view: 0, own: 0, unsent: 0, sending: 0, sentAt: -Infinity };
    this.#entries.set(key, entry);
    return entry;
  }

  #isDue({ view, unsent, sending, sentAt }: Entry, now: number): boolean {
    if (sending > 0 || unsent === 0) return false;
    if (this.#isAway) return now >= this.#retryAt;
    const { periodMs, intervalMs } = this.#spacing;
    const left = (periodMs - (view - now)) / intervalMs;
    const unsentMax = Math.min(this.rate.count * UNSENT_SHARE, left / 2) / this.#count.processes();
    return unsent >= unsentMax || now - sentAt >= FRESH_MS;
  }

  async #send(key: string, entry: Entry): Promise<void> {
    const now = this.#monotonic();
    if (this.#isAway) this.#discount(entry, now);
    entry.sending = entry.unsent;
    entry.unsent = 0;
    entry.sentAt = now;
    // One call asks whether the count is available again; the others wait for its answer.
    this.#retryAt = now + RETRY_MS;
    try {
      const ahead = await this.#count.add(
        `${this.#name}:${key}`,
        entry.sending * this.#spacing.intervalMs,
      );
      if (this.#isAway) this.#recover();
      // A count that was emptied knows less than this process.
      const view = this.#monotonic() + ahead + entry.unsent * this.#spacing.intervalMs;
      entry.view = Math.max(entry.view, view);
    } catch {
      this.#isAway = true;
    } finally {
      entry.sending = 0;
    }
    if (!this.#isAway && this.#isDue(entry, this.#monotonic())) void this.#send(key, entry);
  }

  #recover(): void {
    const now = this.#monotonic();
    this.#isAway = false;
    for (const entry of this.#entries.values()) this.#discount(entry, now);
  }

  /** Drops calls from before the count was unavailable that no longer weigh on the limit. */
  #discount(entry: Entry, now: number): void {
    const weighing =
      Math.max(0, entry.own - now) / (this.#spacing.intervalMs * this.#count.processes());
    entry.unsent = Math.min(entry.unsent, Math.ceil(weighing));
  }
}
