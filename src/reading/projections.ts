import type { DeskHandler } from '#src/calls/desk-handler.ts';
import { done, refuse } from '#src/shared/outcome.ts';
import { present } from '#src/shared/present.ts';
import { answerOnce, claimKeyOrResume } from '#src/writing/idempotency.ts';
import { measureLags } from './lag.ts';
import type { OperatorDeps } from './projection-desk.ts';

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
