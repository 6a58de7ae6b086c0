import type { SharedCount } from '#src/ports/limits.ts';
import {
  evict,
  fits,
  KEYS_MAX,
  type Limiter,
  type Rate,
  type Spacing,
  spacingOf,
  type Verdict,
  verdictOf,
} from './limiter.ts';

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
