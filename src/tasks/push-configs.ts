/** The push notification configurations of tasks. Each belongs to the agent that registered it. */
import { push } from './push.decider.ts';
import { listBy, OPEN_PUSH, type PushRow } from '#src/ports/rows.ts';
import { decideAndAppend, issue, traceOf } from '#src/writing/decide-and-append.ts';
import { done, refuse } from '#src/shared/outcome.ts';
import { readCursor, writeCursor } from '#src/reading/cursor.ts';
import { present } from '#src/shared/present.ts';
import { changesOf, rowOf } from './read-task.ts';
import { taskNotFound } from './refusals.ts';
import type { TaskHandler } from './task-handler.ts';
import {
  activeConfig,
  forgetSecrets,
  pushIdOf,
  pushStream,
  refusePush,
  registerPush,
  renderConfig,
} from './register-push.ts';

const NO_CONFIG = refuse(
  'resource_not_found',
  'There is no such push notification configuration.',
  { extra: { reason: 'TASK_NOT_FOUND' } },
);

export const createPushConfig: TaskHandler<'createPushConfig'> = async (deps, input, call) => {
  const { taskId, ...target } = input;
  const row = await rowOf(deps, call.caller, taskId);
  if (!row) return taskNotFound();
  const refusal = await refusePush(deps, call, { taskId, target });
  if (refusal) return refusal;
  const { length: after } = await changesOf(deps, call.ownerId, row);
  return registerPush(deps, call, { taskId, target, after });
};

export const getPushConfig: TaskHandler<'getPushConfig'> = async (deps, input, { caller }) => {
  const state = await activeConfig(deps, caller, input);
  return state ? done(renderConfig(state)) : NO_CONFIG;
};

export const listPushConfigs: TaskHandler<'listPushConfigs'> = async (
  deps,
  { taskId: task, pageSize, pageToken = '' },
  { caller, operation },
) => {
  if (!(await rowOf(deps, caller, task))) return taskNotFound();
  const { ownerId: owner } = caller;
  const binding = [owner, caller.agentId, operation, task];
  const from = pageToken === '' ? undefined : readCursor(deps, binding, pageToken);
  if (from && !from.ok) return from;
  const rows = await deps.readModels.list<PushRow>('push-configs', {
    scope: OPEN_PUSH,
    list: listBy({ owner, task }),
    limit: pageSize + 1,
    ...present({ before: from?.place }),
  });
  const page = rows.slice(0, pageSize);
  const last = rows.length > pageSize ? page.at(-1) : undefined;
  return done({
    configs: page.map(({ row }) => renderConfig(row)),
    nextPageToken: last ? writeCursor(deps, binding, last.sort) : '',
  });
};

export const deletePushConfig: TaskHandler<'deletePushConfig'> = async (deps, input, call) => {
  const { caller, ownerId } = call;
  if (!(await rowOf(deps, caller, input.taskId))) return taskNotFound();
  if (!(await activeConfig(deps, caller, input))) return done({});
  const written = await decideAndAppend(deps, call, {
    stream: pushStream(ownerId, pushIdOf(caller, input.taskId, input.id)),
    decider: push,
    command: () => issue({ type: 'Delete' as const }),
  });
  if (!written.ok) {
    if ('rejected' in written) throw new Error(`a deletion was rejected: ${written.detail}`);
    return written;
  }
  await forgetSecrets(deps, written.state);
  return done({}, traceOf(written));
};
