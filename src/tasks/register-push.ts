/** Registers where the changes of a task are sent. */
import { LIMITS } from '#contracts/limits.ts';
import { push, type PushState } from './push.decider.ts';
import { listBy, OPEN_PUSH } from '#src/ports/rows.ts';
import { decideAndAppend, issue, traceOf } from '#src/writing/decide-and-append.ts';
import { stateOf } from '#src/writing/fold.ts';
import { nameOf } from '#src/writing/hash.ts';
import type { Deps } from '#src/calls/call.ts';
import { type AgentCall, type AgentCaller, unkeyed } from '#src/shared/call.ts';
import { done, type Outcome, type Refusal, refuse, refuseField } from '#src/shared/outcome.ts';
import { openTexts, sealAll } from '#src/sealing/sealed-texts.ts';
import { streamOf } from '#src/writing/streams.ts';
import { present } from '#src/shared/present.ts';
import type { PushConfig, TaskInput } from './task-handler.ts';

/** What a client registers, without the task. */
export type PushTarget = Omit<TaskInput<'createPushConfig'>, 'taskId'>;

type Registration = { taskId: string; target: PushTarget };

export const pushStream = (ownerId: string, pushId: string): string =>
  streamOf(ownerId, 'push', pushId);

export const pushIdOf = (
  { ownerId, agentId }: AgentCaller,
  taskId: string,
  configId: string,
): string => `psh_${nameOf('push', ownerId, agentId, taskId, configId)}`;

/** The client's id, or one that the same URL always gets. */
const configIdOf = ({ taskId, target: { id, url } }: Registration): string =>
  id ?? `cfg_${nameOf('push-config', taskId, url)}`;

/** Reads the caller's own configuration from the log; undefined if there is none, or it is deleted. */
export const activeConfig = async (
  deps: Pick<Deps, 'log'>,
  caller: AgentCaller,
  { taskId, id }: { taskId: string; id: string },
): Promise<PushState | undefined> => {
  const stream = pushStream(caller.ownerId, pushIdOf(caller, taskId, id));
  const state = await stateOf(deps, { stream, decider: push });
  return state?.status === 'active' ? state : undefined;
};

/** Never shows the secrets: a stolen key must not read those of the receiver. */
export const renderConfig = ({
  task,
  config_id,
  url,
  scheme,
}: Pick<PushState, 'task' | 'config_id' | 'url' | 'scheme'>): PushConfig => ({
  taskId: task,
  id: config_id,
  url,
  ...(scheme !== undefined && { authentication: { scheme } }),
});

/**
 * Refuses a registration to whose URL nothing will be sent, and one beyond the limits. `place` is the JSON Pointer of the
 * configuration. Addresses of names are checked when they are resolved.
 */
export const refusePush = async (
  deps: Deps,
  { caller }: AgentCall,
  registration: Registration & { place?: string },
): Promise<Refusal | undefined> => {
  const { taskId, target, place = '' } = registration;
  const fault = deps.targetFault(target.url);
  if (fault !== undefined)
    return refuseField(
      `${place}/url`,
      fault,
      'must be reachable from the internet by https, without a user and a password',
    );
  const id = configIdOf(registration);
  if (await activeConfig(deps, caller, { taskId, id })) return undefined;
  const { ownerId: owner } = caller;
  const isFull = async (of: Record<string, string>, limit: number): Promise<boolean> => {
    const query = { scope: OPEN_PUSH, list: listBy(of), limit };
    return (await deps.readModels.list('push-configs', query)).length >= limit;
  };
  const { PUSH_CONFIGS_PER_TASK_MAX: perTask, PUSH_CONFIGS_PER_OWNER_MAX: perOwner } = LIMITS;
  if (await isFull({ owner, task: taskId }, perTask)) return tooMany(perTask, 'a task');
  return (await isFull({ owner }, perOwner)) ? tooMany(perOwner, 'an owner') : undefined;
};

const tooMany = (max: number, of: string): Refusal =>
  refuse(
    'state_conflict',
    `At most ${max} push notification configurations ${of}. Delete another one first.`,
    {
      extra: { reason: 'PUSH_CONFIG_LIMIT' },
    },
  );

/**
 * Registers the target for changes of the task after number `after`. The same registration again appends nothing. Another
 * one with the same id replaces it; what was not sent yet goes to the new target. With `isNew`, an existing configuration
 * stays as it is.
 */
export const registerPush = async (
  deps: Deps,
  call: AgentCall,
  registration: Registration & { after: number; isNew?: boolean },
): Promise<Outcome<PushConfig>> => {
  const { ownerId, caller } = call;
  const { taskId, target, after, isNew } = registration;
  const config_id = configIdOf(registration);
  const push_id = pushIdOf(caller, taskId, config_id);
  const stream = pushStream(ownerId, push_id);
  if (isNew) {
    const state = await stateOf(deps, { stream, decider: push });
    if (state) return done(renderConfig(state));
  }
  const written = await decideAndAppend(deps, unkeyed(call), {
    stream,
    decider: push,
    async command(state) {
      const active = state?.status === 'active' ? state : undefined;
      return issue({
        type: 'Register' as const,
        config: {
          push_id,
          task: taskId,
          agent_id: caller.agentId,
          config_id,
          key_id: caller.keyId,
          url: target.url,
          after: active?.settled ?? after,
          ...present({ scheme: target.authentication?.scheme }),
          ...(await sealSecrets(deps, active, target)),
        },
      });
    },
  });
  if (!written.ok) {
    if ('rejected' in written) throw new Error(`a registration was rejected: ${written.detail}`);
    return written;
  }
  const { before, state } = written;
  if (before?.sealed_for !== state.sealed_for) await forgetSecrets(deps, before);
  return done(renderConfig(state), traceOf(written));
};

type Sealed = Pick<PushState, 'sealed_for' | 'sealed_token' | 'sealed_credentials'>;

/** Seals the secrets for a subject of their own. The same secrets stay as they are sealed. */
const sealSecrets = async (
  { vault, ids }: Pick<Deps, 'vault' | 'ids'>,
  active: Sealed | undefined,
  { token, authentication }: PushTarget,
): Promise<Sealed> => {
  const credentials = authentication?.credentials;
  if (token === undefined && credentials === undefined) return {};
  const { sealed_for, sealed_token = '', sealed_credentials = '' } = active ?? {};
  if (sealed_for !== undefined) {
    const opened = await openTexts(vault, [sealed_token, sealed_credentials]);
    const isSame = (opened(sealed_token) ?? undefined) === token;
    if (isSame && (opened(sealed_credentials) ?? undefined) === credentials)
      return {
        sealed_for,
        ...(sealed_token !== '' && { sealed_token }),
        ...(sealed_credentials !== '' && { sealed_credentials }),
      };
  }
  const subject = `psk_${ids.uuid().replaceAll('-', '')}`;
  const sealed = await sealAll(vault, subject, {
    sealed_token: token,
    sealed_credentials: credentials,
  });
  if (!sealed) throw new Error(`${subject} is new and was erased`);
  return { sealed_for: subject, ...sealed };
};

/** Destroys the key of the secrets, which nothing can read from then on. */
export const forgetSecrets = async (
  { vault }: Pick<Deps, 'vault'>,
  state: Pick<Sealed, 'sealed_for'> | undefined,
): Promise<void> => {
  if (state?.sealed_for !== undefined) await vault.destroy(state.sealed_for);
};
