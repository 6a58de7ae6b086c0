/** Advances one push notification configuration: sends the newest change of its task when it is due. */
import { agent, apiKey } from '#src/access/access.decider.ts';
import { push, type PushCommand, type PushState } from './push.decider.ts';
import { isTerminal, type TaskRow, tasksScope } from './task.decider.ts';
import { liveOwnerOf } from '#contracts/spaces.ts';
import type { Channel, DeliveryResult, PushDelivery } from '#src/ports/delivery.ts';
import { foldEventOf, type StoredEvent } from '#src/ports/event-log.ts';
import {
  commandAfter,
  deliver,
  MARGIN_MS,
  RECORD_WAIT_MS,
  recordOutcome,
  type Scheduling,
  SENDER_GONE,
} from '#src/sending/attempts.ts';
import { decideAndAppend, issue } from '#src/writing/decide-and-append.ts';
import { stateOf } from '#src/writing/fold.ts';
import type { Deps } from '#src/calls/call.ts';
import type { SystemCall } from '#src/shared/call.ts';
import { openTexts } from '#src/sealing/sealed-texts.ts';
import { streamOf, streamOfKey } from '#src/writing/streams.ts';
import { present } from '#src/shared/present.ts';
import { DAY_MS } from '#src/shared/time.ts';
import { signBody } from '#src/shared/jws.ts';
import { changesOf, permitted, readChange, rowOf } from './read-task.ts';
import type { TaskView } from './task-view.ts';
import { forgetSecrets, pushStream } from './register-push.ts';

export type PushSendingDeps = Deps &
  Scheduling & {
    receivers: Channel<PushDelivery>;
    /** The form in which A2A sends a task, and where the keys are served that verify it. */
    wire: { bodyOf(view: TaskView): string; keysUrl(): string };
  };

type PushWork = { deps: PushSendingDeps; call: SystemCall; stream: string; state: PushState };
type Change = { event: StoredEvent; number: number };

/** How long the read models may lag before the task is looked at later. */
const FOLLOW_WAIT_MS = 5_000;
/** How long a configuration is shown after its task has ended and the receiver knows it. */
const KEPT_MS = DAY_MS;

/**
 * Does what is due now. `next_at` is when to look again, in epoch milliseconds; it is absent when the configuration is
 * deleted. `awaits` are the task and its record. Throws when the log does.
 */
export const dispatchPush = async (
  deps: PushSendingDeps,
  pushId: string,
  call: SystemCall,
): Promise<{ next_at?: number; awaits?: string[] }> => {
  const stream = pushStream(call.ownerId, pushId);
  const state = await stateOf(deps, { stream, decider: push });
  if (state?.status !== 'active') return {};
  const row = await readTask(deps, call.ownerId, state);
  const awaits = [state.task, ...(row?.record === undefined ? [] : [row.record])];
  const soon = deps.clock.now() + RECORD_WAIT_MS;
  if (!row) return { next_at: soon, awaits };
  const changes = await changesOf(deps, call.ownerId, row);
  const event = changes.at(-1);
  const correlation = event?.meta.request;
  const work = { deps, call: { ...call, ...present({ correlation }) }, stream, state };
  const step = await nextStep(work, row, event && { event, number: changes.length });
  if ('wait' in step) return { next_at: step.wait, awaits };
  const isRecorded =
    'change' in step ? await attempt(work, row, step.change) : await record(work, step.command);
  // If another process was faster, the next look sees its events; the wait prevents a busy loop.
  return { next_at: isRecorded ? deps.clock.now() : soon, awaits };
};

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

type Step = { wait: number } | { command: PushCommand } | { change: Change };

const nextStep = async (
  work: PushWork,
  row: TaskRow,
  change: Change | undefined,
): Promise<Step> => {
  const { deps, call, state } = work;
  const now = deps.clock.now();
  if (state.until !== undefined)
    return now < state.until ? { wait: state.until } : { command: commandFor(SENDER_GONE, work) };
  const access = await accessOf(work);
  if ('ended' in access) return { command: { type: 'Delete', reason: 'key_ended' } };
  // Events of the task or the agent are a reason to look earlier.
  const later = now + DAY_MS;
  if (!change) return { wait: later };
  if (change.number > state.settled) {
    if ('held' in access) return { wait: later };
    const isDeferred = change.number === state.change && now < (state.retry_at ?? 0);
    return isDeferred ? { wait: state.retry_at ?? later } : { change };
  }
  const view = await readChange(deps, call.ownerId, { row, event: foldEventOf(change.event) });
  if (!view || !isTerminal(view.status)) return { wait: later };
  const end = Math.max(change.event.meta.at, state.updated_at) + KEPT_MS;
  return now < end ? { wait: end } : { command: { type: 'Delete', reason: 'task_ended' } };
};

/** What the key and the agent of the registration may see now, from the log. */
const accessOf = async ({
  deps,
  call,
  state: { key_id, agent_id },
}: PushWork): Promise<{ scopes: ReadonlySet<string> } | { held: true } | { ended: true }> => {
  const owner = liveOwnerOf(call.ownerId);
  const [key, by] = await Promise.all([
    stateOf(deps, { stream: streamOfKey(owner, key_id), decider: apiKey }),
    stateOf(deps, { stream: streamOf(owner, 'agent', agent_id), decider: agent }),
  ]);
  if (!key || key.status === 'revoked' || key.expires_at <= deps.clock.now())
    return { ended: true };
  return by?.status === 'approved' ? { scopes: new Set(by.granted) } : { held: true };
};

/** What the result of the last attempt means. Receivers ignore a repeated id, as A2A asks of them. */
const commandFor = (result: DeliveryResult, { deps, state }: Pick<PushWork, 'deps' | 'state'>) =>
  commandAfter(result, {
    id: notificationId(state),
    attempts: state.attempts,
    attemptedAt: state.attempted_at,
    uncertain: state.uncertain,
    isRepeatable: true,
    notAfter: Infinity,
    now: deps.clock.now(),
  });

const notificationId = ({ push_id, change }: PushState): string => `${push_id}.${change}`;

/**
 * Writes the attempt ahead, sends, and writes the result; only the process whose append succeeds sends. False when
 * nothing was written.
 */
const attempt = async (work: PushWork, row: TaskRow, change: Change): Promise<boolean> => {
  const { deps, call, stream } = work;
  const at = deps.clock.now();
  const until = at + deps.receivers.limitMs + MARGIN_MS;
  const written = await decideAndAppend(
    deps,
    { ...call, at },
    {
      stream,
      decider: push,
      command: () => issue({ type: 'Dispatch' as const, at, change: change.number, until }),
    },
  );
  if (!written.ok) return false;
  const sent = { ...work, state: written.state };
  const delivery = await prepare(sent, row, change.event);
  const result =
    'outcome' in delivery
      ? delivery
      : await deliver(deps, deps.receivers, { delivery, signal: call.signal });
  await record(sent, commandFor(result, sent));
  if (result.outcome === 'refused' && result.disable)
    await record(sent, { type: 'Delete', reason: 'receiver_gone' });
  return true;
};

/**
 * Makes the request after the write-ahead event, or answers a result without effect: access has ended meanwhile, the
 * append took too long, or the log cannot be read.
 */
const prepare = async (
  work: PushWork,
  row: TaskRow,
  event: StoredEvent,
): Promise<PushDelivery | DeliveryResult> => {
  const { deps, call, state } = work;
  const { url, scheme, sealed_token = '', sealed_credentials = '' } = state;
  try {
    const access = await accessOf(work);
    if (!('scopes' in access)) return { outcome: 'retry', reason: 'access_ended' };
    const view = await readChange(deps, call.ownerId, { row, event: foldEventOf(event) });
    const opened = await openTexts(deps.vault, [sealed_token, sealed_credentials]);
    const [token, credentials] = [opened(sealed_token), opened(sealed_credentials)];
    const isOpen = (sealed: string, text: unknown) => sealed === '' || typeof text === 'string';
    if (!view || !isOpen(sealed_token, token) || !isOpen(sealed_credentials, credentials))
      return { outcome: 'retry', reason: 'secrets_unavailable' };
    if (deps.clock.now() > (state.attempted_at ?? 0) + MARGIN_MS / 2)
      return { outcome: 'retry', reason: 'late' };
    const id = notificationId(state);
    const body = deps.wire.bodyOf(permitted(access, view));
    const claims = { jku: deps.wire.keysUrl(), aud: url, jti: id };
    return {
      id,
      url,
      body,
      signature: signBody(deps.secrets, body, { ...claims, at: deps.clock.now() }),
      ...(token && { token }),
      ...(credentials && { authorization: `${scheme} ${credentials}` }),
    };
  } catch (error) {
    deps.onFault(error, { owner: call.ownerId, id: state.push_id });
    return { outcome: 'retry', reason: 'log_unavailable' };
  }
};

/** Writes what is known, and destroys the key of the secrets with a deletion; false when nothing was written. */
const record = async ({ deps, call, stream }: PushWork, command: PushCommand): Promise<boolean> => {
  const decision = { stream, decider: push, command: () => issue(command) };
  const isRecorded = await recordOutcome(deps, call, decision);
  if (isRecorded && command.type === 'Delete')
    await forgetSecrets(deps, await stateOf(deps, { stream, decider: push }));
  return isRecorded;
};
