/** Sends what people have approved, when it is due: at start what is open, then as the log tells. */
import { liveOwnerOf } from '#contracts/spaces.ts';
import { ReadModelRebuilding } from '#src/ports/read-model.ts';
import type { FoldEvent, Position } from '#src/ports/event-log.ts';
import { OPEN_OUTBOUND, type OpenOutboundRow } from '#src/ports/rows.ts';
import type { Deps } from '../pipeline/deps.ts';
import { listing } from '../read-models/listing.ts';
import { lookAt, type SendingDeps } from './sending.ts';
import { EVERYBODY } from './settings.ts';

export type Dispatcher = {
  /** Takes up what is open, and follows the log from there. */
  start(): void;
  /** Resolves once nothing is under way. What waits for its time is not under way. */
  idle(): Promise<void>;
  /**
   * Takes up nothing more, gives what is being sent a moment, cuts it off then, and resolves when all
   * that is known of it is recorded.
   */
  stop(): Promise<void>;
};

export type DispatcherDeps = SendingDeps & Pick<Deps, 'following'>;

const PAGE_ROWS = 500;
const FAULT_WAIT_MS = 5_000;
/** Together with the drain of requests well within the 10 s that a process has to stop. */
const GRACE_MS = 3_000;
const SENDS_MAX = 32;
/** The longest time that a timer of Node takes. */
const TIMER_MS_MAX = 2_147_483_647;

type Open = { owner: string; id: string; isQueued: boolean; cancel?: (() => void) | undefined };

/** Owners by turns: what one's slow receivers hold up is that owner's own. At most SENDS_MAX at once. */
const lanes = () => {
  const last = new Map<string, Promise<void>>();
  const waiting: (() => void)[] = [];
  let free = SENDS_MAX;
  const turn = async (task: () => Promise<void>): Promise<void> => {
    if (free === 0) await new Promise<void>((resolve) => waiting.push(resolve));
    else free -= 1;
    try {
      await task();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else free += 1;
    }
  };
  return {
    /** `task` does not throw. */
    run(owner: string, task: () => Promise<void>): void {
      const before = last.get(owner) ?? Promise.resolve();
      const own = before
        .then(() => turn(task))
        .finally(() => {
          if (last.get(owner) === own) last.delete(owner);
        });
      last.set(owner, own);
    },
    async idle(): Promise<void> {
      while (last.size > 0) await Promise.all(last.values());
    },
  };
};

/** Several on one log are safe: each attempt is written ahead, and whoever's append wins sends. */
export const dispatcher = (deps: DispatcherDeps): Dispatcher => {
  const { clock, schedule, onFault } = deps;
  const stopping = new AbortController();
  const cutting = new AbortController();
  const open = new Map<string, Open>();
  const lane = lanes();
  let running: Promise<void> = Promise.resolve();
  let caughtUp = (): void => {};
  let started: Promise<void> = Promise.resolve();

  const look = async (entry: Open): Promise<void> => {
    entry.isQueued = false;
    if (stopping.signal.aborted) return;
    const { owner, id } = entry;
    try {
      const next = await lookAt(deps, { owner, id, signal: cutting.signal });
      if (next !== undefined) wait(entry, next);
      else if (!entry.isQueued) open.delete(id);
    } catch (error) {
      onFault(error, entry);
      wait(entry, clock.now() + FAULT_WAIT_MS);
    }
  };

  const wake = (entry: Open): void => {
    entry.cancel?.();
    entry.cancel = undefined;
    if (entry.isQueued) return;
    entry.isQueued = true;
    lane.run(entry.owner, () => look(entry));
  };

  const wait = (entry: Open, at: number): void => {
    if (entry.isQueued || stopping.signal.aborted) return;
    const ms = at - clock.now();
    if (ms <= 0) wake(entry);
    else entry.cancel = schedule(() => wake(entry), Math.min(ms, TIMER_MS_MAX));
  };

  const wakeRequest = (owner: string, id: string): void => {
    let entry = open.get(id);
    if (!entry) open.set(id, (entry = { owner, id, isQueued: false }));
    wake(entry);
  };

  const take = ({ owner, type, data }: FoldEvent): void => {
    if (type.startsWith('Outbound'))
      wakeRequest(owner, (data as { outbound_id: string }).outbound_id);
    if (!/^(Outreach|Agent)/.test(type)) return;
    for (const entry of open.values())
      if (owner === EVERYBODY || owner === liveOwnerOf(entry.owner)) wake(entry);
  };

  const stopped = new Promise<void>((resolve) => {
    stopping.signal.addEventListener('abort', () => resolve(), { once: true });
  });
  const pause = async (): Promise<void> => {
    let cancel = (): void => {};
    const over = new Promise<void>((resolve) => {
      cancel = schedule(resolve, FAULT_WAIT_MS);
    });
    await Promise.race([over, stopped]);
    cancel();
  };

  /** Everything open as of some position or later; answers the position. */
  const takeOpen = async (): Promise<Position> => {
    const { position: head } = await deps.log.head();
    await Promise.race([deps.following.passed(head, Infinity), stopped]);
    const { position } = deps.following.asOf();
    const query = { scope: OPEN_OUTBOUND, limit: PAGE_ROWS };
    for await (const page of listing<OpenOutboundRow>(deps.readModels, 'open-outbound', query))
      for (const { row, key } of page) wakeRequest(row.owner, key);
    return position;
  };

  const begin = async (): Promise<Position | undefined> => {
    while (!stopping.signal.aborted)
      try {
        return await takeOpen();
      } catch (error) {
        if (!(error instanceof ReadModelRebuilding)) onFault(error);
        await pause();
      }
    return undefined;
  };

  const follow = async (from: Position): Promise<void> => {
    let after = from;
    while (!stopping.signal.aborted)
      try {
        for await (const item of deps.log.subscribe({ after, signal: stopping.signal })) {
          if (item.kind === 'caughtUp') caughtUp();
          if (item.kind !== 'events') continue;
          for (const event of item.events) take(event);
          after = item.events.at(-1)?.position ?? after;
        }
        // The log has been closed: there is nothing more to come.
        return;
      } catch (error) {
        onFault(error);
        await pause();
      }
  };

  return {
    start() {
      started = new Promise((resolve) => {
        caughtUp = resolve;
      });
      running = begin().then((from) => (from === undefined ? undefined : follow(from)));
    },
    async idle() {
      await Promise.race([started, stopped]);
      await lane.idle();
    },
    async stop() {
      stopping.abort();
      for (const { cancel } of open.values()) cancel?.();
      const keep = schedule(() => cutting.abort(), GRACE_MS);
      await lane.idle();
      keep();
      await running;
    },
  };
};
