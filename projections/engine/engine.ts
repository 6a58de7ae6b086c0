/**
 * The engine: folds the log into the rows of a store, and performs what `target.ts` decides about its spaces. At the end, read
 * models as the application reads them, from this process or from a store that a projector fills.
 */
import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises';
import { PRODUCT_EVENTS } from '#contracts/registries/events.ts';
import type { Projection } from '#projections/projection.ts';
import { type OpeningCatalog, PoisonEvent } from '#src/ports/catalog.ts';
import type { EventLog, FoldEvent, Position, SubscriptionItem } from '#src/ports/event-log.ts';
import {
  type ProjectionStore,
  type Space,
  ALL_PARTITIONS,
  partitionOf,
  ReadModelParked,
  type ListedRow,
  type ListQuery,
  type LocalStore,
  ReadModelRebuilding,
  type ReadModels,
  type Row,
  type RemoteStore,
  PARTITIONS,
  type RemotePage,
  type RemoteRead,
} from '#src/ports/read-model.ts';
import { FillControl, FillMeter, type FillProgress, type MeasuredFill } from './fill-control.ts';
import { eventsUpTo, fill, type FillInThreads } from './fill.ts';
import {
  hasLostRows,
  type FoldContext,
  createRouter,
  type EventRouter,
  advance,
  Skips,
} from './fold.ts';
import { findParkedElsewhere, retryTargetOf } from './parked.ts';
import {
  type ParkedPartition,
  type Effect,
  type Observation,
  LIVE,
  nextLife,
  isLater,
  isOfVersion,
  spaceToFill,
  advanceCheckpoints,
  type FoldTarget,
  findLiveSpace,
  findObsolete,
  lowestPosition,
  openTarget,
  type Life,
  completeUpTo,
  requiredCheckpoint,
} from './target.ts';

const PRODUCT_TYPES: ReadonlySet<string> = new Set(PRODUCT_EVENTS);

/** Events per step of catching up. Rows wait for one step at most, so that revocations stay fast. */
const PAGE_EVENTS = 1_000;
/** A product costs fifty times as much as a row; requests get a turn after this many products. */
const EVENTS_PER_TURN = 100;

/**
 * Follows the log with the catalog, which has a store of its own, one partition and no spaces. The
 * loop does not wait for that store: events that it failed to store are read from the log again.
 */
class CatalogFollower {
  readonly version: number;
  readonly #catalog: OpeningCatalog;
  readonly #onParked: (parked: ParkedPartition) => void;
  readonly #onFault: (error: unknown) => void;
  #parked: { at: ParkedPartition; generation: number } | undefined;
  #confirmed: Position;
  #isInStep = false;
  #isFailing = false;

  constructor(
    catalog: OpeningCatalog,
    callbacks: { onParked(parked: ParkedPartition): void; onFault(error: unknown): void },
  ) {
    this.#catalog = catalog;
    this.version = catalog.version;
    this.#confirmed = catalog.checkpoint();
    this.#onParked = callbacks.onParked;
    this.#onFault = callbacks.onFault;
  }

  /** The event that the current build cannot fold, if any; another build tries it again. */
  get parked(): ParkedPartition | undefined {
    const isCurrent = this.#parked?.generation === this.#catalog.generation();
    return isCurrent ? this.#parked?.at : undefined;
  }

  /** Lets the next `catchUp` try the parked event again. */
  unpark(): void {
    this.#parked = undefined;
  }

  checkpoint(): Position {
    return this.#catalog.checkpoint();
  }

  /** Returns the position up to which nothing is pending: Infinity while in step, or parked. */
  reached(): Position {
    return this.parked || this.#keepsUp() ? Infinity : this.checkpoint();
  }

  /** Folds the next events of the loop; does nothing while the catalog is catching up. */
  async fold(events: readonly FoldEvent[], upTo: Position): Promise<void> {
    if (this.#keepsUp()) await this.#attempt(() => this.#foldPage(events, upTo));
  }

  /** Advances the checkpoint beyond events that are not about products. */
  async advanceCheckpoint(upTo: Position): Promise<void> {
    if (this.#keepsUp() && this.checkpoint() < upTo)
      await this.#attempt(() => this.#apply([], upTo));
  }

  /**
   * Reads and folds one page of pending events up to `upTo`. Returns true if there are more. After a
   * failure it does nothing unless `isRetry` is set, and nothing before the catalog is open.
   */
  async catchUp(
    log: Pick<EventLog, 'readFold'>,
    upTo: Position,
    isRetry: boolean,
  ): Promise<boolean> {
    if (this.#catalog.opening() || this.#keepsUp() || this.parked || (this.#isFailing && !isRetry))
      return false;
    this.#isInStep = false;
    const after = this.checkpoint();
    this.#confirmed = after;
    const events = after < upTo ? await log.readFold({ after, limit: PAGE_EVENTS }) : [];
    const to = Math.min(events.at(-1)?.position ?? after, upTo);
    const hasMore = events.length > 0 && to < upTo;
    await this.#attempt(async () => {
      await this.#foldPage(eventsUpTo(events, to), to);
      if (this.parked) return;
      if (!this.#isEmptied()) this.#apply([], to);
      this.#isInStep = !hasMore;
    });
    return hasMore && !this.#isFailing && !this.parked;
  }

  #isEmptied(): boolean {
    return this.checkpoint() < this.#confirmed;
  }

  #keepsUp(): boolean {
    return this.#isInStep && !this.#isEmptied();
  }

  async #attempt(work: () => Promise<void> | void): Promise<void> {
    try {
      await work();
      this.#isFailing = false;
    } catch (error) {
      this.#isInStep = false;
      this.#isFailing = true;
      this.#onFault(error);
    }
  }

  async #foldPage(events: readonly FoldEvent[], upTo: Position): Promise<void> {
    const confirmed = this.#confirmed;
    const pending = events.filter(
      ({ type, position }) => PRODUCT_TYPES.has(type) && position > confirmed,
    );
    for (let from = 0; from < pending.length && !this.parked; from += EVENTS_PER_TURN) {
      if (from > 0) await turn();
      if (this.#isEmptied()) return;
      const slice = pending.slice(from, from + EVENTS_PER_TURN);
      const isLast = from + EVENTS_PER_TURN >= pending.length;
      this.#apply(slice, isLast ? upTo : (slice.at(-1)?.position ?? upTo));
    }
  }

  #apply(events: readonly FoldEvent[], upTo: Position): void {
    try {
      this.#catalog.apply(events, upTo);
    } catch (error) {
      if (!(error instanceof PoisonEvent)) throw error;
      // The batch had no effect: repeats it event by event, up to the one that cannot be folded.
      this.#applyOneByOne(events);
    }
    this.#confirmed = this.checkpoint();
  }

  #applyOneByOne(events: readonly FoldEvent[]): void {
    for (const event of events) {
      try {
        this.#catalog.apply([event], event.position);
      } catch (error) {
        if (!(error instanceof PoisonEvent)) throw error;
        this.#park(event, error);
        return;
      }
    }
  }

  #park({ position, stream, type }: FoldEvent, { message }: PoisonEvent): void {
    this.#catalog.apply([], position - 1);
    const at = { partition: 0, position, stream, reason: `${type}: ${message}` };
    this.#parked = { at, generation: this.#catalog.generation() };
    this.#isInStep = false;
    this.#onParked(at);
  }
}

/** What the store reported about a space, and which checkpoints it had confirmed before. */
type SpaceInspection = {
  target: FoldTarget;
  live: Space | null;
  all: readonly Space[];
  /** Undefined in a process that folds nothing: it does not know what the store confirmed. */
  stored: readonly Position[] | undefined;
  confirmed: Position[];
};

/**
 * Inspects the store now, beside the loop. When an inspection is already running, another one
 * follows it, because the running one may have passed a space that is lost since.
 */
const recheck = (state: LoopState): void => {
  state.isInspectionDue = true;
  state.inspecting ??= inspectWhileDue(state);
};

const inspectWhileDue = async (state: LoopState): Promise<void> => {
  const { signal, onFault } = state.options;
  do {
    state.isInspectionDue = false;
    try {
      state.inspections = await inspectSpaces(state);
    } catch (error) {
      onFault?.(error);
    }
    state.wake();
  } while (state.isInspectionDue && !signal.aborted);
  state.inspecting = undefined;
};

/** Inspects one space after the other, so that folds need not wait. Throws when the store fails. */
const inspectSpaces = async ({ options: { store }, targets }: LoopState) => {
  const inspections: SpaceInspection[] = [];
  for (const target of targets) {
    const confirmed = [...target.checkpoints];
    const spaces = await store.spaces(target.projection.name);
    const stored = target.own.size > 0 ? await store.checkpoints(target.space) : undefined;
    inspections.push({ target, ...spaces, stored, confirmed });
  }
  return inspections;
};

/** Changes the life of a space, once the store has done what that needs. Returns the effect, which may be left to the loop. */
export const observe = async (
  target: Pick<FoldTarget, 'store' | 'space' | 'life'>,
  seen: Observation,
): Promise<Effect | undefined> => {
  const { life, effect } = nextLife(target.life, seen);
  if (effect === 'goLive') await target.store.goLive(target.space);
  if (effect === 'drop') await target.store.drop(target.space);
  target.life = life;
  return effect;
};

/** Called by the loop: acts on an inspection. Throws when the store fails. */
const actOn = async (state: LoopState, inspection: SpaceInspection): Promise<void> => {
  const { target, live, all, stored, confirmed } = inspection;
  const { projection, store, space, own, life } = target;
  // The loop removed or replaced it during the inspection.
  if (!state.targets.includes(target)) return;
  if (stored && hasLostRows(stored, { own, checkpoints: confirmed }))
    return markLost(state, target);
  const isLive = live === space;
  const newest = spaceToFill(all, projection);
  const isOvertaken =
    (isOfVersion(live, projection) && isLater(live, space)) || isLater(newest, space);
  const isAwaited = life.stage === 'awaiting' && !isLive && !isOvertaken;
  const checkpoints = isAwaited ? (stored ?? (await store.checkpoints(space))) : [];
  const effect = await observe(target, {
    is: 'inspected',
    isLive,
    isOvertaken,
    isFolded: stored !== undefined,
    lowest: Math.min(...checkpoints),
    now: performance.now(),
  });
  if (effect === 'advance') await advanceCheckpoints(target, state.idlePosition());
  // In a process that folds nothing there is nothing to fill.
  if (effect === 'follow' && isOfVersion(live, projection)) {
    state.spaces.delete(target);
    state.spaces.add({ ...target, space: live, life: LIVE });
  }
  if (target.life !== life || effect === 'follow') state.refresh();
};

/** Removes a space from the loop, because the store has less of it than it confirmed. */
const markLost = (state: LoopState, target: FoldTarget): void => {
  target.life = nextLife(target.life, { is: 'lost' }).life;
  // No position is reached until the remaining rows are known.
  target.checkpoints = target.checkpoints.map(() => 0);
  state.refresh();
};

const RECHECK_MS = 1_000;

/** What the engine reads and writes, and whom it notifies. */
export type EngineOptions = {
  log: EventLog;
  store: ProjectionStore;
  projections: readonly Projection[];
  catalog?: OpeningCatalog;
  /** Fills new spaces in other threads. */
  inThreads?: FillInThreads;
  /** Ends the run; the engine flushes the store first. */
  signal: AbortSignal;
  /** The projections are those of `skips.over`; the engine reads what is skipped, and follows it. */
  skips?: Skips;
  /** The partitions that this process folds; all by default. */
  partitions?: readonly number[];
  onParked?(projection: string, parked: ParkedPartition): void;
  /** Called when the log or the store fails; the engine retries until it answers. */
  onFault?(error: unknown): void;
  /** Called for each skipped event of a type that this version does not know. */
  onUnknownType?(event: FoldEvent): void;
  /** Maximum number of events in a batch. */
  batchEvents?: number;
  /** The engine advances the checkpoints of idle partitions after this many events. */
  checkpointEvents?: number;
  /** Lets operators pause and slow the fills; the loop never asks it. */
  fillControl?: FillControl;
  /** Interval at which the engine compares the store with the checkpoints it confirmed. */
  recheckMs?: number;
};

const RETRY_MS = 500;
/** Other workers find the new live space within one inspection; the others are for catching up. */
const BORROWED_INSPECTIONS = 3;
const STOPPED = 'the engine has stopped';

/**
 * Opens the live spaces to follow them, and starts to fill the others (a new version, a rebuild, a lost space) beside
 * the loop, which adopts each between two batches, so that no event is missed.
 */
const openSpaces = async (
  state: LoopState,
): Promise<{ head: Position; built: Promise<boolean> }> => {
  const { log, store, projections } = state.options;
  const head = await log.head();
  const unfilled: FoldTarget[] = [];
  for (const projection of projections) {
    const live = await findLiveSpace(store, projection, log);
    const { all } = await store.spaces(projection.name);
    const space = live ?? spaceToFill(all, projection);
    const isEmpty = live === undefined && head.position === 0;
    if (isEmpty) await store.goLive(space);
    const target = await openTarget(store, { projection, space, own: state.own });
    if (live === undefined && !isEmpty) unfilled.push(target);
    else {
      target.life = LIVE;
      state.spaces.add(target);
    }
  }
  state.refresh();
  const { targets } = state;
  state.position = targets.length > 0 ? lowestPosition(targets) : head.position;
  state.lastEventAt = head.at;
  state.lastEventPosition = state.position;
  // After the position is known, so that the loop meets each later decision, and before the first fold.
  await state.skips.read(log);
  const built = unfilled.length > 0 ? build(state, unfilled) : Promise.resolve(true);
  return { head: head.position, built };
};

/** Fills the lost spaces again: from their remaining rows, or in the space that is live now. */
const refillLost = async (state: LoopState): Promise<void> => {
  const { store } = state.options;
  const lost = state.inStage('lost');
  const targets: FoldTarget[] = [];
  for (const { projection } of lost) {
    const { live, all } = await store.spaces(projection.name);
    const space = isOfVersion(live, projection) ? live : spaceToFill(all, projection);
    const target = await openTarget(store, { projection, space, own: state.own });
    target.life = { stage: 'filling', isRead: space === live };
    targets.push(target);
  }
  for (const target of lost) state.spaces.delete(target);
  for (const target of targets) state.spaces.add(target);
  state.refresh();
  if (targets.length > 0) void build(state, targets);
};

/**
 * Fills the targets beside the loop and has the loop adopt them, then drops the spaces that they
 * replace. Returns false if the run ended first.
 */
const build = async (state: LoopState, targets: readonly FoldTarget[]): Promise<boolean> => {
  /** The loop has not adopted these yet; a retry fills only these. */
  const remaining = new Set(targets);
  const replaced = new Set<Space>();
  const isBuilt = await retryUntilDone(state, () => buildOnce(state, remaining, replaced));
  if (isBuilt)
    void retryUntilDone(state, async () => {
      for (const space of replaced) {
        await state.options.store.drop(space);
        replaced.delete(space);
      }
    });
  return isBuilt;
};

/** Returns false if the run ended before `work` succeeded. */
const retryUntilDone = async (state: LoopState, work: () => Promise<void>): Promise<boolean> => {
  const { signal, onFault } = state.options;
  while (!signal.aborted) {
    try {
      await work();
      return true;
    } catch (error) {
      if (signal.aborted) break;
      onFault?.(error);
      await pause(RETRY_MS, undefined, { ref: false, signal }).catch(() => {});
    }
  }
  return false;
};

const buildOnce = async (
  state: LoopState,
  remaining: Set<FoldTarget>,
  replaced: Set<Space>,
): Promise<void> => {
  const { log, store } = state.options;
  const targets = [...remaining];
  const head = (await log.head()).position;
  const onProgress = (position: Position): void => {
    for (const { projection, space } of targets)
      state.reportFill(projection.name, { space, position, head });
  };
  const { control, options, filling } = state;
  const { inThreads } = options;
  await control.run(() => fill({ ...filling, log, targets, inThreads, onProgress, control }));
  const adoptTarget = async (target: FoldTarget): Promise<void> => {
    const { projection, space } = target;
    const { live } = await store.spaces(projection.name);
    // A process that folds nothing must not decide which spaces are obsolete.
    const isReplacing = live !== space && state.own?.size !== 0;
    const obsolete = isReplacing ? await findObsolete(store, projection, [space, live]) : [];
    await adopt(state, target);
    remaining.delete(target);
    state.reportFill(projection.name, undefined);
    for (const other of obsolete) replaced.add(other);
  };
  await Promise.all(targets.map(adoptTarget));
};

/** Resolves when the loop follows the target. Rejects if the engine has stopped. */
const adopt = (state: LoopState, target: FoldTarget): Promise<void> =>
  new Promise((resolve, reject) => {
    if (state.isStopped) throw new Error(STOPPED);
    const settle = (error?: unknown): void => (error === undefined ? resolve() : reject(error));
    state.adoptions.push({ target, settle });
    state.wake();
  });

/**
 * Called by the loop: fills the targets up to its position, in one reading of the log, and follows them
 * from there.
 */
const adoptPending = async (state: LoopState): Promise<void> => {
  const { options, filling, position } = state;
  const adoptions = state.adoptions.splice(0);
  if (adoptions.length === 0) return;
  const targets = adoptions.map(({ target }) => target);
  const filled = fill({ ...filling, log: options.log, targets, upTo: position });
  for (const { target, settle } of adoptions)
    await filled.then((filledTo) => adoptNow(state, target, filledTo)).then(() => settle(), settle);
};

const adoptNow = async (
  state: LoopState,
  target: FoldTarget,
  filledTo: Position,
): Promise<void> => {
  const { recheckMs = RECHECK_MS } = state.options;
  const borrowedUntil = performance.now() + BORROWED_INSPECTIONS * recheckMs;
  await observe(target, {
    is: 'filled',
    // The position of the loop can be beyond the last event, where no fill stores a checkpoint.
    upTo: Math.min(filledTo, state.position),
    isWhole: target.own !== state.own,
    returnsAt: state.own ? borrowedUntil : Infinity,
  });
  for (const other of state.spaces)
    if (other.projection.name === target.projection.name) state.spaces.delete(other);
  state.spaces.add(target);
  state.refresh();
  // The fill may have begun before a skip was approved.
  if (target.parked.size > 0 && !state.skips.isEmpty) void retryTarget(state, target);
  recheck(state);
};

/**
 * Folds the parked partitions again from their checkpoints, of one read model or of all. Resolves when each has reached the
 * position of the loop or is parked again.
 */
const retryParked = async (state: LoopState, name: string | undefined): Promise<void> => {
  const isNamed = (other: string): boolean => name === undefined || name === other;
  const targets = state.targets.filter(({ projection }) => isNamed(projection.name));
  const retries = targets.map((target) => retryTarget(state, target));
  if (state.catalog?.parked && isNamed('catalog')) retries.push(retryCatalog(state));
  await Promise.all(retries);
};

const retryCatalog = (state: LoopState): Promise<void> =>
  new Promise((resolve) => {
    if (state.isStopped) return resolve();
    state.catalogRetries.push(resolve);
    state.wake();
  });

/** Fills the parked partitions beside the loop, one retry after the other, and has the loop join them. */
const retryTarget = (state: LoopState, target: FoldTarget): Promise<void> => {
  const retry = async (): Promise<void> => {
    if (target.parked.size === 0) return;
    await retryUntilDone(state, async () => {
      const part = await retryTargetOf(target);
      await fill({ ...state.filling, log: state.options.log, targets: [part] });
      await new Promise<void>((resolve, reject) => {
        if (state.isStopped) return resolve();
        const settle = (error?: unknown): void => (error === undefined ? resolve() : reject(error));
        state.retries.push({ target, part, settle });
        state.wake();
      });
    });
  };
  const running = (state.retrying.get(target) ?? Promise.resolve()).then(retry);
  state.retrying.set(target, running);
  return running;
};

/** Called by the loop: fills what was tried again up to its position, and follows it from there. */
const joinRetries = async (state: LoopState): Promise<void> => {
  const { options, filling, position } = state;
  for (const { target, part, settle } of state.retries.splice(0)) {
    // The loop removed or replaced it meanwhile.
    if (!state.targets.includes(target)) {
      settle();
      continue;
    }
    try {
      // The fill ends at once if the loop has not gone on.
      await fill({ ...filling, log: options.log, targets: [part], upTo: position });
      for (const partition of part.own) {
        target.checkpoints[partition] = part.checkpoints[partition] ?? 0;
        const parked = part.parked.get(partition);
        if (parked) target.parked.set(partition, parked);
        else target.parked.delete(partition);
      }
      settle();
    } catch (error) {
      settle(error);
    }
  }
};

/** The space of a read model that the loop follows, and the position up to which it is folded. */
export type FollowedTarget = { target: FoldTarget | undefined; position: Position };

type BetweenBatches = (followed: FollowedTarget) => Promise<void>;

/** Runs work in the loop between two batches, so that no checkpoint that this process advances moves meanwhile. */
const runBetweenBatches = (state: LoopState, name: string, work: BetweenBatches): Promise<void> =>
  new Promise((resolve, reject) => {
    if (state.isStopped) throw new Error(STOPPED);
    const run = async (): Promise<void> => {
      const isNamed = ({ projection }: FoldTarget): boolean => projection.name === name;
      const target = state.inStage('live').find(isNamed);
      await work({ target, position: state.idlePosition() }).then(resolve, reject);
    };
    state.works.push({ run, reject });
    state.wake();
  });

const rejectPending = (state: LoopState): void => {
  state.isStopped = true;
  for (const { reject } of state.works.splice(0)) reject(new Error(STOPPED));
  for (const { settle } of state.adoptions.splice(0)) settle(new Error(STOPPED));
  for (const { settle } of state.retries.splice(0)) settle();
  for (const settle of state.catalogRetries.splice(0)) settle();
};

type Waiter = { position: Position; settle: (isReached: boolean) => void };

/** Callers that wait for a position, in ascending order. Most of them wait for the newest one. */
class PositionWaiters {
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

/** Only a log whose positions are bytes has records that are no events. */
const REREAD_BYTES_MAX = 8_388_608;

/** What the loop follows, and its position. */
class LoopState {
  readonly options: EngineOptions;
  readonly catalog: CatalogFollower | undefined;
  readonly context: FoldContext;
  /** The same for fills, which repeat what the loop gives up. */
  readonly filling: FoldContext;
  readonly control: FillControl;
  /** The partitions that this process folds; undefined for all. */
  readonly own: ReadonlySet<number> | undefined;
  /** What this process follows or must fill again; call `refresh` after a change of the set or of a life. */
  readonly spaces = new Set<FoldTarget>();
  /** The spaces that the loop follows. */
  targets: readonly FoldTarget[] = [];
  /** Live spaces that must be filled again; until then no position beyond them is reached. */
  lagging: readonly FoldTarget[] = [];
  route: EventRouter = () => [];
  position: Position = 0;
  /** Epoch milliseconds of the last event. */
  lastEventAt: number | null = null;
  /** Position of the last event; `position` can be beyond it. */
  lastEventPosition: Position = 0;
  /** Events since the checkpoints of idle partitions were advanced. */
  eventsSinceAdvance = 0;
  isStopped = false;
  readonly adoptions: { target: FoldTarget; settle: (error?: unknown) => void }[] = [];
  readonly skips: Skips;
  /** Parked partitions that were filled again, for the loop to follow. */
  readonly retries: {
    target: FoldTarget;
    part: FoldTarget;
    settle: (error?: unknown) => void;
  }[] = [];
  readonly catalogRetries: (() => void)[] = [];
  /** The last retry of each target. */
  readonly retrying = new WeakMap<FoldTarget, Promise<void>>();
  /** What operators do between two batches. */
  readonly works: { run(): Promise<void>; reject(error: unknown): void }[] = [];
  /** Progress of fills, by projection. */
  readonly fills = new Map<string, FillMeter>();
  readonly waiters = new PositionWaiters(() => this.reached());
  readonly rowWaiters = new PositionWaiters(() => this.rowsReached());
  buffer: SubscriptionBuffer | undefined;
  /** Results of the last inspection of the store, for the loop to act on. */
  inspections: readonly SpaceInspection[] | undefined;
  inspecting: Promise<void> | undefined;
  isInspectionDue = false;

  constructor(options: EngineOptions, catalog: CatalogFollower | undefined) {
    const { signal, onParked, onFault, onUnknownType, partitions } = options;
    this.options = options;
    this.control = options.fillControl ?? new FillControl();
    this.catalog = catalog;
    this.skips = options.skips ?? new Skips();
    this.filling = { signal, onParked, onFault, onUnknownType };
    this.context = { ...this.filling, setsAside: true };
    this.own = partitions && new Set(partitions);
  }

  refresh(): void {
    this.targets = [...this.inStage('awaiting'), ...this.inStage('live')];
    this.lagging = [...this.spaces].filter(({ life }) => 'isRead' in life && life.isRead);
    this.route = createRouter(this.targets, this.context.onUnknownType);
  }

  inStage(stage: Life['stage']): FoldTarget[] {
    return [...this.spaces].filter(({ life }) => life.stage === stage);
  }

  /** Lets the loop run once without an event. */
  wake(): void {
    this.buffer?.wake();
  }

  reportFill(projection: string, progress: FillProgress | undefined): void {
    const meter = this.fills.get(projection);
    if (!progress) this.fills.delete(projection);
    else if (meter) meter.update(progress);
    else this.fills.set(projection, new FillMeter(progress));
  }

  /** Returns the position up to which every live space is folded, except parked partitions. */
  rowsReached(): Position {
    const { lagging, position } = this;
    return lagging.length > 0 ? Math.min(position, lowestPosition(lagging)) : position;
  }

  /** Returns the same, including the catalog. */
  reached(): Position {
    return Math.min(this.rowsReached(), this.catalog?.reached() ?? Infinity);
  }

  /**
   * Returns the position up to which idle partitions are advanced: the last event, because versions
   * that know no other records take a checkpoint beyond it for that of another log. After many other
   * records it is the position of the loop, so that a start does not read them all again.
   */
  idlePosition(): Position {
    const { position, lastEventPosition } = this;
    return position - lastEventPosition > REREAD_BYTES_MAX
      ? position
      : Math.min(position, lastEventPosition);
  }

  findTarget(projection: string): FoldTarget | undefined {
    const isNamed = (target: FoldTarget): boolean => target.projection.name === projection;
    return this.targets.find(isNamed) ?? this.lagging.find(isNamed);
  }
}

/** The items that arrived since the last call of `take`. */
type Arrivals = { events: FoldEvent[]; position: Position; isCaughtUp: boolean };

/**
 * Reads a subscription ahead of the folds: events that arrive during a fold form the next batch. A
 * slow store gets fewer and larger commits, and no queue builds up.
 */
export class SubscriptionBuffer {
  readonly #eventsMax: number;
  #arrivals: Arrivals = { events: [], position: 0, isCaughtUp: false };
  #isWoken = false;
  #isEnded = false;
  #isClosed = false;
  #failure: { error: unknown } | undefined;
  #wakeTaker = (): void => {};
  #wakeReader = (): void => {};

  /** The reader pauses while at least `eventsMax` events wait. */
  constructor(items: AsyncIterable<SubscriptionItem>, eventsMax: number) {
    this.#eventsMax = eventsMax;
    this.#read(items)
      .catch((error: unknown) => (this.#failure = { error }))
      .finally(() => {
        this.#isEnded = true;
        this.#wakeTaker();
      });
  }

  /** Waits for arrivals; returns none after `wake`, and undefined when the subscription ended. */
  async take(): Promise<Arrivals | undefined> {
    while (!this.#hasArrivals() && !this.#isWoken && !this.#isEnded)
      await new Promise<void>((resolve) => (this.#wakeTaker = resolve));
    // Checked before `#isWoken`, because wakes may never stop.
    if (this.#isEnded && !this.#hasArrivals()) {
      if (this.#failure) throw this.#failure.error;
      return undefined;
    }
    const arrivals = this.#arrivals;
    this.#arrivals = { events: [], position: 0, isCaughtUp: false };
    this.#isWoken = false;
    this.#wakeReader();
    return arrivals;
  }

  /** Lets `take` return without an event. */
  wake(): void {
    this.#isWoken = true;
    this.#wakeTaker();
  }

  /** Stops reading. */
  close(): void {
    this.#isClosed = true;
    this.#wakeReader();
  }

  async #read(items: AsyncIterable<SubscriptionItem>): Promise<void> {
    for await (const item of items) {
      this.#put(item);
      this.#wakeTaker();
      while (this.#arrivals.events.length >= this.#eventsMax && !this.#isClosed)
        await new Promise<void>((resolve) => (this.#wakeReader = resolve));
      if (this.#isClosed) return;
    }
  }

  #put(item: SubscriptionItem): void {
    const arrivals = this.#arrivals;
    if (item.kind === 'events') {
      // Copies events only when a second item joins the first one.
      arrivals.events =
        arrivals.events.length === 0 ? item.events : arrivals.events.concat(item.events);
      arrivals.isCaughtUp = false;
    } else if (item.kind === 'caughtUp') arrivals.isCaughtUp = true;
    const position = item.kind === 'events' ? item.events.at(-1)?.position : item.position;
    arrivals.position = Math.max(arrivals.position, position ?? 0);
  }

  #hasArrivals(): boolean {
    return this.#arrivals.isCaughtUp || this.#arrivals.position > 0;
  }
}

const BATCH_EVENTS = 4_000;
const CHECKPOINT_EVENTS = 10_000;

/** Reads, folds and maintains until the run ends; subscribes again when the log fails. */
const runLoop = async (state: LoopState): Promise<void> => {
  const { onFault, recheckMs } = state.options;
  const timer = setInterval(() => recheck(state), recheckMs ?? RECHECK_MS);
  timer.unref();
  // Done when the log is closed and sends no more events.
  await retryUntilDone(state, () => follow(state));
  clearInterval(timer);
  await state.inspecting;
  rejectPending(state);
  try {
    await advanceIdlePartitions(state);
    await state.options.store.flush();
  } catch (error) {
    onFault?.(error);
  }
  state.waiters.close();
  state.rowWaiters.close();
};

const follow = async (state: LoopState): Promise<void> => {
  const { log, signal, batchEvents } = state.options;
  const ended = new AbortController();
  const from = { after: state.position, signal: AbortSignal.any([signal, ended.signal]) };
  const buffer = new SubscriptionBuffer(log.subscribe(from), batchEvents ?? BATCH_EVENTS);
  state.buffer = buffer;
  try {
    for (let next = await buffer.take(); next; next = await buffer.take()) {
      await foldArrivals(state, next);
      await maintain(state);
      state.waiters.settleReached();
      state.rowWaiters.settleReached();
    }
  } finally {
    ended.abort();
    buffer.close();
  }
};

/** Folds one batch into all targets at once, so that a remote store costs one round trip. */
const foldArrivals = async (state: LoopState, arrivals: Arrivals): Promise<void> => {
  const { events, position, isCaughtUp } = arrivals;
  const { targets, context, options } = state;
  const last = events.at(-1);
  if (last) {
    const upTo = last.position;
    state.lastEventPosition = upTo;
    for (const name of state.skips.learn(events)) void retryParked(state, name);
    const routed = state.route(events);
    const outcomes = await Promise.all(
      targets.map((target, i) => advance(context, target, { events: routed[i] ?? [], upTo })),
    );
    await state.catalog?.fold(events, upTo);
    state.lastEventAt = last.at;
    for (const [i, target] of targets.entries())
      if (outcomes[i] === 'lost') markLost(state, target);
  }
  state.position = Math.max(state.position, position);
  // Counts a batch of records without an event as one.
  state.eventsSinceAdvance += Math.max(1, events.length);
  const limit = options.checkpointEvents ?? CHECKPOINT_EVENTS;
  if (state.eventsSinceAdvance >= (isCaughtUp ? limit / 10 : limit))
    await advanceIdlePartitions(state);
};

const advanceIdlePartitions = async (state: LoopState): Promise<void> => {
  const { targets, catalog } = state;
  const position = state.idlePosition();
  state.eventsSinceAdvance = 0;
  await Promise.all(targets.map((target) => advanceCheckpoints(target, position)));
  await catalog?.advanceCheckpoint(position);
};

/** Runs between two batches: adopts pending targets, and acts on the results of an inspection. */
const maintain = async (state: LoopState): Promise<void> => {
  const { log, onFault } = state.options;
  const { inspections } = state;
  state.inspections = undefined;
  await adoptPending(state);
  await joinRetries(state);
  const catalogRetries = state.catalogRetries.splice(0);
  if (catalogRetries.length > 0) state.catalog?.unpark();
  for (const { run } of state.works.splice(0)) await run();
  try {
    const isRetry = inspections !== undefined || catalogRetries.length > 0;
    if (await state.catalog?.catchUp(log, state.position, isRetry)) state.wake();
  } catch (error) {
    onFault?.(error);
  }
  // The parked event was the first one of the page.
  for (const settle of catalogRetries) settle();
  // After a loss waits for the inspection of the other spaces, so that one reading refills all.
  if (!inspections && state.inStage('lost').length === 0) return;
  try {
    for (const inspection of inspections ?? []) await actOn(state, inspection);
    await refillLost(state);
  } catch (error) {
    onFault?.(error);
  }
};

const DAY_MS = 86_400_000;

type Checked = Pick<EngineOptions, 'store' | 'projections' | 'partitions' | 'signal' | 'onFault'>;

/**
 * Reads every record of the live spaces once a day, so that damage is found that no reader meets. The store reports what is
 * damaged and removes it; the engine fills it again.
 */
const checkDaily = (options: Checked): void => {
  const { signal, onFault } = options;
  const timer = setInterval(
    () => void checkLive(options).catch((error: unknown) => onFault?.(error)),
    DAY_MS,
  ).unref();
  signal.addEventListener('abort', () => clearInterval(timer));
};

/** Checks one partition after the other, with a turn for other work between them. */
export const checkLive = async ({
  store,
  projections,
  partitions = ALL_PARTITIONS,
  signal,
}: Checked): Promise<void> => {
  for (const { name } of projections) {
    const { live } = await store.spaces(name);
    if (live === null) continue;
    for (const partition of partitions) {
      if (signal.aborted) return;
      // The store has reported the damage.
      await store.check?.(live, partition).catch(() => {});
      await turn();
    }
  }
};

export type ReadModelStatus = {
  name: string;
  version: number;
  /** The live space; null while the first build runs, and for the catalog. */
  space: Space | null;
  /** Every partition is folded up to here. */
  checkpoint: Position;
  /** Head of the log minus checkpoint: events where the log numbers them, bytes in EventStoreDB. */
  lagEvents: number;
  parked: ParkedPartition[];
  /** Number of events that it is folded without. */
  skipped: number;
  rebuilding?: MeasuredFill;
};

/** Returns the status of each read model, and of the catalog if there is one. */
const listStatuses = async (state: LoopState): Promise<ReadModelStatus[]> => {
  const position = state.rowsReached();
  const head = (await state.options.log.head()).position;
  const lagEvents = (checkpoint: Position): number => Math.max(0, head - checkpoint);
  const statuses = state.options.projections.map(({ name, version }): ReadModelStatus => {
    const rebuilding = state.fills.get(name)?.measure();
    const target = state.findTarget(name);
    const parked = [...(target?.parked.values() ?? [])];
    const parkedAt = parked.map(({ partition }) => target?.checkpoints[partition] ?? 0);
    // Without a target the first space is still being filled.
    const checkpoint = target ? Math.min(position, ...parkedAt) : (rebuilding?.position ?? 0);
    const space = target?.space ?? null;
    const skipped = state.skips.count(name);
    const status = { name, version, space, checkpoint, lagEvents: lagEvents(checkpoint), parked };
    return { ...status, skipped, ...(rebuilding && { rebuilding }) };
  });
  if (!state.catalog) return statuses;
  const { version, parked } = state.catalog;
  const checkpoint = parked
    ? state.catalog.checkpoint()
    : Math.min(position, state.catalog.reached());
  const skipped = state.skips.count('catalog');
  const catalog = { name: 'catalog', version, space: null, checkpoint, skipped };
  return [
    ...statuses,
    { ...catalog, lagEvents: lagEvents(checkpoint), parked: parked ? [parked] : [] },
  ];
};

export type Engine = {
  /** Resolves to true once every live read model has folded `position`, except parked partitions. */
  passed(position: Position, waitMs: number): Promise<boolean>;
  position(): Position;
  /** Returns the position of the read models, and the time of the last event up to it. */
  asOf(): { position: Position; at: number | null };
  /** Returns true while the store rejects writes: pending positions will not be reached soon. */
  isFailing(): boolean;
  status(): Promise<ReadModelStatus[]>;
  /**
   * Returns the checkpoint that rows of this scope need to reflect `asOf()`; undefined while the
   * engine follows no space of the projection. A remote store with a lower checkpoint lost rows, or
   * its projector is lagging.
   */
  requiredCheckpoint(projection: string, scope: string): Position | undefined;
  /**
   * Returns the position up to which the partition of this scope is complete if its stored
   * checkpoint is `at`; undefined if no event is pending.
   */
  completeUpTo(projection: string, scope: string, at: Position): Position | undefined;
  /**
   * Returns why the rows of this scope are not up to date and must not be shown, if they are not.
   * The next start of the engine tries the event again.
   */
  parkedFor(projection: string, scope: string): ParkedPartition | undefined;
  /** Finds the partitions that other processes fold and that are parked there, by folding their next event. */
  parkedElsewhere(): Promise<{ name: string; parked: ParkedPartition }[]>;
  /** Tries parked events again, of one read model or of all. Resolves when each partition follows the log or is parked again. */
  retryParked(projection?: string): Promise<void>;
  /** Adopts a filled space: it goes live, and the engine follows it from its position on. */
  adopt(target: FoldTarget): Promise<void>;
  /** Runs work on a live read model between two batches of the loop. Rejects if the engine has stopped. */
  betweenBatches(projection: string, work: BetweenBatches): Promise<void>;
  /** Shows the progress of a rebuild in the status. */
  reportFill(projection: string, progress: FillProgress | undefined): void;
  /** Inspects the store now instead of at the next interval. */
  recheck(): void;
  /**
   * Resolves to true once all read models are live and reach the head of the log at the start. Rejects with an error
   * of the catalog's file.
   */
  readonly ready: Promise<boolean>;
  /** Resolves when the run has ended and the store is flushed. */
  readonly done: Promise<void>;
};

/** The engine of a store in this process, which also follows the log with the catalog. */
export type LocalEngine = Engine & {
  /** `passed` without the catalog, so that its full disk does not delay credentials. */
  rowsPassed: Engine['passed'];
};

/** Follows the log with all projections through one subscription. */
export const runProjections = async (options: EngineOptions): Promise<LocalEngine> => {
  const { onParked, onFault } = options;
  const catalogFailed = Promise.withResolvers<true>();
  const catalog =
    options.catalog &&
    new CatalogFollower(options.catalog, {
      onParked: (parked) => onParked?.('catalog', parked),
      onFault: (error) => {
        catalogFailed.resolve(true);
        onFault?.(error);
      },
    });
  const state = new LoopState(options, catalog);
  const opened = options.catalog?.opened.then(() => {
    state.wake();
    return true;
  });
  const { head, built } = await openSpaces(state);
  checkDaily(options);
  const done = runLoop(state);
  const passed: Engine['passed'] = (position, waitMs) => state.waiters.wait(position, waitMs);
  const rowsPassed: Engine['passed'] = (position, waitMs) =>
    state.rowWaiters.wait(position, waitMs);

  return {
    passed,
    rowsPassed,
    ready: Promise.all([
      built,
      rowsPassed(head, Infinity),
      opened ?? true,
      // When its store fails, the catalog serves the products that it has.
      Promise.race([passed(head, Infinity), catalogFailed.promise]),
    ]).then((results) => results.every(Boolean)),
    position: () => state.reached(),
    asOf: () => ({ position: state.reached(), at: state.lastEventAt }),
    status: () => listStatuses(state),
    isFailing: () => state.context.isFailing === true,
    requiredCheckpoint(projection, scope) {
      const target = state.findTarget(projection);
      return target && requiredCheckpoint(target, partitionOf(scope));
    },
    completeUpTo(projection, scope, at) {
      const target = state.findTarget(projection);
      return target && completeUpTo(target, partitionOf(scope), at);
    },
    parkedFor: (projection, scope) => findParked(state, projection)?.get(partitionOf(scope)),
    parkedElsewhere: () => findParkedElsewhere(options.log, state.targets),
    retryParked: (projection) => retryParked(state, projection),
    adopt: (target) => adopt(state, target),
    betweenBatches: (name, work) => runBetweenBatches(state, name, work),
    reportFill: (projection, progress) => state.reportFill(projection, progress),
    recheck: () => recheck(state),
    done,
  };
};

/** Every read of a row calls this: compares names only where a partition is parked. */
const findParked = (
  { targets, lagging }: LoopState,
  name: string,
): FoldTarget['parked'] | undefined => {
  const isParked = ({ parked, projection }: FoldTarget): boolean =>
    parked.size > 0 && projection.name === name;
  return (targets.find(isParked) ?? lagging.find(isParked))?.parked;
};

const indexByName = (projections: readonly Projection[]): ((name: string) => Projection) => {
  const index = new Map(projections.map((projection) => [projection.name, projection]));
  return (name) => {
    const projection = index.get(name);
    if (!projection) throw new Error(`there is no read model ${name}`);
    return projection;
  };
};

/** Throws ReadModelParked. */
const requireUnparked = (engine: Pick<Engine, 'parkedFor'>, name: string, scope: string): void => {
  const parked = engine.parkedFor(name, scope);
  if (parked) throw new ReadModelParked(`${name} is parked before position ${parked.position}`);
};

/** A longer local listing gives other requests a turn of the event loop after every page, which is short where rows are large. */
const TURN_MS = 5;
const ROWS_AT_FIRST = 16;
const ROWS_PER_PAGE = 500;

/** Read models with a synchronous lookup, which authentication needs for every request. */
export type LocalReadModels = ReadModels & {
  /** Names the read models that have no live space of their version. */
  unreadable(): string[];
  peek<R extends Row>(name: string, scope: string, key: string): R | undefined;
};

/** Reads rows of a store in this process. Never reads a space of another version. */
export const localReadModels = (
  store: LocalStore,
  projections: readonly Projection[],
  engine: Pick<Engine, 'parkedFor'>,
): LocalReadModels => {
  const projectionOf = indexByName(projections);
  /** Spaces whose version was checked, so that names are parsed once and not for each row. */
  const checked = new Map<string, Space>();
  const requireLive = (name: string, scope: string): Space => {
    const space = store.live(name);
    if (space === null || checked.get(name) !== space) {
      if (!isOfVersion(space, projectionOf(name)))
        throw new ReadModelRebuilding(`${name} is being filled`);
      checked.set(name, space);
    }
    requireUnparked(engine, name, scope);
    return space;
  };
  const peek = <R extends Row>(name: string, scope: string, key: string) =>
    store.peek(requireLive(name, scope), scope, key) as R | undefined;
  return {
    peek,
    unreadable: () =>
      projections
        .filter((projection) => !isOfVersion(store.live(projection.name), projection))
        .map(({ name }) => name),
    get: async <R extends Row>(name: string, scope: string, key: string) =>
      peek<R>(name, scope, key),
    async list<R extends Row>(name: string, query: ListQuery) {
      const rows: ListedRow<R>[] = [];
      let startedAt = performance.now();
      // Pages of an ascending list would need another place to continue at, and no list of that kind is long.
      let size = query.isAscending ? query.limit : ROWS_AT_FIRST;
      for (let rest = query; ; ) {
        const limit = Math.min(query.limit - rows.length, size);
        const page = store.list(requireLive(name, query.scope), { ...rest, limit });
        rows.push(...(page as ListedRow<R>[]));
        const last = page.at(-1);
        if (!last || page.length < limit || rows.length >= query.limit) return rows;
        rest = { ...query, before: last.sort, beforeKey: last.key };
        const isLong = performance.now() - startedAt >= TURN_MS;
        size = isLong ? Math.max(1, Math.floor(size / 4)) : Math.min(ROWS_PER_PAGE, size * 8);
        if (!isLong) continue;
        await turn();
        startedAt = performance.now();
      }
    },
  };
};

/** What both engines do together; `adopt`, `reportFill` and rows belong to one of them. */
export type EnginePair = Pick<
  Engine,
  | 'passed'
  | 'position'
  | 'asOf'
  | 'isFailing'
  | 'status'
  | 'parkedElsewhere'
  | 'retryParked'
  | 'recheck'
  | 'done'
>;

/** Together with the refresh of the store, less than a request may wait for the remote store. */
const UNAVAILABLE_MS = 150;

export const pairEngines = (
  local: Engine,
  remote: Engine,
  store: Pick<RemoteStore, 'refresh'>,
): EnginePair => {
  let refreshing: Promise<void> | undefined;
  /** Callers share one refresh, because a lagging store is busy. */
  const refresh = (): Promise<void> =>
    (refreshing ??= store.refresh().finally(() => (refreshing = undefined)));

  /** Waits for a remote store that is lagging, but not for one that is unavailable. */
  const remotePassed: Engine['passed'] = async (position, waitMs) => {
    if (await remote.passed(position, Math.min(waitMs, UNAVAILABLE_MS))) return true;
    if (waitMs <= UNAVAILABLE_MS || remote.isFailing()) return false;
    try {
      await refresh();
    } catch {
      return false;
    }
    return remote.passed(position, waitMs - UNAVAILABLE_MS);
  };

  return {
    async passed(position, waitMs) {
      const both = [local.passed(position, waitMs), remotePassed(position, waitMs)];
      return (await Promise.all(both)).every(Boolean);
    },
    position: () => Math.min(local.position(), remote.position()),
    asOf: () => (local.position() < remote.position() ? local : remote).asOf(),
    isFailing: () => local.isFailing() || remote.isFailing(),
    status: async () => (await Promise.all([local.status(), remote.status()])).flat(),
    parkedElsewhere: () => remote.parkedElsewhere(),
    async retryParked(projection) {
      await Promise.all([local.retryParked(projection), remote.retryParked(projection)]);
    },
    recheck() {
      local.recheck();
      remote.recheck();
    },
    done: Promise.all([local.done, remote.done]).then(() => undefined),
  };
};

/**
 * Pairs read models in two stores: a local one in this process and a remote one across the network. Each store has an
 * engine of its own, because a loop waits for its store: an unavailable remote store must not delay the revocation of a
 * key.
 */
export const pairReadModels = (
  local: ReadModels,
  remote: ReadModels,
  isLocal: (projection: string) => boolean,
): ReadModels => {
  const modelsOf = (name: string): ReadModels => (isLocal(name) ? local : remote);
  return {
    get: <R extends Row>(name: string, scope: string, key: string) =>
      modelsOf(name).get<R>(name, scope, key),
    list: <R extends Row>(name: string, query: Parameters<ReadModels['list']>[1]) =>
      modelsOf(name).list<R>(name, query),
  };
};

/** Together with the limits of the store, less than the 250 ms that a request may wait for it. */
const LAGGING_MS_MAX = 60;
const LAGGING_MS_FIRST = 2;
/** An inspection costs hundreds of questions to the store; readers start one per interval. */
const OTHERS_RECHECK_MS = 100;

/** Lists rows that may not fit into one answer of the store. */
const joinPages = async (
  query: ListQuery,
  readPage: (query: ListQuery) => Promise<RemotePage>,
): Promise<ListedRow[]> => {
  const listed: ListedRow[] = [];
  for (let rest = query; ; ) {
    const { rows, isCut } = await readPage(rest);
    listed.push(...rows);
    const last = rows.at(-1);
    if (!isCut || !last) return listed;
    const limit = query.limit - listed.length;
    rest = { ...query, before: last.sort, beforeKey: last.key, limit };
  }
};

/**
 * Reads rows of a store across the network, in one round trip per question, or per page of a long
 * list. The engine knows the checkpoint that rows must have. Rows of a store with a lower checkpoint
 * (it was flushed, was restored, or its projector is lagging) are not shown; readers wait a moment
 * for it to catch up.
 * Required checkpoints never decrease, so that no client sees older rows than before.
 */
export const remoteReadModels = (
  store: RemoteStore,
  projections: readonly Projection[],
  engine: Pick<Engine, 'isFailing' | 'requiredCheckpoint' | 'parkedFor' | 'recheck'>,
): ReadModels => {
  const projectionOf = indexByName(projections);
  const highest = new Map<string, Position[]>();
  let recheckedAt = -Infinity;

  const requiredFor = (name: string, scope: string): Position => {
    const required = engine.requiredCheckpoint(name, scope);
    if (required === undefined) throw new ReadModelRebuilding(`${name} is being filled`);
    const positions = highest.get(name) ?? new Array<Position>(PARTITIONS).fill(0);
    highest.set(name, positions);
    const partition = partitionOf(scope);
    return (positions[partition] = Math.max(required, positions[partition] ?? 0));
  };

  const recheck = (): void => {
    if (performance.now() - recheckedAt < OTHERS_RECHECK_MS) return;
    recheckedAt = performance.now();
    engine.recheck();
  };

  const read = async <Value>(
    name: string,
    scope: string,
    ask: () => Promise<RemoteRead<Value>>,
  ): Promise<Value> => {
    const projection = projectionOf(name);
    requireUnparked(engine, name, scope);
    // A full store still answers, but without the events that it could not store.
    if (engine.isFailing()) throw new ReadModelRebuilding(`${name} cannot be written`);
    const required = requiredFor(name, scope);
    const deadline = performance.now() + LAGGING_MS_MAX;
    for (let wait = LAGGING_MS_FIRST; ; wait *= 2) {
      const { space, checkpoint, value } = await ask();
      if (isOfVersion(space, projection) && checkpoint !== undefined && checkpoint >= required)
        return value;
      recheck();
      const detail = `${name} is at ${checkpoint ?? 'nothing'}, not at ${required}`;
      if (performance.now() + wait > deadline) throw new ReadModelRebuilding(detail);
      await pause(wait);
      await store.refresh();
      if (performance.now() > deadline) throw new ReadModelRebuilding(detail);
    }
  };

  return {
    get: async <R extends Row>(name: string, scope: string, key: string) =>
      (await read(name, scope, () => store.find(name, scope, key))) as R | undefined,
    list: async <R extends Row>(name: string, query: ListQuery) =>
      (await joinPages(query, (rest) =>
        read(name, query.scope, () => store.page(name, rest)),
      )) as ListedRow<R>[],
  };
};
