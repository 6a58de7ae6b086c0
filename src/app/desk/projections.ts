import { done, refuse } from '../outcome.ts';
import type { DeskHandler } from './handler.ts';

const NOT_THERE = refuse('resource_not_found', 'There is no such projection.');

export const listProjections: DeskHandler<'listProjections'> = async (deps) => {
  const { position: head } = await deps.log.head();
  const data = (await deps.projections.status()).map(({ lagEvents, lastRebuild, ...status }) => ({
    ...status,
    lag_events: lagEvents,
    ...(lastRebuild && { last_rebuild: lastRebuild }),
  }));
  return done({ head, data });
};

export const rebuildProjection: DeskHandler<'rebuildProjection'> = async (deps, { name }) => {
  if (!deps.projections.names().includes(name)) return NOT_THERE;
  const started = deps.projections.rebuild(name);
  return done({ name, started, head: (await deps.log.head()).position });
};

export const verifyProjection: DeskHandler<'verifyProjection'> = async (deps, { name, run }) => {
  if (!deps.projections.names().includes(name)) return NOT_THERE;
  const state = deps.projections.verify(name, run);
  return done({ name, ...state, head: (await deps.log.head()).position });
};
