import type { Position } from '#src/ports/event-log.ts';

type Waiter = { position: Position; settle: (isReached: boolean) => void };

/** Callers that wait for a position, in ascending order. Most of them wait for the newest one. */
export class PositionWaiters {
  readonly #reached: () => Position;
  readonly #waiters: Waiter[] = [];
  #isClosed = false;

  constructor(reached: () => Position) {
    this.#reached = reached;
  }

  /** Resolves to true once `position` is reached; to false after `waitMs`, or once closed. */
  wait(position: Position, waitMs: number): Promise<boolean> {
    if (position <= this.#reached()) return Promise.resolve(true);
    if (waitMs <= 0 || this.#isClosed) return Promise.resolve(false);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const waiter: Waiter = { position, settle: resolve };
    const before = this.#waiters.findLastIndex((other) => other.position <= position);
    this.#waiters.splice(before + 1, 0, waiter);
    if (waitMs === Infinity) return promise;
    const timer = setTimeout(() => {
      const index = this.#waiters.indexOf(waiter);
      if (index >= 0) this.#waiters.splice(index, 1);
      resolve(false);
    }, waitMs);
    waiter.settle = (isReached) => {
      clearTimeout(timer);
      resolve(isReached);
    };
    return promise;
  }

  /** Settles the callers whose position is reached by now. */
  settleReached(): void {
    const reached = this.#reached();
    const pending = this.#waiters.findIndex(({ position }) => position > reached);
    const count = pending < 0 ? this.#waiters.length : pending;
    if (count > 0) for (const { settle } of this.#waiters.splice(0, count)) settle(true);
  }

  close(): void {
    this.#isClosed = true;
    for (const { settle } of this.#waiters.splice(0)) settle(false);
  }
}
