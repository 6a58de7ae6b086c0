/** Sends what is open when it is due. Outreach, push notifications and mail each run one. */
import { hash } from 'node:crypto';
import { liveOwnerOf } from '#contracts/spaces.ts';
import type { Deps } from '#src/calls/handlers.ts';
import type { Channel, DeliveryResult } from '#src/ports/delivery.ts';
import { type FoldEvent, type Position, LogUnavailable } from '#src/ports/event-log.ts';
import { ReadModelRebuilding } from '#src/ports/read-model.ts';
import { listing } from '#src/reading/lists.ts';
import type { SystemCall } from '#src/shared/call.ts';
import type { Decider } from '#src/shared/decider.ts';
import { HOUR_MS } from '#src/shared/time.ts';
import { KeyedQueue } from '#src/shared/work.ts';
import { decideAndAppend, issue } from '#src/writing/decide-and-append.ts';
import type { DomainEvent } from '#src/writing/streams.ts';
import { type AttemptState, isUnderWay, type OutcomeCommand } from './attempt.decider.ts';
import { EVERYBODY } from './settings.ts';

type DispatcherDeps = Pick<Deps, 'log' | 'following' | 'readModels' | 'clock'> & Scheduling;

/** What a dispatcher does with the items of one kind. */
export type Work = {
  /** The read model of the items that are open, and the scope that has all of them; each row names its owner. */
  readModel: string;
  scope: string;
  /** Types of the events of items. */
  itemEvents: RegExp;
  /** The item that an event of one of these types opens or changes. */
  itemOf(event: FoldEvent): string | undefined;
  /** Names that open items can wait for, among what the event changes; without it, items wait for no others. */
  changedBy?(event: FoldEvent): readonly (string | undefined)[];
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
/** Until what failed is tried again. */
export const FAULT_WAIT_MS = 5_000;
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
    const id = this.#work.itemEvents.test(type) ? this.#work.itemOf(event) : undefined;
    if (id !== undefined) this.#wakeItem(owner, id);
    for (const name of this.#work.changedBy?.(event) ?? [])
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

export type Scheduling = {
  /** Runs `task` after `ms`; the function that it returns cancels it. */
  schedule(task: () => void, ms: number): () => void;
  /** `item` is what waits because of the error, if there is one. */
  onFault(error: unknown, item?: { owner: string; id: string }): void;
};

/** Added to the channel's limit for the time between both events and for clock differences. */
const MARGIN_MS = 15_000;
/** Why an attempt without a recorded outcome is over. */
const SENDER_GONE: DeliveryResult = { outcome: 'unknown', reason: 'sender_gone' };
/** How long a channel that exceeds its own limit is awaited. */
const ANSWER_MARGIN_MS = 1_000;
const RECORD_TRIES = 3;
export const RECORD_WAIT_MS = 1_000;

/** The schedule that Standard Webhooks recommends: ten attempts over three days. */
const BACK_OFF_MS = [
  5_000,
  300_000,
  1_800_000,
  ...[2, 5, 10, 14, 20, 24].map((hours) => hours * HOUR_MS),
];
const JITTER = 0.2;

/** Wait after the attempt in milliseconds, up to a fifth longer than the schedule; undefined after the last. */
export const backOffMs = (id: string, attempt: number, retryAfterMs = 0): number | undefined => {
  const base = BACK_OFF_MS[attempt - 1];
  if (base === undefined) return undefined;
  // Derived from the id, so that every process computes the same jitter.
  const chance = Number.parseInt(hash('sha256', `${id}.${attempt}`).slice(0, 8), 16) / 2 ** 32;
  return Math.max(base * (1 + JITTER * chance), retryAfterMs);
};

/** One thing to send, as its stream had it at this look. */
export type Item<State, Command, ItemDeps = unknown> = {
  deps: Pick<Deps, 'log' | 'ids' | 'streamQueue' | 'clock'> & Scheduling & ItemDeps;
  call: SystemCall;
  /** The same at each attempt. */
  id: string;
  /** From then on nothing is sent; epoch milliseconds. */
  notAfter: number;
  stream: string;
  decider: Decider<State, Command | OutcomeCommand, DomainEvent, string>;
  state: State;
};

type Limits = Pick<Item<unknown, never>, 'deps' | 'id' | 'notAfter'>;

/** Ends without another attempt: failed, unless an earlier attempt may have succeeded. */
export const giveUp = (
  { attempts: attempt, uncertain }: Pick<AttemptState, 'attempts' | 'uncertain'>,
  reason: string,
): OutcomeCommand => ({ type: uncertain ? 'LoseTrack' : 'Fail', attempt, reason });

/** What the result of the last attempt means. `isRepeatable`: it is repeated also after an unknown outcome. */
const commandAfter = (
  result: DeliveryResult,
  state: AttemptState,
  { deps, id, notAfter, isRepeatable }: Limits & { isRepeatable: boolean },
): OutcomeCommand => {
  const now = deps.clock.now();
  const { attempts: attempt, attempted_at: attemptedAt = now } = state;
  if (result.outcome === 'delivered')
    return { type: 'Confirm', attempt, evidence: result.evidence };
  const { outcome, reason } = result;
  if (outcome === 'refused') return giveUp(state, reason);
  if (outcome === 'unknown' && !isRepeatable) return { type: 'LoseTrack', attempt, reason };
  const uncertain = state.uncertain === true || outcome === 'unknown';
  const wait = backOffMs(id, attempt, 'retryAfterMs' in result ? result.retryAfterMs : 0);
  // An abandoned attempt has waited since it began.
  const from = result === SENDER_GONE ? attemptedAt : now;
  const retry_at = wait === undefined ? Infinity : Math.max(now, Math.round(from + wait));
  if (retry_at >= notAfter) return giveUp({ ...state, uncertain }, `gave up: ${reason}`);
  return { type: 'Defer', attempt, reason, retry_at, ...(uncertain && { uncertain }) };
};

/** Look again at `wait`, in epoch milliseconds, or act now; `ok` is false if nothing was written. */
export type NextStep = { wait: number } | { act: () => Promise<{ ok: boolean }> };

/**
 * Does what is due now: waits for an attempt that is under way, records that its process is gone when its time is over, or
 * does what `nextStep` finds. `isRepeatable` tells whether an attempt whose process is gone is repeated. `next_at` is when to
 * look again, in epoch milliseconds; a time that is not in the future means at once. Throws when the log does.
 */
export const advanceItem = async <State extends AttemptState, Command>(
  item: Item<State, Command>,
  plan: { isRepeatable(): Promise<boolean> | boolean; nextStep(): Promise<NextStep> },
): Promise<{ next_at: number }> => {
  const { deps, state } = item;
  const { until = 0 } = state;
  const recover = async () => {
    const isRepeatable = await plan.isRepeatable();
    return record(item, commandAfter(SENDER_GONE, state, { ...item, isRepeatable }));
  };
  const underWay: NextStep = deps.clock.now() < until ? { wait: until } : { act: recover };
  const step = isUnderWay(state) ? underWay : await plan.nextStep();
  if ('wait' in step) return { next_at: step.wait };
  const { ok } = await step.act();
  // If another process was faster, the next look sees its events; the wait prevents a busy loop.
  return { next_at: deps.clock.now() + (ok ? 0 : RECORD_WAIT_MS) };
};

/** How an attempt is made. */
type Plan<State, Command, Delivery> = {
  channel: Channel<Delivery>;
  /** Makes the command from the state that the stream has when the attempt is stored. */
  dispatch(times: { at: number; until: number }, state: State | undefined): Command;
  /** Makes what is sent, once the attempt is stored; or a result without effect, if it must not be sent any more. */
  prepare(state: State): Promise<Delivery | DeliveryResult>;
  /** Whether it is repeated after an unknown outcome. */
  isRepeatable(state: State): boolean;
};

/**
 * Stores the attempt, makes it, and records its outcome. Only the process whose append succeeds sends; the others get the
 * rejection.
 */
export const attempt = async <State extends AttemptState, Command, Delivery extends object>(
  item: Item<State, Command>,
  { channel, dispatch, prepare, isRepeatable }: Plan<State, Command, Delivery>,
) => {
  const { deps, call, stream, decider } = item;
  const at = deps.clock.now();
  const times = { at, until: at + channel.limitMs + MARGIN_MS };
  const command = (state: State | undefined) => issue(dispatch(times, state));
  const written = await decideAndAppend(deps, { ...call, at }, { stream, decider, command });
  if (!written.ok) return written;
  const { state } = written;
  const delivery = await prepareInTime(item, at, () => prepare(state));
  const result =
    'outcome' in delivery ? delivery : await deliver(deps, channel, delivery, call.signal);
  const limits = { ...item, isRepeatable: isRepeatable(state) };
  await record(item, commandAfter(result, state, limits));
  return { ...written, result };
};

/** Answers a result without effect if the preparation fails, or if it ends too late after `at` for a delivery. */
const prepareInTime = async <Delivery extends object>(
  { deps, call, id }: Pick<Item<unknown, never>, 'deps' | 'call' | 'id'>,
  at: number,
  prepare: () => Promise<Delivery | DeliveryResult>,
): Promise<Delivery | DeliveryResult> => {
  try {
    const delivery = await prepare();
    const isLate = deps.clock.now() > at + MARGIN_MS / 2;
    return isLate && !('outcome' in delivery) ? { outcome: 'retry', reason: 'late' } : delivery;
  } catch (error) {
    deps.onFault(error, { owner: call.ownerId, id });
    return { outcome: 'retry', reason: 'log_unavailable' };
  }
};

/** Delivers, and answers an unknown outcome when the adapter throws or exceeds its time limit. */
const deliver = async <Delivery>(
  { schedule, onFault }: Scheduling,
  channel: Channel<Delivery>,
  delivery: Delivery,
  signal: AbortSignal,
): Promise<DeliveryResult> => {
  const limit = new AbortController();
  const overdue = Promise.withResolvers<DeliveryResult>();
  const endWait = () => overdue.resolve({ outcome: 'unknown', reason: 'timeout' });
  const timers = [
    schedule(() => limit.abort(), channel.limitMs),
    schedule(endWait, channel.limitMs + ANSWER_MARGIN_MS),
  ];
  try {
    const answer = channel.deliver(delivery, AbortSignal.any([signal, limit.signal]));
    return await Promise.race([answer, overdue.promise]);
  } catch (error) {
    onFault(error);
    return { outcome: 'unknown', reason: 'channel_fault' };
  } finally {
    for (const cancel of timers) cancel();
  }
};

/**
 * Writes what is known now, and tries again while the log is unavailable: the decider must not accept twice an event that
 * an earlier try has stored.
 */
export const record = async <State, Command>(
  { deps, call, stream, decider }: Item<State, Command>,
  outcome: Command | OutcomeCommand,
) => {
  const execution = { stream, decider, command: () => issue(outcome) };
  for (let tries = 1; ; tries += 1) {
    try {
      return await decideAndAppend(deps, { ...call, at: deps.clock.now() }, execution);
    } catch (error) {
      const isFinal = !(error instanceof LogUnavailable) || error.reason === 'closed';
      if (isFinal || tries === RECORD_TRIES) throw error;
      await new Promise<void>((resolve) => deps.schedule(resolve, RECORD_WAIT_MS));
    }
  }
};
