/** Runs the tasks of each key one after another, in the order of the calls; tasks of different keys run concurrently. */
export class KeyedQueue {
  /** The end of the last task of each key that has one; never rejects. */
  readonly #last = new Map<string, Promise<void>>();

  /** Queues a task; none starts within this call. A task must not await another one of its own key. */
  async run<Result>(key: string, task: () => Promise<Result>): Promise<Result> {
    const running = (this.#last.get(key) ?? Promise.resolve()).then(task);
    const settled = running.then(
      () => undefined,
      () => undefined,
    );
    this.#last.set(key, settled);
    try {
      return await running;
    } finally {
      if (this.#last.get(key) === settled) this.#last.delete(key);
    }
  }

  /** Resolves when no task is left, also of those that were added meanwhile. */
  async idle(): Promise<void> {
    while (this.#last.size > 0) await Promise.all(this.#last.values());
  }
}
