import { liveOwnerOf } from '#contracts/spaces.ts';
import type { FoldEvent, Position } from '#src/ports/event-log.ts';
import { ReadModelRebuilding } from '#src/ports/read-model.ts';
import { EVERYBODY } from './settings.ts';
import { listing } from '#src/reading/listing.ts';
import { KeyedQueue } from '#src/shared/keyed-queue.ts';
import type { Scheduling } from './attempts.ts';
import type { Deps } from '#src/calls/call.ts';

type DispatcherDeps = Pick<Deps, 'log' | 'following' | 'readModels' | 'clock'> & Scheduling;

/** What a dispatcher does with the items of one kind. */
export type Work = {
  /** The read model of the items that are open, and the scope that has all of them; each row names its owner. */
  readModel: string;
  scope: string;
  /** The item that this event opens. */
  itemOf(event: FoldEvent): string | undefined;
  /** Names that open items can wait for, among what the event changes. */
  changedBy(event: FoldEvent): readonly (string | undefined)[];
  /** Types of events of an owner that concern all of its items. */
  ownerEvents: RegExp;
  /**
   * Does what is due. `next_at` is when to look again, in epoch milliseconds; absent if the item is at its end. `awaits`
   * are the names whose change is also a reason to look.
   */
  advance(
    owner: string,
    id: string,
    signal: AbortSignal,
  ): Promise<{ next_at?: number; awaits?: string[] }>;
};

const PAGE_ROWS = 500;
const FAULT_WAIT_MS = 5_000;
/** Together with the drain of requests, less than the 10 s in which a process has to stop. */
const GRACE_MS = 3_000;
const SENDS_MAX = 32;
/** The longest time that a timer of Node accepts. */
const TIMER_MS_MAX = 2_147_483_647;

/** An item that is open. `isQueued`: it waits in its owner's lane. `cancel`: stops its timer. */
type Entry = {
  owner: string;
  id: string;
  isQueued: boolean;
  awaits: readonly string[];
  cancel?: (() => void) | undefined;
};

/**
 * Runs at most SENDS_MAX tasks at once, and those of one owner one after the other, so that slow
 * receivers delay only their own owner.
 */
class Lanes {
  readonly #queue = new KeyedQueue();
  readonly #waiting: (() => void)[] = [];
  #free = SENDS_MAX;

  /** `task` does not throw. */
  run(owner: string, task: () => Promise<void>): void {
    void this.#queue.run(owner, () => this.#withSlot(task));
  }

  idle(): Promise<void> {
    return this.#queue.idle();
  }

  async #withSlot(task: () => Promise<void>): Promise<void> {
    if (this.#free === 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#free -= 1;
    try {
      await task();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free += 1;
    }
  }
}

/**
 * Advances items when they are due: at start those that are open, then as the log reports
 * changes. Several dispatchers on one log are safe: each attempt is written ahead, and only the
 * process whose append succeeds sends.
 */
export class Dispatcher {
  readonly #deps: DispatcherDeps;
  readonly #work: Work;
  readonly #stopping = new AbortController();
  readonly #stopped = Promise.withResolvers<void>();
  readonly #cutting = new AbortController();
  readonly #caughtUp = Promise.withResolvers<void>();
  readonly #open = new Map<string, Entry>();
  readonly #awaiting = new Map<string, Set<Entry>>();
  readonly #lanes = new Lanes();
  #started: Promise<void> = Promise.resolve();
  #running: Promise<void> = Promise.resolve();

  constructor(deps: DispatcherDeps, work: Work) {
    this.#deps = deps;
    this.#work = work;
  }

  /** Loads the open items, and follows the log from there. */
  start(): void {
    this.#started = this.#caughtUp.promise;
    this.#running = this.#run();
  }

  /** Resolves when nothing is in progress. An item that waits for its time is not in progress. */
  async idle(): Promise<void> {
    await Promise.race([this.#started, this.#stopped.promise]);
    await this.#lanes.idle();
  }

  /**
   * Starts nothing more, aborts deliveries after GRACE_MS, and resolves when all that is known of
   * them is recorded.
   */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#stopped.resolve();
    for (const { cancel } of this.#open.values()) cancel?.();
    const cancelCut = this.#deps.schedule(() => this.#cutting.abort(), GRACE_MS);
    await this.#lanes.idle();
    cancelCut();
    await this.#running;
  }

  async #run(): Promise<void> {
    let after = (await this.#retry(() => this.#loadOpen())) ?? 0;
    const { signal } = this.#stopping;
    await this.#retry(async () => {
      for await (const item of this.#deps.log.subscribe({ after, signal })) {
        if (item.kind === 'caughtUp') this.#caughtUp.resolve();
        if (item.kind !== 'events') continue;
        for (const event of item.events) this.#wakeFor(event);
        after = item.events.at(-1)?.position ?? after;
      }
    });
  }

  /** Runs `task` until it succeeds, with a pause after each error; undefined after `stop`. */
  async #retry<T>(task: () => Promise<T>): Promise<T | undefined> {
    while (!this.#stopping.signal.aborted)
      try {
        return await task();
      } catch (error) {
        this.#report(error);
        const pause = Promise.withResolvers<void>();
        const cancel = this.#deps.schedule(pause.resolve, FAULT_WAIT_MS);
        await Promise.race([pause.promise, this.#stopped.promise]);
        cancel();
      }
    return undefined;
  }

  /** A read model that is being filled delays items, and is reported elsewhere. */
  #report(error: unknown, entry?: Entry): void {
    if (!(error instanceof ReadModelRebuilding)) this.#deps.onFault(error, entry);
  }

  /** Wakes every item that is open as of the position that it returns, or of a later one. */
  async #loadOpen(): Promise<Position> {
    const { log, following, readModels } = this.#deps;
    const { position: head } = await log.head();
    await Promise.race([following.passed(head, Infinity), this.#stopped.promise]);
    const { position } = following.asOf();
    const { readModel, scope } = this.#work;
    const query = { scope, limit: PAGE_ROWS };
    for await (const page of listing<{ owner: string }>(readModels, readModel, query))
      for (const { row, key } of page) this.#wakeItem(row.owner, key);
    return position;
  }

  #wakeFor(event: FoldEvent): void {
    const { owner, type } = event;
    const id = this.#work.itemOf(event);
    if (id !== undefined) this.#wakeItem(owner, id);
    for (const name of this.#work.changedBy(event))
      for (const entry of this.#awaiting.get(name ?? '') ?? []) this.#wake(entry);
    if (!this.#work.ownerEvents.test(type)) return;
    for (const entry of this.#open.values())
      if (owner === EVERYBODY || owner === liveOwnerOf(entry.owner)) this.#wake(entry);
  }

  #wakeItem(owner: string, id: string): void {
    const entry = this.#open.get(id) ?? { owner, id, isQueued: false, awaits: [] };
    this.#open.set(id, entry);
    this.#wake(entry);
  }

  #wake(entry: Entry): void {
    entry.cancel?.();
    entry.cancel = undefined;
    if (entry.isQueued) return;
    entry.isQueued = true;
    this.#lanes.run(entry.owner, () => this.#advance(entry));
  }

  async #advance(entry: Entry): Promise<void> {
    entry.isQueued = false;
    if (this.#stopping.signal.aborted) return;
    const { owner, id } = entry;
    try {
      const advanced = await this.#work.advance(owner, id, this.#cutting.signal);
      const { next_at: next, awaits = [] } = advanced;
      // What it did not await may have changed meanwhile.
      if (this.#await(entry, awaits)) this.#wake(entry);
      else if (next !== undefined) this.#wait(entry, next);
      else if (!entry.isQueued) this.#open.delete(id);
    } catch (error) {
      this.#report(error, entry);
      this.#wait(entry, this.#deps.clock.now() + FAULT_WAIT_MS);
    }
  }

  /** Replaces the names that the item awaits; true if there is a new one. */
  #await(entry: Entry, awaits: readonly string[]): boolean {
    const before = entry.awaits;
    entry.awaits = awaits;
    for (const name of before) {
      const entries = this.#awaiting.get(name);
      entries?.delete(entry);
      if (entries?.size === 0) this.#awaiting.delete(name);
    }
    for (const name of awaits)
      this.#awaiting.set(name, (this.#awaiting.get(name) ?? new Set()).add(entry));
    return awaits.some((name) => !before.includes(name));
  }

  #wait(entry: Entry, at: number): void {
    if (entry.isQueued || this.#stopping.signal.aborted) return;
    const ms = at - this.#deps.clock.now();
    if (ms <= 0) this.#wake(entry);
    else entry.cancel = this.#deps.schedule(() => this.#wake(entry), Math.min(ms, TIMER_MS_MAX));
  }
}
