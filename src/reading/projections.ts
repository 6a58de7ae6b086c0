/** Operations of operators on read models. */
import type { Deps } from '#src/calls/handlers.ts';
import type { DeskHandler } from '#src/calls/desk-handler.ts';
import { done, refuse } from '#src/shared/outcome.ts';
import { present } from '#src/shared/json.ts';
import { answerOnce, claimKeyOrResume } from '#src/writing/idempotency.ts';
import { measureLags } from './lag.ts';

/** Stands for every read model where one is rebuilt. */
const ALL = 'all';
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
  const all = deps.projections.names();
  const names = name === ALL ? all : all.filter((one) => one === name);
  if (names.length === 0) return NO_PROJECTION;
  const work = async () => {
    const bound = await claimKeyOrResume(deps, call, 'projections');
    if (!bound.ok) return bound;
    const { position: head } = await deps.log.head();
    return done({ name, started: deps.projections.rebuild(names), head });
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
  /** Starts a rebuild in one reading of the log; false when one of any of these is running. */
  rebuild(names: readonly string[]): boolean;
  /** Starts the verification `run`, or answers how far it is when it was started before. */
  verify(name: string, run: string): VerifyState;
  /** Starts the comparison `run` of rows with a fold of the log, or answers how far it is. */
  check(rows: CheckedRows, run: string): CheckState;
};

/** What use cases need that manage the read models. */
export type OperatorDeps = Deps & { projections: ProjectionDesk };
