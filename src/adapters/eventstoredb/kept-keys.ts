/** Keys that were read a moment ago, so that a page of leads does not ask again for each. */
import type { KeyObject } from 'node:crypto';

/** What there is of a subject's key. */
export type Found = KeyObject | 'destroyed' | 'never';

/**
 * A subject that is erased must be unreadable on every process within a second. Nobody tells the
 * others, so what they know is true for half of one, from before it was asked for.
 */
const KEPT_MS = 500;
const KEPT_MAX = 10_000;

type Entry = { since: number; found: Promise<Found> };

export const keptKeys = (load: (subject: string) => Promise<Found>) => {
  // In the order in which they were asked for.
  const entries = new Map<string, Entry>();
  let sweeping: NodeJS.Timeout | undefined;

  const isOver = ({ since }: Entry): boolean => performance.now() - since >= KEPT_MS;
  const drop = (subject: string, entry: Entry): void => {
    if (entries.get(subject) === entry) entries.delete(subject);
  };
  /** No key stays in memory for want of another call. */
  const sweep = (): void => {
    sweeping = undefined;
    for (const [subject, entry] of entries) {
      if (!isOver(entry)) break;
      entries.delete(subject);
    }
    if (entries.size > 0) sweeping = setTimeout(sweep, KEPT_MS).unref();
  };

  /** Whoever asked is told of a failure, and the next one asks again. A key may come at any time. */
  const settle = async (subject: string, entry: Entry): Promise<void> => {
    const value = await entry.found.catch(() => 'never' as const);
    if (value === 'never') drop(subject, entry);
  };

  const peek = (subject: string): Promise<Found> | undefined => {
    const entry = entries.get(subject);
    return entry && !isOver(entry) ? entry.found : undefined;
  };
  const put = (subject: string, found: Promise<Found>): Promise<Found> => {
    const entry = { since: performance.now(), found };
    entries.delete(subject);
    const [oldest] = entries.keys();
    if (entries.size >= KEPT_MAX && oldest !== undefined) entries.delete(oldest);
    entries.set(subject, entry);
    sweeping ??= setTimeout(sweep, KEPT_MS).unref();
    void settle(subject, entry);
    return found;
  };
  return {
    /** What is known of it, if that is fresh. */
    peek,
    put,
    get: (subject: string): Promise<Found> => peek(subject) ?? put(subject, load(subject)),
    clear(): void {
      clearTimeout(sweeping);
      entries.clear();
    },
  };
};
