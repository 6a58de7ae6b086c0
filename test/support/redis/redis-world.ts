/** A log in memory, its read models in Redis, and readers whose answers are checked against the log. */
import { memoryEventLog } from '../memory-event-log.ts';
import { redisStore } from '#src/stores/redis/read-model.ts';
import { redisMembership } from '#src/stores/redis/request-store.ts';
import {
  remoteReadModels,
  type EngineOptions,
  type Engine,
  runProjections,
} from '#projections/engine/engine.ts';
import { verify } from '#projections/engine/operator.ts';
import type { Projection } from '#projections/projection.ts';
import type { Position } from '#src/ports/event-log.ts';
import { ReadModelRebuilding, type ReadModels, type RemoteStore } from '#src/ports/read-model.ts';
import { memberSetOf, startAssignedEngine } from '#src/wiring/projector.ts';
import { append, tally, type Tally } from '../world/engine.ts';

/** One process with its connections, engine and readers. */
export type Process = {
  store: RemoteStore;
  engine: Engine;
  readers: ReadModels;
  faults: unknown[];
  /** The damage that the process reported. */
  discarded: string[];
  stop(): Promise<void>;
};

export type ProcessOptions = Partial<EngineOptions> & {
  wrap?: (store: RemoteStore) => RemoteStore;
  /** The name of a projector that shares the partitions with others. */
  name?: string;
};

export type Answer =
  | { kind: 'right'; count: number }
  | { kind: 'rebuilding' }
  | { kind: 'wrong'; detail: string };

let logs = 0;

export const redisWorld = (url: URL, projections: readonly Projection[] = [tally()]) => {
  const log = memoryEventLog({ id: `world-${(logs += 1)}` });
  const positions = new Map<string, Position[]>();
  const processes: Process[] = [];

  const start = async (options: ProcessOptions = {}): Promise<Process> => {
    const { wrap = (store) => store, name, ...rest } = options;
    const faults: unknown[] = [];
    const onFault = (error: unknown): void => void faults.push(error);
    const run = { log, projections, onFault, ...rest };
    const discarded: string[] = [];
    const onDiscarded = (reason: string): void => void discarded.push(reason);
    const store = wrap(
      await redisStore({ url, log: log.id, projections: run.projections, onFault, onDiscarded }),
    );
    const set = memberSetOf(run.projections);
    const membership =
      name === undefined ? undefined : await redisMembership({ url, log: log.id, set, name });
    const controller = new AbortController();
    const { signal } = controller;
    const fold = (shared: Partial<EngineOptions>) =>
      runProjections({ store, signal, ...run, ...shared });
    const engine =
      membership && name !== undefined
        ? await startAssignedEngine({
            membership,
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
      await membership?.close();
      await store.close();
    };
    const process = { store, engine, readers, faults, discarded, stop };
    processes.push(process);
    return process;
  };

  const add = async (owner: string): Promise<Position> => {
    const position = await append(log, owner);
    const ownerPositions = positions.get(owner) ?? [];
    positions.set(owner, ownerPositions);
    ownerPositions.push(position);
    return position;
  };

  /** Reads an owner's tally and checks it against the log. */
  const ask = async ({ engine, readers }: Process, owner: string): Promise<Answer> => {
    const asOf = engine.asOf().position;
    try {
      const row = await readers.get<Tally>('tally', owner, 'tally');
      const all = positions.get(owner) ?? [];
      const count = row?.count ?? 0;
      const expectedCount = all.filter((position) => position <= asOf).length;
      const isWhole = count === 0 || all[count - 1] === row?.last;
      if (isWhole && count >= expectedCount) return { kind: 'right', count };
      const detail = `${JSON.stringify(row)} as of ${asOf}; expected ${expectedCount}`;
      return { kind: 'wrong', detail };
    } catch (error) {
      if (error instanceof ReadModelRebuilding) return { kind: 'rebuilding' };
      throw error;
    }
  };

  /** Reads until the tally is `count`; returns the answers before. */
  const readUntil = async (process: Process, owner: string, count: number): Promise<string[]> => {
    const answers: string[] = [];
    for (;;) {
      const answer = await ask(process, owner);
      if (answer.kind === 'right' && answer.count === count) return answers;
      answers.push(answer.kind === 'right' ? `right ${answer.count}` : answer.kind);
      await new Promise((turn) => setImmediate(turn));
    }
  };

  const mismatches = async ({ store }: Process) =>
    (await verify({ log, store, projections })).mismatches;

  const end = async (): Promise<void> => {
    for (const { stop } of processes) await stop();
    await log.close();
  };
  return { log, start, add, ask, readUntil, mismatches, end };
};

export type RedisWorld = ReturnType<typeof redisWorld>;

const READERS = 4;

/** The answers that the readers received. */
export type Answers = { right: number; rebuilding: number; wrong: string[] };

/** Appends and reads continuously until `work` ends and every owner's answer includes all events. */
export const underLoad = async (
  world: RedisWorld,
  process: Process,
  owners: readonly string[],
  work: (answers: Answers) => Promise<void>,
): Promise<Answers> => {
  const answers: Answers = { right: 0, rebuilding: 0, wrong: [] };
  let isOver = false;
  const note = (answer: Answer): void => {
    if (answer.kind === 'wrong') answers.wrong.push(answer.detail);
    else answers[answer.kind] += 1;
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
    await work(answers);
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
  return answers;
};

/** Waits for `count` more answers of the kind. */
export const awaitAnswers = async (
  answers: Answers,
  kind: 'right' | 'rebuilding',
  count: number,
): Promise<void> => {
  const enough = answers[kind] + count;
  while (answers[kind] < enough) await new Promise((done) => setImmediate(done));
};
