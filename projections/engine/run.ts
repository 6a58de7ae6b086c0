import { setTimeout as pause } from 'node:timers/promises';
import type { Position } from '#src/ports/event-log.ts';
import { partitionOf } from '#src/ports/read-model.ts';
import { adopt } from './adoption.ts';
import { catalogFollower } from './catalog-follower.ts';
import { type Look, lookAt } from './checking.ts';
import { foldMail, settle, startFollowing, stopFollowing } from './follower.ts';
import { following, type Following, reached, rowsReached } from './following.ts';
import { mailbox, type Mailbox } from './mailbox.ts';
import { RECHECK_MS, type RunOptions } from './run-options.ts';
import type { Progress, ProjectionStatus } from './status.ts';
import { catalogStatus, targetStatus, unbornStatus } from './status.ts';
import { foldedUpTo, owed, type Parked, type Target } from './target.ts';
import { waiters } from './waiters.ts';

export type Engine = {
  /** True once every live read model that is not parked has folded up to `position`. */
  passed(position: Position, waitMs: number): Promise<boolean>;
  position(): Position;
  /** Where the read models stand, and the time of the last event there. */
  asOf(): { position: Position; at: number | null };
  /** The store takes nothing now: what has not passed will not pass soon. */
  failing(): boolean;
  status(): Promise<ProjectionStatus[]>;
  /**
   * How far rows of this scope must be folded to be as of `asOf()`; undefined while no space of the
   * projection is followed. A store far away that has less has lost it, or its projector is behind.
   */
  owed(projection: string, scope: string): Position | undefined;
  /**
   * Up to where the partition of this scope owes nothing, when the store has folded it up to `at`;
   * undefined when it owes nothing at all.
   */
  foldedUpTo(projection: string, scope: string, at: Position): Position | undefined;
  /**
   * Why the rows of this scope are not up to date, if they are not: they are shown to nobody then.
   * The next start tries again.
   */
  parkedFor(projection: string, scope: string): Parked | undefined;
  /** Takes a filled space over without a gap: from then on it is live and followed. */
  adopt(target: Target): Promise<void>;
  /** Shows in the status how far a rebuild is. */
  progress(projection: string, progress: Progress | undefined): void;
  /** Looks now for what the store has lost, instead of at the next interval. */
  recheck(): void;
  /** True once all read models answer, and have what the log had at the start. */
  readonly ready: Promise<boolean>;
  /** Resolves when the run has ended and all is flushed. */
  readonly done: Promise<void>;
};

/** Of a store in this process, which the catalog is beside. */
export type NearEngine = Engine & {
  /** The same without the catalog: one whose disk is full keeps no key from being known. */
  rowsPassed: Engine['passed'];
};

const BATCH_EVENTS = 4_000;
const RETRY_MS = 500;

/** Follows the log with every projection, one reader for all. */
export const runProjections = async (options: RunOptions): Promise<NearEngine> => {
  const { catalog: index, ...rest } = options;
  const { onParked, onFault } = options;
  const rebuilding = new Map<string, Progress>();
  const progress = (name: string, now: Progress | undefined): void => {
    if (now) rebuilding.set(name, now);
    else rebuilding.delete(name);
  };
  const hindered = Promise.withResolvers<true>();
  const catalog =
    index &&
    catalogFollower(index, {
      onParked: (parked) => onParked?.('catalog', parked),
      onFault: (error) => {
        hindered.resolve(true);
        onFault?.(error);
      },
    });
  const wake = (): void => loop.wake();
  const recheck = (): void => loop.recheck();
  const state = following({ ...rest, ...(catalog && { catalog }), progress, wake, recheck });
  const loop = followLoop(state);
  const { head, built } = await startFollowing(state);
  const done = loop.run();
  const targetOf = (name: string): Target | undefined =>
    [...state.targets, ...state.late].find(({ projection }) => projection.name === name);

  return {
    passed: loop.passed,
    rowsPassed: loop.rowsPassed,
    ready: Promise.all([
      built,
      loop.rowsPassed(head, Infinity),
      // What the catalog has is served also where its disk has no room for the rest.
      Promise.race([loop.passed(head, Infinity), hindered.promise]),
    ]).then((all) => all.every(Boolean)),
    position: () => reached(state),
    asOf: () => ({ position: reached(state), at: state.at }),
    status: async () => {
      const at = { position: rowsReached(state), head: (await options.log.head()).position };
      const found = options.projections.map((projection) => {
        const progress = rebuilding.get(projection.name);
        const target = targetOf(projection.name);
        return target ? targetStatus(target, at, progress) : unbornStatus(projection, at, progress);
      });
      return catalog ? [...found, catalogStatus(catalog, at)] : found;
    },
    failing: () => state.folding.failing === true,
    owed: (projection, scope) => {
      const target = targetOf(projection);
      return target && owed(target, partitionOf(scope));
    },
    foldedUpTo: (projection, scope, at) => {
      const target = targetOf(projection);
      return target && foldedUpTo(target, partitionOf(scope), at);
    },
    parkedFor: (projection, scope) => {
      const parked = parkedIn(state.targets, projection) ?? parkedIn([...state.late], projection);
      return parked?.get(partitionOf(scope));
    },
    adopt: (target) => adopt(state, target),
    progress,
    recheck: loop.recheck,
    done,
  };
};

/** Every read of a row asks: names are compared where something is parked only. */
const parkedIn = (targets: readonly Target[], name: string): Target['parked'] | undefined => {
  for (const { parked, projection } of targets)
    if (parked.size > 0 && projection.name === name) return parked;
  return undefined;
};

/** Asks the store beside the loop, which folds on meanwhile; what is found is the loop's to act on. */
const lookout = (state: Following, wake: () => void) => {
  const { store, signal, onFault } = state.options;
  let found: readonly Look[] | undefined;
  let isAskedAgain = false;
  let looking: Promise<void> | undefined;

  const look = async (): Promise<void> => {
    do {
      isAskedAgain = false;
      try {
        found = await lookAt(store, state.targets);
      } catch (error) {
        onFault?.(error);
      }
      wake();
    } while (isAskedAgain && !signal.aborted);
    looking = undefined;
  };

  return {
    look(): void {
      // What is lost from now on, the one under way may have passed already.
      isAskedAgain = true;
      looking ??= look();
    },
    take(): readonly Look[] | undefined {
      const taken = found;
      found = undefined;
      return taken;
    },
    ended: async () => looking,
  };
};

/** Those who wait until something has come to a position. */
const waitingFor = (state: Following, now: (state: Following) => Position) => {
  const { wait, reached: settle, close } = waiters();
  return {
    passed: async (position: Position, waitMs: number): Promise<boolean> => {
      if (position <= now(state)) return true;
      return waitMs > 0 && !state.stopped && wait(position, waitMs);
    },
    look: () => settle(now(state)),
    close,
  };
};

/** Reads, folds, settles; begins again where it stood when the log breaks off. */
const followLoop = (state: Following) => {
  const { log, signal, onFault, batchEvents, recheckMs } = state.options;
  const forAll = waitingFor(state, reached);
  const forRows = waitingFor(state, rowsReached);
  let box: Mailbox | undefined;
  const wake = (): void => box?.poke();
  const looks = lookout(state, wake);

  const follow = async (): Promise<void> => {
    const ended = new AbortController();
    const from = { after: state.position, signal: AbortSignal.any([signal, ended.signal]) };
    const mails = mailbox(log.subscribe(from), batchEvents ?? BATCH_EVENTS);
    box = mails;
    try {
      for (let mail = await mails.take(); mail; mail = await mails.take()) {
        await foldMail(state, mail);
        await settle(state, looks.take());
        forAll.look();
        forRows.look();
      }
    } finally {
      ended.abort();
      mails.close();
    }
  };

  return {
    recheck: looks.look,
    wake,
    passed: forAll.passed,
    rowsPassed: forRows.passed,
    run: async (): Promise<void> => {
      const timer = setInterval(looks.look, recheckMs ?? RECHECK_MS);
      timer.unref();
      while (!signal.aborted) {
        try {
          await follow();
          // The log has been closed: there is nothing more to come.
          break;
        } catch (error) {
          if (signal.aborted) break;
          onFault?.(error);
          await pause(RETRY_MS, undefined, { ref: false, signal }).catch(() => {});
        }
      }
      clearInterval(timer);
      await looks.ended();
      await stopFollowing(state).catch((error: unknown) => onFault?.(error));
      forAll.close();
      forRows.close();
    },
  };
};
