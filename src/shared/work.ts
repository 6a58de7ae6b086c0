/** Long work in turns, so that other requests are served in between, queues by key, and results that are kept. */

/** How long all long work together may hold one turn of the event loop. Ordinary requests finish within it. */
const TURN_MS = 5;
const ITEMS_PER_CHECK = 100;
/** How much the newest turn counts in the mean of their durations. */
const NEWEST_SHARE = 0.125;

type Options = {
  /** A monotonic clock in milliseconds. */
  monotonic(): number;
  /** Runs `task` in the next turn of the event loop. */
  nextTurn(task: () => void): void;
};

/**
 * Divides the time of the event loop among long work. All work of a process shares TURN_MS of each turn; when they are
 * used up, the rest waits, first in first out, and one waiting task continues in each turn. So n long reads at once
 * delay other requests no more than one does.
 */
export class TurnQueue {
  readonly #options: Options;
  readonly #waiting: { since: number; resume(): void }[] = [];
  /** When long work began in this turn; undefined while this turn has had none. */
  #beganAt: number | undefined;
  /** The mean duration of the turns in which long work waited. */
  #turnMs = 0;

  constructor(options: Options) {
    this.#options = options;
  }

  /** Returns undefined while this turn has time left, and otherwise a promise of a later turn. */
  pause(): Promise<void> | undefined {
    const now = this.#options.monotonic();
    if (this.#beganAt === undefined) this.#begin(now);
    return now - (this.#beganAt ?? now) < TURN_MS ? undefined : this.next();
  }

  /** Resolves in a later turn of the event loop, after the work that waits already. */
  next(): Promise<void> {
    const since = this.#options.monotonic();
    if (this.#beganAt === undefined) this.#begin(since);
    return new Promise((resume) => void this.#waiting.push({ since, resume }));
  }

  /**
   * Milliseconds that another task would wait, as far as is known: as long as the first one has waited, or a turn for each
   * task in the queue. Turns are long when the service is busy, so a short queue can be a long wait. 0 if none waits.
   */
  waitMs(): number {
    const [first] = this.#waiting;
    if (!first) return 0;
    const waited = this.#options.monotonic() - first.since;
    return Math.max(waited, this.#waiting.length * this.#turnMs);
  }

  #begin(now: number): void {
    this.#beganAt = now;
    this.#options.nextTurn(() => {
      this.#beganAt = undefined;
      const first = this.#waiting.shift();
      if (!first) return;
      const next = this.#options.monotonic();
      this.#turnMs += (next - now - this.#turnMs) * NEWEST_SHARE;
      this.#begin(next);
      first.resume();
    });
  }
}

export const eventLoopTurns = new TurnQueue({
  monotonic: () => performance.now(),
  nextTurn: (task) => void setImmediate(task),
});

/** Resolves in a later turn of the event loop. */
export const turn = (): Promise<void> => eventLoopTurns.next();

/** Calls `act` with each item, and lets other requests run whenever the long work of this turn has used up its time. */
export const inTurns = async <Item>(
  items: Iterable<Item>,
  act: (item: Item) => void,
  turns = eventLoopTurns,
): Promise<void> => {
  let count = 0;
  for (const item of items) {
    const pause = count % ITEMS_PER_CHECK === 0 ? turns.pause() : undefined;
    if (pause) await pause;
    act(item);
    count += 1;
  }
};

/** Sorting this many items takes about a millisecond. */
const RUN = 1_024;

/** Returns the items in order, equal ones as they were, and lets other requests run meanwhile as `inTurns` does. */
export const sortedInTurns = async <Item>(
  items: readonly Item[],
  compare: (a: Item, b: Item) => number,
  turns = eventLoopTurns,
): Promise<Item[]> => {
  let runs: Item[][] = [];
  for (let at = 0; at < items.length; at += RUN) {
    await turns.pause();
    runs.push(items.slice(at, at + RUN).sort(compare));
  }
  while (runs.length > 1) {
    const merged: Item[][] = [];
    for (let at = 0; at < runs.length; at += 2) {
      const [rest, next] = [runs[at] ?? [], runs[at + 1] ?? []];
      const both: Item[] = [];
      let taken = 0;
      await inTurns(
        next,
        (item) => {
          for (; taken < rest.length && compare(rest[taken] as Item, item) <= 0; taken += 1)
            both.push(rest[taken] as Item);
          both.push(item);
        },
        turns,
      );
      for (; taken < rest.length; taken += 1) both.push(rest[taken] as Item);
      merged.push(both);
    }
    runs = merged;
  }
  return runs[0] ?? [];
};

/** Compares texts by their code units. */
export const byText = (a: string, b: string): number => Number(a > b) - Number(a < b);

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

/** Number of runs whose results are stored; asking for an older one starts it again. */
const RUNS_MAX = 50;

type RunState = { done: boolean; failure?: string };

/**
 * Returns a function that starts a named run of long work on `name`, or answers how far it is when it was started before.
 * A run that starts while another one on the same name is active shares its state.
 */
export const runs = <State extends RunState>(
  initial: () => State,
  work: (name: string, state: State) => Promise<void>,
): ((name: string, run: string) => State) => {
  const byRun = new Map<string, State>();
  const active = new Map<string, State>();
  return (name, run) => {
    const id = `${name}/${run}`;
    const existing = byRun.get(id);
    if (existing) return existing;
    for (const oldest of byRun.keys()) {
      if (byRun.size < RUNS_MAX) break;
      byRun.delete(oldest);
    }
    const running = active.get(name);
    const state = running ?? initial();
    byRun.set(id, state);
    if (running) return state;
    active.set(name, state);
    work(name, state)
      .catch((error: unknown) => {
        state.failure = error instanceof Error ? error.message : String(error);
      })
      .finally(() => {
        state.done = true;
        active.delete(name);
      });
    return state;
  };
};

/**
 * Returns `make` with a cache of its results, for one that costs far more than a lookup. A full cache is emptied: at
 * most `max` results are stored, and none is when `make` throws.
 */
export const cached = <Key, Value extends {}>(
  max: number,
  make: (key: Key) => Value,
): ((key: Key) => Value) => {
  const values = new Map<Key, Value>();
  return (key) => {
    const stored = values.get(key);
    if (stored !== undefined) return stored;
    const made = make(key);
    if (values.size >= max) values.clear();
    values.set(key, made);
    return made;
  };
};
