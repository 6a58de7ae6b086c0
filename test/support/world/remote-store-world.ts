/** Engines of several processes over one remote store, all in memory; each part can fail at any time. */
import {
  type EngineOptions,
  type Engine,
  runProjections,
  remoteReadModels,
} from '#projections/engine/engine.ts';
import { verify } from '#projections/engine/operator.ts';
import type { Projection } from '#projections/projection.ts';
import { memoryEventLog } from '../memory-event-log.ts';
import { memoryStore } from '../memory-read-model.ts';
import type { EventLog, FoldEvent, SubscriptionItem } from '#src/ports/event-log.ts';
import {
  type ListQuery,
  type LocalStore,
  type ReadModels,
  type RemotePage,
  type RemoteStore,
  partitionOf,
} from '#src/ports/read-model.ts';
import { append, tally, type Tally } from './engine.ts';

/** Positions of a log with other records between the events, and with checkpoints after the last event. */
const STEP = 10;
const BEYOND = 5;
/** Each page of the store has fewer rows than most lists. */
const PART_ROWS = 2;
const NO_ROWS: RemotePage = { rows: [], isCut: false };

const spaced = (log: EventLog): EventLog => {
  const placed = (event: FoldEvent): FoldEvent => ({ ...event, position: event.position * STEP });
  const item = (received: SubscriptionItem): SubscriptionItem =>
    received.kind === 'events'
      ? { kind: 'events', events: received.events.map(placed) }
      : { ...received, position: received.position * STEP + BEYOND };
  return {
    ...log,
    async *subscribe({ after, signal }) {
      for await (const received of log.subscribe({ after: Math.floor(after / STEP), signal }))
        yield item(received);
    },
    readFold: async ({ after, limit }) =>
      (await log.readFold({ after: Math.floor(after / STEP), limit })).map(placed),
    async head() {
      const { position, at } = await log.head();
      return { position: position * STEP, at };
    },
  };
};

/** One process, whose calls of the store can be paused or lost. */
export type RemoteStoreProcess = {
  engine: Engine;
  readers: ReadModels;
  /** Its next calls of the store wait until `wake`. */
  pause(): void;
  wake(): void;
  /** No pending call reaches the store after this. */
  kill(): Promise<void>;
  /** Stops normally. */
  stop(): Promise<void>;
};

export const remoteStoreWorld = (
  projections: readonly Projection[] = [tally()],
  /** The delay of each call of the store, and of each page of the log. */
  delay: () => Promise<unknown> = async () => {},
) => {
  const log = spaced(memoryEventLog());
  const counts = new Map<string, number>();
  const processes = new Set<RemoteStoreProcess>();
  let held: LocalStore = memoryStore();
  let isAway = false;
  let readings = 0;

  const storeOf = (gate: () => Promise<void>): RemoteStore => {
    const call = async <T>(ask: (store: LocalStore) => Promise<T>): Promise<T> => {
      await gate();
      await delay();
      if (isAway) throw new Error('the store is unavailable');
      const answer = await ask(held);
      await delay();
      await gate();
      return answer;
    };
    const readLive = async <T>(name: string, scope: string, read: (space: string) => T, none: T) =>
      call(async (store) => {
        const space = store.live(name);
        if (space === null) return { space, checkpoint: undefined, value: none };
        const checkpoint = (await store.checkpoints(space))[partitionOf(scope)];
        return { space, checkpoint, value: read(space) };
      });
    const cutList = (space: string, query: ListQuery): RemotePage => {
      const rows = held.list(space, query);
      return { rows: rows.slice(0, PART_ROWS), isCut: rows.length > PART_ROWS };
    };
    return {
      checkpoints: (space) => call((store) => store.checkpoints(space)),
      load: async (space, keys, at) =>
        structuredClone(await call((store) => store.load(space, keys, at && [...at]))),
      commit: (space, batches) => call((store) => store.commit(space, structuredClone(batches))),
      digest: (space, partition) => call((store) => store.digest(space, partition)),
      partitionRows: (space, partition) => call((store) => store.partitionRows(space, partition)),
      count: (space) => call((store) => store.count(space)),
      spaces: (name) => call((store) => store.spaces(name)),
      goLive: (space) => call((store) => store.goLive(space)),
      drop: (space) => call((store) => store.drop(space)),
      flush: async () => {},
      close: async () => {},
      find: (name, scope, key) =>
        readLive(name, scope, (space) => held.peek(space, scope, key), undefined),
      page: (name, query) => readLive(name, query.scope, (space) => cutList(space, query), NO_ROWS),
      refresh: () => call(async () => {}),
    };
  };

  const start = async (options: Partial<EngineOptions> = {}): Promise<RemoteStoreProcess> => {
    let paused: Promise<void> | undefined;
    let wake = (): void => {};
    let isDead = false;
    const gate = async (): Promise<void> => {
      await paused;
      if (isDead) throw new Error('killed');
    };
    const counted: EventLog = {
      ...log,
      readFold: async (from) => {
        if (from.after === 0) readings += 1;
        await delay();
        return log.readFold(from);
      },
    };
    const store = storeOf(gate);
    const controller = new AbortController();
    const { signal } = controller;
    const run = { log: counted, store, projections, signal, recheckMs: 10, ...options };
    const engine = await runProjections(run);
    const stop = async (): Promise<void> => {
      wake();
      processes.delete(process);
      controller.abort();
      await engine.done;
    };
    const process: RemoteStoreProcess = {
      engine,
      readers: remoteReadModels(store, projections, engine),
      pause: () => void (paused = new Promise((resolve) => (wake = resolve))),
      wake: () => wake(),
      async kill() {
        isDead = true;
        await stop();
      },
      stop,
    };
    processes.add(process);
    return process;
  };

  const add = async (owner: string): Promise<number> => {
    counts.set(owner, (counts.get(owner) ?? 0) + 1);
    return (await append(log, owner)) * STEP;
  };

  /** Whether the answer includes all events of the owner; false if there is no answer now. */
  const isRight = async (
    { engine, readers }: RemoteStoreProcess,
    owner: string,
  ): Promise<boolean> => {
    if (engine.asOf().position < (await log.head()).position) return false;
    for (const { name } of projections) {
      const row = await readers.get<Tally>(name, owner, 'tally').catch(() => 'none' as const);
      if (row === 'none') return false;
      const wanted = counts.get(owner) ?? 0;
      if ((row?.count ?? 0) !== wanted)
        throw new Error(`${name} of ${owner} is ${row?.count}, not ${wanted}`);
    }
    return true;
  };

  return {
    log,
    start,
    add,
    isRight,
    /** The number of times that any process read the log from its start. */
    readings: () => readings,
    held: () => held,
    away: (is: boolean) => void (isAway = is),
    /** Empties the store, as a flush does. */
    lose: () => void (held = memoryStore()),
    mismatches: async () => (await verify({ log, store: held, projections })).mismatches,
    async end(): Promise<void> {
      isAway = false;
      for (const { stop } of processes) await stop();
      await log.close();
    },
  };
};

export type RemoteStoreWorld = ReturnType<typeof remoteStoreWorld>;
