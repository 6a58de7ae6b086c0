/** Operations of operators on read models. */
import type { Deps } from '#src/calls/handlers.ts';
import type { DeskHandler } from '#src/calls/desk-handler.ts';
import { done, refuse } from '#src/shared/outcome.ts';
import { present } from '#src/shared/json.ts';
import { answerOnce, claimKeyOrResume } from '#src/writing/idempotency.ts';
import { measureLags } from './lag.ts';

/** Stands for every read model where one is rebuilt. */
const ALL = 'all';
/** Named by the claims of keys: what these commands do is in no stream of a record. */
const STREAM = 'projections';
const NO_PROJECTION = refuse('resource_not_found', 'There is no such projection.');

export const listProjections: DeskHandler<'listProjections', OperatorDeps> = async (deps) => {
  const { position: head } = await deps.log.head();
  const statuses = await deps.projections.status();
  const lags = await measureLags({ ...deps, projections: { status: async () => statuses } });
  const data = statuses.map(({ lagEvents: _positions, lastRebuild, rebuilding, ...status }, i) => ({
    ...status,
    lag_events: lags[i]?.events ?? 0,
    ...present({ last_rebuild: lastRebuild, rebuilding: rebuilding && renderFill(rebuilding) }),
  }));
  const { unit, fills } = deps.projections;
  const limits = fills.isFilling() ? renderLimits(fills.limits()) : undefined;
  return done({ head, unit, ...present({ fills: limits }), data });
};

const renderFill = ({ secondsLeft, ...fill }: NonNullable<ProjectionReport['rebuilding']>) => ({
  ...fill,
  ...present({ seconds_left: secondsLeft }),
});

const renderLimits = ({ isPaused, eventsPerSecond }: FillLimits) => ({
  paused: isPaused,
  ...present({ events_per_second: eventsPerSecond }),
});

/** Refuses what only acts on running fills. */
const NOTHING_FILLED = refuse(
  'state_conflict',
  'No read model is being filled, so there is nothing to pause, resume or throttle. Start a rebuild first.',
);

export const limitFills: DeskHandler<'limitFills', OperatorDeps> = async (deps, input, call) => {
  const { fills } = deps.projections;
  const { paused, events_per_second: limit } = input;
  const work = async () => {
    if (!fills.isFilling()) return NOTHING_FILLED;
    const bound = await claimKeyOrResume(deps, call, STREAM);
    if (!bound.ok) return bound;
    if (paused !== undefined) fills.setPaused(paused);
    if (limit !== undefined) fills.throttle(limit === 0 ? undefined : limit);
    return done(renderLimits(fills.limits()));
  };
  return answerOnce(deps, call, { stream: STREAM, work });
};

export const rebuildProjection: DeskHandler<'rebuildProjection', OperatorDeps> = async (
  deps,
  { name },
  call,
) => {
  const all = deps.projections.names();
  const names = name === ALL ? all : all.filter((one) => one === name);
  if (names.length === 0) return NO_PROJECTION;
  const work = async () => {
    const bound = await claimKeyOrResume(deps, call, STREAM);
    if (!bound.ok) return bound;
    const { position: head } = await deps.log.head();
    return done({ name, started: deps.projections.rebuild(names), head });
  };
  return answerOnce(deps, call, { stream: STREAM, work });
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
  /** `rate`: positions a second. */
  rebuilding?: {
    space: string;
    position: number;
    head: number;
    rate?: number;
    secondsLeft?: number;
  };
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

type FillLimits = { isPaused: boolean; eventsPerSecond: number | undefined };

/** What operators may do with the fills of this process. */
export type FillsDesk = {
  isFilling(): boolean;
  limits(): FillLimits;
  setPaused(isPaused: boolean): void;
  /** Limits the events of each second; undefined removes the limit. */
  throttle(eventsPerSecond: number | undefined): void;
};

/** What operators may do with the projection engine. */
export type ProjectionDesk = {
  /** What positions of the log count. */
  readonly unit: 'events' | 'bytes';
  readonly fills: FillsDesk;
  names(): readonly string[];
  status(): Promise<ProjectionReport[]>;
  /** Starts a rebuild in one reading of the log; false when one of any of these is running. */
  rebuild(names: readonly string[]): boolean;
  /** Starts the verification `run`, or answers how far it is when it was started before. */
  verify(name: string, run: string): VerifyState;
  /** Starts the comparison `run` of rows with a fold of the log, or answers how far it is. */
  check(rows: CheckedRows, run: string): CheckState;
};

/** What use cases need that manage the read models. */
export type OperatorDeps = Deps & { projections: ProjectionDesk };
