/** How operators pause and slow the fills of a process, and how fast these are; `fill.ts` asks it after each batch. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Position } from '#src/ports/event-log.ts';

/** What an operator decided. A thread that fills can be told it as it is. */
export type FillLimits = {
  isPaused: boolean;
  /** Of all fills of the process together; undefined without a limit. */
  eventsPerSecond: number | undefined;
};

/** A fill that was slow or idle may exceed the limit for this long. */
const CREDIT_MS = 1_000;
const NO_LIMITS: FillLimits = { isPaused: false, eventsPerSecond: undefined };

/**
 * Pauses and slows the fills of a process. The loop that follows the log never asks it. What an operator decided ends
 * with the last fill, so that no later one is slow for a forgotten reason.
 */
export class FillControl {
  #limits: FillLimits;
  #running = 0;
  /** When the events that were allowed so far are paid for, on the monotonic clock. */
  #paidAt = -Infinity;
  readonly #listeners = new Set<(limits: FillLimits) => void>();

  constructor(limits: FillLimits = NO_LIMITS) {
    this.#limits = limits;
  }

  get limits(): FillLimits {
    return this.#limits;
  }

  get isFilling(): boolean {
    return this.#running > 0;
  }

  pause(): void {
    this.set({ ...this.#limits, isPaused: true });
  }

  resume(): void {
    this.set({ ...this.#limits, isPaused: false });
  }

  /** Limits the events of each second; undefined removes the limit. */
  throttle(eventsPerSecond: number | undefined): void {
    this.set({ ...this.#limits, eventsPerSecond });
  }

  /** Calls `listener` after each change until the returned function is called. */
  onChange(listener: (limits: FillLimits) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Runs a fill; operators can pause and slow it until it settles. */
  async run<Result>(fill: () => Promise<Result>): Promise<Result> {
    this.#running += 1;
    try {
      return await fill();
    } finally {
      this.#running -= 1;
      if (this.#running === 0) this.set(NO_LIMITS);
    }
  }

  /** Resolves when a fill that has folded so many events may continue. Rejects when `signal` aborts. */
  async allow(events: number, signal?: AbortSignal): Promise<void> {
    let due: number | undefined;
    for (;;) {
      signal?.throwIfAborted();
      const { isPaused, eventsPerSecond } = this.#limits;
      if (!isPaused && eventsPerSecond === undefined) return;
      if (isPaused) await this.#changed(signal);
      else {
        const now = performance.now();
        due ??= this.#charge(now, (1_000 * events) / (eventsPerSecond ?? 1));
        if (now >= due) return;
        if (await this.#changed(signal, due - now)) due = undefined;
      }
    }
  }

  #charge(now: number, costMs: number): number {
    this.#paidAt = Math.max(this.#paidAt, now - CREDIT_MS) + costMs;
    return this.#paidAt;
  }

  /** Resolves to true at the next change, and to false after `waitMs`. */
  async #changed(signal: AbortSignal | undefined, waitMs?: number): Promise<boolean> {
    const ended = new AbortController();
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const stop = this.onChange(() => resolve(true));
    const onAbort = (): void => resolve(true);
    signal?.addEventListener('abort', onAbort);
    const waited =
      waitMs === undefined
        ? []
        : [pause(waitMs, false, { signal: ended.signal }).catch(() => false)];
    try {
      return await Promise.race([promise, ...waited]);
    } finally {
      stop();
      signal?.removeEventListener('abort', onAbort);
      ended.abort();
    }
  }

  /** Replaces all limits, as another thread has them. */
  set(limits: FillLimits): void {
    this.#limits = limits;
    // What another limit allowed is not charged to this one.
    this.#paidAt = performance.now();
    for (const listener of this.#listeners) listener(limits);
  }
}

/** How far a fill is. */
export type FillProgress = { space: string; position: Position; head: Position };

/** A fill as operators see it: with its rate over the last seconds, and the time that it still takes. */
export type MeasuredFill = FillProgress & { rate?: number; secondsLeft?: number };

/** Long enough to be steady, and short enough to show a pause. */
const WINDOW_MS = 10_000;
const SAMPLE_MS = 250;

/** Measures the rate of a fill in positions a second. */
export class FillMeter {
  readonly #samples: { at: number; position: Position }[] = [];
  #progress: FillProgress;

  constructor(progress: FillProgress) {
    this.#progress = progress;
    this.update(progress);
  }

  update(progress: FillProgress, at = performance.now()): void {
    this.#progress = progress;
    const last = this.#samples.at(-1);
    if (last && at - last.at < SAMPLE_MS) return;
    this.#samples.push({ at, position: progress.position });
    this.#forget(at);
  }

  measure(at = performance.now()): MeasuredFill {
    const { position, head } = this.#progress;
    this.#forget(at);
    const [first] = this.#samples;
    if (!first || at - first.at < SAMPLE_MS) return this.#progress;
    const rate = ((position - first.position) * 1_000) / (at - first.at);
    const secondsLeft = Math.max(0, head - position) / rate;
    return { ...this.#progress, rate, ...(rate > 0 && { secondsLeft }) };
  }

  /** Keeps the newest sample that is older than the window, so that there is always one to compare with. */
  #forget(at: number): void {
    while ((this.#samples[1]?.at ?? Infinity) <= at - WINDOW_MS) this.#samples.shift();
  }
}
