/**
 * One limit for all processes, decided here without waiting. Each process has its view of a key's
 * arrival time and lets calls through by it; what it let through it adds to the shared count in the
 * background, and the answer brings in what the others did. What is not added yet is bounded by a
 * small part of the limit, shared out among the processes, and by one round trip; it is counted
 * afterwards, so that it is paid back and never adds up. While the count is away each process keeps
 * to its share of the limit.
 */
import type { SharedCount } from '#src/ports/limits.ts';
import type { Limiter, Verdict } from './limiter.ts';
import { fits, KEYS_MAX, makeRoom, verdictOf, WINDOW_MS } from './limiter.ts';

/** So much of a limit may wait to be added, over all processes. */
const UNSENT_SHARE = 0.025;
/** So much of a limit may pass beyond a process's share before the count has heard of it. */
const UNCONFIRMED_SHARE = 0.05;
/** What the others did is looked up with the first call after this. */
const FRESH_MS = 1_000;
const RETRY_MS = 1_000;

type Entry = {
  /** Arrival time, as far as is known, of calls to all processes. */
  view: number;
  /** Arrival time of calls to this process, were its share all that there is. */
  own: number;
  unsent: number;
  sending: number;
  sentAt: number;
};

export const sharedLimiter = (
  perMinute: number,
  monotonic: () => number,
  { count, name }: { count: SharedCount; name: string },
): Limiter => {
  const interval = WINDOW_MS / perMinute;
  const entries = new Map<string, Entry>();
  let isAway = false;
  let retryAt = 0;

  const entryOf = (key: string, now: number): Entry => {
    const known = entries.get(key);
    if (known) return known;
    if (entries.size >= KEYS_MAX) makeRoom(entries, ({ view }) => view <= now);
    const fresh = { view: 0, own: 0, unsent: 0, sending: 0, sentAt: -Infinity };
    entries.set(key, fresh);
    return fresh;
  };

  /** Of what was let through while the count was away only that which still weighs is added. */
  const discount = (entry: Entry, now: number): void => {
    const weighs = Math.max(0, entry.own - now) / (interval * count.processes());
    entry.unsent = Math.min(entry.unsent, Math.ceil(weighs));
  };

  const returned = (): void => {
    const now = monotonic();
    isAway = false;
    for (const entry of entries.values()) discount(entry, now);
  };

  const isDue = ({ view, unsent, sending, sentAt }: Entry, now: number): boolean => {
    if (sending > 0 || unsent === 0) return false;
    if (isAway) return now >= retryAt;
    const left = (WINDOW_MS - (view - now)) / interval;
    const most = Math.min(perMinute * UNSENT_SHARE, left / 2) / count.processes();
    return unsent >= most || now - sentAt >= FRESH_MS;
  };

  const send = async (key: string, entry: Entry, now: number): Promise<void> => {
    if (isAway) discount(entry, now);
    entry.sending = entry.unsent;
    entry.unsent = 0;
    entry.sentAt = now;
    // One asks whether the count is back; the others wait for what it hears.
    retryAt = now + RETRY_MS;
    try {
      const ahead = await count.add(`${name}:${key}`, entry.sending * interval);
      if (isAway) returned();
      // A count that was emptied knows less than we do.
      entry.view = Math.max(entry.view, monotonic() + ahead + entry.unsent * interval);
    } catch {
      isAway = true;
    } finally {
      entry.sending = 0;
    }
    const later = monotonic();
    if (!isAway && isDue(entry, later)) void send(key, entry, later);
  };

  const look = (key: string, cost: 0 | 1): Verdict => {
    const now = monotonic();
    const entry = entryOf(key, now);
    const view = Math.max(entry.view, now);
    const next = view + interval * cost;
    const ownNext = Math.max(entry.own, now) + interval * count.processes() * cost;
    const unconfirmed = entry.unsent + entry.sending + cost;
    // However slowly the count answers: beyond a little that is unconfirmed, its share is all there is.
    const isKnown = unconfirmed <= Math.max(1, (perMinute * UNCONFIRMED_SHARE) / count.processes());
    const isWithinShare = (!isAway && isKnown) || fits(ownNext - now);
    const allowed = fits(next - now) && isWithinShare;
    if (allowed && cost > 0) {
      entry.view = next;
      entry.own = Math.min(ownNext, now + WINDOW_MS);
      entry.unsent += 1;
      if (isDue(entry, now)) void send(key, entry, now);
    }
    const used = (allowed ? next : view) - now;
    return verdictOf(allowed, { used, wanted: next - now, interval });
  };

  return { take: (key) => look(key, 1), peek: (key) => look(key, 0), perMinute };
};
