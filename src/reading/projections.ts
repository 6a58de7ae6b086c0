/** Operations of operators on read models, and how far the read models lag. */
import type { Deps } from '#src/calls/handlers.ts';
import type { DeskHandler } from '#src/calls/desk-handler.ts';
import type { EventLog, Position } from '#src/ports/event-log.ts';
import type { Lag } from '#src/ports/metrics.ts';
import type { Clock } from '#src/ports/system.ts';
import { done, refuse } from '#src/shared/outcome.ts';
import { present } from '#src/shared/present.ts';
import { answerOnce, claimKeyOrResume } from '#src/writing/idempotency.ts';

/** Events counted one by one; a longer lag is estimated from these. */
const COUNTED_MAX = 500;

/** How much of its catalog, and then of the log, a process has read before it serves requests. */
export type Filling = { done: number; of: number; unit: 'products' | 'events' | 'bytes' };

/** The projection engine, or the desk: anything that reports how far each read model is. */
export type Statuses = {
  status(): Promise<
    { name: string; checkpoint: Position; lagEvents: number; parked: readonly unknown[] }[]
  >;
};

/** The names of the read models that have parked partitions, whose rows are not shown. */
export const parkedOf = (
  statuses: readonly { name: string; parked: readonly unknown[] }[],
): string[] => statuses.filter(({ parked }) => parked.length > 0).map(({ name }) => name);

type Distance = { events: number; seconds: number };

/**
 * Measures the distance from a checkpoint to the head: events, and seconds since the oldest of them.
 * Positions of EventStoreDB are bytes, so a difference of positions is not a number of events: the
 * first COUNTED_MAX events give the average size by which the rest is estimated. Throws LogUnavailable.
 */
export const measureLag = async (
  { log, clock }: { log: Pick<EventLog, 'readFold'>; clock: Clock },
  { checkpoint, head }: { checkpoint: Position; head: Position },
): Promise<Distance> => {
  const first =
    head > checkpoint ? await log.readFold({ after: checkpoint, limit: COUNTED_MAX }) : [];
  const [oldest, last] = [first[0], first.at(-1)];
  if (!oldest || !last) return { events: 0, seconds: 0 };
  const seconds = Math.max(0, clock.now() - oldest.at) / 1_000;
  if (first.length < COUNTED_MAX) return { events: first.length, seconds };
  const eventSize = (last.position - checkpoint) / first.length;
  return { events: Math.max(first.length, Math.round((head - checkpoint) / eventSize)), seconds };
};

/** Measures the lag of each read model, once for each distinct checkpoint. Throws LogUnavailable. */
export const measureLags = async (deps: {
  log: Pick<EventLog, 'head' | 'readFold'>;
  clock: Clock;
  projections: Statuses;
}): Promise<Lag[]> => {
  const statuses = await deps.projections.status();
  const { position: head } = await deps.log.head();
  const distances = new Map<Position, Promise<Distance>>();
  const distanceFrom = (checkpoint: Position): Promise<Distance> => {
    const distance = distances.get(checkpoint) ?? measureLag(deps, { checkpoint, head });
    distances.set(checkpoint, distance);
    return distance;
  };
  return Promise.all(
    statuses.map(async ({ name, checkpoint, lagEvents, parked }) => ({
      projection: name,
      parked: parked.length,
      ...(lagEvents > 0 ? await distanceFrom(checkpoint) : { events: 0, seconds: 0 }),
    })),
  );
};

const NO_PROJECTION = refuse('resource_not_found', 'There is no such projection.');

export const listProjections: DeskHandler<'listProjections', OperatorDeps> = async (deps) => {
  const { position: head } = await deps.log.head();
  const statuses = await deps.projections.status();
  const lags = await measureLags({ ...deps, projections: { status: async () => statuses } });
  const data = statuses.map(({ lagEvents: _positions, lastRebuild, ...status }, i) => ({
    ...status,
    lag_events: lags[i]?.events ?? 0,
    ...present({ last_rebuild: lastRebuild }),
  }));
  return done({ head, data });
};

export const rebuildProjection: DeskHandler<'rebuildProjection', OperatorDeps> = async (
  deps,
  { name },
  call,
) => {
  if (!deps.projections.names().includes(name)) return NO_PROJECTION;
  const work = async () => {
    const bound = await claimKeyOrResume(deps, call, 'projections');
    if (!bound.ok) return bound;
    const { position: head } = await deps.log.head();
    return done({ name, started: deps.projections.rebuild(name), head });
  };
  return answerOnce(deps, call, { stream: 'projections', work });
};

export const verifyProjection: DeskHandler<'verifyProjection', OperatorDeps> = async (
  deps,
  { name, run },
) => {
  if (!deps.projections.names().includes(name)) return NO_PROJECTION;
  const state = deps.projections.verify(name, run);
  return done({ name, ...state, head: (await deps.log.head()).position });
};

export type ProjectionReport = {
  name: string;
  version: number;
  space: string;
  checkpoint: number;
  lagEvents: number;
  parked: { partition: number; position: number; stream: string; reason: string }[];
  rebuilding?: { space: string; position: number; head: number };
  lastRebuild?: { state: 'running' | 'done' | 'failed'; failure?: string };
};

export type VerifyState = {
  done: boolean;
  position: number;
  rows: number;
  mismatches: { partition: number; detail: string }[];
  failure?: string;
};

/** How far a comparison of rows is, and the first row that differs. */
export type CheckState = {
  done: boolean;
  position: number;
  rows: number;
  difference?: {
    readModel: string;
    scope: string;
    key: string;
    position: number;
    live: string | null;
    log: string | null;
    lastEvent?: { position: number; type: string; stream: string };
  };
  failure?: string;
};

/** Whose rows are compared: all without an owner. `sample`: one of so many partitions. */
export type CheckedRows = { owner: string | undefined; sample: number };

/** What operators may do with the projection engine. */
export type ProjectionDesk = {
  names(): readonly string[];
  status(): Promise<ProjectionReport[]>;
  /** Starts a rebuild; false when one is running. */
  rebuild(name: string): boolean;
  /** Starts the verification `run`, or answers how far it is when it was started before. */
  verify(name: string, run: string): VerifyState;
  /** Starts the comparison `run` of rows with a fold of the log, or answers how far it is. */
  check(rows: CheckedRows, run: string): CheckState;
};

/** What use cases need that manage the read models. */
export type OperatorDeps = Deps & { projections: ProjectionDesk };
