/**
 * Detects that the server behind the address has another log: an empty one, an older copy of this one, or
 * another database. Compares it with the mark after each failed call, each new connection and each pause.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { LogUnavailable } from '#src/ports/event-log.ts';
import {
  type Acknowledged,
  type LogMark,
  type LogMemory,
  newerMark,
} from '#src/stores/log-memory.ts';
import { describeReplacement, findLog } from './identity.ts';
import type { Reads } from './reads.ts';
import type { Timing } from './retries.ts';

export type LogGuardOptions = {
  url: string;
  mark: LogMark;
  memory: LogMemory;
  reads: Pick<Reads, 'stream'>;
  timing: Pick<Timing, 'pauseMs' | 'replacedRetryMs'>;
  /** Called when another log is found. */
  onReplaced: ((text: string) => void) | undefined;
};

export const isReplaced = (error: unknown): error is LogUnavailable =>
  error instanceof LogUnavailable && error.reason === 'replaced';

export class LogGuard {
  readonly #options: LogGuardOptions;
  #mark: LogMark;
  /** Incremented by each event after which the server may be another one. */
  #doubts = 0;
  /** The value of `#doubts` before the last successful comparison. */
  #settled = 0;
  #answeredAt = performance.now();
  #comparing: Promise<void> | undefined;
  #replacement: string | undefined;

  constructor(options: LogGuardOptions) {
    this.#options = options;
    this.#mark = options.mark;
  }

  /** Why nothing is written; undefined while the server has the known log. */
  get replacement(): string | undefined {
    return this.#replacement;
  }

  /** The newest acknowledged position. */
  get position(): number {
    return this.#mark.newest?.position ?? 0;
  }

  /** Requires a comparison before the next call, and before any pending answer is used. */
  doubt(): void {
    this.#doubts += 1;
  }

  acknowledged(newest: Acknowledged): void {
    if (newest.position <= this.position) return;
    this.#mark = { id: this.#mark.id, newest };
    this.#options.memory.acknowledged(this.#mark);
  }

  /**
   * Resolves when the server has the known log; at once unless there is a doubt. Throws LogUnavailable:
   * `replaced` when it has another one.
   */
  async require(): Promise<void> {
    // A connection can be replaced unseen while no call is made.
    if (performance.now() - this.#answeredAt > this.#options.timing.pauseMs) this.doubt();
    while (!this.#isSettled())
      await (this.#comparing ??= this.#compare().finally(() => (this.#comparing = undefined)));
  }

  /** Like `require`, but waits while the log is another one. Rejects when `signal` aborts. */
  async awaitKnown(signal: AbortSignal): Promise<void> {
    for (;;) {
      try {
        return await this.require();
      } catch (error) {
        if (!isReplaced(error)) throw error;
        await delay(this.#options.timing.replacedRetryMs, undefined, { signal });
      }
    }
  }

  /** Makes a call whose answer is used only if it came from the known log. */
  async run<T>(call: () => Promise<T>): Promise<T> {
    await this.require();
    try {
      const answer = await call();
      this.#answeredAt = performance.now();
      await this.require();
      return answer;
    } catch (error) {
      this.doubt();
      throw error;
    }
  }

  #isSettled(): boolean {
    return this.#settled === this.#doubts && this.#replacement === undefined;
  }

  async #compare(): Promise<void> {
    const { reads, memory } = this.#options;
    const doubts = this.#doubts;
    const mark = await this.#newestMark();
    const found = await findLog(mark, (stream, revision) =>
      reads.stream(stream, revision, 1),
    ).catch((error: unknown) => {
      throw this.#replacement === undefined ? error : replaced(this.#replacement);
    });
    this.#answeredAt = performance.now();
    this.#settled = doubts;
    if (found.isKnown) {
      this.#replacement = undefined;
      return;
    }
    const text = describeReplacement({ ...this.#options, names: memory.names }, mark, found);
    if (this.#replacement === undefined) this.#options.onReplaced?.(text);
    this.#replacement = text;
    throw replaced(text);
  }

  /** The own mark, or that of another process of this log which saw a later append acknowledged. */
  async #newestMark(): Promise<LogMark> {
    const shared = await this.#options.memory.recall();
    if (shared?.id === this.#mark.id) this.#mark = newerMark(this.#mark, shared);
    return this.#mark;
  }
}

const replaced = (text: string): LogUnavailable => new LogUnavailable('replaced', 'no', text);
