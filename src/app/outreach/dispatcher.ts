import { liveOwnerOf } from '#contracts/spaces.ts';
import type { FoldEvent, Position } from '#src/ports/event-log.ts';
import { ReadModelRebuilding } from '#src/ports/read-model.ts';
import { OPEN_RECORDS, type OpenRow } from '#src/ports/rows.ts';
import type { Deps } from '../pipeline/deps.ts';
import { Refused } from '../pipeline/outcome.ts';
import { performAsSystem } from '../pipeline/system-pipeline.ts';
import { listing } from '../read-models/listing.ts';
import { KeyedQueue } from '../shared/keyed-queue.ts';
import { dispatchOutbound, type SendingDeps } from './sending.ts';
import { EVERYBODY } from './settings.ts';

export type DispatcherDeps = SendingDeps & Pick<Deps, 'following'>;

const OPERATIONS = { dispatchOutbound };
const PAGE_ROWS = 500;
const FAULT_WAIT_MS = 5_000;
/** Together with the drain of requests, less than the 10 s in which a process has to stop. */
const GRACE_MS = 3_000;
const SENDS_MAX = 32;
/** The longest time that a timer of Node accepts. */
const TIMER_MS_MAX = 2_147_483_647;

/** A request that is open. `isQueued`: it waits in its owner's lane. `cancel`: stops its timer. */
type Entry = { owner: string; id: string; isQueued: boolean; cancel?: (() => void) | undefined };

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
 * Sends approved requests when they are due: at start those that are open, then as the log reports
 * changes. Several dispatchers on one log are safe: each attempt is written ahead, and only the
 * process whose append succeeds sends.
 */
export class Dispatcher {
  readonly #deps: DispatcherDeps;
  readonly #perform: ReturnType<typeof performAsSystem<DispatcherDeps, typeof OPERATIONS>>;
  readonly #stopping = new AbortController();
  readonly #stopped = Promise.withResolvers<void>();
  readonly #cutting = new AbortController();
  readonly #caughtUp = Promise.withResolvers<void>();
  readonly #open = new Map<string, Entry>();
  readonly #lanes = new Lanes();
  #started: Promise<void> = Promise.resolve();
  #running: Promise<void> = Promise.resolve();

  constructor(deps: DispatcherDeps) {
    this.#deps = deps;
    this.#perform = performAsSystem(deps, OPERATIONS);
  }

  /** Loads the open requests, and follows the log from there. */
  start(): void {
    this.#started = this.#caughtUp.promise;
    this.#running = this.#run();
  }

  /** Resolves when nothing is in progress. A request that waits for its time is not in progress. */
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
        if (!(error instanceof ReadModelRebuilding)) this.#deps.onFault(error);
        const pause = Promise.withResolvers<void>();
        const cancel = this.#deps.schedule(pause.resolve, FAULT_WAIT_MS);
        await Promise.race([pause.promise, this.#stopped.promise]);
        cancel();
      }
    return undefined;
  }

  /** Wakes every request that is open as of the position that it returns, or of a later one. */
  async #loadOpen(): Promise<Position> {
    const { log, following, readModels } = this.#deps;
    const { position: head } = await log.head();
    await Promise.race([following.passed(head, Infinity), this.#stopped.promise]);
    const { position } = following.asOf();
    const query = { scope: OPEN_RECORDS, limit: PAGE_ROWS };
    for await (const page of listing<OpenRow>(readModels, 'open-outbound', query))
      for (const { row, key } of page) this.#wakeRequest(row.owner, key);
    return position;
  }

  #wakeFor({ owner, type, data }: FoldEvent): void {
    if (type.startsWith('Outbound'))
      this.#wakeRequest(owner, (data as { outbound_id: string }).outbound_id);
    if (!/^(Outreach|Agent)/.test(type)) return;
    for (const entry of this.#open.values())
      if (owner === EVERYBODY || owner === liveOwnerOf(entry.owner)) this.#wake(entry);
  }

  #wakeRequest(owner: string, id: string): void {
    const entry = this.#open.get(id) ?? { owner, id, isQueued: false };
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
      const { signal } = this.#cutting;
      const outcome = await this.#perform('dispatchOutbound', {
        ownerId: owner,
        signal,
        input: { outbound_id: id },
      });
      if (!outcome.ok) throw new Refused(outcome);
      const { next_at: next } = outcome.value;
      if (next !== undefined) this.#wait(entry, next);
      else if (!entry.isQueued) this.#open.delete(id);
    } catch (error) {
      this.#deps.onFault(error, entry);
      this.#wait(entry, this.#deps.clock.now() + FAULT_WAIT_MS);
    }
  }

  #wait(entry: Entry, at: number): void {
    if (entry.isQueued || this.#stopping.signal.aborted) return;
    const ms = at - this.#deps.clock.now();
    if (ms <= 0) this.#wake(entry);
    else entry.cancel = this.#deps.schedule(() => this.#wake(entry), Math.min(ms, TIMER_MS_MAX));
  }
}
