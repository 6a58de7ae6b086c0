/** Engines of several processes over one far store, all in memory: any of it may fail at any time. */
import type { EngineOptions } from '#projections/engine/options.ts';
import { type Engine, runProjections } from '#projections/engine/engine.ts';
import { remoteReadModels } from '#projections/engine/readers.ts';
import { verify } from '#projections/engine/verify.ts';
import type { Projection } from '#projections/projection.ts';
import { memoryEventLog } from '#src/adapters/memory/event-log.ts';
import { memoryStore } from '#src/adapters/memory/read-model.ts';
import type { EventLog, FoldEvent, SubscriptionItem } from '#src/ports/event-log.ts';
import type { LocalStore, ReadModels, RemoteStore } from '#src/ports/read-model.ts';
import { partitionOf } from '#src/ports/read-model.ts';
import { append, tally, type Tally } from './engine.ts';

/** Positions of a log that keeps records of its own between ours, and checkpoints behind the last. */
const STEP = 10;
const BEYOND = 5;

const spaced = (log: EventLog): EventLog => {
  const placed = (event: FoldEvent): FoldEvent => ({ ...event, position: event.position * STEP });
  const item = (said: SubscriptionItem): SubscriptionItem =>
    said.kind === 'events'
      ? { kind: 'events', events: said.events.map(placed) }
      : { ...said, position: said.position * STEP + BEYOND };
  return {
    ...log,
    async *subscribe({ after, signal }) {
      for await (const said of log.subscribe({ after: Math.floor(after / STEP), signal }))
        yield item(said);
    },
    readFold: async ({ after, limit }) =>
      (await log.readFold({ after: Math.floor(after / STEP), limit })).map(placed),
    async head() {
      const { position, at } = await log.head();
      return { position: position * STEP, at };
    },
  };
};

/** One process: what it does to the store stops, fails or is lost as it is told. */
export type FarProcess = {
  engine: Engine;
  readers: ReadModels;
  /** Its next questions to the store wait until it is woken. */
  pause(): void;
  wake(): void;
  /** Nothing that it has begun reaches the store any more. */
  kill(): Promise<void>;
  /** As when it is told to end. */
  stop(): Promise<void>;
};

export const farWorld = (
  projections: readonly Projection[] = [tally()],
  /** How long the store takes for a question, and the log for a page. */
  delay: () => Promise<unknown> = async () => {},
) => {
  const log = spaced(memoryEventLog());
  const counts = new Map<string, number>();
  const processes = new Set<FarProcess>();
  let held: LocalStore = memoryStore();
  let isAway = false;
  let readings = 0;

  const storeOf = (gate: () => Promise<void>): RemoteStore => {
    const asked = async <T>(ask: (store: LocalStore) => Promise<T>): Promise<T> => {
      await gate();
      await delay();
      if (isAway) throw new Error('the store is away');
      const answer = await ask(held);
      await delay();
      await gate();
      return answer;
    };
    const found = async <T>(name: string, scope: string, read: (space: string) => T, none: T) =>
      asked(async (store) => {
        const space = store.live(name);
        if (space === null) return { space, checkpoint: undefined, value: none };
        const checkpoint = (await store.checkpoints(space))[partitionOf(scope)];
        return { space, checkpoint, value: read(space) };
      });
    return {
      checkpoints: (space) => asked((store) => store.checkpoints(space)),
      load: async (space, keys, at) =>
        structuredClone(await asked((store) => store.load(space, keys, at && [...at]))),
      commit: (space, batches) => asked((store) => store.commit(space, structuredClone(batches))),
      digest: (space, partition) => asked((store) => store.digest(space, partition)),
      count: (space) => asked((store) => store.count(space)),
      spaces: (name) => asked((store) => store.spaces(name)),
      goLive: (name, space) => asked((store) => store.goLive(name, space)),
      drop: (space) => asked((store) => store.drop(space)),
      flush: async () => {},
      close: async () => {},
      find: (name, scope, key) =>
        found(name, scope, (space) => held.peek(space, scope, key), undefined),
      page: (name, query) => found(name, query.scope, (space) => held.list(space, query), []),
      refresh: () => asked(async () => {}),
    };
  };

  const start = async (options: Partial<EngineOptions> = {}): Promise<FarProcess> => {
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
    const process: FarProcess = {
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

  /** Is everything that happened to the owner answered? False when there is no answer now. */
  const isRight = async ({ engine, readers }: FarProcess, owner: string): Promise<boolean> => {
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
    /** How often the log was read from its start, in all processes. */
    readings: () => readings,
    held: () => held,
    away: (is: boolean) => void (isAway = is),
    /** All of it is gone, as after a flush. */
    lose: () => void (held = memoryStore()),
    mismatches: async () =>
      (await verify({ log, store: held, projections, fresh: memoryStore() })).mismatches,
    async end(): Promise<void> {
      isAway = false;
      for (const { stop } of processes) await stop();
      await log.close();
    },
  };
};

export type FarWorld = ReturnType<typeof farWorld>;
