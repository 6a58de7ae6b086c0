import type { KeyObject } from 'node:crypto';

export type SubjectKeyState = KeyObject | 'destroyed' | 'never';

/**
 * An erased subject must be unreadable on every process within one second, and processes do not
 * notify each other. So entries are valid for half of it, counted from before the server was asked.
 */
const TTL_MS = 500;
const ENTRIES_MAX = 10_000;

type Entry = { since: number; state: Promise<SubjectKeyState> };

const isExpired = ({ since }: Entry): boolean => performance.now() - since >= TTL_MS;

/** Recently read keys, so that a page of leads reads each key once. Failures are not cached. */
export class KeyCache {
  readonly #load: (subject: string) => Promise<SubjectKeyState>;
  /** Oldest first. */
  readonly #entries = new Map<string, Entry>();
  #eviction: NodeJS.Timeout | undefined;

  constructor(load: (subject: string) => Promise<SubjectKeyState>) {
    this.#load = load;
  }

  get(subject: string): Promise<SubjectKeyState> {
    return this.peek(subject) ?? this.put(subject, this.#load(subject));
  }

  /** The cached state, unless it has expired. */
  peek(subject: string): Promise<SubjectKeyState> | undefined {
    const entry = this.#entries.get(subject);
    return entry && !isExpired(entry) ? entry.state : undefined;
  }

  put(subject: string, state: Promise<SubjectKeyState>): Promise<SubjectKeyState> {
    const entry = { since: performance.now(), state };
    this.#entries.delete(subject);
    const [oldest] = this.#entries.keys();
    if (this.#entries.size >= ENTRIES_MAX && oldest !== undefined) this.#entries.delete(oldest);
    this.#entries.set(subject, entry);
    this.#eviction ??= setTimeout(this.#evict, TTL_MS).unref();
    void this.#removeUnlessFinal(subject, entry);
    return state;
  }

  clear(): void {
    clearTimeout(this.#eviction);
    this.#entries.clear();
  }

  /** Does not keep failures, nor missing keys, which can be created at any time. */
  async #removeUnlessFinal(subject: string, entry: Entry): Promise<void> {
    const state = await entry.state.catch(() => 'never' as const);
    if (state === 'never' && this.#entries.get(subject) === entry) this.#entries.delete(subject);
  }

  /** Evicts expired entries on a timer, so that no key stays in memory. */
  readonly #evict = (): void => {
    this.#eviction = undefined;
    for (const [subject, entry] of this.#entries) {
      if (!isExpired(entry)) break;
      this.#entries.delete(subject);
    }
    if (this.#entries.size > 0) this.#eviction = setTimeout(this.#evict, TTL_MS).unref();
  };
}
