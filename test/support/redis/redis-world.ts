/** A log in memory, its read models in Redis, and readers who are told right or wrong. */
import { memoryEventLog } from '#src/adapters/memory/event-log.ts';
import { memoryStore } from '#src/adapters/memory/read-model.ts';
import { redisStore } from '#src/adapters/redis/read-model.ts';
import { redisRoll } from '#src/adapters/redis/roll.ts';
import { memberSetOf, startAssignedEngine } from '#src/wiring/partition-assignment.ts';
import { remoteReadModels } from '#projections/engine/readers.ts';
import type { EngineOptions } from '#projections/engine/options.ts';
import { type Engine, runProjections } from '#projections/engine/engine.ts';
import { verify } from '#projections/engine/verify.ts';
import type { Projection } from '#projections/projection.ts';
import type { Position } from '#src/ports/event-log.ts';
import { ReadModelRebuilding, type ReadModels, type RemoteStore } from '#src/ports/read-model.ts';
import { append, tally, type Tally } from '../world/engine.ts';

/** One process: its connections, its engine, its readers. */
export type Process = {
  store: RemoteStore;
  engine: Engine;
  readers: ReadModels;
  faults: unknown[];
  stop(): Promise<void>;
};

export type ProcessOptions = Partial<EngineOptions> & {
  wrap?: (store: RemoteStore) => RemoteStore;
  /** Its name on the roll: it folds its share of the partitions. */
  name?: string;
};

export type Answer =
  | { kind: 'right'; count: number; ms: number }
  | { kind: 'rebuilding'; ms: number }
  | { kind: 'wrong'; said: string; ms: number };

let logs = 0;

const TICK_MS = 5;

/** How late this process was in all: on a busy machine that is no fault of what is asked. */
const lateness = (): (() => number) => {
  let late = 0;
  let due = performance.now() + TICK_MS;
  const tick = (): number => {
    const now = performance.now();
    late += Math.max(0, now - due);
    due = Math.max(due, now) + TICK_MS;
    return late;
  };
  setInterval(tick, TICK_MS).unref();
  return () => late + Math.max(0, performance.now() - due);
};
const lateMs = lateness();

export const redisWorld = (url: URL, projections: readonly Projection[] = [tally()]) => {
  const log = memoryEventLog({ id: `world-${(logs += 1)}` });
  const positions = new Map<string, Position[]>();
  const processes: Process[] = [];

  const start = async (options: ProcessOptions = {}): Promise<Process> => {
    const { wrap = (store) => store, name, ...rest } = options;
    const faults: unknown[] = [];
    const onFault = (error: unknown): void => void faults.push(error);
    const run = { log, projections, onFault, ...rest };
    const store = wrap(
      await redisStore({ url, log: log.id, projections: run.projections, onFault }),
    );
    const set = memberSetOf(run.projections);
    const roll = name === undefined ? undefined : await redisRoll({ url, log: log.id, set, name });
    const controller = new AbortController();
    const { signal } = controller;
    const fold = (shared: Partial<EngineOptions>) =>
      runProjections({ store, signal, ...run, ...shared });
    const engine =
      roll && name !== undefined
        ? await startAssignedEngine({
            roll,
            name,
            signal,
            onFault,
            start: (partitions, ending) => fold({ partitions, signal: ending }),
          })
        : await fold({});
    const readers = remoteReadModels(store, run.projections, engine);
    const stop = async (): Promise<void> => {
      controller.abort();
      await engine.done;
      await roll?.close();
      await store.close();
    };
    const process = { store, engine, readers, faults, stop };
    processes.push(process);
    return process;
  };

  const add = async (owner: string): Promise<Position> => {
    const position = await append(log, owner);
    const known = positions.get(owner) ?? [];
    positions.set(owner, known);
    known.push(position);
    return position;
  };

  /** Asks for an owner's tally, and holds the answer against the log. */
  const ask = async ({ engine, readers }: Process, owner: string): Promise<Answer> => {
    const began = performance.now() - lateMs();
    const asOf = engine.asOf().position;
    const ms = (): number => performance.now() - lateMs() - began;
    try {
      const row = await readers.get<Tally>('tally', owner, 'tally');
      const all = positions.get(owner) ?? [];
      const count = row?.count ?? 0;
      const owedCount = all.filter((position) => position <= asOf).length;
      const isWhole = count === 0 || all[count - 1] === row?.last;
      if (isWhole && count >= owedCount) return { kind: 'right', count, ms: ms() };
      const said = `${JSON.stringify(row)} as of ${asOf}, where ${owedCount} had happened`;
      return { kind: 'wrong', said, ms: ms() };
    } catch (error) {
      if (error instanceof ReadModelRebuilding) return { kind: 'rebuilding', ms: ms() };
      throw error;
    }
  };

  /** Asks until all of `count` is answered; what was said on the way. */
  const until = async (process: Process, owner: string, count: number): Promise<string[]> => {
    const said: string[] = [];
    for (;;) {
      const answer = await ask(process, owner);
      if (answer.kind === 'right' && answer.count === count) return said;
      said.push(answer.kind === 'right' ? `right ${answer.count}` : answer.kind);
      await new Promise((turn) => setImmediate(turn));
    }
  };

  const mismatches = async ({ store }: Process) =>
    (await verify({ log, store, projections, fresh: memoryStore() })).mismatches;

  const end = async (): Promise<void> => {
    for (const { stop } of processes) await stop();
    await log.close();
  };
  return { log, start, add, ask, until, mismatches, end };
};

export type RedisWorld = ReturnType<typeof redisWorld>;

const READERS = 4;

/** What the readers of a while were told. */
export type Told = { right: number; rebuilding: number; wrong: string[]; msMax: number };

/**
 * Appends and reads without a pause while `work` goes on, and after it until every owner is
 * answered with all that had happened when it was over.
 */
export const underLoad = async (
  world: RedisWorld,
  process: Process,
  owners: readonly string[],
  work: (told: Told) => Promise<void>,
): Promise<Told> => {
  const told: Told = { right: 0, rebuilding: 0, wrong: [], msMax: 0 };
  let isOver = false;
  const note = (answer: Answer): void => {
    told.msMax = Math.max(told.msMax, answer.ms);
    if (answer.kind === 'wrong') told.wrong.push(answer.said);
    else told[answer.kind] += 1;
  };
  const turn = () => new Promise((done) => setImmediate(done));
  const write = async (): Promise<void> => {
    for (let i = 0; !isOver; i++) {
      await world.add(owners[i % owners.length] ?? '');
      await turn();
    }
  };
  const read = async (): Promise<void> => {
    for (let i = 0; !isOver; i++) {
      note(await world.ask(process, owners[i % owners.length] ?? ''));
      await turn();
    }
  };
  const loops = [write(), ...Array.from({ length: READERS }, read)];
  try {
    await work(told);
    for (const owner of owners) {
      const { position } = await world.log.head();
      let answer: Answer | undefined;
      while (answer?.kind !== 'right' || process.engine.asOf().position < position) {
        note((answer = await world.ask(process, owner)));
        await turn();
      }
    }
  } finally {
    isOver = true;
    await Promise.all(loops);
  }
  return told;
};

/** Waits for as many answers of the kind more. */
export const more = async (
  told: Told,
  kind: 'right' | 'rebuilding',
  count: number,
): Promise<void> => {
  const enough = told[kind] + count;
  while (told[kind] < enough) await new Promise((done) => setImmediate(done));
};
