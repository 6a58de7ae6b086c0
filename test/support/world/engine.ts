/** An engine over a log in memory, and a read model in which an event folded twice is visible. */
import { memoryEventLog } from '../memory-event-log.ts';
import { memoryStore } from '../memory-read-model.ts';
import {
  type EngineOptions,
  type Engine,
  type LocalEngine,
  runProjections,
} from '#projections/engine/engine.ts';
import { rebuildAll } from '#projections/engine/operator.ts';
import type { Projection } from '#projections/projection.ts';
import { type EventLog, type NewEvent, NO_STREAM, type Position } from '#src/ports/event-log.ts';
import type { LocalStore, ProjectionStore } from '#src/ports/read-model.ts';
import { HANG_MS } from '../hang.ts';

export type Tally = { count: number; last: Position; sort: number };

/** Counts the events per owner. `poison` is a fingerprint on which its fold throws. */
export const tally = (options: { version?: number; poison?: string; onEvolve?(): void } = {}) =>
  ({
    name: 'tally',
    version: options.version ?? 1,
    handles: ['RequestBound'],
    place: ({ owner }) => ({ scope: owner, key: 'tally' }),
    evolve(row, { position, data }) {
      if ((data as { fingerprint: string }).fingerprint === options.poison)
        throw new Error('poison');
      options.onEvolve?.();
      const next = row ?? { count: 0, last: 0, sort: position };
      next.count += 1;
      next.last = position;
      return next;
    },
    sort: ({ sort }) => sort,
  }) satisfies Projection<Tally>;

let made = 0;

/** Appends an event to a new stream; returns its position. */
export const append = async (log: EventLog, owner: string, fingerprint = ''): Promise<Position> => {
  made += 1;
  const stream = `${owner}-lead_${made}`;
  const event: NewEvent = {
    id: `00000000-0000-7000-8000-${made.toString(16).padStart(12, '0')}`,
    type: 'RequestBound',
    data: { stream, fingerprint },
    meta: { at: made, actor: 'agt_1', surface: 'rest', operation: 'x', request: 'req_1', v: 1 },
  };
  const result = await log.append(stream, NO_STREAM, [event]);
  if (result.outcome !== 'appended') throw new Error('the new stream exists');
  return result.position;
};

export const appendMany = async (log: EventLog, owners: readonly string[], each: number) => {
  let position = 0;
  for (let i = 0; i < each; i++) for (const owner of owners) position = await append(log, owner);
  return position;
};

type Rebuilding = Pick<
  Parameters<typeof rebuildAll>[0],
  'log' | 'signal' | 'batchEvents' | 'control'
> & {
  store: ProjectionStore;
  projection: Projection;
  engine?: Engine;
};

/** Rebuilds one read model. Throws why it was refused. */
export const rebuild = async ({ store, projection, engine, ...options }: Rebuilding) => {
  const stores = [{ store, projections: [projection], ...(engine && { engine }) }];
  const [result] = await rebuildAll({ ...options, stores });
  if (result?.refusal !== undefined) throw new Error(result.refusal);
  return result;
};

/** Copies the rows that enter and leave a store, as between processes. */
export const copying = (store: ProjectionStore): ProjectionStore => ({
  ...store,
  load: async (space, keys, at) => structuredClone(await store.load(space, keys, at)),
  commit: async (space, batches) => store.commit(space, structuredClone(batches)),
});

/** Rows in memory, which are committed batch by batch also by a fill. */
export const batchStore = (): LocalStore => {
  const { fillPartition: _whole, ...store } = memoryStore();
  return store;
};

export const world = () => {
  const log = memoryEventLog();
  const store = memoryStore();
  const ended: (() => Promise<void>)[] = [];
  const start = async (
    options: Partial<EngineOptions> = {},
  ): Promise<LocalEngine & { stop(): Promise<void> }> => {
    const controller = new AbortController();
    const { signal } = controller;
    const engine = await runProjections({ log, store, projections: [tally()], signal, ...options });
    const stop = async (): Promise<void> => {
      controller.abort();
      await engine.done;
    };
    ended.push(stop);
    return { ...engine, stop };
  };
  const countOf = (owner: string): number | undefined =>
    (store.peek(store.live('tally') ?? '', owner, 'tally') as Tally | undefined)?.count;
  const end = async (): Promise<void> => {
    for (const stop of ended) await stop();
    await log.close();
  };
  return { log, store, start, countOf, end };
};

/** Waits until the engine has passed the position. Throws after five seconds. */
export const awaitPassed = async (engine: Pick<Engine, 'passed'>, position: Position) => {
  if (!(await engine.passed(position, HANG_MS))) throw new Error(`never passed ${position}`);
};
