import { setTimeout as delay } from 'node:timers/promises';

export type CircuitBreakerOptions = {
  /** Longest silence of the server, in milliseconds. */
  silenceMsMax: number;
  /** Longest wait of a call while the server answers something, possibly to others. */
  waitMsMax: number;
  /** Settles with the server's next answer, or rejects when there can be none. */
  probe(): Promise<unknown>;
  /** Bytes received so far: a large answer, or one not read yet, is not silence. */
  bytes(): number;
};

type Call = { since: number; fail(error: Error): void };

const PROBE_MS = 25;

/**
 * Circuit breaker for calls that one server answers in order. After `silenceMsMax` of silence every
 * pending call fails, and later calls fail without being sent until a probe succeeds; so no request
 * waits for a stalled server. A server that is only slow keeps receiving calls.
 */
export class CircuitBreaker {
  readonly #options: CircuitBreakerOptions;
  /** Oldest first. */
  readonly #pending = new Set<Call>();
  #timer: NodeJS.Timeout | undefined;
  #checkAt = 0;
  /** Time in which this process was too busy to send or to check, which is not the server's. */
  #busyMs = 0;
  #lastAnswer = 0;
  #lastBytes = 0;
  #isOpen = false;
  #isClosed = false;

  constructor(options: CircuitBreakerOptions) {
    this.#options = options;
  }

  /** Rejects after silence, after `waitMsMax`, or at once while the server does not answer. */
  call<T>(send: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#isOpen) {
        reject(new Error('the server does not answer'));
        return;
      }
      const call = { since: this.#now(), fail: reject };
      this.#pending.add(call);
      this.#scheduleCheck();
      send()
        .finally(() => {
          this.#lastAnswer = this.#now();
          this.#pending.delete(call);
        })
        .then(resolve, reject);
    });
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #now(): number {
    return performance.now() - this.#busyMs;
  }

  #scheduleCheck(): void {
    if (this.#timer) return;
    const ms = this.#options.silenceMsMax / 2;
    this.#checkAt = performance.now() + ms;
    // After the next turn: answers can be waiting to be read when this process was busy.
    this.#timer = setTimeout(() => setImmediate(() => this.#check()), ms);
  }

  #check(): void {
    this.#timer = undefined;
    this.#busyMs += Math.max(0, performance.now() - this.#checkAt);
    const [oldest] = this.#pending;
    if (!oldest) return;
    const { silenceMsMax, waitMsMax, bytes } = this.#options;
    const silenceMs = this.#now() - Math.max(oldest.since, this.#lastAnswer);
    const received = bytes();
    const isReceiving = received !== this.#lastBytes;
    this.#lastBytes = received;
    if (silenceMs >= waitMsMax || (silenceMs >= silenceMsMax && !isReceiving)) void this.#open();
    else {
      this.#failOlderThan(waitMsMax);
      this.#scheduleCheck();
    }
  }

  #failOlderThan(ms: number): void {
    const limit = this.#now() - ms;
    for (const call of this.#pending) {
      if (call.since > limit) break;
      this.#pending.delete(call);
      call.fail(new Error(`no answer within ${Math.max(ms, this.#options.silenceMsMax)} ms`));
    }
  }

  async #open(): Promise<void> {
    this.#isOpen = true;
    this.#failOlderThan(0);
    while (!this.#isClosed) {
      try {
        await this.#options.probe();
        break;
      } catch {
        await delay(PROBE_MS, undefined, { ref: false });
      }
    }
    this.#isOpen = false;
  }
}
