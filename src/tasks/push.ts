/** Push notifications of tasks: their configurations, and the attempts to send them. */
import { LIMITS } from '#contracts/limits.ts';
import { liveOwnerOf } from '#contracts/spaces.ts';
import { agent, apiKey } from '#src/access/access.decider.ts';
import { type Deps, systemCall } from '#src/calls/handlers.ts';
import type { Channel, DeliveryResult, PushDelivery } from '#src/ports/delivery.ts';
import { foldEventOf, type StoredEvent } from '#src/ports/event-log.ts';
import { listBy, OPEN_PUSH, type PushRow } from '#src/ports/rows.ts';
import { readCursor, writeCursor } from '#src/reading/lists.ts';
import { openTexts, sealAll } from '#src/sealing/sealed-texts.ts';
import {
  advanceItem,
  attempt,
  type Item,
  type NextStep,
  record,
  RECORD_WAIT_MS,
  type Scheduling,
  type Work,
} from '#src/sending/dispatcher.ts';
import { type AgentCall, type AgentCaller, unkeyed } from '#src/shared/call.ts';
import { done, type Outcome, type Refusal, refuse, refuseField } from '#src/shared/outcome.ts';
import { present } from '#src/shared/json.ts';
import { signBody } from '#src/shared/signing.ts';
import { DAY_MS } from '#src/shared/time.ts';
import { decideAndAppend, issue, traceOf } from '#src/writing/decide-and-append.ts';
import { stateOf, nameOf, streamOf, streamOfKey, recordOfStream } from '#src/writing/streams.ts';
import { type Ending, push, type PushCommand, type PushState } from './push.decider.ts';
import {
  type PushConfig,
  type TaskInput,
  changesOf,
  rowOf,
  taskNotFound,
  type TaskHandler,
  permitted,
  readChange,
} from './read-task.ts';
import type { TaskView } from './task-view.ts';
import { isTerminal, type TaskRow, tasksScope } from './task.decider.ts';

/** What a client registers, without the task. */
export type PushTarget = Omit<TaskInput<'createPushConfig'>, 'taskId'>;

type Registration = { taskId: string; target: PushTarget };

const pushStream = (ownerId: string, pushId: string): string => streamOf(ownerId, 'push', pushId);

const pushIdOf = ({ ownerId, agentId }: AgentCaller, taskId: string, configId: string): string =>
  `psh_${nameOf('push', ownerId, agentId, taskId, configId)}`;

/** The client's id, or one that the same URL always gets. */
const configIdOf = ({ taskId, target: { id, url } }: Registration): string =>
  id ?? `cfg_${nameOf('push-config', taskId, url)}`;

/** Reads the caller's own configuration from the log; undefined if there is none, or it is deleted. */
const activeConfig = async (
  deps: Pick<Deps, 'log'>,
  caller: AgentCaller,
  { taskId, id }: { taskId: string; id: string },
): Promise<PushState | undefined> => {
  const stream = pushStream(caller.ownerId, pushIdOf(caller, taskId, id));
  const state = await stateOf(deps, { stream, decider: push });
  return state?.status === 'active' ? state : undefined;
};

/** Never shows the secrets: a stolen key must not read those of the receiver. */
const renderConfig = ({
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
const forgetSecrets = async (
  { vault }: Pick<Deps, 'vault'>,
  state: Pick<Sealed, 'sealed_for'> | undefined,
): Promise<void> => {
  if (state?.sealed_for !== undefined) await vault.destroy(state.sealed_for);
};

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

export type PushSendingDeps = Deps &
  Scheduling & {
    receivers: Channel<PushDelivery>;
    /** The form in which A2A sends a task, and where the keys are served that verify it. */
    wire: { bodyOf(view: TaskView): string; keysUrl(): string };
  };

type PushItem = Item<PushState, PushCommand, PushSendingDeps>;
type Change = { event: StoredEvent; number: number };

/** How long the read models may lag before the task is looked at later. */
const FOLLOW_WAIT_MS = 5_000;
/** How long a configuration is shown after its task has ended and the receiver knows it. */
const KEPT_MS = DAY_MS;

/** The task; undefined while this process does not know it yet. */
const readTask = async (
  deps: PushSendingDeps,
  ownerId: string,
  { agent_id: agentId, task }: PushState,
): Promise<TaskRow | undefined> => {
  const { position } = await deps.log.head();
  const scope = tasksScope(ownerId, agentId);
  const isCurrent = await deps.following.passed(position, FOLLOW_WAIT_MS, scope);
  return isCurrent ? rowOf(deps, { ownerId, agentId }, task) : undefined;
};

const nextStep = async (
  item: PushItem,
  row: TaskRow,
  change: Change | undefined,
): Promise<NextStep> => {
  const { deps, call, state } = item;
  const now = deps.clock.now();
  const access = await accessOf(item);
  if ('ended' in access) return { act: () => remove(item, 'key_ended') };
  // Events of the task or the agent are a reason to look earlier.
  const later = now + DAY_MS;
  if (!change) return { wait: later };
  if (change.number > state.settled) {
    if ('held' in access) return { wait: later };
    const isDeferred = change.number === state.change && now < (state.retry_at ?? 0);
    return isDeferred ? { wait: state.retry_at ?? later } : { act: () => send(item, row, change) };
  }
  const view = await readChange(deps, call.ownerId, { row, event: foldEventOf(change.event) });
  if (!view || !isTerminal(view.status)) return { wait: later };
  const end = Math.max(change.event.meta.at, state.updated_at) + KEPT_MS;
  return now < end ? { wait: end } : { act: () => remove(item, 'task_ended') };
};

/** What the key and the agent of the registration may see now, from the log. */
const accessOf = async ({
  deps,
  call,
  state: { key_id, agent_id },
}: PushItem): Promise<{ scopes: ReadonlySet<string> } | { held: true } | { ended: true }> => {
  const owner = liveOwnerOf(call.ownerId);
  const [key, by] = await Promise.all([
    stateOf(deps, { stream: streamOfKey(owner, key_id), decider: apiKey }),
    stateOf(deps, { stream: streamOf(owner, 'agent', agent_id), decider: agent }),
  ]);
  if (!key || key.status === 'revoked' || key.expires_at <= deps.clock.now())
    return { ended: true };
  return by?.status === 'approved' ? { scopes: new Set(by.granted) } : { held: true };
};

/** Receivers ignore a repeated id, as A2A asks of them. */
const isRepeatable = (): boolean => true;

const notificationId = ({ push_id, change }: PushState): string => `${push_id}.${change}`;

const send = async (
  item: PushItem,
  row: TaskRow,
  { event, number: change }: Change,
): Promise<{ ok: boolean }> => {
  const made = await attempt(item, {
    channel: item.deps.receivers,
    dispatch: (times) => ({ type: 'Dispatch' as const, change, ...times }),
    prepare: (state) => prepare({ ...item, state }, row, event),
    isRepeatable,
  });
  if (made.ok && made.result.outcome === 'refused' && made.result.disable)
    await remove(item, 'receiver_gone');
  return made;
};

/** Makes the request, or answers a result without effect: access has ended meanwhile, or a secret is unavailable. */
const prepare = async (
  item: PushItem,
  row: TaskRow,
  event: StoredEvent,
): Promise<PushDelivery | DeliveryResult> => {
  const { deps, call, state } = item;
  const { url, scheme, sealed_token = '', sealed_credentials = '' } = state;
  const access = await accessOf(item);
  if (!('scopes' in access)) return { outcome: 'retry', reason: 'access_ended' };
  const view = await readChange(deps, call.ownerId, { row, event: foldEventOf(event) });
  const opened = await openTexts(deps.vault, [sealed_token, sealed_credentials]);
  const [token, credentials] = [opened(sealed_token), opened(sealed_credentials)];
  const isOpen = (sealed: string, text: unknown) => sealed === '' || typeof text === 'string';
  if (!view || !isOpen(sealed_token, token) || !isOpen(sealed_credentials, credentials))
    return { outcome: 'retry', reason: 'secrets_unavailable' };
  const id = notificationId(state);
  const body = deps.wire.bodyOf(permitted(access, view));
  const claims = { jku: deps.wire.keysUrl(), aud: url, jti: id };
  return {
    id,
    url,
    body,
    signature: signBody(deps.secrets, body, { ...claims, at: deps.clock.now() }),
    ...(typeof token === 'string' && { token }),
    ...(typeof credentials === 'string' && { authorization: `${scheme} ${credentials}` }),
  };
};

/** Deletes the configuration, and destroys the key of its secrets. */
const remove = async (item: PushItem, reason: Ending): Promise<{ ok: boolean }> => {
  const written = await record(item, { type: 'Delete', reason });
  if (written.ok) await forgetSecrets(item.deps, written.state);
  return written;
};

/** Notifies the receivers of tasks of their changes. */
export const pushWork = (deps: PushSendingDeps): Work => ({
  readModel: 'push-configs',
  scope: OPEN_PUSH,
  itemEvents: /^Push/,
  itemOf: ({ data }) => (data as { push_id: string }).push_id,
  changedBy: ({ stream, data }) => [(data as { task_id?: string }).task_id, recordOfStream(stream)],
  ownerEvents: /^(Access|Agent|Key)/,
  async advance(ownerId, id, signal) {
    const stream = pushStream(ownerId, id);
    const state = await stateOf(deps, { stream, decider: push });
    if (state?.status !== 'active') return {};
    const row = await readTask(deps, ownerId, state);
    const awaits = [state.task, ...(row?.record === undefined ? [] : [row.record])];
    if (!row) return { next_at: deps.clock.now() + RECORD_WAIT_MS, awaits };
    const changes = await changesOf(deps, ownerId, row);
    const event = changes.at(-1);
    const change = event && { event, number: changes.length };
    const correlation = event?.meta.request;
    const call = {
      ...systemCall(deps, 'dispatchPush', { ownerId, signal }),
      ...present({ correlation }),
    };
    const item = { deps, call, id, notAfter: Infinity, stream, decider: push, state };
    const nextLook = await advanceItem(item, {
      isRepeatable,
      nextStep: () => nextStep(item, row, change),
    });
    return { ...nextLook, awaits };
  },
});
